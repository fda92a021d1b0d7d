"""A model folder of any task to a SavedModel: `tfsum.export_model` and `tfsum export`."""

import inspect
import pathlib
from typing import Any

from tfsum.errors import ExportError
from tfsum.formats.model_folder import read_json
from tfsum.tasks import task_of_config, tasks


def export_model(
    folder: str | pathlib.Path, destination: str | pathlib.Path, **options: Any
) -> pathlib.Path:
    """Writes a model folder as a SavedModel that takes raw strings, and verifies it before it gets its name.

    Args:
        folder: a model folder, as `save_pretrained` or a training run wrote it.
        destination: `.../NAME/VERSION`, VERSION an integer not there yet; or `.../NAME`, which gets the next one.
        **options: those of the task's own `export_model`, such as `tfsum.tasks.extractive.export.export_model` for a
            `BertSumExt`, and so in `abstractive` for a `Transformer` and in `classification` for a `BertClassifier`.

    Returns:
        The folder written.

    Raises:
        ExportError: such a model is not exported, or it has no such option; and what the task's function raises.
        CheckpointError: the model folder cannot be read.

    Example:
        >>> export_model("runs/news/best", "served/news", storage="small")  # doctest: +SKIP
        PosixPath('served/news/1')
    """
    path = pathlib.Path(folder) / "config.json"
    if not path.is_file() and (path.parent / "best" / "config.json").is_file():
        raise ExportError(f"{folder}: is the folder of a run; its model is {path.parent / 'best'}")
    config = read_json(path)
    task = task_of_config(config)
    if task is None:
        known = ", ".join(task.name for task in tasks() if task.has("export"))
        raise ExportError(
            f"{path}: model_type is {config.get('model_type')!r}, which is of none of the tasks that "
            f"export ({known})"
        )
    if task.module.EXPORT_KIND is None:
        what = ", ".join(config.get("architectures") or ["BertModel"])
        raise ExportError(
            f"{path}: is of an encoder ({what}), without the head of a task that tfsum exports; train "
            "one on it (tfsum train), and give the folder that this writes"
        )
    export = task.part("export").export_model
    names = list(inspect.signature(export).parameters)[2:]
    if unknown := sorted(options.keys() - set(names)):
        given, may = (", ".join(map(_option, kind)) for kind in (unknown, names))
        raise ExportError(
            f"{folder}: a model of type {config.get('model_type')!r} is not exported with {given}; its "
            f"options are {may}"
        )
    return export(folder, destination, **options)


def _option(name: str) -> str:
    """An option's name; the search is one object here, and several options of `tfsum export`."""
    return "strategy (--search and its options)" if name == "strategy" else name
