"""Ragged arrays in numpy: rows of unequal lengths that lie end to end."""

from collections.abc import Sequence

import numpy as np


def ragged_places(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and place in the row of each element of a ragged array whose rows hold `counts` elements."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


def padded(pieces: np.ndarray, counts: np.ndarray, rows: np.ndarray, before: Sequence[int] = (),
           after: Sequence[int] = ()) -> np.ndarray:
    """The pieces of some rows between special tokens, padded with 0: (B, T) int32."""
    first, counts = (np.cumsum(counts) - counts)[rows], counts[rows]
    row, place = ragged_places(counts)
    ids = np.zeros((len(rows), int(counts.max()) + len(before) + len(after)), np.int32)
    ids[:, : len(before)] = before
    ids[row, len(before) + place] = pieces[first[row] + place]
    for number, token in enumerate(after):
        ids[np.arange(len(rows)), len(before) + counts + number] = token
    return ids
