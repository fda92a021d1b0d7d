"""Iterates over batches with a progress bar."""

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

from tfsum.terminal_size import bar_size

Item = TypeVar("Item")
BATCH = 32


def batched(items: Sequence[Item], unit: str = "documents") -> Iterator[Sequence[Item]]:
    """Splits a sequence into batches, with a progress bar on standard error.

    Args:
        items: Sequence to split.
        unit: Name of the items in the bar.

    Yields:
        `BATCH` items at a time, fewer in the last batch.

    Example:
        >>> [len(batch) for batch in batched(list(range(70)))]
        [32, 32, 6]
    """
    import tqdm

    with tqdm.tqdm(total=len(items), unit=f" {unit}", file=sys.stderr, **bar_size()) as bar:
        for first in range(0, len(items), BATCH):
            yield items[first : first + BATCH]
            bar.update(min(BATCH, len(items) - first))
