"""The real positions of a padded batch, one behind another.

All that a Transformer computes at single positions, which is most of it, need not be computed at
padding; and attention that takes one row at a time keeps its scores in the processor's cache.
Other programs call it removing the padding, or attention of variable length. The exported graph
does it; in training the gradient of a loop would cost more than the little padding of its batches.
"""

import math
from collections.abc import Callable

import tensorflow as tf

# Rows keep padding up to a multiple of this: oneDNN compiles code for each shape of a product and
# keeps it, 0.4 GB for products of all lengths up to 512.
MULTIPLE = 16


class PackedRows:
    """The positions of a batch (B, T) up to the last visible one of each row, N in all.

    Args:
        key_mask: Bool tensor (B, T), True at the positions that all may see.

    Attributes:
        visible: Which of the N positions are real, bool (N,).

    Example:
        >>> rows = PackedRows(tf.sequence_mask([30, 1], 30))
        >>> packed = rows.pack(tf.ones([2, 30, 8]))
        >>> tuple(packed.shape), tuple(rows.unpack(packed).shape)
        ((46, 8), (2, 30, 8))
    """

    def __init__(self, key_mask: tf.Tensor) -> None:
        self._shape = tf.shape(key_mask)
        length = self._shape[1]
        position = tf.range(length)
        last = tf.reduce_max(tf.where(key_mask, position, 0), axis=1)  # (B,)
        kept = tf.minimum((last // MULTIPLE + 1) * MULTIPLE, length)

        self._ends = tf.cumsum(kept)
        self._begins = self._ends - kept
        self._places = tf.where(tf.reshape(position < kept[:, tf.newaxis], [-1]))[:, 0]  # (N,)
        self.visible = tf.gather(tf.reshape(key_mask, [-1]), self._places)

    def pack(self, x: tf.Tensor) -> tf.Tensor:
        """Takes the positions: (B, T, D) -> (N, D)."""
        return tf.gather(tf.reshape(x, [-1, x.shape[-1]]), self._places)

    def unpack(self, x: tf.Tensor) -> tf.Tensor:
        """Puts them back, with 0 elsewhere: (N, D) -> (B, T, D)."""
        width = x.shape[-1]
        size = tf.reduce_prod(tf.cast(self._shape, tf.int64))
        rows = tf.scatter_nd(self._places[:, tf.newaxis], x, [size, width])
        return tf.reshape(rows, [self._shape[0], self._shape[1], width])

    def attend(self, attend: Callable, *inputs: tf.Tensor) -> tf.Tensor:
        """Applies attention to one row after another.

        Args:
            attend: Function from the row of each input (t, ...) to (t, D).
            *inputs: Tensors (N, ...), the values last, which have D numbers for each position.

        Returns:
            Tensor (N, D) of the inputs' type.
        """
        values = inputs[-1]
        rows, width = tf.size(self._ends), math.prod(values.shape[1:])
        contexts = tf.TensorArray(
            values.dtype, rows, element_shape=[None, width], infer_shape=False
        )

        def step(i: tf.Tensor, contexts: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            begin, end = self._begins[i], self._ends[i]
            return i + 1, contexts.write(i, attend(*(x[begin:end] for x in inputs)))

        _, contexts = tf.while_loop(lambda i, _: i < rows, step, (0, contexts))
        return tf.reshape(contexts.concat(), [-1, width])
