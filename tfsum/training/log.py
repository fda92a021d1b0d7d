"""The log of a run: lines on standard error."""

import sys
from collections.abc import Mapping


def log(line: str) -> None:
    """Writes a line of the log.

    Args:
        line: without its line end.

    Example:
        >>> log("step 100")
    """
    print(line, file=sys.stderr, flush=True)


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
