"""The runs in a folder, read from the files that they write; without TensorFlow."""

import dataclasses
import json
import pathlib
import re
import tomllib
from typing import Any

from tfsum.errors import DataError
from tfsum.training.lock import is_locked

_CHECKPOINT = re.compile(r"ckpt-(\d+)\.json")


@dataclasses.dataclass(frozen=True)
class RunSummary:
    """What a run folder says of its run.

    Attributes:
        folder: the run folder.
        state: "running", "finished", "ended early" or "stopped".
        step, steps: of the newest checkpoint, and of the whole run.
        best: the scores of the best model, with its step; empty before the first validation.
        seconds_per_step: of training, without validations.
        recipe: section -> key -> value.
        history: the scores of each validation, with its step.

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
        folder: of runs, or of one.

    Returns:
        The runs by the names of their folders.

    Raises:
        DataError: there is none.

    Example:
        >>> find_runs("no_such_folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_folder: no run is there (a folder with recipe.toml); ...
    """
    found = [
        read_run(recipe.parent) for recipe in sorted(pathlib.Path(folder).rglob("recipe.toml"))
    ]
    if not found:
        raise DataError(
            f"{folder}: no run is there (a folder with recipe.toml); name the folder that runs are in, "
            "such as runs"
        )
    return found


def read_run(folder: str | pathlib.Path) -> RunSummary:
    """Reads one run.

    Args:
        folder: the run folder.

    Raises:
        DataError: it is none, or one of its files cannot be read.

    Example:
        >>> read_run("no_such_run")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_run/recipe.toml: cannot be read (...); expected the folder of a run
    """
    folder = pathlib.Path(folder)
    history: dict[str, Any] = {}
    file = folder / "recipe.toml"
    try:
        recipe = tomllib.loads(file.read_text(encoding="utf-8"))
        file = folder / "history.json"
        if file.exists():
            history = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read ({error}); expected the folder of a run") from None
    steps = recipe.get("train", {}).get("steps", 0)
    names = [_CHECKPOINT.fullmatch(path.name) for path in (folder / "checkpoints").glob("*.json")]
    step = max((int(name[1]) for name in names if name), default=0)
    state = (
        "running"
        if is_locked(folder)
        else "ended early"
        if history.get("ended_early")
        else "finished"
        if step >= steps
        else "stopped"
    )
    seconds = history.get("seconds") or 0
    rows = history.get("history") or []
    return RunSummary(
        str(folder),
        state,
        step,
        steps,
        history.get("best") or {},
        seconds / rows[-1]["step"] if rows and seconds else None,
        recipe,
        rows,
    )


def differences(one: RunSummary, other: RunSummary) -> list[tuple[str, Any, Any]]:
    """The keys of the recipes of two runs that differ, other than the folders.

    Returns:
        (key, its value in the first run, in the second) of each; None where a recipe has none.

    Example:
        >>> run = RunSummary("a", "finished", 1, 1, {}, None, {"train": {"seed": 1}}, [])
        >>> differences(run, dataclasses.replace(run, recipe={"train": {"seed": 2}}))
        [('[train] seed', 1, 2)]
    """
    flat = [
        {
            f"[{section}] {key}": value
            for section, table in run.recipe.items()
            for key, value in table.items()
        }
        for run in (one, other)
    ]
    return [
        (key, flat[0].get(key), flat[1].get(key))
        for key in sorted({*flat[0], *flat[1]} - {"[train] folder"})
        if flat[0].get(key) != flat[1].get(key)
    ]
