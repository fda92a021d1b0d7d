"""The validations of a run: their scores, the best of them, and when there are enough."""

import json
import pathlib
from typing import Any

from tfsum.atomic_files import write_atomically
from tfsum.errors import Error


def is_out_of_patience(state: dict[str, Any], patience: int) -> bool:
    """Whether the last validations were no better than an earlier one.

    Args:
        state: State of the run: `best` and `history`.
        patience: Number of validations; 0 never ends a run.

    Example:
        >>> rows = [{"step": step} for step in (10, 20, 30)]
        >>> is_out_of_patience({"best": {"step": 10}, "history": rows}, patience=2)
        True
    """
    best = state["best"]
    later = [row for row in state["history"] if best and row["step"] > best["step"]]
    return 0 < patience <= len(later)


def write_history(folder: pathlib.Path, state: dict[str, Any], ended_early: bool) -> None:
    """Writes history.json.

    Args:
        folder: Run folder.
        state: State of the run.
        ended_early: Whether the run is out of patience.

    Raises:
        Error: The file cannot be written.
    """
    file = folder / "history.json"
    history = {**state, "seconds": round(state["seconds"]), "ended_early": ended_early}
    try:
        write_atomically(file, json.dumps(history, indent=1))
    except OSError as error:
        raise Error(
            f"{file}: cannot be written ({error.strerror}); the last checkpoint is kept. Make"
            " room, and run the command again to resume"
        ) from None
