"""`tfsum.load` and `tfsum.verify`: an exported model of any task, called from Python or checked."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

from tfsum.errors import ExportError
from tfsum.inference.saved_model import newest, read_description
from tfsum.inference.shipped import shipped_model
from tfsum.tasks import Task, task_of_export, tasks

if TYPE_CHECKING:
    from tfsum.export.verification import Report


def load(path: str | pathlib.Path | None = None) -> Any:
    """Loads an exported model.

    Args:
        path: its folder `.../NAME/VERSION` or `.../NAME`; the shipped extractive model by default.

    Returns:
        A callable: a `Summarizer` for an extractive model, a `Generator` for an abstractive one, a `Classifier`, or
        the callable of a registered task.

    Raises:
        ExportError: the model does not exist or is corrupt.

    Example:
        >>> summarize = load()
        >>> print(
        ...     summarize(
        ...         "The bridge was closed on Monday. Engineers found cracks. It rained.",
        ...         sentences=1,
        ...     )
        ... )
        The bridge was closed on Monday.
    """
    folder = newest(shipped_model() if path is None else path)
    return task_of(folder, read_description(folder)).module.load(folder)


def verify(path: str | pathlib.Path) -> Report:
    """Checks an exported model: its signatures, operations and weights, and its answers of the day of export.

    Args:
        path: its folder `.../NAME/VERSION` or `.../NAME`.

    Returns:
        The report, a dict that prints as lines.

    Raises:
        ExportError: the first difference found.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> verify(shipped_model())["kind"]
        'extractive'
    """
    from tfsum.export.verification import verify_export

    folder = newest(path)
    description = read_description(folder)
    return verify_export(folder, description, task_of(folder, description).part("golden"))


def task_of(folder: pathlib.Path, description: dict) -> Task:
    """The task of an exported model.

    Raises:
        ExportError: no task has models of this kind.

    Args:
        folder: of the model, for messages.
        description: the content of its assets.extra/tfsum.json.

    Example:
        >>> task_of(pathlib.Path("a_model"), {"kind": "extractive"}).name
        'extractive'
    """
    found = task_of_export(description)
    if found is None:
        known = ", ".join(task.module.EXPORT_KIND for task in tasks() if task.module.EXPORT_KIND)
        raise ExportError(
            f"{folder}: its kind is {description.get('kind')!r}; this tfsum knows {known}: take a newer "
            "tfsum, or fetch or export the model again"
        )
    return found
