"""The encoder that a run begins with: how its texts become tokens, which of its layers keep their weights."""

import pathlib

from tfsum.errors import RecipeError
from tfsum.formats.text_settings import read_text_settings
from tfsum.models import Bert
from tfsum.training.recipe_file import Key

CASE_KEYS = {name: Key((bool, type(None)), None) for name in ("lowercase", "strip_accents")}
"""The recipe keys of case and accents; unset, the encoder's folder or the vocabulary decides."""


def text_settings(folder: pathlib.Path, lowercase: bool | None, strip_accents: bool | None) -> dict[str, bool | None]:
    """How texts become tokens: as the recipe says, and where it is silent as the encoder's folder does.

    Args:
        folder: the encoder's, or the file of a vocabulary.
        lowercase, strip_accents: what the recipe says; None where it is silent.

    Returns:
        `lowercase` and `strip_accents`, the arguments of `WordPiece`.
    """
    settings = read_text_settings(folder)
    if lowercase is not None:
        settings = {"lowercase": lowercase, "strip_accents": None}
    if strip_accents is not None:
        settings["strip_accents"] = strip_accents
    return settings


def check_segments(config: dict, what: str) -> None:
    """Raises RecipeError where an encoder has one segment alone, and what is trained needs two.

    Args:
        config: the arguments of the `Bert`.
        what: is trained.
    """
    if config["type_vocab_size"] < 2:
        raise RecipeError(f"the encoder has one segment (type_vocab_size 1), and {what} needs two; take another "
                          "encoder")


def freeze(bert: Bert, layers: int) -> None:
    """Keeps the weights of the lowest encoder layers as they are, and above 0 those of the embeddings too."""
    frozen = bert.encoder.encoder_layers[:layers]
    if layers:
        frozen += [bert.word_embeddings, bert.position_embeddings, bert.segment_embeddings, bert.embedding_norm]
    for layer in frozen:
        layer.trainable = False
