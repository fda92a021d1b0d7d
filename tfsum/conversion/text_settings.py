"""How a model's tokenizer treats case and accents, in the files of every format."""

import json
import pathlib

from tfsum.errors import CheckpointError
from tfsum.models.model_folder import read_json, read_vocabulary

PLACES = (("tfsum.json", "lowercase"), ("tokenizer_config.json", "do_lower_case"), ("tokenizer.json", "lowercase"),
          ("bert_config.json", "do_lower_case"))
SECTIONS = {"tfsum.json": "text", "tokenizer.json": "normalizer"}


def read_text_settings(folder) -> dict[str, bool | None]:
    """Reads the text settings of a model folder of tfsum, Hugging Face or Google.

    Google's folders say nothing of it, but a lower-casing tokenizer can never give a piece with a capital: a
    vocabulary that has one is cased.

    Args:
        folder: with vocab.txt, or with a file that says it: tfsum.json, tokenizer_config.json, tokenizer.json, or a
            bert_config.json that tfsum wrote.

    Returns:
        `lowercase`, and `strip_accents`, where None means "as `lowercase`"; the arguments of `WordPiece`.

    Raises:
        CheckpointError: one of these files is broken.
    """
    folder = pathlib.Path(folder)
    for file, key in PLACES:
        if not (folder / file).is_file():
            continue
        content = read_json(folder / file)
        section = SECTIONS.get(file)
        stored = content.get(section) or {} if section else content
        if not isinstance(stored, dict):
            raise CheckpointError(f"{folder / file}: \"{section}\" is {stored!r}; expected an object, such as "
                                  '{"lowercase": true}')
        if isinstance(stored.get(key), bool):
            return {"lowercase": stored[key], "strip_accents": stored.get("strip_accents")}
    return {"lowercase": looks_uncased(folder / "vocab.txt"), "strip_accents": None}


def looks_uncased(vocabulary: pathlib.Path) -> bool:
    """Whether no piece of a vocab.txt but the special ones, such as [CLS], has a capital; True without a file."""
    pieces = read_vocabulary(vocabulary) or []
    return not any(piece != piece.lower() for piece in map(str.strip, pieces)
                   if not (piece.startswith("[") and piece.endswith("]")))


def tfsum_json(settings: dict) -> str:
    """The content of tfsum.json for the settings."""
    return json.dumps({"text": settings}, indent=2) + "\n"


def tokenizer_config(settings: dict) -> str:
    """The content of tokenizer_config.json for the settings: with vocab.txt, all that transformers' tokenizer needs."""
    kept = {"tokenizer_class": "BertTokenizer", "do_lower_case": settings["lowercase"],
            "strip_accents": settings["strip_accents"], "tokenize_chinese_chars": True}
    return json.dumps(kept, indent=2) + "\n"


def google_keys(settings: dict, vocabulary: pathlib.Path) -> dict:
    """What bert_config.json must say beyond what the vocabulary tells."""
    lowercase, strip_accents = settings["lowercase"], settings["strip_accents"]
    if lowercase == looks_uncased(vocabulary) and strip_accents in (None, lowercase):
        return {}
    return {"do_lower_case": lowercase, "strip_accents": strip_accents}
