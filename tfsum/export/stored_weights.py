"""Stores the weights of a model in an export, and calls the model on the stored weights.

A Keras model attached to the exported module would be stored twice and fail in sessions. Therefore
the module holds plain variables, and the model is called functionally (`keras.StatelessScope`) on
tensors that are read from them.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfsum.errors import ExportError, require
from tfsum.export.packed_rows import PackedRows
from tfsum.formats.int8_rows import quantize_rows
from tfsum.formats.weight_names import variables_by_path

# small has embeddings as int8 rows
STORAGES = {"float32": np.float32, "float16": np.float16, "small": np.float16}
WORD_EMBEDDING = "bert/word_embeddings/embeddings"
POOLER = "bert/pooler/"  # used by classifiers, not by sentence heads


class StoredWeights(tf.Module):
    """The weights of a model, each stored once under the name of its variable.

    Args:
        model: Built model, which stays as it is.
        storage: "float32", "float16", or "small", which also rounds the rows of embeddings to int8.
        tables: Paths of embeddings that are read whole, such as one that is also the output
            projection; paths that the model lacks are ignored.
        pooler: Whether to store the encoder's pooler.

    Raises:
        ExportError: The storage is unknown, or weights are not finite in it.

    Example:
        >>> import tfsum
        >>> model = tfsum.BertClassifier(tfsum.Bert(10, 8, 1, 2, 16), ["no", "yes"])
        >>> model.build()
        >>> weights = StoredWeights(model, "float16")
        >>> sorted({dtype for dtype, shape in weights.table().values()})
        ['float16']
    """

    def __init__(
        self,
        model: keras.Model,
        storage: str = "float32",
        tables: Sequence[str] = (),
        pooler: bool = True,
    ) -> None:
        super().__init__(name="weights")
        require(
            storage in STORAGES,
            f"storage is {storage!r}; known are {', '.join(STORAGES)}",
            ExportError,
        )
        used = {
            path: variable
            for path, variable in variables_by_path(model).items()
            if pooler or not path.startswith(POOLER)
        }
        rounded = {WORD_EMBEDDING, *tables}  # where the storage is small

        stored: dict[str, tf.Variable] = {}
        scales: dict[str, tf.Variable] = {}
        for path, variable in used.items():
            value = variable.numpy()
            if storage == "small" and path in rounded:
                value, scale = quantize_rows(_finite(path, value))
                scales[path] = tf.Variable(scale, trainable=False, name=f"{path}_scale")
            else:
                with np.errstate(over="ignore"):
                    value = _finite(path, value.astype(STORAGES[storage]))
            stored[path] = tf.Variable(value, trainable=False, name=path)

        used.pop(WORD_EMBEDDING, None)
        self.word_rows = stored.pop(WORD_EMBEDDING, None)
        self.word_scales = scales.pop(WORD_EMBEDDING, None)
        self.stored, self.scales = stored, scales
        # in a closure, where TensorFlow does not track them
        self._model_and_variables = lambda: (model, list(used.items()))

    def table(self) -> dict[str, list]:
        """Pairs [dtype, shape] of the stored weights by name."""
        return {v.name.partition(":")[0]: [v.dtype.name, v.shape.as_list()] for v in self.variables}

    def _word_vectors(self, token_ids: tf.Tensor) -> tf.Tensor:
        rows = tf.cast(tf.gather(self.word_rows, token_ids), tf.float32)
        if self.word_scales is None:
            return rows
        return rows * tf.gather(self.word_scales, token_ids)[..., tf.newaxis]

    def read(self, *parts: str) -> dict[str, tf.Tensor]:
        """Reads weights, but the word embedding, as float32 tensors by path.

        Call it outside of loops.

        Args:
            *parts: Beginnings of paths, such as "bert/"; all weights by default.
        """
        values = {
            path: tf.cast(variable, tf.float32)
            for path, variable in self.stored.items()
            if path.startswith(parts or "")
        }
        for path, scale in self.scales.items():
            if path in values:
                values[path] *= scale[:, tf.newaxis]
        return values

    @contextlib.contextmanager
    def model(self, values: dict[str, tf.Tensor]) -> Iterator[Any]:
        """Context manager of the model with the `values` of `read` as its weights.

        In it the encoders leave out padding, and the word embedding reads only the rows it needs;
        the layer itself would read the whole float32 table.
        """
        model, variables = self._model_and_variables()
        mapping = [(variable, values[path]) for path, variable in variables if path in values]
        with contextlib.ExitStack() as changes:
            for part in (getattr(model, "bert", model), getattr(model, "head", None)):
                if encoder := getattr(part, "encoder", None):
                    changes.enter_context(_replaced(encoder, "packing", PackedRows))
            if self.word_rows is not None:
                changes.enter_context(_replaced(model.bert, "word_embeddings", self._word_vectors))
            changes.enter_context(keras.StatelessScope(state_mapping=mapping))
            yield model


@contextlib.contextmanager
def _replaced(layer: keras.Layer, name: str, value: object) -> Iterator[None]:
    """Context manager in which an attribute of a layer is another, unknown to Keras."""
    before = getattr(layer, name)
    object.__setattr__(layer, name, value)
    try:
        yield
    finally:
        object.__setattr__(layer, name, before)


def _finite(name: str, value: np.ndarray) -> np.ndarray:
    wrong = int(value.size - np.isfinite(value).sum())
    require(
        not wrong,
        f"{name}: {wrong} of {value.size} values are infinite or not a number; train again, or "
        "store it as float32 if they are only too large for float16",
        ExportError,
    )
    return value
