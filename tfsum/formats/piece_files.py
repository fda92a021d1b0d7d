"""The word pieces of a model folder: vocab.txt, or the tokenizer.json in its place."""

import os
import pathlib

from tfsum.errors import CheckpointError
from tfsum.json_text import parse_json


def check_vocabulary(folder: str | os.PathLike, rows: int) -> None:
    """Compares the size of a folder's vocabulary, if it has one, with the word embedding.

    Args:
        folder: Model folder.
        rows: Number of rows of the word embedding.

    Raises:
        CheckpointError: The numbers of pieces and rows differ, or the file is broken.

    Example:
        >>> check_vocabulary("a_folder_without_vocabulary", 8000)
    """
    file = piece_file(pathlib.Path(folder) / "vocab.txt")
    pieces = read_vocabulary(file)
    if pieces is not None and len(pieces) != rows:
        raise CheckpointError(
            f"{file}: {len(pieces)} word pieces, and vocab_size is {rows}; take the "
            "vocabulary that the model was trained with (rows without a piece are named [unusedN] "
            "at its end)"
        )


def read_vocabulary(path: str | os.PathLike) -> list[str] | None:
    """Reads the word pieces of a vocab.txt, or of the tokenizer.json in its place.

    Args:
        path: Path of the vocab.txt.

    Returns:
        The pieces in the order of their ids; None if there is neither file.

    Example:
        >>> read_vocabulary("no/such/vocab.txt") is None
        True
    """
    path = piece_file(path)
    return read_pieces(path) if path.is_file() else None


def piece_file(path: str | os.PathLike) -> pathlib.Path:
    """Path of a vocab.txt, or of the tokenizer.json in its folder if only that exists.

    Args:
        path: Path of the vocab.txt.

    Returns:
        The path, which may not exist.

    Example:
        >>> piece_file("no/such/vocab.txt").name
        'vocab.txt'
    """
    path = pathlib.Path(path)
    other = path.with_name("tokenizer.json")
    if path.name == "vocab.txt" and not path.exists() and other.is_file():
        return other
    return path


def read_pieces(path: str | os.PathLike) -> list[str]:
    """Reads the word pieces of a vocabulary.

    Args:
        path: UTF-8 text file with one piece per line, in the order of the ids, or a tokenizer.json
            with a WordPiece model.

    Returns:
        The pieces in the order of their ids.

    Raises:
        CheckpointError: The file cannot be read, or the tokenizer is of another kind.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "vocab.txt").write_text("[PAD]\\nthe\\n##s\\n")
        ...     read_pieces(f"{folder}/vocab.txt")
        ['[PAD]', 'the', '##s']
    """
    path = piece_file(path)
    if path.is_dir():
        raise CheckpointError(
            f"{path}: is a folder, expected the file of its word pieces, such as "
            f"{path / 'vocab.txt'}"
        )
    try:
        text = path.read_bytes().decode("utf-8")
        if path.suffix == ".json":
            return _tokenizer_pieces(parse_json(text), path)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CheckpointError(
            f"{path}: cannot read the vocabulary ({error}); expected a UTF-8 text file, one piece a"
            " line, or in its place the tokenizer.json of a WordPiece"
        ) from error

    # splitlines would also cut at U+2028
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def _tokenizer_pieces(content: dict, path: pathlib.Path) -> list[str]:
    """The pieces of a tokenizer.json and its added tokens, which have embeddings too."""
    match content:
        case {"model": {"vocab": dict(ids), **model}, **others} if (
            model.get("type", "WordPiece") == "WordPiece"
        ):
            ids = ids | {
                token["content"]: token["id"] for token in others.get("added_tokens") or ()
            }
        case _:
            raise CheckpointError(
                f"{path}: holds no WordPiece, and tfsum reads no other vocabulary; for the weights "
                "alone move the file out of the folder"
            )

    pieces = sorted(ids, key=ids.__getitem__)
    if [ids[piece] for piece in pieces] != list(range(len(pieces))):
        raise CheckpointError(
            f"{path}: the ids of its {len(pieces)} pieces are not 0 to {len(pieces) - 1}; take the "
            "vocabulary that the model was trained with"
        )
    return pieces
