"""An exported model of any kind in Python: texts in, rows of a signature's outputs out."""

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.errors import Error
from tfsum.inference.saved_model import load_model, newest, read_description

TEXTS_AT_ONCE, BYTES_AT_ONCE = 32, 1 << 19
KNOWN_ENOUGH = 0.6  # share of whole words; English news has 0.9 to 1, Spanish or French read by its vocabulary 0.55


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

    def _ask(self, signature: str, columns: Mapping[str, Sequence[str | bytes]], **options: Any
             ) -> list[dict[str, np.ndarray]]:
        """Calls a signature on any number of texts, in groups.

        Args:
            signature: its name.
            columns: input -> its texts, a column for each input and of each the same number.
            **options: input -> its value for all texts.

        Returns:
            For each row of the columns the outputs by name, without their first dimension.
        """
        encoded = {name: [text if isinstance(text, bytes) else as_bytes(text) for text in column]
                   for name, column in columns.items()}
        answers: dict[int, dict[str, np.ndarray]] = {}
        for rows in batches([sum(map(len, row)) for row in zip(*encoded.values(), strict=True)]):
            inputs = {name: tf.constant([column[i] for i in rows], tf.string) for name, column in encoded.items()}
            inputs |= {name: tf.fill([len(rows)], value) for name, value in options.items()}
            outputs = {k: v.numpy() for k, v in self._model.signatures[signature](**inputs).items()}
            answers |= {i: {k: v[place] for k, v in outputs.items()} for place, i in enumerate(rows)}
        return [answers[i] for i in range(len(answers))]


def as_bytes(text: str) -> bytes:
    """A text in UTF-8; half of a surrogate pair, which UTF-8 cannot hold, becomes "?".

    Example:
        >>> as_bytes("a\\ud800")
        b'a?'
    """
    return text.encode("utf-8", errors="replace")


def check_texts(texts: Iterable[str]) -> list[str]:
    """Checks texts and returns them as a list.

    Args:
        texts: a sequence of str.

    Raises:
        Error: it is not a sequence of str.

    Example:
        >>> check_texts(("It rained.", "The sun shone."))
        ['It rained.', 'The sun shone.']
    """
    if isinstance(texts, bytes | bytearray) or not hasattr(texts, "__iter__"):
        raise Error(f"texts is {type(texts).__name__}; expected a str or a sequence of str (decode bytes first)")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise Error(f"texts[{i}] is {type(text).__name__}; expected str (decode bytes first)")
    return texts


def batches(sizes: Sequence[int]) -> list[list[int]]:
    """Groups texts by size: lists of indices, at most `TEXTS_AT_ONCE` and about `BYTES_AT_ONCE` each.

    Args:
        sizes: bytes of each text.

    Example:
        >>> batches([5, 600_000, 3])
        [[2, 0], [1]]
    """
    groups: list[list[int]] = []
    room = 0
    for i in sorted(range(len(sizes)), key=lambda i: sizes[i]):
        if not groups or len(groups[-1]) == TEXTS_AT_ONCE or sizes[i] > room:
            groups.append([])
            room = BYTES_AT_ONCE
        groups[-1].append(i)
        room -= sizes[i]
    return groups
