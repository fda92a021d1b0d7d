"""The table of tasks: the name of each, and the module with everything specific to it.

A task is a folder (or one module) that is registered here. Recipes, export, load, evaluate, golden answers, `explain`
and the command line look tasks up in this table and call the same functions of each; nothing else in the package
depends on the task. A task's module offers:

- itself: `MODEL_KIND` ([model] kind of its recipes; `OTHER_KINDS`, where it trains models of other kinds too, has the
  file with the functions of `train` for each of these), `EXPORT_KIND` (`kind` of its exports; None where there are
  none), `VERB` (of the command line, that asks an export), `owns(config)` (whether a config.json is of its model) and
  `load(folder)` (the Python callable of an export);
- `prepare`: `prepare(corpus, out_dir, vocabulary, **options)`, a corpus as records;
- `train`: `schema()`, `prepare_data(recipe)`, `build_model(recipe, data)`, `make_run(recipe, data, model)`;
- `export`: `export_model(folder, destination, **options)`, `ops` among the options;
- `golden`: `signatures(description)`, `requests(description)`, `ask(model, requests)`, `warmup(description, texts)`; of
  `ask`'s answers floats are compared within a tolerance, and `tfsum.export.golden` has the others for plain texts;
- `card`: `WHAT`, `ANSWERS` and `table(description, weights)`, its part of a model card;
- `evaluate`: `evaluate(answer, corpus, **options)`, the report on a loaded model;
- `explain`: `explain_page(answer, text, title, **options)`, the page about one answer.

In a folder these are its files; a task in one module has the functions side by side, as in examples/keyword_tagging. A
part that a task does not have is an error when it is needed.
"""

import dataclasses
import importlib
import types

from tfsum.errors import Error, RecipeError

PARTS = {
    "prepare": "prepare",
    "train": "make_run",
    "export": "export_model",
    "golden": "ask",
    "card": "table",
    "evaluate": "evaluate",
    "explain": "explain_page",
}
"""Part -> the function by which it is known."""
OFFERED = ("MODEL_KIND", "EXPORT_KIND", "VERB", "owns")
"""What every task's module has itself."""


@dataclasses.dataclass(frozen=True)
class Task:
    """One row of the table.

    Attributes:
        name: of the task.
        module: what holds it.

    Example:
        >>> task("extractive").name
        'extractive'
    """

    name: str
    module: types.ModuleType

    def has(self, part: str) -> bool:
        """Whether the task has a part, such as "explain".

        Example:
            >>> task("extractive").has("explain"), task("classification").has("explain")
            (True, False)
        """
        return hasattr(self._module_of(part), PARTS[part])

    def part(self, part: str) -> types.ModuleType:
        """The module with a part of the task, such as "train".

        Raises:
            Error: the task has no such part, or there is none of this name.

        Example:
            >>> task("extractive").part("card").ANSWERS
            'sentences with scores and byte offsets'
        """
        module = self._module_of(part)
        if module is None or not hasattr(module, PARTS[part]):
            having = ", ".join(other.name for other in tasks() if other.has(part))
            raise Error(
                f"the task {self.name!r} has no part {part!r} (no function {PARTS[part]!r}); tasks that have "
                f"it: {having}"
            )
        return module

    def _module_of(self, part: str) -> types.ModuleType | None:
        """The file of a part, or the one module of a task without files; None where there is none."""
        if part not in PARTS:
            raise Error(f"a task has no part {part!r}; known are {', '.join(PARTS)}")
        if not hasattr(self.module, "__path__"):
            return self.module
        name = f"{self.module.__name__}.{part}"
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            return None


_MODULES: dict[str, str | types.ModuleType] = {}


def register(name: str, module: str | types.ModuleType) -> None:
    """Adds a task to the table.

    Args:
        name: of the task.
        module: the module or package that holds it, see above, or its dotted name, which is imported when needed.

    Raises:
        Error: another module has that name.

    Example:
        >>> register("extractive", "tfsum.tasks.extractive")  # again: nothing changes
    """
    if _MODULES.setdefault(name, module) is not module and _MODULES[name] != module:
        raise Error(
            f"the task {name!r} is registered already, by {_MODULES[name]}; take another name"
        )


def task(name: str) -> Task:
    """The task of a name.

    Raises:
        Error: there is none, or its module lacks what every task offers.

    Example:
        >>> task("classification").module.MODEL_KIND
        'bert_classifier'
    """
    if name not in _MODULES:
        raise Error(f"no task {name!r}; known are {', '.join(_MODULES)}")
    module = _MODULES[name]
    module = importlib.import_module(module) if isinstance(module, str) else module
    if missing := [offered for offered in OFFERED if not hasattr(module, offered)]:
        raise Error(
            f"the task {name!r} ({module.__name__}) lacks {', '.join(missing)}; `tfsum.tasks` lists what a "
            "task offers"
        )
    return Task(name, module)


def tasks() -> list[Task]:
    """All tasks, in the order of their registration.

    Example:
        >>> [task.name for task in tasks()][:4]
        ['extractive', 'abstractive', 'classification', 'pretraining']
    """
    return [task(name) for name in _MODULES]


def model_kinds() -> dict[str, tuple[Task, str]]:
    """The [model] kinds of recipes, each with its task and the task's file that trains it.

    Example:
        >>> found, file = model_kinds()["bert_sum_abs"]
        >>> found.name, file
        ('abstractive', 'train_documents')
    """
    kinds: dict[str, tuple[Task, str]] = {}
    for found in tasks():
        for kind, file in {
            found.module.MODEL_KIND: "train",
            **getattr(found.module, "OTHER_KINDS", {}),
        }.items():
            kinds.setdefault(kind, (found, file))
    return kinds


def task_of_recipe(kind: str) -> Task:
    """The task whose recipes have this [model] kind.

    Args:
        kind: the [model] kind.

    Raises:
        RecipeError: there is none.

    Example:
        >>> task_of_recipe("transformer").name
        'abstractive'
    """
    kinds = model_kinds()
    if kind not in kinds:
        raise RecipeError(f"[model] kind is {kind!r}; known are {', '.join(kinds)}")
    return kinds[kind][0]


def training_of_recipe(kind: str) -> types.ModuleType:
    """The module with the functions of `train` for recipes of this [model] kind.

    Args:
        kind: the [model] kind.

    Raises:
        RecipeError: there is none.
        Error: the task trains no model.

    Example:
        >>> hasattr(training_of_recipe("bert_sum_ext"), "make_run")
        True
    """
    found, (_, file) = task_of_recipe(kind), model_kinds()[kind]
    return (
        found.part("train")
        if file == "train"
        else importlib.import_module(f"{found.module.__name__}.{file}")
    )


def task_of_export(description: dict) -> Task | None:
    """The task of an exported model with this assets.extra/tfsum.json; None where there is none.

    Args:
        description: the content of assets.extra/tfsum.json.

    Example:
        >>> task_of_export({"kind": "classifier"}).name
        'classification'
    """
    kind = description.get("kind")
    return next((found for found in tasks() if kind and kind == found.module.EXPORT_KIND), None)


def task_of_config(config: dict) -> Task | None:
    """The task of a model folder with this config.json; None where there is none.

    A task whose models are exported precedes one whose are not: a BERT with a head belongs to the task of the head, and
    what no other task owns is an encoder.

    Args:
        config: the content of config.json.

    Example:
        >>> task_of_config({"model_type": "bert"}).name
        'pretraining'
    """
    owners = [found for found in tasks() if found.module.owns(config)]
    return min(owners, key=lambda found: found.module.EXPORT_KIND is None, default=None)


for _name in ("extractive", "abstractive", "classification", "pretraining"):
    register(_name, f"tfsum.tasks.{_name}")
