"""Writing the keys or the values of one position into a cache."""

from keras import ops


def write_position(cache, position, values):
    """Gives a cache with one position set, on every backend and under XLA.

    On a CPU this copies the cache; `tfsum.tasks.abstractive.in_place` does it without, in graphs of
    TensorFlow that XLA never compiles. (`keras.ops.slice_update` would be an operation of XLA alone.)

    Args:
        cache: float tensor (B, H, L, K, D/H).
        position: int scalar, below L.
        values: float tensor (B, H, K, D/H).

    Returns:
        float tensor (B, H, L, K, D/H).
    """
    batch, heads, length, width, size = ops.shape(cache)
    rows = batch * heads
    places = ops.stack([ops.arange(rows, dtype="int32"), ops.full((rows,), position, dtype="int32")], axis=1)
    written = ops.scatter_update(ops.reshape(cache, (-1, length, width * size)), places,
                                 ops.reshape(values, (-1, width * size)))
    return ops.reshape(written, (batch, heads, length, width, size))
