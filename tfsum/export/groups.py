"""Rows of a batch processed in groups, so that a large batch needs no more memory than a small one."""

from collections.abc import Callable, Sequence

import tensorflow as tf


def in_groups(
    function: Callable, rows: tf.Tensor, group: int, specs: Sequence[tf.TensorSpec]
) -> list[tf.Tensor]:
    """Applies `function` to `group` of the `rows` at a time and concatenates the results.

    Args:
        function: takes rows (n,) and gives tensors (m, ...), one for each of `specs`.
        rows: (R,) int32.
        group: number of rows per group.
        specs: of the tensors; dimension 0 is None, the others are known.

    Returns:
        A tensor for each of `specs`.

    Example:
        >>> (doubled,) = in_groups(
        ...     lambda rows: [2 * rows], tf.range(5), 2, [tf.TensorSpec([None], tf.int32)]
        ... )
        >>> doubled.numpy().tolist()
        [0, 2, 4, 6, 8]
    """
    total = tf.size(rows)
    groups = (total + group - 1) // group
    parts = [
        tf.TensorArray(spec.dtype, groups, element_shape=spec.shape, infer_shape=False)
        for spec in specs
    ]

    def step(i: tf.Tensor, *parts: tf.TensorArray) -> tuple:
        given = function(rows[i * group : (i + 1) * group])
        return i + 1, *(part.write(i, value) for part, value in zip(parts, given, strict=True))

    _, *parts = tf.while_loop(lambda i, *_: i < groups, step, (0, *parts), parallel_iterations=1)
    return [
        tf.reshape(part.concat(), [-1, *spec.shape[1:]])
        for part, spec in zip(parts, specs, strict=True)
    ]
