"""The table of tasks: each recipe kind, and the folder or module with everything particular to it.

A task is a folder of `tfsum/tasks/` (or one module) that is registered here under the [model] kind
of its recipes. Recipes, export, load, evaluate, golden answers, `explain` and the command line look
tasks up in this table and call the same functions of each; nothing else in the package depends on a
task. A task's module offers:

- itself: `EXPORT_KIND` (`kind` of its exports; None where there are none), `VERB` (of the command
  line, that asks an export) and `owns(config)` (whether a config.json is of its model);
- `settings`: `RecipeSettings`, the class of its recipes;
- `prepare`: `prepare(corpus, out_dir, vocabulary, **options)`, a corpus as records;
- `train`: `prepare_data(recipe)`, `build_model(recipe, data)`, `make_run(recipe, data, model)`;
- `export`: `export_model(folder, destination, **options)`, `ops` among the options;
- `golden`: `signatures(description)`, `requests(description)`, `ask(model, requests)`,
  `warmup(description, texts)`; of `ask`'s answers floats are compared within a tolerance, and
  `tfsum.export.golden` has the others for plain texts;
- `card`: `WHAT`, `ANSWERS` and `table(description, weights)`, its part of a model card;
- `evaluate`: `evaluate(answer, corpus, **options)`, the report on a loaded model;
- `explain`: `explain_page(answer, text, title, **options)`, the page about one answer;
- `load`: `load(folder)`, the Python callable of an export.

In a folder these are its files, or modules of other names that its `SHARED` lists; a task in one
module has the functions side by side, as in examples/keyword_tagging. A part that a task does not
have is an error when it is needed.
"""

import dataclasses
import importlib.util
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from tfsum.errors import Error, RecipeError

PARTS = {
    "settings": "RecipeSettings",
    "prepare": "prepare",
    "train": "make_run",
    "export": "export_model",
    "golden": "ask",
    "card": "table",
    "evaluate": "evaluate",
    "explain": "explain_page",
    "load": "load",
}
"""Part -> the function or class by which it is known."""
OFFERED = ("EXPORT_KIND", "VERB", "owns")
"""What every task's module has itself."""


@dataclasses.dataclass(frozen=True)
class Task:
    """One row of the table.

    Attributes:
        name: Name of the task, the [model] kind of its recipes.
        module: Package or module that holds the task.
    """

    name: str
    module: types.ModuleType

    def has(self, part: str) -> bool:
        """Whether the task has a part, such as "explain".

        Example:
            >>> task("bert_sum_ext").has("explain"), task("bert_classifier").has("explain")
            (True, False)
        """
        return hasattr(self._module_of(part), PARTS[part])

    def part(self, part: str) -> types.ModuleType:
        """Returns the module with a part of the task, such as "train".

        Raises:
            Error: The task has no such part, or there is no part of this name.

        Example:
            >>> task("bert_sum_ext").part("card").ANSWERS
            'sentences with scores and byte offsets'
        """
        module = self._module_of(part)
        if module is None or not hasattr(module, PARTS[part]):
            having = ", ".join(other.name for other in tasks() if other.has(part))
            raise Error(
                f"the task {self.name!r} has no part {part!r} (no function {PARTS[part]!r});"
                f" tasks that have it: {having}"
            )

        return module

    def call(self, part: str, *arguments: Any, options: Mapping[str, Any]) -> Any:
        """Calls the function by which a part is known.

        Args:
            part: Name of the part, such as "evaluate".
            *arguments: Positional arguments of the function.
            options: Further arguments by name.

        Raises:
            Error: The function has no such option.
        """
        function: Callable[..., Any] = getattr(self.part(part), PARTS[part])
        known = list(inspect.signature(function).parameters)[len(arguments) :]
        if unknown := sorted(options.keys() - set(known)):
            raise Error(
                f"{PARTS[part]}: {', '.join(unknown)}: no option of the task {self.name!r}; its"
                f" options are {', '.join(known)}"
            )

        return function(*arguments, **options)

    def _module_of(self, part: str) -> types.ModuleType | None:
        """The module of a part, or the one of a task without files; None if it is missing."""
        if part not in PARTS:
            raise Error(f"a task has no part {part!r}; known are {', '.join(PARTS)}")
        if not hasattr(self.module, "__path__"):
            return self.module

        name = getattr(self.module, "SHARED", {}).get(part, f"{self.module.__name__}.{part}")
        if importlib.util.find_spec(name) is None:
            return None
        return importlib.import_module(name)


_MODULES: dict[str, str | types.ModuleType] = {
    "bert_sum_ext": "tfsum.tasks.bert_sum_ext",
    "bert_sum_abs": "tfsum.tasks.bert_sum_abs",
    "transformer": "tfsum.tasks.transformer",
    "bert_classifier": "tfsum.tasks.bert_classifier",
    "bert_for_pretraining": "tfsum.tasks.bert_pretraining",
}


def register(name: str, module: str | types.ModuleType) -> None:
    """Adds a task to the table.

    Args:
        name: Name of the task, the [model] kind of its recipes.
        module: Module or package that holds it, or its dotted name, which is imported when needed.

    Raises:
        Error: Another module has that name.
    """
    if _MODULES.setdefault(name, module) is not module and _MODULES[name] != module:
        raise Error(
            f"the task {name!r} is registered already, by {_MODULES[name]}; take another name"
        )


def task(name: str) -> Task:
    """Returns the task of a name.

    Raises:
        Error: There is none, or its module lacks what every task offers.

    Example:
        >>> task("bert_classifier").module.VERB
        'classify'
    """
    if name not in _MODULES:
        raise Error(f"no task {name!r}; known are {', '.join(_MODULES)}")

    module = _MODULES[name]
    if isinstance(module, str):
        module = importlib.import_module(module)

    if missing := [offered for offered in OFFERED if not hasattr(module, offered)]:
        raise Error(
            f"the task {name!r} ({module.__name__}) lacks {', '.join(missing)}; `tfsum.tasks` lists"
            " what a task offers"
        )

    return Task(name, module)


def tasks() -> list[Task]:
    """Returns all tasks, in the order of their registration.

    Example:
        >>> [task.name for task in tasks()][:3]
        ['bert_sum_ext', 'bert_sum_abs', 'transformer']
    """
    return [task(name) for name in _MODULES]


def task_of_recipe(kind: str) -> Task:
    """Returns the task whose recipes have this [model] kind.

    Raises:
        RecipeError: There is none.

    Example:
        >>> task_of_recipe("transformer").name
        'transformer'
    """
    if kind not in _MODULES:
        raise RecipeError(f"[model] kind is {kind!r}; known are {', '.join(_MODULES)}")

    return task(kind)


def task_of_export(description: dict) -> Task | None:
    """Returns the task of an exported model; None where there is none.

    Args:
        description: Content of its assets.extra/tfsum.json.

    Example:
        >>> config = {"model_type": "transformer"}
        >>> task_of_export({"kind": "abstractive", "config": config}).name
        'transformer'
    """
    kind = description.get("kind")
    matches = [found for found in tasks() if kind and kind == found.module.EXPORT_KIND]

    # Two tasks write texts: the model's own configuration tells them apart.
    if len(matches) > 1:
        matches = [each for each in matches if each.module.owns(description.get("config", {}))]

    return next(iter(matches), None)


def task_of_config(config: dict) -> Task | None:
    """Returns the task of a model folder; None where there is none.

    A task whose models are exported precedes one whose are not: a BERT with a head belongs to the
    task of the head, and what no other task owns is an encoder.

    Args:
        config: Content of its config.json.

    Example:
        >>> task_of_config({"model_type": "bert"}).name
        'bert_for_pretraining'
    """
    owners = [found for found in tasks() if found.module.owns(config)]
    return min(owners, key=lambda found: found.module.EXPORT_KIND is None, default=None)
