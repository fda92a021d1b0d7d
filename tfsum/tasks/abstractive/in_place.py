"""A Transformer whose steps write into their caches in place, for exported graphs."""

import tensorflow as tf

from tfsum.layers import Cache


class InPlaceCache(Cache):
    """A cache that is written in place, for exported graphs of TensorFlow only.

    TensorFlow's scatter, which `Cache.write` uses, copies its input on a CPU. The operation used here does not, and
    it does not compile under XLA.
    """

    def write(self, position, values):
        """Sets one position, in place where nothing else needs the cache as it was; see `Cache.write`."""
        _, _, length, beams, size = self.tensor.shape
        # In three dimensions: the time of this operation is spent on the indices that it computes for each number.
        written = tf.raw_ops.TensorStridedSliceUpdate(
            input=tf.reshape(self.tensor, [-1, length, beams * size]), value=tf.reshape(values, [-1, 1, beams * size]),
            begin=[0, position], end=[0, position + 1], strides=[1, 1], begin_mask=1, end_mask=1)  # all of dimension 0
        return type(self)(tf.reshape(written, [-1, *self.tensor.shape[1:]]))


class InPlace:
    """What a strategy needs of a Transformer (see `Strategy`), with caches of class `InPlaceCache`.

    Args:
        model: a `Transformer`.
    """

    def __init__(self, model):
        self._model, self.start_id, self.end_id, self.step = model, model.start_id, model.end_id, model.step

    def start(self, source_ids, max_length, num_beams):
        """See `Transformer.start`."""
        state = self._model.start(source_ids, max_length, num_beams)
        layers = {layer: {name: InPlaceCache(*part) if isinstance(part, Cache) else part
                          for name, part in parts.items()} for layer, parts in state["layers"].items()}
        return {**state, "layers": layers}
