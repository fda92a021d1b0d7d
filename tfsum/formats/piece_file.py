"""The file of a model's word pieces: vocab.txt, or the tokenizer.json that newer Hugging Face folders have."""

import json
import os
import pathlib
from typing import Any

from tfsum.errors import CheckpointError


def piece_file(path: str | os.PathLike) -> pathlib.Path:
    """A vocab.txt itself, or the tokenizer.json in its folder where there is only that.

    Args:
        path: of the vocab.txt.

    Example:
        >>> piece_file("no/such/vocab.txt").name
        'vocab.txt'
    """
    path = pathlib.Path(path)
    other = path.with_name("tokenizer.json")
    return other if path.name == "vocab.txt" and not path.exists() and other.is_file() else path


def read_pieces(path: str | os.PathLike) -> list[str]:
    """Reads the word pieces of a `piece_file` in the order of their ids.

    Args:
        path: UTF-8 text, one piece a line, the line number (from 0) is the id; or a tokenizer.json of a WordPiece.

    Raises:
        CheckpointError: the file cannot be read, or the tokenizer is of another kind.

    Returns:
        The pieces.

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
            return _of_tokenizer(json.loads(text), path)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CheckpointError(
            f"{path}: cannot read the vocabulary ({error}); expected a UTF-8 text file, one piece a "
            "line, or in its place the tokenizer.json of a WordPiece"
        ) from error
    lines = (
        text.removesuffix("\n").split("\n") if text else []
    )  # splitlines would also cut at U+2028
    return [line.removesuffix("\r") for line in lines]


def _of_tokenizer(content: Any, path: pathlib.Path) -> list[str]:
    """The pieces of a tokenizer.json and the tokens added to them, whose rows the model has too."""
    match content:
        case {"model": {"vocab": dict(ids), **model}} if (
            model.get("type", "WordPiece") == "WordPiece"
        ):
            ids = ids | {
                token["content"]: token["id"] for token in content.get("added_tokens") or ()
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
