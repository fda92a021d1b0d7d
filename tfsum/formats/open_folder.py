"""Reads a BERT of any format."""

import os

from tfsum.formats import google, model_folder, weight_names


def open_folder(source: str | os.PathLike) -> weight_names.StoredModel:
    """Reads a BERT of tfsum, Hugging Face or Google.

    Args:
        source: Folder, prefix of a Google checkpoint, or name on the Hub, as for
            `tfsum.Bert.from_pretrained`.

    Returns:
        Contents of the checkpoint.

    Raises:
        CheckpointError: A file is missing or broken, or the vocabulary has another size than the
            model.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfsum.Bert(10, 8, 1, 2, 16).save_pretrained(folder)
        ...     open_folder(folder).config["vocab_size"]
        10
    """
    if google.is_google(source):
        return google.read_google(source)
    return model_folder.read_hugging_face(source)
