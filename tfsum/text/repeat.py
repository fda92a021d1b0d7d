"""`tf.repeat` in memory that grows with its result.

TensorFlow's own (and `RaggedTensor.value_rowids`, which uses it) makes a mask of (values, largest
count) first: one document of a million characters beside 100,000 short ones would ask for 100 GB.
"""

import tensorflow as tf


def repeat(values: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Repeats values.

    Args:
        values: Values, (N, ...).
        counts: Number of times that each is repeated, (N,) integers.

    Returns:
        (sum of counts, ...) of the type of `values`.

    Example:
        >>> repeat(tf.constant([7, 8]), tf.constant([2, 1])).numpy().tolist()
        [7, 7, 8]
    """
    ends = tf.cumsum(counts)
    return tf.gather(values, tf.searchsorted(ends, tf.range(tf.reduce_sum(counts)), side="right"))


def row_ids(ragged: tf.RaggedTensor) -> tf.Tensor:
    """Returns the row of each value of a ragged tensor, int64, as `value_rowids` does.

    Args:
        ragged: Ragged tensor (N, P) with M values in all.

    Returns:
        (M,) int64.

    Example:
        >>> row_ids(tf.ragged.constant([[7, 8], [], [9]])).numpy().tolist()
        [0, 0, 2]
    """
    splits = tf.cast(ragged.row_splits, tf.int64)
    return tf.searchsorted(splits[1:], tf.range(splits[-1]), side="right", out_type=tf.int64)


def rows_and_places(counts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Row, and place in the row, of each value of ragged rows.

    Args:
        counts: Values of each row, (N,) integers that sum to M.

    Returns:
        (M,) each, of the type of `counts`.

    Example:
        >>> [array.numpy().tolist() for array in rows_and_places(tf.constant([2, 0, 1]))]
        [[0, 0, 2], [0, 1, 0]]
    """
    rows = repeat(tf.range(tf.size(counts, counts.dtype)), counts)
    starts = tf.cumsum(counts, exclusive=True)
    return rows, tf.range(tf.size(rows, counts.dtype)) - tf.gather(starts, rows)


def place_in_run(begins: tf.Tensor) -> tf.Tensor:
    """How far each value is from the one that begins its run.

    Args:
        begins: Whether a value begins a run, bool (N,); the first one always does.

    Returns:
        int32 (N,).

    Example:
        >>> place_in_run(tf.constant([True, False, False, True])).numpy().tolist()
        [0, 1, 2, 0]
    """
    place = tf.range(tf.size(begins))
    starts = tf.concat([[0], tf.boolean_mask(place, begins)], 0)
    return place - tf.gather(starts, tf.cumsum(tf.cast(begins, tf.int32)))
