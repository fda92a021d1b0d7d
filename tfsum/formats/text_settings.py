"""The word pieces of a model folder, and its treatment of case and accents, in the files of every
format."""

import io
import json
import os
import pathlib
import unicodedata

from tfsum.errors import CheckpointError, as_error, require
from tfsum.formats.config_json import read_json
from tfsum.json_text import parse_json

PLACES = (  # file, section, key of `lowercase`
    ("tfsum.json", "text", "lowercase"),
    ("tokenizer_config.json", None, "do_lower_case"),
    ("tokenizer.json", "normalizer", "lowercase"),
    ("bert_config.json", None, "do_lower_case"),
)


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
    require(
        not path.is_dir(),
        f"{path}: is a folder, expected the file of its word pieces, such as {path / 'vocab.txt'}",
        CheckpointError,
    )
    with as_error(
        f"{path}: cannot read the vocabulary",
        *(OSError, ValueError, LookupError, TypeError),
        kind=CheckpointError,
        cure=(
            "; expected a UTF-8 text file, one piece a line, or in its place the tokenizer.json of"
            " a WordPiece"
        ),
    ):
        text = path.read_bytes().decode("utf-8")
        if path.suffix == ".json":
            return _tokenizer_pieces(parse_json(text), path)

    # splitlines would also cut at U+2028
    return [line.removesuffix("\n").removesuffix("\r") for line in io.StringIO(text)]


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
    require(
        [ids[piece] for piece in pieces] == list(range(len(pieces))),
        f"{path}: the ids of its {len(pieces)} pieces are not 0 to {len(pieces) - 1}; take the "
        "vocabulary that the model was trained with",
        CheckpointError,
    )
    return pieces


def read_text_settings(
    path: str | os.PathLike, lowercase: bool | None = None, strip_accents: bool | None = None
) -> dict[str, bool | None]:
    """Reads the text settings of a model folder or of a vocabulary.

    The first of these files in the folder decides: tfsum.json, tokenizer_config.json,
    tokenizer.json, and a bert_config.json that tfsum wrote. Without them the pieces of the
    vocabulary decide (`vocabulary_settings`).

    Args:
        path: Model folder of tfsum, Hugging Face or Google, or the file of a vocabulary in it.
        lowercase, strip_accents: The user's own word, where the files would get it wrong; they are
            read and checked nevertheless.

    Returns:
        The arguments `lowercase` and `strip_accents` of `WordPiece`; None for `strip_accents`
        means the same as `lowercase`.

    Raises:
        CheckpointError: One of these files is broken.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "tfsum.json").write_text('{"text": {"lowercase": false}}')
        ...     read_text_settings(folder)
        {'lowercase': False, 'strip_accents': None}
    """
    path = pathlib.Path(path)
    vocabulary = path / "vocab.txt" if path.is_dir() else path

    for name, section, key in PLACES:
        file = vocabulary.with_name(name)
        if not file.is_file():
            continue

        stored = read_json(file)
        if section:
            stored = stored.get(section) or {}
        require(
            isinstance(stored, dict),
            f'{file}: "{section}" is {stored!r}; expected an object, such as {{"lowercase": true}}',
            CheckpointError,
        )

        settings = {"lowercase": stored.get(key), "strip_accents": stored.get("strip_accents")}
        if errors := [
            f"{name} is {value!r}"
            for name, value in settings.items()
            if type(value) not in (bool, type(None))
        ]:
            raise CheckpointError(f"{file}: {', '.join(errors)}; expected true, false or nothing")
        if settings["lowercase"] is not None:
            break
    else:
        settings = vocabulary_settings(vocabulary)

    if lowercase is not None:
        settings = {"lowercase": lowercase, "strip_accents": None}
    if strip_accents is not None:
        settings["strip_accents"] = strip_accents
    return settings


def vocabulary_settings(vocabulary: pathlib.Path) -> dict[str, bool | None]:
    """Infers the settings from the pieces of a vocabulary.

    A tokenizer that lower-cases never gives a piece with a capital, and one that strips accents
    never gives an accent: a vocabulary that has one keeps them.

    Args:
        vocabulary: Path of a vocab.txt; lower case if there is no such file.

    Returns:
        `lowercase` and `strip_accents`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "vocab.txt").write_text("[PAD]\\nThe\\n")
        ...     vocabulary_settings(pathlib.Path(folder, "vocab.txt"))
        {'lowercase': False, 'strip_accents': None}
    """
    pieces = [
        piece
        for piece in map(str.strip, read_vocabulary(vocabulary) or [])
        if not (piece.startswith("[") and piece.endswith("]"))  # a special token
    ]
    lowercase = all(piece == piece.lower() for piece in pieces)
    keeps_accents = lowercase and any(map(_has_accents, pieces))
    return {"lowercase": lowercase, "strip_accents": False if keeps_accents else None}


def _has_accents(piece: str) -> bool:
    """Whether stripping accents changes a piece, as it also does Korean syllables."""
    decomposed = unicodedata.normalize("NFD", piece)
    return piece != "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


def tokenizer_config(settings: dict) -> str:
    """Formats text settings as the tokenizer_config.json that transformers reads.

    Args:
        settings: `lowercase` and `strip_accents`.

    Returns:
        A JSON text.

    Example:
        >>> content = tokenizer_config({"lowercase": True, "strip_accents": None})
        >>> json.loads(content)["do_lower_case"]
        True
    """
    config = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": settings["lowercase"],
        "strip_accents": settings["strip_accents"],
        "tokenize_chinese_chars": True,
    }
    return json.dumps(config, indent=2) + "\n"


def google_keys(settings: dict, vocabulary: pathlib.Path) -> dict:
    """Selects the text settings that bert_config.json must store beside a vocabulary.

    Args:
        settings: `lowercase` and `strip_accents`.
        vocabulary: Path of the vocab.txt.

    Returns:
        Further keys of bert_config.json; none if the vocabulary implies the settings.

    Example:
        >>> google_keys({"lowercase": False, "strip_accents": None}, pathlib.Path("no_vocab.txt"))
        {'do_lower_case': False, 'strip_accents': None}
    """

    def tokenizer(lowercase: bool | None, strip_accents: bool | None) -> tuple:
        return lowercase, lowercase if strip_accents is None else strip_accents

    if tokenizer(**settings) == tokenizer(**vocabulary_settings(vocabulary)):
        return {}
    return {"do_lower_case": settings["lowercase"], "strip_accents": settings["strip_accents"]}
