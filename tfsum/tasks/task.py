"""What a task is: one kind of model, with everything that is particular to it; and their table.

Recipes, export, load, evaluate, golden answers, `explain` and the command line look tasks up in
this table; nothing else in the package depends on a task.
"""

import dataclasses
import inspect
import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar

from tfsum.errors import Error, RecipeError, require

if TYPE_CHECKING:  # a task's parts load when they are used
    from tfsum.data.preparation import Preparation
    from tfsum.data.readers import Corpus
    from tfsum.evaluation.comparison import Report
    from tfsum.export.golden import Golden
    from tfsum.inference.exported_model import ExportedModel
    from tfsum.training.settings import Recipe
    from tfsum.training.train import Training

Path = str | pathlib.Path
Result = TypeVar("Result")
Export = Callable[Concatenate[Path, Path, ...], pathlib.Path]
"""Exports a model folder: folder, destination and options to the folder written."""
Evaluate = Callable[Concatenate[Any, "Corpus", ...], "Report"]
"""Measures a loaded model: model, corpus and options to a report."""
Explain = Callable[Concatenate[Any, str, str, ...], str]
"""Makes the page about an answer: loaded model, text, title and options to HTML."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """One row of the table of tasks.

    Each part is a function that imports it, so that it loads when it is used; None if the task does
    without it.

    Attributes:
        name: Name of the task, the [model] kind of its recipes.
        owns: Whether a config.json is of its model.
        export_kind: Value of `kind` in its exports; None if it exports no models.
        verb: Command that asks an exported model, such as "summarize".
        settings: Class of its recipes.
        prepare: Class of what writes a corpus as records, whose fields are the options.
        training: Stages of a training: `prepare_data`, `build_model` and `make_run`.
        export: Function that writes a model folder as a SavedModel.
        golden: Requests that verify and warm up an export.
        evaluate: Function that measures a loaded model on a corpus.
        explain: Function that makes the page about one answer.
        exported_model: Class of the Python callable of an export.
        by_text: Class of the callable of several exports, of which a text chooses one.

    Example:
        >>> Task(name="made", owns=lambda config: False).export_kind is None
        True
    """

    name: str
    owns: Callable[[Mapping[str, Any]], bool]
    export_kind: str | None = None
    verb: str | None = None
    settings: "Callable[[], type[Recipe]] | None" = None
    prepare: "Callable[[], type[Preparation]] | None" = None
    training: "Callable[[], Training[Any, Any, Any]] | None" = None
    export: Callable[[], Export] | None = None
    golden: "Callable[[], Golden] | None" = None
    evaluate: Callable[[], Evaluate] | None = None
    explain: Callable[[], Explain] | None = None
    exported_model: "Callable[[], type[ExportedModel]] | None" = None
    by_text: "Callable[[], Callable[..., ExportedModel]] | None" = None

    def need(self, part: Callable[[], Result] | None, name: str) -> Result:
        """Loads a part.

        Args:
            part: Attribute of this task.
            name: Its name, for the message.

        Raises:
            Error: The task does without it.

        Example:
            >>> made = Task(name="made", owns=lambda config: False)
            >>> made.need(made.explain, "explain")
            Traceback (most recent call last):
            tfsum.errors.Error: the task 'made' has no part 'explain', which this needs
        """
        if part is None:
            raise Error(f"the task {self.name!r} has no part {name!r}, which this needs")
        return part()

    def call(
        self,
        function: Callable[..., Result],
        *arguments: object,
        options: Mapping[str, object],
    ) -> Result:
        """Calls the function of a part with a user's options.

        Args:
            function: Function of the part.
            *arguments: Its positional arguments.
            options: Further arguments by name.

        Raises:
            Error: The function has no such option.
        """
        known = list(inspect.signature(function).parameters)[len(arguments) :]
        if unknown := sorted(options.keys() - set(known)):
            raise Error(
                f"{function.__name__}: {', '.join(unknown)}: no option of the task {self.name!r};"
                f" its options are {', '.join(known)}"
            )
        return function(*arguments, **options)


_TASKS: dict[str, Task] = {}


def register(new: Task) -> None:
    """Adds a task to the table, for this process.

    Raises:
        Error: Another task has its name.
    """
    require(
        _TASKS.setdefault(new.name, new) == new,
        f"the task {new.name!r} is registered already; take another name",
    )


def task(name: str) -> Task:
    """Returns the task of a name, which is the [model] kind of its recipes.

    Raises:
        RecipeError: There is none.

    Example:
        >>> task("bert_classifier").verb
        'classify'
    """
    require(name in _TASKS, f"no task {name!r}; known are {', '.join(_TASKS)}", RecipeError)
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
