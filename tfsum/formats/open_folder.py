"""A model folder of any format, read by the reader for its format."""

import os
from collections.abc import Callable
from typing import Any

from tfsum.formats import google, hugging_face
from tfsum.formats.assign_weights import assign_bert
from tfsum.formats.model_folder import errors_named
from tfsum.formats.weight_names import StoredModel


def open_folder(source: str | os.PathLike) -> StoredModel:
    """Reads a BERT: a folder of tfsum or Hugging Face, one of Google or its prefix, or a name on the hub.

    Args:
        source: the folder, prefix or name; see `tfsum.Bert.from_pretrained`.

    Returns:
        The contents of the checkpoint.

    Raises:
        CheckpointError: a file is missing or broken, or the vocabulary differs in size from the model.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfsum.Bert(10, 8, 1, 2, 16).save_pretrained(folder)
        ...     open_folder(folder).config["vocab_size"]
        10
    """
    return (google.read_google if google.is_google(source) else hugging_face.read_hugging_face)(
        source
    )


def load_bert(cls: Callable[..., Any], stored: StoredModel, changes: dict) -> Any:
    """Builds a `Bert` with the weights of a checkpoint; see `Bert.from_pretrained`.

    Args:
        cls: the class `Bert`.
        stored: the contents of the checkpoint.
        changes: arguments of `Bert` that differ from the checkpoint's.

    Returns:
        The built model.

    Raises:
        CheckpointError: the weights do not fit the model.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfsum.Bert(10, 8, 1, 2, 16).save_pretrained(folder)
        ...     bert = load_bert(tfsum.Bert, open_folder(folder), {"hidden_dropout_prob": 0.0})
        >>> bert.config["hidden_dropout_prob"]
        0.0
    """
    with errors_named(stored.source):
        bert = cls(**{**stored.config, **changes})
        bert.build()
    assign_bert(bert, stored)
    return bert
