"""The encoder of a run: its text settings and its frozen layers."""

import pathlib

from tfsum.errors import RecipeError
from tfsum.formats.text_settings import read_text_settings
from tfsum.models import Bert


def text_settings(
    folder: pathlib.Path, lowercase: bool | None, strip_accents: bool | None
) -> dict[str, bool | None]:
    """Takes the text settings of a recipe, or those of the encoder's folder for unset keys.

    Args:
        folder: Folder of the encoder, or file of a vocabulary.
        lowercase: Key of the recipe; None if unset.
        strip_accents: Key of the recipe; None if unset.

    Returns:
        `lowercase` and `strip_accents`, the arguments of `WordPiece`.

    Example:
        >>> text_settings(pathlib.Path("no_folder"), lowercase=False, strip_accents=None)
        {'lowercase': False, 'strip_accents': None}
    """
    settings = read_text_settings(folder)

    if lowercase is not None:
        settings = {"lowercase": lowercase, "strip_accents": None}
    if strip_accents is not None:
        settings["strip_accents"] = strip_accents

    return settings


def check_segments(config: dict, what: str) -> None:
    """Checks that an encoder has two segments.

    Args:
        config: Arguments of the `Bert`.
        what: Input that needs two segments, for the message.

    Raises:
        RecipeError: The encoder has one segment.

    Example:
        >>> check_segments({"type_vocab_size": 2}, "a pair of texts")
    """
    if config["type_vocab_size"] < 2:
        raise RecipeError(
            f"the encoder has one segment (type_vocab_size 1), and {what} needs two; take another "
            "encoder"
        )


def freeze(bert: Bert, layers: int) -> None:
    """Freezes the lowest encoder layers, and with at least one of them the embeddings.

    Args:
        bert: Built model.
        layers: Number of frozen encoder layers; 0 freezes nothing.

    Example:
        >>> bert = Bert(10, 8, 2, 2, 16)
        >>> bert.build()
        >>> freeze(bert, 1)
        >>> bert.word_embeddings.trainable, bert.encoder.encoder_layers[1].trainable
        (False, True)
    """
    frozen = bert.encoder.encoder_layers[:layers]

    if layers:
        frozen += [
            bert.word_embeddings,
            bert.position_embeddings,
            bert.segment_embeddings,
            bert.embedding_norm,
        ]

    for layer in frozen:
        layer.trainable = False
