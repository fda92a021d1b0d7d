"""Writing one position into a cache of keys or values: the one place of the layers where Keras does not do."""

import tensorflow as tf
from keras import ops


def write_position(cache, position, values):
    """Sets one position of a cache; in place, where nothing else still needs the cache as it was.

    TensorFlow by name, because Keras has no operation for it: `keras.ops.scatter_update` copies the whole cache for
    each token on a CPU (a tenth of the time of decoding at width 512), and `slice_update` is an operation of XLA alone,
    which an exported graph must do without.

    Args:
        cache: float tensor (B, H, L, K, D/H).
        position: int scalar, below L.
        values: float tensor (B, H, K, D/H).

    Returns:
        the cache with `values` at `position`, (B, H, L, K, D/H).
    """
    _, _, length, width, size = cache.shape
    # In three dimensions: the time of this operation is that of the indices that it computes for each number.
    updated = tf.raw_ops.TensorStridedSliceUpdate(
        input=ops.reshape(cache, (-1, length, width * size)), value=ops.reshape(values, (-1, 1, width * size)),
        begin=ops.stack([0, position]), end=ops.stack([0, position + 1]), strides=[1, 1],
        begin_mask=1, end_mask=1)  # of the first dimension all is meant
    return ops.reshape(updated, ops.shape(cache))
