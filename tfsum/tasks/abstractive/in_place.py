"""A Transformer whose steps write into their caches in place, for exported graphs."""

import tensorflow as tf

from tfsum.models import Transformer


class InPlace:
    """A Transformer as a `Strategy` needs it, without a copy of the caches at each token.

    TensorFlow's scatter, which `write_position` becomes, copies its input on a CPU. The operation used here does not
    compile under XLA, so it is for exported graphs only.

    Args:
        model: a `Transformer`.

    Example:
        >>> import tfsum
        >>> from tfsum.decoding import Greedy
        >>> model = tfsum.Transformer(9, 9, num_encoder_layers=1, num_decoder_layers=1, d_model=8, num_heads=2,
        ...                           feed_forward_width=16, start_id=2, end_id=3)
        >>> ids, *_ = Greedy()(InPlace(model), tf.constant([[2, 5, 3]]), 4)
        >>> tuple(ids.shape)
        (1, 1, 4)
    """

    def __init__(self, model: Transformer) -> None:
        self._model, self.start_id, self.end_id, self.start = model, model.start_id, model.end_id, model.start

    def step(self, token_ids: tf.Tensor, position: tf.Tensor, state: dict) -> tuple[tf.Tensor, dict]:
        """See `Transformer.step`."""
        return self._model.step(token_ids, position, state, write=write_position_in_place)


def write_position_in_place(cache: tf.Tensor, position: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Returns a cache with one position set, in place unless something else needs its old value.

    Args, returns: those of `tfsum.layers.write_position`.

    Example:
        >>> cache = write_position_in_place(tf.zeros((1, 1, 3, 1, 1)), 1, tf.ones((1, 1, 1, 1, 1)))
        >>> tf.reshape(cache, [-1]).numpy().tolist()
        [0.0, 1.0, 0.0]
    """
    _, _, length, width, size = cache.shape
    # In three dimensions: the time of this operation goes into the indices that it computes for each number.
    written = tf.raw_ops.TensorStridedSliceUpdate(
        input=tf.reshape(cache, [-1, length, width * size]), value=tf.reshape(values, [-1, 1, width * size]),
        begin=[0, position], end=[0, position + 1], strides=[1, 1], begin_mask=1, end_mask=1)  # all of dimension 0
    return tf.reshape(written, [-1, *cache.shape[1:]])
