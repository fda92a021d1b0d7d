"""The folder of a run: its lock, which keeps other runs off, and what its files say of the run;
without TensorFlow."""

import contextlib
import dataclasses
import os
import pathlib
import re
import socket
import time
import tomllib
from collections.abc import Iterator
from typing import Any

from filelock import FileLock, Timeout

from tfsum.errors import DataError, Error, require
from tfsum.json_text import parse_json
from tfsum.training.settings import keys_of

LOCK = "lock"
PATIENCE = 0.5  # seconds: `is_locked` holds a free lock for a moment
_CHECKPOINT = re.compile(r"ckpt-(\d+)\.")


@contextlib.contextmanager
def locked(folder: str | pathlib.Path) -> Iterator[None]:
    """Holds the lock of a run folder inside the block; the system frees that of a killed process.

    Args:
        folder: Run folder, made if it does not exist, and removed if it is empty after the block.

    Raises:
        Error: Another process holds the lock (the error names its number and host), or the folder
            cannot be written.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with locked(folder):
        ...     is_locked(folder)
        True
    """
    folder = pathlib.Path(folder)
    path, lock = folder / LOCK, FileLock(folder / LOCK)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=PATIENCE)
        path.write_text(
            f"process {os.getpid()} on {socket.gethostname()},"
            f" since {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
        )
    except FileExistsError:
        raise Error(
            f"{folder}: is a file, expected a run folder; choose another [train] folder"
        ) from None
    except Timeout:
        holder = "another process"
        with contextlib.suppress(OSError):
            holder = path.read_text(encoding="utf-8").strip() or holder
        raise Error(
            f"{folder}: is in use by {holder}; wait until that run ends or stop it, or choose"
            " another [train] folder"
        ) from None
    except OSError as error:
        raise Error(
            f"{folder}: the run folder cannot be written ({error.strerror}); choose another [train]"
            " folder"
        ) from None

    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()  # before the release, so that the file is not another process's
        lock.release()
        with contextlib.suppress(OSError):  # the folder holds something
            folder.rmdir()


def is_locked(folder: str | pathlib.Path) -> bool:
    """Whether a process holds the lock of a run folder; a killed process may leave its file.

    Args:
        folder: Run folder.

    Example:
        >>> is_locked("no_such_folder")
        False
    """
    path = pathlib.Path(folder) / LOCK
    if not path.exists():
        return False

    try:
        with FileLock(path).acquire(blocking=False):
            return False
    except (Timeout, PermissionError):  # of another user's run, only the file is known
        return True


@dataclasses.dataclass(frozen=True)
class RunSummary:
    """What a run folder says of its run.

    Attributes:
        folder: Path of the run folder.
        state: "running", "finished", "ended early" or "stopped".
        step: Step of the newest checkpoint.
        steps: Number of steps of the whole run.
        best: Scores of the best model, with its step; empty before the first validation.
        seconds_per_step: Seconds of training per step, without validations.
        recipe: Section -> key -> value.
        history: Scores of each validation, with its step.

    Example:
        >>> RunSummary(
        ...     "runs/news", "stopped", 100, 200, {"step": 100, "rouge1": 35.2}, 1.5, {}, []
        ... ).state
        'stopped'
    """

    folder: str
    state: str
    step: int
    steps: int
    best: dict[str, float]
    seconds_per_step: float | None
    recipe: dict[str, dict[str, Any]]
    history: list[dict[str, float]]


def find_runs(folder: str | pathlib.Path) -> list[RunSummary]:
    """Finds the runs in a folder and below it.

    Args:
        folder: Folder of runs, or of one run.

    Returns:
        Runs, sorted by the names of their folders.

    Raises:
        DataError: There is no run.

    Example:
        >>> find_runs("no_such_folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_folder: no run is there (a folder with recipe.toml); ...
    """
    recipes = sorted(pathlib.Path(folder).rglob("recipe.toml"))
    require(
        recipes,
        f"{folder}: no run is there (a folder with recipe.toml); name the folder that runs are"
        " in, such as runs",
        DataError,
    )
    return [read_run(recipe.parent) for recipe in recipes]


def read_run(folder: str | pathlib.Path) -> RunSummary:
    """Reads one run.

    Args:
        folder: Run folder.

    Raises:
        DataError: The folder is not of a run, or one of its files cannot be read.

    Example:
        >>> read_run("no_such_run")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_run/recipe.toml: cannot be read (...); ...
    """
    folder = pathlib.Path(folder)
    history: dict[str, Any] = {}
    file = folder / "recipe.toml"

    try:
        recipe = tomllib.loads(file.read_text(encoding="utf-8"))
        file = folder / "history.json"
        if file.exists():
            history = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read ({error}); expected the folder of a run") from None

    steps = recipe.get("train", {}).get("steps", 0)
    step = max(steps_in(folder / "checkpoints"), default=0)
    states = {
        "running": is_locked(folder),
        "ended early": history.get("ended_early"),
        "finished": step >= steps,
        "stopped": True,
    }
    rows, seconds = history.get("history") or [], history.get("seconds")
    return RunSummary(
        str(folder),
        next(state for state, applies in states.items() if applies),
        step,
        steps,
        history.get("best") or {},
        seconds / rows[-1]["step"] if rows and seconds else None,
        recipe,
        rows,
    )


def steps_in(folder: pathlib.Path, files: str = "ckpt-*.json") -> set[int]:
    """Lists the steps of the checkpoints in a folder, without reading them.

    Args:
        folder: Folder of checkpoints.
        files: Pattern of the files that count; by default those that are written last.

    Example:
        >>> steps_in(pathlib.Path("no_such_folder"))
        set()
    """
    names = (_CHECKPOINT.match(file.name) for file in folder.glob(files))
    return {int(name[1]) for name in names if name}


def differences(one: RunSummary, other: RunSummary) -> list[tuple[str, Any, Any]]:
    """Lists the keys that differ in the recipes of two runs, other than the folders.

    Args:
        one: First run.
        other: Second run.

    Returns:
        (key, value in the first run, value in the second) of each key; None where a recipe has no
        such key.

    Example:
        >>> run = RunSummary("a", "finished", 1, 1, {}, None, {"train": {"seed": 1}}, [])
        >>> differences(run, dataclasses.replace(run, recipe={"train": {"seed": 2}}))
        [('[train] seed', 1, 2)]
    """
    first, second = keys_of(one.recipe), keys_of(other.recipe)
    return [
        (key, first.get(key), second.get(key))
        for key in sorted({*first, *second} - {"[train] folder"})
        if first.get(key) != second.get(key)
    ]
