"""Values that belong to rows: sentences to documents, words to sentences, equal words to one."""

from typing import NamedTuple

import tensorflow as tf


class Rows(NamedTuple):
    """The row of each of N values; the values of a row need not lie side by side.

    Attributes:
        owner: Row of each value, (N,) integers.
        count: Number R of rows, an integer.

    Example:
        >>> rows = Rows(tf.constant([0, 0, 2]), tf.constant(3))
        >>> rows.sum(tf.constant([5, 6, 7])).numpy().tolist()
        [11, 0, 7]
    """

    owner: tf.Tensor
    count: tf.Tensor

    @classmethod
    def of(cls, ragged: tf.RaggedTensor) -> "Rows":
        """The rows of a ragged tensor (R, P) with N values in all.

        Example:
            >>> Rows.of(tf.ragged.constant([[7, 8], [], [9]])).owner.numpy().tolist()
            [0, 0, 2]
        """
        # not `value_rowids`, which makes the mask that `repeat` avoids
        splits = tf.cast(ragged.row_splits, tf.int64)
        owner = tf.searchsorted(splits[1:], tf.range(splits[-1]), "right", tf.int64)
        return cls(owner, ragged.nrows(tf.int64))

    @classmethod
    def of_equal(cls, keys: tf.Tensor) -> tuple[tf.Tensor, "Rows"]:
        """The different keys (R,) in the order of their first one, and the rows of keys (N,).

        Example:
            >>> different, rows = Rows.of_equal(tf.constant([4, 4, 9]))
            >>> different.numpy().tolist(), rows.owner.numpy().tolist()
            ([4, 9], [0, 0, 1])
        """
        different, owner = tf.unique(keys, tf.int64)
        return different, cls(owner, tf.size(different, tf.int64))

    def at(self, places: tf.Tensor) -> "Rows":
        """The rows of some of the values (M,).

        Example:
            >>> Rows(tf.constant([0, 0, 2]), 3).at(tf.constant([2, 0])).owner.numpy().tolist()
            [2, 0]
        """
        return Rows(tf.gather(self.owner, places), self.count)

    def copied(self, times: tf.Tensor) -> "Rows":
        """The rows of so many copies of the values, each of which has rows of its own.

        Example:
            >>> Rows(tf.constant([0, 1]), 2).copied(tf.constant(2)).owner.numpy().tolist()
            [0, 1, 2, 3]
        """
        times = tf.cast(times, self.owner.dtype)
        first = self.count * tf.range(times)[:, tf.newaxis]
        return Rows(tf.reshape(first + self.owner, [-1]), self.count * times)

    def sum(self, values: tf.Tensor) -> tf.Tensor:
        """The sum of each row: (N, ...) -> (R, ...).

        Example:
            >>> Rows(tf.constant([0, 0]), 2).sum(tf.constant([1.0, 2.0])).numpy().tolist()
            [3.0, 0.0]
        """
        return tf.math.unsorted_segment_sum(values, self.owner, self.count)

    def max(self, values: tf.Tensor) -> tf.Tensor:
        """The largest of each row, the lowest number where it has none: (N, ...) -> (R, ...).

        Example:
            >>> Rows(tf.constant([0, 0]), 1).max(tf.constant([1.0, 2.0])).numpy().tolist()
            [2.0]
        """
        return tf.math.unsorted_segment_max(values, self.owner, self.count)

    def count_of(self, flags: tf.Tensor) -> tf.Tensor:
        """How many values of each row have a flag: (N,) -> float32 (R,).

        Example:
            >>> Rows(tf.constant([0, 0, 1]), 2).count_of([True, True, False]).numpy().tolist()
            [2.0, 0.0]
        """
        return self.sum(tf.cast(flags, tf.float32))

    def sizes(self) -> tf.Tensor:
        """How many values each row has, float32 (R,).

        Example:
            >>> Rows(tf.constant([0, 0, 2]), 3).sizes().numpy().tolist()
            [2.0, 0.0, 1.0]
        """
        return self.sum(tf.ones_like(self.owner, tf.float32))

    def any(self, flags: tf.Tensor) -> tf.Tensor:
        """Whether a value of each row has a flag: (N,) -> bool (R,).

        Example:
            >>> Rows(tf.constant([0, 0, 1]), 2).any([False, True, False]).numpy().tolist()
            [True, False]
        """
        return self.max(tf.cast(flags, tf.int32)) > 0

    def to_values(self, of_rows: tf.Tensor) -> tf.Tensor:
        """What is said of each row, for each of its values: (R, ...) -> (N, ...).

        Example:
            >>> Rows(tf.constant([0, 0, 1]), 2).to_values(tf.constant([5, 6])).numpy().tolist()
            [5, 5, 6]
        """
        return tf.gather(of_rows, self.owner)

    def ragged(self, values: tf.Tensor) -> tf.RaggedTensor:
        """The values of each row, for values (N, ...) that stand row by row: (R, P, ...).

        Example:
            >>> Rows(tf.constant([0, 0, 2]), 3).ragged(tf.constant([7, 8, 9])).to_list()
            [[7, 8], [], [9]]
        """
        lengths = self.sum(tf.ones_like(self.owner, tf.int64))
        return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)

    def places(self) -> tf.Tensor:
        """The numbers of the values, int64 (N,).

        Example:
            >>> Rows(tf.constant([0, 0]), 1).places().numpy().tolist()
            [0, 1]
        """
        return tf.range(tf.size(self.owner, tf.int64))

    def first(self, flags: tf.Tensor | bool = True) -> tf.Tensor:
        """The number of the first value of each row that has a flag, N where none has.

        Args:
            flags: Bool (N,); True for all.

        Returns:
            int64 (R,).

        Example:
            >>> Rows(tf.constant([0, 1, 1]), 2).first([False, False, True]).numpy().tolist()
            [3, 2]
        """
        places, size = self.places(), tf.size(self.owner, tf.int64)
        from_end = self.max(tf.where(flags, size - places, 0))
        return size - tf.maximum(from_end, 0)

    def is_best(self, values: tf.Tensor) -> tf.Tensor:
        """Marks the largest value of each row, the first of equal ones: (N,) -> bool (N,).

        Example:
            >>> Rows(tf.constant([0, 0, 0]), 1).is_best(tf.constant([1, 2, 2])).numpy().tolist()
            [False, True, False]
        """
        largest = values == self.to_values(self.max(values))
        return self.places() == self.to_values(self.first(largest))

    def best_first(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The numbers of the values (N,), row by row the largest first, of equal ones the earlier;
        and the place of each of these in its row. The values of a row stand together.

        Example:
            >>> order, place = Rows(tf.constant([0, 0, 1]), 2).best_first(tf.constant([1, 2, 3]))
            >>> order.numpy().tolist(), place.numpy().tolist()
            ([1, 0, 2], [0, 1, 0])
        """
        order = tf.argsort(values, direction="DESCENDING", stable=True)
        order = tf.gather(order, tf.argsort(self.at(order).owner, stable=True))
        return order, self.places() - self.to_values(self.first())

    def continues(self) -> tf.Tensor:
        """Whether the value before is of the same row: bool (N,).

        Example:
            >>> Rows(tf.constant([0, 0, 1]), 2).continues().numpy().tolist()
            [False, True, False]
        """
        return self.owner == before(self.owner, -1)

    def sums_before(self, values: tf.Tensor) -> tf.Tensor:
        """The sum of the values before each in its row: (N,) -> (N,).

        Args:
            values: Numbers from 0 on, row by row.

        Example:
            >>> rows = Rows(tf.constant([0, 0, 1]), 2)
            >>> rows.sums_before(tf.constant([5, 6, 7])).numpy().tolist()
            [0, 5, 0]
        """
        sums = tf.cumsum(values, exclusive=True)
        return sums + self.to_values(self.max(-sums))  # the least is that of the row's first


def repeat(values: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Repeats values, as `tf.repeat`, in memory that grows with the result.

    `tf.repeat` makes a mask of (values, largest count) first: one document of a million characters
    beside 100,000 short ones would ask for 100 GB.

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


def before(values: tf.Tensor, first: int | bool) -> tf.Tensor:
    """The value before each (N,); `first` for the first one.

    Example:
        >>> before(tf.constant([7, 8, 9]), 0).numpy().tolist()
        [0, 7, 8]
    """
    return tf.concat([[first], values], 0)[:-1]


def after(values: tf.Tensor, last: int | bool) -> tf.Tensor:
    """The value after each (N,); `last` for the last one.

    Example:
        >>> after(tf.constant([7, 8, 9]), 0).numpy().tolist()
        [8, 9, 0]
    """
    return tf.concat([values, [last]], 0)[1:]
