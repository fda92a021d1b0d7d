"""An exported model in TensorFlow's Python, as `tf.saved_model.load` gives it: where there is no C
library, and for the operations of TF Text."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from numpy.typing import ArrayLike

from tfsum.errors import ExportError
from tfsum.inference.allowed_operations import check_operations
from tfsum.inference.c_session import BROKEN, CallError

# What TensorFlow raises for a file that is missing, truncated or corrupt.
UNREADABLE = (tf.errors.OpError, OSError, ValueError, LookupError, RuntimeError, DecodeError)


class EagerModel:
    """An exported model that is called eagerly.

    Args:
        folder: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json.

    Attributes:
        signatures: Name of a signature -> the names of its inputs.

    Raises:
        ExportError: As `load_model`.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> model = EagerModel(shipped_model(), {"ops": "core"})
        >>> model.call("serving_default", {"text": [b"It rained."]})["count"].tolist()
        [1]
    """

    def __init__(self, folder: pathlib.Path, description: dict) -> None:
        self._folder, self._model = folder, load_model(folder, description)
        self.signatures = {
            name: frozenset(function.structured_input_signature[1])
            for name, function in self._model.signatures.items()
        }

    def call(self, signature: str, inputs: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
        """Calls a signature.

        Args:
            signature: Name of the signature.
            inputs: Name -> array, or list of bytes.

        Returns:
            Name -> array.

        Raises:
            CallError: The graph rejects the inputs, or fails.
        """
        function = self._model.signatures[signature]
        specs = function.structured_input_signature[1]
        tensors = {k: tf.constant(v, specs[k].dtype) for k, v in inputs.items()}

        try:
            outputs = function(**tensors)
            return {name: output.numpy() for name, output in outputs.items()}
        except tf.errors.OpError as error:
            raise CallError(
                f"{self._folder}: {signature}", error.error_code, error.message
            ) from None


def load_model(folder: str | pathlib.Path, description: dict) -> Any:
    """Loads a SavedModel after a check of its operations, its op libraries first.

    Args:
        folder: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json; empty for a model of another exporter.

    Returns:
        The object of `tf.saved_model.load`.

    Raises:
        ExportError: A file is broken or missing, an operation is not allowed, or the model needs
            the operations of TF Text and tensorflow-text is not installed.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> sorted(load_model(shipped_model(), {"ops": "core"}).signatures)
        ['extract', 'keywords', 'score', 'score_ids', 'serving_default', 'summarize']
    """
    check_operations(folder, description.get("ops", "core") if description else None)
    if description.get("ops") == "text":
        try:
            import tensorflow_text  # noqa: F401  registers the three ops
        except ImportError as error:
            raise ExportError(
                f"{folder}: needs TF Text's operations ({error}); pip install tensorflow-text, or "
                'export with ops="core"'
            ) from None

    try:
        return tf.saved_model.load(str(folder))
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0]
        raise ExportError(f"{folder}: cannot be loaded ({reason}); {BROKEN}") from error
