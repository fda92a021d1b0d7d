"""The weights of a model as an export stores them, and the model called on the stored weights.

A Keras model attached to the exported module is stored twice and fails in sessions, so the module holds plain
variables of its own, and the model is called functionally (`keras.StatelessScope`) on tensors read from them.
"""

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfsum.errors import ExportError
from tfsum.formats.int8_rows import quantize_rows

STORAGES = (
    "float32",
    "float16",
    "small",
)  # small: float16, and the rows of embeddings int8 with a scale each
WORD_EMBEDDING = "bert/word_embeddings/embeddings"
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
POOLER = "bert/pooler/"  # the vector of a whole text: used by classifiers, not by sentence heads


class StoredWeights(tf.Module):
    """Each weight that a model reads, stored once, by the name of its variable.

    Args:
        model: a built model; the word embedding of one with a `bert`, such as a `BertSumExt`, is replaced.
        storage: "float32", "float16", or "small", which also rounds the rows of embeddings to int8.
        tables: the paths of the embeddings that are read whole, such as one that is the output projection too;
            paths that the model lacks are ignored.
        pooler: whether the model uses the encoder's pooler; False does not store it.

    Raises:
        ExportError: an unknown storage, or weights that are not finite in it.

    Example:
        >>> import tfsum
        >>> model = tfsum.Transformer(
        ...     20,
        ...     20,
        ...     num_encoder_layers=1,
        ...     num_decoder_layers=1,
        ...     d_model=8,
        ...     num_heads=2,
        ...     feed_forward_width=16,
        ...     start_id=1,
        ...     end_id=2,
        ... )
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
        if storage not in STORAGES:
            raise ExportError(f"storage is {storage!r}; known are {', '.join(STORAGES)}")
        used = {
            _path(v, model): v
            for v in model.variables
            if not v.path.endswith("seed_generator_state")
        }
        used = {path: v for path, v in used.items() if pooler or not path.startswith(POOLER)}
        looked_up = used.pop(WORD_EMBEDDING, None)
        dtype = tf.float32 if storage == "float32" else tf.float16
        rounded = {
            path: _rounded(path, used[path].numpy())
            for path in tables
            if path in used and storage == "small"
        }
        others = {
            path: _variable(path, v.numpy(), dtype)
            for path, v in used.items()
            if path not in rounded
        }
        self.stored = {**others, **{path: rows for path, (rows, _) in rounded.items()}}
        self.scales = {path: scales for path, (_, scales) in rounded.items()}
        if looked_up is not None:
            table = looked_up.numpy()
            if storage == "small":
                self.word_rows, self.word_scales = _rounded(WORD_EMBEDDING, table)
            else:
                self.word_rows, self.word_scales = _variable(WORD_EMBEDDING, table, dtype), None
            # The layer itself would pull the whole float32 table into the graph.
            model.bert.word_embeddings = self._word_vectors
        self._reach = lambda: (model, list(used.items()))  # in a closure, where no tracking sees it

    def table(self) -> dict[str, list]:
        """The stored weights: name -> [dtype, shape]."""
        return {v.name.partition(":")[0]: [v.dtype.name, v.shape.as_list()] for v in self.variables}

    def _word_vectors(self, token_ids: tf.Tensor) -> tf.Tensor:
        rows = tf.cast(tf.gather(self.word_rows, token_ids), tf.float32)
        if self.word_scales is None:
            return rows
        return rows * tf.gather(self.word_scales, token_ids)[..., tf.newaxis]

    def read(self) -> dict[str, tf.Tensor]:
        """All weights except lookup tables as float32 tensors: call once per request, before its loops."""
        values = {path: tf.cast(variable, tf.float32) for path, variable in self.stored.items()}
        return values | {
            path: values[path] * scales[:, tf.newaxis] for path, scales in self.scales.items()
        }

    @contextlib.contextmanager
    def model(self, values: dict[str, tf.Tensor]) -> Iterator[Any]:
        """Context manager with the model on the `values` of `read`."""
        model, used = self._reach()
        with keras.StatelessScope(
            state_mapping=[(variable, values[path]) for path, variable in used]
        ):
            yield model


def load_stored(model: keras.Model, folder: str | pathlib.Path) -> None:
    """Gives a model the weights of an export, the inverse of `StoredWeights`; what the export lacks stays.

    Args:
        model: a built model of the export's configuration.
        folder: the SavedModel, `.../NAME/VERSION`.

    Raises:
        ExportError: the export holds no weights as tfsum stores them.

    Example:
        >>> load_stored(model, "saved_models/bert_sum_ext_news_en/1")  # doctest: +SKIP
    """
    reader = tf.train.load_checkpoint(str(pathlib.Path(folder) / "variables" / "variables"))
    stored = {
        name.removesuffix(_VALUE).removeprefix("weights/"): name
        for name in reader.get_variable_to_shape_map()
    }
    found = 0
    for variable in model.variables:
        path = _path(variable, model)
        escaped = path.replace("/", ".S")
        if (rows := "word_rows" if path == WORD_EMBEDDING else f"stored/{escaped}") not in stored:
            continue
        value = reader.get_tensor(stored[rows]).astype(np.float32)
        scales = stored.get("word_scales" if path == WORD_EMBEDDING else f"scales/{escaped}")
        variable.assign(value if scales is None else value * reader.get_tensor(scales)[:, None])
        found += 1
    if not found:
        raise ExportError(
            f"{folder}: holds no weights as tfsum stores them; expected an export of tfsum"
        )


def _path(variable: keras.Variable, model: keras.Model) -> str:
    parts = variable.path.split("/")
    return "/".join(parts[parts.index(model.name) + 1 :] if model.name in parts else parts)


def _finite(name: str, value: np.ndarray) -> np.ndarray:
    wrong = int(value.size - np.isfinite(value).sum())
    if wrong:
        raise ExportError(
            f"{name}: {wrong} of {value.size} values are infinite or not a number; train again, or "
            "store it as float32 if they are only too large for float16"
        )
    return value


def _rounded(name: str, value: np.ndarray) -> tuple[tf.Variable, tf.Variable]:
    """The int8 rows of a table and their scales."""
    rows, scales = quantize_rows(_finite(name, value))
    return tf.Variable(rows, trainable=False, name=name), tf.Variable(
        scales, trainable=False, name=f"{name}_scale"
    )


def _variable(name: str, value: np.ndarray, dtype: tf.DType) -> tf.Variable:
    with np.errstate(over="ignore"):
        narrow = value.astype(dtype.as_numpy_dtype)
    return tf.Variable(_finite(name, narrow), trainable=False, name=name)
