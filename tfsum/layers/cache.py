"""The cache of a decoder: the keys or the values of the positions decoded so far."""

from typing import NamedTuple

from keras import ops

from tfsum.tensor import Tensor


class Cache(NamedTuple):
    """Keys or values of one attention layer, with room for all positions of K hypotheses per source.

    A named tuple, so that every backend treats it as a structure of tensors: it can be a loop variable.
    `write` returns a cache of the same class; a subclass may write in another way (`tfsum.tasks.abstractive.in_place`).

    Attributes:
        tensor: float tensor (B, H, L, K, D/H).

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import Cache
        >>> cache = Cache(ops.zeros((1, 1, 3, 1, 2)))
        >>> cache = cache.write(1, ops.ones((1, 1, 1, 2)))
        >>> ops.convert_to_numpy(cache.tensor)[0, 0, :, 0].tolist()
        [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """

    tensor: Tensor

    @property
    def shape(self) -> tuple:
        """Shape of the tensor, (B, H, L, K, D/H)."""
        return self.tensor.shape

    @property
    def dtype(self):
        """Data type of the tensor."""
        return self.tensor.dtype

    def write(self, position: Tensor, values: Tensor) -> "Cache":
        """Sets one position, on every backend and under XLA.

        On a CPU this copies the cache. (`keras.ops.slice_update` would be an XLA-only operation under TensorFlow.)

        Args:
            position: int scalar, below L.
            values: float tensor (B, H, K, D/H).

        Returns:
            the cache with this position set.
        """
        batch, heads, length, beams, size = ops.shape(self.tensor)
        rows = batch * heads
        places = ops.stack(
            [ops.arange(rows, dtype="int32"), ops.full((rows,), position, dtype="int32")], axis=1
        )
        written = ops.scatter_update(
            ops.reshape(self.tensor, (-1, length, beams * size)),
            places,
            ops.reshape(values, (-1, beams * size)),
        )
        return type(self)(ops.reshape(written, (batch, heads, length, beams, size)))
