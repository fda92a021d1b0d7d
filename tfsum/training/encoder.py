"""The encoder that a run begins with: where it lies, how its texts become tokens, which layers keep their weights."""

import pathlib

from tfsum.errors import RecipeError
from tfsum.models import Bert
from tfsum.training.recipe_file import Key

CASE = {name: Key((bool, type(None)), None) for name in ("lowercase", "strip_accents")}
"""What a recipe may say of case and accents: nothing, and the encoder's folder or the vocabulary does."""


def encoder_folder(encoder: str) -> pathlib.Path:
    """Where an encoder lies; see `tfsum.conversion.hugging_face.local_folder`."""
    from tfsum.conversion.hugging_face import local_folder

    return local_folder(encoder)


def text_settings(folder: pathlib.Path, lowercase: bool | None, strip_accents: bool | None, **others) -> dict:
    """How texts become tokens: as the recipe says, and where it is silent as the encoder's folder does.

    Args:
        folder: the encoder's, or the file of a vocabulary.
        lowercase, strip_accents: what the recipe says; None where it is silent.
        **others: settings that the recipe alone decides.
    """
    from tfsum.conversion.text_settings import read_text_settings

    told = read_text_settings(folder)
    if lowercase is not None:
        told = {"lowercase": lowercase, "strip_accents": None}
    if strip_accents is not None:
        told["strip_accents"] = strip_accents
    return {**told, **others}


def check_segments(bert: Bert, what: str) -> None:
    """Raises RecipeError where an encoder has one segment alone, and what is trained needs two."""
    if bert.config["type_vocab_size"] < 2:
        raise RecipeError(f"the encoder has one segment (type_vocab_size 1), and {what} needs two; take another "
                          "encoder")


def freeze(bert: Bert, layers: int) -> None:
    """Keeps the weights of the lowest encoder layers as they are, and above 0 those of the embeddings too."""
    frozen = bert.encoder.encoder_layers[:layers]
    if layers:
        frozen += [bert.word_embeddings, bert.position_embeddings, bert.segment_embeddings, bert.embedding_norm]
    for layer in frozen:
        layer.trainable = False
