"""The table of tasks: each kind of model, and the folder with everything particular to it.

A task is a folder of `tfsum/tasks/` whose package has a `Task`, called `TASK`. Recipes, export,
load, evaluate, golden answers, `explain` and the command line look tasks up in this table; nothing
else in the package depends on a task. A task from elsewhere, as in examples/keyword_tagging, is
registered before it is used.
"""

from collections.abc import Mapping
from typing import Any

from tfsum.errors import Error, RecipeError
from tfsum.tasks import bert_classifier, bert_pretraining, bert_sum_abs, bert_sum_ext, transformer
from tfsum.tasks.task import Task

_BUILT_IN = (bert_sum_ext, bert_sum_abs, transformer, bert_classifier, bert_pretraining)
_TASKS: dict[str, Task] = {package.TASK.name: package.TASK for package in _BUILT_IN}


def register(new: Task) -> None:
    """Adds a task to the table, for this process.

    Raises:
        Error: Another task has its name.
    """
    if _TASKS.setdefault(new.name, new) != new:
        raise Error(f"the task {new.name!r} is registered already; take another name")


def task(name: str) -> Task:
    """Returns the task of a name, which is the [model] kind of its recipes.

    Raises:
        RecipeError: There is none.

    Example:
        >>> task("bert_classifier").verb
        'classify'
    """
    if name not in _TASKS:
        raise RecipeError(f"no task {name!r}; known are {', '.join(_TASKS)}")
    return _TASKS[name]


def tasks() -> list[Task]:
    """Returns all tasks, in the order of their registration.

    Example:
        >>> [task.name for task in tasks()][:3]
        ['bert_sum_ext', 'bert_sum_abs', 'transformer']
    """
    return list(_TASKS.values())


def task_of_export(description: Mapping[str, Any]) -> Task | None:
    """Returns the task of an exported model; None if there is none.

    Args:
        description: Content of its assets.extra/tfsum.json.

    Example:
        >>> config = {"model_type": "transformer"}
        >>> task_of_export({"kind": "abstractive", "config": config}).name
        'transformer'
    """
    kind = description.get("kind")
    matches = [each for each in tasks() if kind and kind == each.export_kind]

    # Two tasks write texts: the model's own configuration tells them apart.
    if len(matches) > 1:
        matches = [each for each in matches if each.owns(description.get("config", {}))]
    return next(iter(matches), None)


def task_of_config(config: Mapping[str, Any]) -> Task | None:
    """Returns the task of a model folder; None if there is none.

    Of several owners the first that exports its models is taken, and the first of all if none does:
    a BERT with a head belongs to the task of the head, and what no other task owns is an encoder.

    Args:
        config: Content of its config.json.

    Example:
        >>> task_of_config({"model_type": "bert"}).name
        'bert_for_pretraining'
    """
    owners = (each for each in tasks() if each.owns(config))
    return min(owners, key=lambda each: each.export_kind is None, default=None)
