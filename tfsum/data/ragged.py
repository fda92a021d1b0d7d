"""Ragged arrays in numpy: rows of unequal lengths, end to end."""

from collections.abc import Sequence

import numpy as np


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
