"""A Transformer whose steps write into their caches in place, for exported graphs."""

from typing import Any

import tensorflow as tf

from tfsum.layers import Cache
from tfsum.models import Transformer


class InPlaceCache(Cache):
    """A cache that is written in place, for exported graphs of TensorFlow only.

    TensorFlow's scatter, which `Cache.write` uses, copies its input on a CPU. The operation used here does not, and
    it does not compile under XLA.

    Example:
        >>> cache = InPlaceCache(tf.zeros((1, 1, 3, 1, 1))).write(1, tf.ones((1, 1, 1, 1, 1)))
        >>> tf.reshape(cache.tensor, [-1]).numpy().tolist()
        [0.0, 1.0, 0.0]
    """

    def write(self, position: tf.Tensor, values: tf.Tensor) -> Cache:
        """Sets one position, in place unless something else needs the old cache; see `Cache.write`."""
        _, _, length, beams, size = self.tensor.shape
        # In three dimensions: the time of this operation is spent on the indices that it computes for each number.
        written = tf.raw_ops.TensorStridedSliceUpdate(
            input=tf.reshape(self.tensor, [-1, length, beams * size]),
            value=tf.reshape(values, [-1, 1, beams * size]),
            begin=[0, position],
            end=[0, position + 1],
            strides=[1, 1],
            begin_mask=1,
            end_mask=1,
        )  # all of dimension 0
        return type(self)(tf.reshape(written, [-1, *self.tensor.shape[1:]]))


class InPlace:
    """What a strategy needs of a Transformer (see `Strategy`), with caches of class `InPlaceCache`.

    Args:
        model: a `Transformer`.

    Example:
        >>> import tfsum
        >>> from tfsum.decoding import Greedy
        >>> model = tfsum.Transformer(
        ...     9,
        ...     9,
        ...     num_encoder_layers=1,
        ...     num_decoder_layers=1,
        ...     d_model=8,
        ...     num_heads=2,
        ...     feed_forward_width=16,
        ...     start_id=2,
        ...     end_id=3,
        ... )
        >>> ids, *_ = Greedy()(InPlace(model), tf.constant([[2, 5, 3]]), 4)
        >>> tuple(ids.shape)
        (1, 1, 4)
    """

    def __init__(self, model: Transformer) -> None:
        self._model, self.start_id, self.end_id, self.step = (
            model,
            model.start_id,
            model.end_id,
            model.step,
        )

    def start(self, source_ids: tf.Tensor, max_length: int, num_beams: int) -> dict[str, Any]:
        """See `Transformer.start`."""
        state = self._model.start(source_ids, max_length, num_beams)
        layers = {
            layer: {
                name: InPlaceCache(*part) if isinstance(part, Cache) else part
                for name, part in parts.items()
            }
            for layer, parts in state["layers"].items()
        }
        return {**state, "layers": layers}
