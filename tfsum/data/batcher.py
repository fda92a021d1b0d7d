"""Token-budget batches of rows in memory, planned for each epoch and shared by all replicas; and
the ragged arrays of which they are made."""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
import tensorflow as tf

from tfsum.errors import DataError


def without_autotune() -> tf.data.Options:
    """Options of a data set that tf.data does not tune.

    The garbage collector may end an iterator anywhere. It then waits for the thread that tunes, and
    TensorFlow 2.21 has been seen to wait for ever, in the middle of tracing. Nothing here can be
    tuned anyway: one generator makes the batches.

    Example:
        >>> without_autotune().autotune.enabled
        False
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options


class TokenBudgetBatcher:
    """Batches of rows of about equal length, as many as a budget of padded tokens holds.

    The batches are a pure function of (rows, seed, epoch), so that a training that is resumed skips
    those that it has seen without building them. Each epoch has as many batches, of as many rows
    each: a row counts with the length of its bucket, so that the shuffle within buckets changes no
    size, and is padded to the end of one (`width`). So a training meets few shapes, each of which
    costs memory or time when it is new: oneDNN keeps the code of every product in bfloat16 (about
    0.3 MB), and XLA compiles the step again.

    A subclass gives a task's rows: `row`, `lower` and `signature`, and `assemble`; where it needs
    to, also `kinds`, `apart`, `sides` and `counts`, after the call of this class's constructor,
    `tokens` and `transform`.

    Args:
        length: (N,) positions that each row takes.
        tokens_per_batch: Largest number of positions in a batch, padding included: its rows times
            the largest length in their bucket, or in all rows where that is less.

    Attributes:
        row: Name of a row in messages.
        lower: Setting that messages suggest to lower where a row is too long.
        must_fit: Whether a row longer than the budget is an error; else it is a batch of its own.
        bucket_width: In training, rows whose lengths round up to the same multiple of it are in
            random order.
        signature: `tf.TensorSpec` of each array of a batch.
        length: Lengths of the rows.
        tokens_per_batch: Budget of a batch.
        kinds: Arrays (N,) by which rows are sorted, the first decides; ties are random. By default
            the buckets of the lengths.
        apart: Group of each row, (N,): a batch never mixes groups. By default all rows are of one.
        sides: Lengths (N,) of each array that is padded to the longest of its batch, for `report`.
        counts: Further counts for `report`.

    Raises:
        DataError: Longest row alone exceeds the budget.

    Example:
        >>> class Numbers(TokenBudgetBatcher):
        ...     row, lower, bucket_width = "number", "the numbers", 2
        ...     signature = {"ids": tf.TensorSpec((None, None), tf.int32)}
        ...
        ...     def assemble(self, rows, epoch=0):
        ...         return {"ids": np.arange(self.length[rows].max()) * (rows[:, None] + 1)}
        >>> numbers = Numbers(np.array([3, 1, 3, 2]), tokens_per_batch=6)
        >>> [rows.tolist() for rows in numbers.plan()]
        [[1, 3], [0, 2]]
        >>> [batch["ids"].shape for batch in numbers.dataset(training=False).as_numpy_iterator()]
        [(2, 2), (2, 3)]
        >>> numbers.report()
        {'batches': 2, 'tokens': 9, 'padded_tokens': 10, 'padding': 0.09999999999999998}
        >>> Numbers(np.array([7]), tokens_per_batch=6)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: batches: tokens_per_batch 6 was given; the longest ...
    """

    row: str = "row"
    lower: str = "the length of the rows"
    must_fit: bool = True
    bucket_width: int = 8
    signature: ClassVar[dict[str, tf.TensorSpec]] = {}

    def __init__(self, length: np.ndarray, tokens_per_batch: int) -> None:
        self.length, self.tokens_per_batch = length, tokens_per_batch
        self.kinds: tuple[np.ndarray, ...] = (self.bucket(length),)
        self.sides: tuple[np.ndarray, ...] = (length,)
        self.apart = np.zeros(len(length), np.int64)
        self.counts: dict[str, int] = {}
        if (longest := int(length.max())) > tokens_per_batch and self.must_fit:
            raise DataError(
                f"batches: tokens_per_batch {tokens_per_batch} was given; the longest {self.row}"
                f" takes {longest} tokens and is never split; raise the budget or lower"
                f" {self.lower}"
            )

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        """Returns the arrays of the batch of some rows (B,), as `signature` says.

        Few tasks have other arrays in another epoch.
        """
        raise NotImplementedError

    def transform(self, batches: tf.data.Dataset) -> tf.data.Dataset:
        """Transforms the batches inside the data set; by default not at all."""
        return batches

    @property
    def tokens(self) -> int:
        """Positions of all rows that are not padding, for `report`."""
        return sum(int(side.sum()) for side in self.sides)

    def bucket(self, length: np.ndarray) -> np.ndarray:
        """The bucket (N,) of each length: the multiples of `bucket_width` that hold it."""
        return -(-length // self.bucket_width)

    def width(self, side: np.ndarray, rows: np.ndarray) -> int:
        """Returns the padded width of some rows (B,) of a side with lengths (N,).

        It is the end of a bucket.

        Padded to their longest row, the batches of each epoch would have other shapes. No row of
        the data is longer.
        """
        return int(min(self.bucket(side[rows].max()) * self.bucket_width, side.max()))

    def plan(self, shuffle: tuple[int, int] | None = None) -> list[np.ndarray]:
        """The batches of an epoch as arrays of row numbers.

        Args:
            shuffle: (seed, epoch) of the shuffles; None keeps equal rows in order and the batches
                sorted.

        Returns:
            One array a batch.
        """
        length = np.minimum(self.bucket(self.length) * self.bucket_width, self.length.max())
        order = np.arange(len(length))
        if shuffle is not None:
            random = np.random.default_rng(shuffle)
            order = random.permutation(len(length))
        order = order[np.lexsort([kind[order] for kind in reversed(self.kinds)])]
        starts, longest = [0], 0
        groups = self.apart[order].tolist()
        for i, size in enumerate(length[order].tolist()):
            first, longest = starts[-1], max(longest, size)
            if (i - first + 1) * longest > self.tokens_per_batch or groups[i] != groups[first]:
                starts.append(i)
                longest = size

        batches = np.split(order, starts[1:])
        if shuffle is not None:
            batches = [batches[i] for i in random.permutation(len(batches))]
        return batches

    def rows_of(self, number: int, seed: int) -> np.ndarray:
        """The rows of one batch of training.

        Args:
            number: Number of the batch, counted from the first of epoch 0.
            seed: Seed of the shuffles.

        Returns:
            Their numbers.
        """
        epoch = 0
        while number >= len(batches := self.plan((seed, epoch))):
            number, epoch = number - len(batches), epoch + 1
        return batches[number]

    def dataset(
        self,
        *,
        training: bool,
        seed: int = 0,
        epochs: int | None = None,
        skip_batches: int = 0,
        replicas: range = range(1),
        of: int = 1,
    ) -> tf.data.Dataset:
        """A data set of dicts of tensors.

        Args:
            training: Whether to shuffle rows and batches, in another order each epoch.
            seed: Seed of the shuffles.
            epochs: Passes over the rows; None is one pass, or no end in training.
            skip_batches: Batches already seen, counted from the first batch of epoch 0; they are
                planned, not built.
            replicas: Replicas that this data set is for: of each batch it gives one part after
                another for each of them. A part has every `of`th row, and none where the batch has
                too few.
            of: Replicas that share a batch.
        """
        batches = tf.data.Dataset.from_generator(
            functools.partial(self._generate, training, seed, epochs, skip_batches, replicas, of),
            output_signature=self.signature,
        )
        return self.transform(batches).prefetch(4).with_options(without_autotune())

    def _generate(
        self, training: bool, seed: int, epochs: int | None, skip: int, replicas: range, of: int
    ) -> Iterator[dict[str, np.ndarray]]:
        no_rows = {
            name: np.zeros(
                [0, *(size or 1 for size in spec.shape[1:])] if spec.shape.rank else (),
                spec.dtype.as_numpy_dtype,
            )
            for name, spec in self.signature.items()
        }
        for epoch in itertools.islice(itertools.count(), epochs or (None if training else 1)):
            batches = self.plan((seed, epoch) if training else None)
            for rows in batches[skip:]:
                for replica in replicas:
                    if replica < len(rows):
                        yield self.assemble(rows[replica::of], epoch * training)
                    else:
                        yield no_rows

            skip = max(0, skip - len(batches))

    def report(self) -> dict[str, int | float]:
        """Counts what one pass holds and wastes.

        The keys are those of `counts`, and batches, tokens, padded_tokens and padding (the share of
        padding in these).
        """
        batches = self.plan()
        padded = sum(len(rows) * self.width(side, rows) for side in self.sides for rows in batches)
        return {
            **self.counts,
            "batches": len(batches),
            "tokens": self.tokens,
            "padded_tokens": padded,
            "padding": 1.0 - self.tokens / padded,
        }


@dataclasses.dataclass(frozen=True)
class SharedBatches:
    """Batches of a training, from some step on: the same batches under any strategy.

    Attributes:
        batcher: Rows in token-budget batches.
        skip: Number of its batches that were trained on before.
        until: Number of steps after which the run takes other batches or ends.

    Example:
        >>> class Numbers(TokenBudgetBatcher):
        ...     signature = {"ids": tf.TensorSpec((None,), tf.int32)}
        ...
        ...     def assemble(self, rows, epoch=0):
        ...         return {"ids": rows}
        >>> batches = SharedBatches(Numbers(np.array([2, 2, 2]), 4), skip=1, until=100)
        >>> batch = next(batches.dataset(tf.distribute.get_strategy(), seed=0).as_numpy_iterator())
        >>> batch["ids"].tolist() == batches.batcher.rows_of(1, seed=0).tolist()
        True
    """

    batcher: TokenBudgetBatcher
    skip: int
    until: int

    def dataset(self, strategy: tf.distribute.Strategy, seed: int) -> tf.data.Dataset:
        """Makes the data set of a training, distributed over the replicas of its strategy.

        Args:
            strategy: Strategy of the training.
            seed: Seed of the shuffles.
        """
        replicas = strategy.num_replicas_in_sync

        def local_dataset(context: tf.distribute.InputContext) -> tf.data.Dataset:
            count = replicas // context.num_input_pipelines
            first = context.input_pipeline_id * count
            return self.batcher.dataset(
                training=True,
                seed=seed,
                skip_batches=self.skip,
                replicas=range(first, first + count),
                of=replicas,
            )

        if replicas == 1:
            return local_dataset(tf.distribute.InputContext())
        return strategy.distribute_datasets_from_function(local_dataset)


def ragged_places(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and place in the row of each element of a ragged array whose rows hold `counts` elements.

    Example:
        >>> [array.tolist() for array in ragged_places(np.array([2, 0, 1]))]
        [[0, 0, 2], [0, 1, 0]]
    """
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


def padded(
    pieces: np.ndarray,
    counts: np.ndarray,
    rows: np.ndarray,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
    width: int = 0,
) -> np.ndarray:
    """The pieces of some rows between special tokens, padded with 0.

    Args:
        pieces: (P,) of all rows, end to end.
        counts: (N,) pieces of each row.
        rows: (B,) row numbers.
        before: Special tokens before each row.
        after: Special tokens after it.
        width: Smallest width of the result; a longer row widens it.

    Returns:
        (B, T) int32.

    Example:
        >>> padded(
        ...     np.array([5, 6, 7]), np.array([2, 1]), np.array([1, 0]), before=[2], after=[3]
        ... ).tolist()
        [[2, 7, 3, 0], [2, 5, 6, 3]]
    """
    first, counts = (np.cumsum(counts) - counts)[rows], counts[rows]
    row, place = ragged_places(counts)
    ids = np.zeros((len(rows), max(width, int(counts.max()) + len(before) + len(after))), np.int32)
    ids[:, : len(before)] = before
    ids[row, len(before) + place] = pieces[first[row] + place]
    for number, token in enumerate(after):
        ids[np.arange(len(rows)), len(before) + counts + number] = token

    return ids
