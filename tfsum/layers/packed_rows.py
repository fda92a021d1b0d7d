"""The real positions of a padded batch, one behind another.

All that a Transformer computes at single positions, which is most of it, need not be computed at
padding; and attention that takes one row at a time keeps its scores in the processor's cache.
Other programs call it removing the padding, or attention of variable length.
"""

from collections.abc import Callable

import keras
from keras import ops

from tfsum.private_names import check_private_names
from tfsum.tensor import Tensor

# Rows keep padding up to a multiple of this: oneDNN compiles code for each shape of a product and
# keeps it, 0.4 GB for products of all lengths up to 512.
MULTIPLE = 16


class PackedRows:
    """The positions of a batch (B, T) up to the last visible one of each row, N in all.

    Args:
        key_mask: Bool tensor (B, T), True at the positions that all may see.

    Example:
        >>> from keras import ops
        >>> rows = PackedRows(ops.reshape(ops.arange(60), (2, 30)) < 31)  # 30 and 1 are visible
        >>> packed = rows.pack(ops.ones((2, 30, 8)))
        >>> tuple(packed.shape), tuple(rows.unpack(packed).shape)
        ((46, 8), (2, 30, 8))
    """

    def __init__(self, key_mask: Tensor):
        self._batch, self._length = ops.shape(key_mask)
        position = ops.arange(self._length, dtype="int32")
        last = ops.max(ops.where(key_mask, position, 0), axis=1)  # (B,)
        kept = ops.minimum((last // MULTIPLE + 1) * MULTIPLE, self._length)

        self._ends = ops.cumsum(kept)
        self._begins = self._ends - kept
        self._places = ops.where(ops.reshape(position < kept[:, None], (-1,)))[0]  # (N,)
        self._visible = ops.take(ops.reshape(key_mask, (-1,)), self._places)

    def pack(self, x: Tensor) -> Tensor:
        """Takes the positions: (B, T, D) -> (N, D)."""
        return ops.take(ops.reshape(x, (-1, x.shape[-1])), self._places, axis=0)

    def unpack(self, x: Tensor) -> Tensor:
        """Puts them back, with 0 elsewhere: (N, D) -> (B, T, D)."""
        width = x.shape[-1]
        rows = ops.scatter(self._places[:, None], x, (self._batch * self._length, width))
        return ops.reshape(rows, (self._batch, self._length, width))

    def attend(self, attend: Callable, *inputs: Tensor) -> Tensor:
        """Applies attention to one row after another.

        Args:
            attend: Function from the row of each input (t, D), and which of its positions are
                visible, bool (t,), to (t, D).
            *inputs: Tensors (N, D).

        Returns:
            Tensor (N, D) of the inputs' type.
        """
        import tensorflow as tf

        rows = tf.size(self._ends)
        contexts = tf.TensorArray(
            inputs[0].dtype, rows, element_shape=[None, inputs[0].shape[-1]], infer_shape=False
        )

        def step(i: Tensor, contexts: tf.TensorArray) -> tuple[Tensor, tf.TensorArray]:
            begin, end = self._begins[i], self._ends[i]
            row = attend(*(x[begin:end] for x in inputs), self._visible[begin:end])
            return i + 1, contexts.write(i, row)

        _, contexts = tf.while_loop(lambda i, _: i < rows, step, (0, contexts))
        return tf.reshape(contexts.concat(), [-1, inputs[0].shape[-1]])


def can_pack() -> bool:
    """Whether rows can be packed here: in a graph of TensorFlow that XLA does not compile.

    XLA needs shapes that do not depend on values, and a loop of Python over the rows would be slow.

    Example:
        >>> can_pack()
        False
    """
    if keras.backend.backend() != "tensorflow":
        return False

    import tensorflow as tf
    from tensorflow.python.ops import control_flow_util

    if tf.executing_eagerly():
        return False
    check_private_names("tensorflow", control_flow_util, "GraphOrParentsInXlaContext")
    graph = tf.compat.v1.get_default_graph()
    return not control_flow_util.GraphOrParentsInXlaContext(graph)
