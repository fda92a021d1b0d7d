"""Which rows share a batch in which epoch: token budgets and length buckets, a pure function of (seed, epoch)."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tfsum.errors import DataError


def plan(
    length: np.ndarray,
    kinds: Sequence[np.ndarray],
    tokens_per_batch: int,
    seed: tuple[int, int] | None,
    apart: np.ndarray | None = None,
) -> list[np.ndarray]:
    """The batches of an epoch as arrays of row numbers.

    Args:
        length: (N,) positions that a row takes.
        kinds: arrays (N,) by which rows are sorted, the first decides; equal rows are in random order.
        tokens_per_batch: rows * longest length of a batch at most.
        seed: (seed, epoch) of the shuffles; None keeps equal rows in order and batches sorted.
        apart: (N,) rows of different values never share a batch.

    Returns:
        One array a batch.
    """
    random = None if seed is None else np.random.default_rng(seed)
    order = np.arange(len(length)) if random is None else random.permutation(len(length))
    order = order[np.lexsort([kind[order] for kind in reversed(kinds)])]
    batches, first, longest = [], 0, 0
    lengths = length[order].tolist()
    groups = [0] * len(lengths) if apart is None else apart[order].tolist()
    for i, size in enumerate(lengths):
        longest = max(longest, size)
        if (i - first + 1) * longest > tokens_per_batch or groups[i] != groups[first]:
            batches.append(order[first:i])
            first, longest = i, size
    batches.append(order[first:])
    return batches if random is None else [batches[i] for i in random.permutation(len(batches))]


def batches_of_epochs(
    plan_of: Callable[[tuple[int, int] | None], list[np.ndarray]],
    *,
    training: bool,
    seed: int,
    epochs: int | None,
    skip_batches: int,
) -> Iterator[np.ndarray]:
    """The row numbers of batch after batch, over the epochs; what is skipped is planned and not built.

    Args:
        plan_of: gives the batches of (seed, epoch), or unshuffled ones for None.
        training: whether to shuffle.
        seed: of the shuffles.
        epochs: passes over the rows; None is one pass, or no end in training.
        skip_batches: batches already seen, counted from the first batch of epoch 0.
    """
    if epochs is None and not training:
        epochs = 1
    epoch, skip = 0, skip_batches
    while epochs is None or epoch < epochs:
        batches = plan_of((seed, epoch) if training else None)
        yield from batches[skip:]
        epoch, skip = epoch + 1, max(0, skip - len(batches))


def check_lengths(length: np.ndarray, tokens_per_batch: int, bucket_width: int, row: str, cure: str) -> None:
    """Raises DataError if no batch can hold the longest row.

    Args:
        length: (N,) positions that a row takes.
        tokens_per_batch: the budget.
        bucket_width: of the buckets.
        row: what the message calls a row.
        cure: what else could be lowered.
    """
    longest = int(length.max())
    if longest > tokens_per_batch or bucket_width < 1:
        raise DataError(
            f"batches: tokens_per_batch {tokens_per_batch} and bucket_width {bucket_width} were given; "
            f"the longest {row} takes {longest} tokens and a bucket is at least 1 wide; "
            f"raise the budget or lower {cure}"
        )


def bucket(length: np.ndarray, bucket_width: int) -> np.ndarray:
    """The bucket (N,) of each length: its multiple of `bucket_width`, rounded up."""
    return -(-length // bucket_width)
