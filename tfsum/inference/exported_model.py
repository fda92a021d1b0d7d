"""An exported model of any kind in Python: texts in, rows of a signature's outputs out."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from tfsum.errors import Error
from tfsum.inference import c_session
from tfsum.inference.compute import computed_in
from tfsum.inference.saved_model import newest, read_description
from tfsum.inference.texts import Value, as_bytes, batches, filled
from tfsum.loading import load_tensorflow


class OpenedModel(Protocol):
    """An exported model that is opened: a `CSession` or an `EagerModel`.

    Attributes:
        signatures: Name of a signature -> the names of its inputs.
    """

    signatures: dict[str, frozenset[str]]

    def call(self, signature: str, inputs: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
        """Calls a signature, from any thread.

        Args:
            signature: Name of the signature.
            inputs: Name -> array, or list of bytes.

        Returns:
            Name -> array.

        Raises:
            CallError: The graph rejects the inputs, or fails.
        """


class ExportedModel:
    """Base class of `Summarizer`, `Generator` and `Classifier`; `tfsum.load` makes the right one.

    Args:
        path: Directory `.../NAME/VERSION` of the model, or `.../NAME` for its newest version.
        compute: "float32"; "bfloat16", which is faster and rounds more; or "auto", bfloat16 where
            the processor has instructions for it.

    Attributes:
        path: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json.

    Raises:
        ExportError: There is no such model, or it is broken.
        Error: The model cannot be computed in this type here.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> ExportedModel(shipped_model()).description["kind"]
        'extractive'
    """

    def __init__(self, path: str | pathlib.Path, compute: str = "float32") -> None:
        self.path = newest(path)
        self.description = read_description(self.path)
        self._model = open_model(self.path, self.description, computed_in(compute))

    def _ask(
        self, signature: str, columns: Mapping[str, Sequence[str | bytes]], **options: Value
    ) -> list[dict[str, np.ndarray]]:
        """Calls a signature on any number of texts, in groups.

        Args:
            signature: Name of the signature.
            columns: Texts of each input by name, N each.
            **options: Value of an input for all texts.

        Returns:
            For each of the N rows the outputs by name, without their first dimension.
        """
        if signature not in self._model.signatures:
            raise Error(
                f"{self.path}: has no signature {signature}; an older tfsum exported it: export it"
                " again"
            )
        encoded = {
            name: [text if isinstance(text, bytes) else as_bytes(text) for text in column]
            for name, column in columns.items()
        }
        sizes = [sum(map(len, row)) for row in zip(*encoded.values(), strict=True)]

        answers: dict[int, dict[str, np.ndarray]] = {}
        for rows in batches(sizes):
            texts = {name: [column[i] for i in rows] for name, column in encoded.items()}
            values = {name: filled(len(rows), value) for name, value in options.items()}
            arrays = self._model.call(signature, {**texts, **values})
            for place, i in enumerate(rows):
                answers[i] = {name: array[place] for name, array in arrays.items()}
        return [answers[i] for i in range(len(answers))]


def open_model(path: pathlib.Path, description: dict, compute: str = "float32") -> OpenedModel:
    """Opens an exported model in TensorFlow's C library, or in its Python where that cannot.

    Args:
        path: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json; empty for a model of another exporter.
        compute: "float32" or "bfloat16".

    Returns:
        A `CSession` or an `EagerModel`.

    Raises:
        ExportError: The model is broken.
        Error: The model cannot be computed in this type here.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> model = open_model(shipped_model(), {"ops": "core"})
        >>> model.call("serving_default", {"text": [b"It rained."]})["count"].tolist()
        [1]
    """
    if c_session.can_open(description):
        return c_session.CSession(path, description, compute)

    if compute != "float32":
        raise Error(
            f"{path}: cannot be computed in {compute} here, since that needs TensorFlow's C library"
            " and an export with ops='core'; take 'float32'"
        )
    load_tensorflow()
    from tfsum.inference.eager_model import EagerModel

    return EagerModel(path, description)
