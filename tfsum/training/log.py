"""The log of a run: lines on standard error."""

import contextlib
import sys
from collections.abc import Iterator, Mapping

from tqdm import tqdm

_muted = False


def log(line: str) -> None:
    """Writes a line of the log.

    Args:
        line: without its line end.

    Example:
        >>> log("step 100")
    """
    if not _muted:
        tqdm.write(line, file=sys.stderr)  # above a progress bar, if there is one
        sys.stderr.flush()


@contextlib.contextmanager
def muted(mute: bool) -> Iterator[None]:
    """Inside the block `log` is silent, as on all workers but the first, if `mute` is true.

    Example:
        >>> with muted(True):
        ...     log("step 100")
    """
    global _muted
    before, _muted = _muted, mute
    try:
        yield
    finally:
        _muted = before


def format_scores(scores: Mapping[str, float]) -> str:
    """Scores as a line of the log shows them.

    Example:
        >>> format_scores({"rouge1": 35.263, "rouge2": 12})
        'rouge1 35.26  rouge2 12.00'
    """
    return "  ".join(f"{name} {value:.2f}" for name, value in scores.items())


def format_counts(counts: Mapping[str, int]) -> str:
    """Counts as a line of the log shows them.

    Example:
        >>> format_counts({"documents": 10, "dropped": 2})
        '10 documents, 2 dropped'
    """
    return ", ".join(f"{count} {name}" for name, count in counts.items())
