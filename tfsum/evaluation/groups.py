"""Iteration in groups with a progress bar."""

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

from tfsum.terminal_size import bar_size

Item = TypeVar("Item")
GROUP = 32


def groups(items: Sequence[Item], unit: str = "documents") -> Iterator[Sequence[Item]]:
    """Splits a sequence into groups, with a progress bar on standard error.

    Args:
        items: the sequence.
        unit: name of the items in the bar.

    Yields:
        `GROUP` items at a time, fewer in the last group.

    Example:
        >>> [len(group) for group in groups(list(range(70)))]
        [32, 32, 6]
    """
    import tqdm

    with tqdm.tqdm(total=len(items), unit=f" {unit}", file=sys.stderr, **bar_size()) as bar:
        for first in range(0, len(items), GROUP):
            group = items[first : first + GROUP]
            yield group
            bar.update(len(group))
