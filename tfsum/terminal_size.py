"""The size of the terminal that progress bars are drawn on."""

import os
import sys


def bar_size() -> dict[str, int]:
    """The arguments by which tqdm draws a bar also on a terminal that says it has no size, as those
    of containers may.

    Example:
        >>> from tqdm import tqdm
        >>> tqdm(total=3, disable=True, **bar_size()).close()
    """
    try:
        columns, lines = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):  # no terminal
        return {}
    if columns and lines:
        return {}
    return {"ncols": 80, "nrows": 24}
