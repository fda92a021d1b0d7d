"""An exported model of any kind in Python: texts in, rows of a signature's outputs out."""

import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import ArrayLike

from tfsum.errors import Error, ExportError, require
from tfsum.inference.allowed_operations import check_operations
from tfsum.inference.c_session import BROKEN, CallError, CSession, can_open
from tfsum.inference.openvino_model import OpenVinoModel
from tfsum.inference.saved_model import newest, read_description
from tfsum.inference.texts import Value, as_bytes, batches, filled, rows_of, token_counter
from tfsum.loading import load_tensorflow

# Types to compute in. In bfloat16 TensorFlow's optimizer makes the products of matrices and what
# lies between them bfloat16; softmax, sums and normalization stay float32, and so do the weights:
# any export can be computed in either type (`auto_mixed_precision_onednn_bfloat16`).
# In "openvino" OpenVINO computes the encoder of an extractive summarizer, with the same rounding.
COMPUTED = ("float32", "bfloat16", "auto", "openvino")
# What is raised for a file that is missing, cut or corrupt, beside TensorFlow's own errors.
UNREADABLE = (OSError, ValueError, LookupError, RuntimeError, DecodeError)
INSTRUCTIONS = {"avx512_bf16", "amx_bf16", "bf16"}  # of x86, and of ARM


class MissingSignature(Error):
    """A model has no such signature, since an older tfsum exported it."""


class OpenedModel(Protocol):
    """An exported model that is opened: a `CSession`, an `OpenVinoModel` or an `EagerModel`.

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

    def interrupt(self) -> None:
        """Ends the calls that are being computed, where that is possible."""


class ExportedModel:
    """Base class of `Summarizer`, `Generator` and `Classifier`; `tfsum.load` makes the right one.

    Args:
        path: Directory `.../NAME/VERSION` of the model, or `.../NAME` for its newest version.
        compute: "float32"; "bfloat16", which is faster and rounds more; "auto", bfloat16 where the
            processor has instructions for it; or "openvino", where OpenVINO computes the encoder of
            an extractive summarizer, in what "auto" is.
        tokenizer: tokenizer.json of the library `tokenizers`, by which the field `tokens` of a
            request counts; None for four bytes a token.

    Attributes:
        path: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json.
        count_tokens: Function that counts the tokens of a text.

    Raises:
        ExportError: There is no such model, or it is broken.
        DataError: There is no such tokenizer.
        Error: The model cannot be computed in this type here.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> ExportedModel(shipped_model()).description["kind"]
        'extractive'
    """

    def __init__(
        self,
        path: str | pathlib.Path,
        compute: str = "float32",
        tokenizer: str | pathlib.Path | None = None,
    ) -> None:
        self.count_tokens = token_counter(tokenizer)
        self.path = newest(path)
        self.description = read_description(self.path)
        self._model = open_model(self.path, self.description, computed_in(compute))

    def interrupt(self) -> None:
        """Ends what another thread computes, which fails; the model cannot be called again.

        A model that TensorFlow's Python has opened computes to the end.
        """
        self._model.interrupt()

    def inputs(self, signature: str) -> frozenset[str]:
        """The names of a signature's inputs.

        Args:
            signature: Name of the signature.

        Raises:
            MissingSignature: The model has no such signature.
        """
        require(
            signature in self._model.signatures,
            f"{self.path}: has no signature {signature}; an older tfsum exported it: export it"
            " again",
            MissingSignature,
        )
        return self._model.signatures[signature]

    def call(self, signature: str, inputs: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
        """Calls a signature.

        Args:
            signature: Name of the signature.
            inputs: Name -> array, or list of bytes.

        Returns:
            Name -> array.

        Raises:
            MissingSignature: The model has no such signature.
            CallError: The graph rejects the inputs, or fails.
        """
        self.inputs(signature)
        return self._model.call(signature, inputs)

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
        encoded = {name: [*map(as_bytes, column)] for name, column in columns.items()}
        sizes = [sum(map(len, row)) for row in zip(*encoded.values(), strict=True)]

        answers: dict[int, dict[str, np.ndarray]] = {}
        for rows in batches(sizes):
            texts = {name: [column[i] for i in rows] for name, column in encoded.items()}
            values = {name: filled(len(rows), value) for name, value in options.items()}
            answers |= zip(rows, rows_of(self.call(signature, {**texts, **values})))
        return [answers[i] for i in range(len(answers))]


def open_model(path: pathlib.Path, description: dict, compute: str = "float32") -> OpenedModel:
    """Opens an exported model in TensorFlow's C library, or in its Python where that cannot.

    Args:
        path: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json; empty for a model of another exporter.
        compute: Type to compute in, the result of `computed_in`.

    Returns:
        A `CSession`, an `OpenVinoModel` or an `EagerModel`.

    Raises:
        ExportError: The model is broken.
        Error: The model cannot be computed in this type here.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> model = open_model(shipped_model(), {"ops": "core"})
        >>> model.call("serving_default", {"text": [b"It rained."]})["count"].tolist()
        [1]
    """
    if can_open(description):
        if compute == "openvino":
            return OpenVinoModel(path, description)
        return CSession(path, description, compute)

    require(
        compute == "float32",
        f"{path}: cannot be computed in {compute} here, since that needs TensorFlow's C library and"
        " an export with ops='core'; take 'float32'",
    )
    return EagerModel(path, description)


class EagerModel:
    """An exported model in TensorFlow's Python: where there is no C library, and for the operations
    of TF Text.

    Args:
        folder: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json; empty for a model of another exporter.

    Attributes:
        signatures: Name of a signature -> the names of its inputs.

    Raises:
        ExportError: A file is broken or missing, an operation is not allowed, or the model needs
            the operations of TF Text and tensorflow-text is not installed.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> model = EagerModel(shipped_model(), {"ops": "core"})
        >>> model.call("serving_default", {"text": [b"It rained."]})["count"].tolist()
        [1]
    """

    def __init__(self, folder: pathlib.Path, description: dict) -> None:
        check_operations(folder, description.get("ops", "core") if description else None)
        load_tensorflow()
        import tensorflow as tf

        require(
            description.get("ops") != "text" or sys.modules.get("tensorflow_text"),
            f"{folder}: needs TF Text's operations; pip install tensorflow-text, or export with"
            ' ops="core"',
            ExportError,
        )

        try:
            self._model = tf.saved_model.load(str(folder))
        except (tf.errors.OpError, *UNREADABLE) as error:
            reason = str(error).partition("\n")[0]
            raise ExportError(f"{folder}: cannot be loaded ({reason}); {BROKEN}") from error

        self._folder = folder
        self.signatures = {
            name: frozenset(function.structured_input_signature[1])
            for name, function in self._model.signatures.items()
        }

    def call(self, signature: str, inputs: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
        import tensorflow as tf

        function = self._model.signatures[signature]
        specs = function.structured_input_signature[1]
        tensors = {k: tf.constant(v, specs[k].dtype) for k, v in inputs.items()}

        try:
            return {name: output.numpy() for name, output in function(**tensors).items()}
        except tf.errors.OpError as error:
            raise CallError(
                f"{self._folder}: {signature}", error.error_code, error.message
            ) from None

    def interrupt(self) -> None:
        """Does nothing: TensorFlow's Python has no way to end a call."""


def computed_in(compute: str) -> str:
    """The type to compute in on this machine.

    Args:
        compute: One of `COMPUTED`; "auto" is bfloat16 where the processor has instructions for it.

    Returns:
        The type, which is not "auto".

    Raises:
        Error: Another type, or the processor has no instructions for bfloat16.

    Example:
        >>> computed_in("float32")
        'float32'
    """
    require(compute in COMPUTED, f"compute is {compute!r}; expected one of {', '.join(COMPUTED)}")
    require(
        compute != "bfloat16" or has_bfloat16(),
        "compute is 'bfloat16', and this processor has no instructions for it (none of"
        f" {', '.join(sorted(INSTRUCTIONS))} in /proc/cpuinfo); take 'auto' or 'float32'",
    )
    if compute == "auto":
        return ("float32", "bfloat16")[has_bfloat16()]
    return compute


def has_bfloat16() -> bool:
    """Whether the processor multiplies in bfloat16, as far as Linux tells.

    Example:
        >>> has_bfloat16() in (True, False)
        True
    """
    file = pathlib.Path("/proc/cpuinfo")
    return file.is_file() and not INSTRUCTIONS.isdisjoint(file.read_text().split())
