"""Processes a batch in groups of rows, so that a large batch needs no more memory."""

from collections.abc import Callable, Sequence

import tensorflow as tf


def in_groups(
    function: Callable, rows: tf.Tensor, group: int, specs: Sequence[tf.TensorSpec]
) -> list[tf.Tensor]:
    """Applies a function to a few rows at a time and concatenates the results.

    Args:
        function: Function from rows (n,) to tensors (m, ...), one for each of `specs`.
        rows: int32 tensor (R,).
        group: Number of rows per group.
        specs: Specs of the tensors; dimension 0 is None, the others are known.

    Returns:
        A tensor for each of `specs`.

    Example:
        >>> (doubled,) = in_groups(
        ...     lambda rows: [2 * rows], tf.range(5), 2, [tf.TensorSpec([None], tf.int32)]
        ... )
        >>> doubled.numpy().tolist()
        [0, 2, 4, 6, 8]
    """
    groups = (tf.size(rows) + group - 1) // group
    parts = [
        tf.TensorArray(spec.dtype, groups, element_shape=spec.shape, infer_shape=False)
        for spec in specs
    ]

    def step(i: tf.Tensor, *parts: tf.TensorArray) -> tuple:
        values = function(rows[i * group : (i + 1) * group])
        return i + 1, *(part.write(i, value) for part, value in zip(parts, values, strict=True))

    _, *parts = tf.while_loop(lambda i, *_: i < groups, step, (0, *parts), parallel_iterations=1)
    return [
        tf.reshape(part.concat(), [-1, *spec.shape[1:]])
        for part, spec in zip(parts, specs, strict=True)
    ]
