"""The log of a run: lines on standard error."""

import contextlib
import sys
from collections.abc import Iterator, Mapping

from tqdm import tqdm

_muted = False


def log(line: str) -> None:
    """Writes a line of the log.

    Args:
        line: Text without line end.

    Example:
        >>> log("step 100")
    """
    if not _muted:
        tqdm.write(line, file=sys.stderr)  # above a progress bar, if there is one
        sys.stderr.flush()


@contextlib.contextmanager
def muted(mute: bool) -> Iterator[None]:
    """Silences `log` inside the block, as on all workers but the first.

    Args:
        mute: Whether `log` is silent.

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
    """Formats scores for a line of the log.

    Args:
        scores: Name -> score.

    Example:
        >>> format_scores({"rouge1": 35.263, "rouge2": 12})
        'rouge1 35.26  rouge2 12.00'
    """
    return "  ".join(f"{name} {value:.2f}" for name, value in scores.items())


def format_counts(counts: Mapping[str, float]) -> str:
    """Formats counts for a line of the log.

    Args:
        counts: Name -> count.

    Example:
        >>> format_counts({"documents": 10, "dropped": 2})
        '10 documents, 2 dropped'
    """
    return ", ".join(f"{count} {name}" for name, count in counts.items())
