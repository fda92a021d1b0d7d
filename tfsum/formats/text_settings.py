"""Reads and writes a tokenizer's treatment of case and accents, in the files of every format."""

import json
import os
import pathlib
import unicodedata

from tfsum.errors import CheckpointError
from tfsum.formats.config_json import read_json
from tfsum.formats.piece_files import read_vocabulary

PLACES = (  # file, section, key of `lowercase`
    ("tfsum.json", "text", "lowercase"),
    ("tokenizer_config.json", None, "do_lower_case"),
    ("tokenizer.json", "normalizer", "lowercase"),
    ("bert_config.json", None, "do_lower_case"),
)


def read_text_settings(
    path: str | os.PathLike, lowercase: bool | None = None
) -> dict[str, bool | None]:
    """Reads the text settings of a model folder or of a vocabulary.

    The first of these files in the folder decides: tfsum.json, tokenizer_config.json,
    tokenizer.json, and a bert_config.json that tfsum wrote. Without them the pieces of the
    vocabulary decide (`vocabulary_settings`).

    Args:
        path: Model folder of tfsum, Hugging Face or Google, or the file of a vocabulary in it.
        lowercase: The user's own word, where the files would get it wrong; they are read and
            checked nevertheless.

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
        if not isinstance(stored, dict):
            raise CheckpointError(
                f'{file}: "{section}" is {stored!r}; expected an object, such as '
                '{"lowercase": true}'
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
        return {"lowercase": lowercase, "strip_accents": None}
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
