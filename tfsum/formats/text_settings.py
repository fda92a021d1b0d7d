"""How a model's tokenizer treats case and accents, in the files of every format."""

import json
import os
import pathlib
import unicodedata

from tfsum.errors import CheckpointError
from tfsum.formats.model_folder import read_json, read_vocabulary

PLACES = (
    ("tfsum.json", "lowercase"),
    ("tokenizer_config.json", "do_lower_case"),
    ("tokenizer.json", "lowercase"),
    ("bert_config.json", "do_lower_case"),
)
SECTIONS = {"tfsum.json": "text", "tokenizer.json": "normalizer"}


def read_text_settings(folder: str | os.PathLike) -> dict[str, bool | None]:
    """Reads the text settings of a model folder of tfsum, Hugging Face or Google, or of a vocabulary alone.

    Google's folders do not store them, nor does a vocab.txt; but a tokenizer that lower-cases can never give a piece
    with a capital, nor one that strips accents an accent: a vocabulary that has one keeps them.

    Args:
        folder: with vocab.txt, or with a file that says it: tfsum.json, tokenizer_config.json, tokenizer.json, or a
            bert_config.json that tfsum wrote; or the file of a vocabulary.

    Returns:
        `lowercase`, and `strip_accents`, where None means "as `lowercase`"; the arguments of `WordPiece`.

    Raises:
        CheckpointError: one of these files is broken.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "tfsum.json").write_text(tfsum_json({"lowercase": False}))
        ...     read_text_settings(folder)
        {'lowercase': False, 'strip_accents': None}
    """
    folder = pathlib.Path(folder)
    for file, key in PLACES:
        place = folder / file if folder.is_dir() else folder
        if place.name != file or not place.is_file():
            continue
        content = read_json(place)
        section = SECTIONS.get(file)
        stored = content.get(section) or {} if section else content
        if not isinstance(stored, dict):
            raise CheckpointError(
                f'{place}: "{section}" is {stored!r}; expected an object, such as '
                '{"lowercase": true}'
            )
        settings = {"lowercase": stored.get(key), "strip_accents": stored.get("strip_accents")}
        if errors := [
            f"{name} is {value!r}"
            for name, value in settings.items()
            if type(value) not in (bool, type(None))
        ]:
            raise CheckpointError(f"{place}: {', '.join(errors)}; expected true, false or nothing")
        if settings["lowercase"] is not None:
            return settings
    return vocabulary_settings(folder / "vocab.txt" if folder.is_dir() else folder)


def vocabulary_settings(vocabulary: pathlib.Path) -> dict[str, bool | None]:
    """Infers the settings from the pieces of a vocabulary, special ones aside; lower case where there is no file.

    Args:
        vocabulary: path of a vocab.txt.

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
        if not (piece.startswith("[") and piece.endswith("]"))
    ]
    lowercase = not any(piece != piece.lower() for piece in pieces)
    return {
        "lowercase": lowercase,
        "strip_accents": False if lowercase and any(map(_has_accents, pieces)) else None,
    }


def _has_accents(piece: str) -> bool:
    """Whether a tokenizer that strips accents would change it; a Korean syllable comes apart there too."""
    apart = unicodedata.normalize("NFD", piece)
    return piece != "".join(letter for letter in apart if unicodedata.category(letter) != "Mn")


def tfsum_json(settings: dict) -> str:
    """The content of tfsum.json for the settings.

    Example:
        >>> json.loads(tfsum_json({"lowercase": True}))
        {'text': {'lowercase': True}}
    """
    return json.dumps({"text": settings}, indent=2) + "\n"


def tokenizer_config(settings: dict) -> str:
    """The content of tokenizer_config.json for the settings: with vocab.txt, all that transformers' tokenizer needs.

    Example:
        >>> json.loads(tokenizer_config({"lowercase": True, "strip_accents": None}))[
        ...     "do_lower_case"
        ... ]
        True
    """
    kept = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": settings["lowercase"],
        "strip_accents": settings["strip_accents"],
        "tokenize_chinese_chars": True,
    }
    return json.dumps(kept, indent=2) + "\n"


def google_keys(settings: dict, vocabulary: pathlib.Path) -> dict:
    """The text settings that bert_config.json must hold because the vocabulary does not imply them.

    Args:
        settings: `lowercase` and `strip_accents`.
        vocabulary: path of the vocab.txt.

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
