"""A model folder of any format, read by the reader for its format."""

import os
from collections.abc import Callable

from tfsum.formats import google, hugging_face
from tfsum.formats.model_folder import StoredModel, assign_bert, errors_named
from tfsum.models.model import Model


def open_folder(source: str | os.PathLike) -> StoredModel:
    """Reads a BERT: a folder of tfsum or Hugging Face, one of Google or its prefix, or a name on the hub.

    Raises:
        CheckpointError: something is missing or broken, or the vocabulary has not as many pieces as the model.
    """
    return (google.read_google if google.is_google(source) else hugging_face.read_hugging_face)(source)


def load_bert(cls: Callable[..., Model], stored: StoredModel, changes: dict) -> Model:
    """Builds a `Bert` of class `cls` with the weights of a file; see `Bert.from_pretrained`."""
    with errors_named(stored.source):
        bert = cls(**{**stored.config, **changes})
        bert.build()
    assign_bert(bert, stored)
    return bert
