"""An exported model of any kind in Python: texts in, rows of a signature's outputs out."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.inference.saved_model import load_model, newest, read_description
from tfsum.inference.texts import as_bytes, batches


class ExportedModel:
    """Base class of `Summarizer`, `Generator` and `Classifier`; `tfsum.load` returns the right one for a model.

    Args:
        path: the model's folder `.../NAME/VERSION`, or `.../NAME` for its newest version.

    Attributes:
        path: the folder `.../NAME/VERSION`.
        description: the content of its assets.extra/tfsum.json.

    Raises:
        ExportError: there is no such model, or it is broken.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> ExportedModel(shipped_model()).description["kind"]
        'extractive'
    """

    def __init__(self, path: str | pathlib.Path) -> None:
        self.path = newest(path)
        self.description = read_description(self.path)
        self._model = load_model(self.path, self.description)

    def _ask(
        self, signature: str, columns: Mapping[str, Sequence[str | bytes]], **options: Any
    ) -> list[dict[str, np.ndarray]]:
        """Calls a signature on any number of texts, in groups.

        Args:
            signature: its name.
            columns: input -> its texts, a column for each input and of each the same number.
            **options: input -> its value for all texts.

        Returns:
            For each row of the columns the outputs by name, without their first dimension.
        """
        encoded = {
            name: [text if isinstance(text, bytes) else as_bytes(text) for text in column]
            for name, column in columns.items()
        }
        answers: dict[int, dict[str, np.ndarray]] = {}
        for rows in batches([sum(map(len, row)) for row in zip(*encoded.values(), strict=True)]):
            inputs = {
                name: tf.constant([column[i] for i in rows], tf.string)
                for name, column in encoded.items()
            }
            inputs |= {name: tf.fill([len(rows)], value) for name, value in options.items()}
            outputs = {k: v.numpy() for k, v in self._model.signatures[signature](**inputs).items()}
            answers |= {
                i: {k: v[place] for k, v in outputs.items()} for place, i in enumerate(rows)
            }
        return [answers[i] for i in range(len(answers))]
