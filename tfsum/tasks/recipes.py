"""From a recipe to a trained model: `tfsum.train` and `tfsum train RECIPE`."""

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from tfsum.tasks import model_kinds, training_of_recipe
from tfsum.training.recipe_file import Key, read_recipe
from tfsum.training.train import train_task

DEFAULT = "bert_sum_ext"


def schema(kind: str = DEFAULT) -> dict[str, dict[str, Key]]:
    """The schema of a recipe: section -> key -> `Key`.

    Args:
        kind: the [model] kind of a task.

    Raises:
        RecipeError: no task has it.

    Example:
        >>> list(schema("bert_classifier"))
        ['data', 'text', 'model', 'train']
    """
    sections = training_of_recipe(kind).schema()
    return {**sections, "model": {"kind": _kind_key(), **sections["model"]}}


def load_recipe(
    path: str | pathlib.Path, overrides: Iterable[str] = ()
) -> dict[str, dict[str, Any]]:
    """Reads a recipe, applies overrides and fills in the defaults.

    Args:
        path: the TOML file.
        overrides: texts `section.key=VALUE`; without a VALUE the key is reset to its default.

    Returns:
        section -> key -> value, with every key.

    Raises:
        RecipeError: the file cannot be read, or keys or values are wrong (all of them in one message).

    Example:
        >>> recipe = load_recipe(
        ...     "training/bert_sum_ext_news.toml", ["train.steps=50"]
        ... )  # doctest: +SKIP
    """
    return read_recipe(path, _schema_of, overrides)


def train(
    recipe: str | pathlib.Path | Mapping[str, Mapping[str, Any]], overrides: Iterable[str] = ()
) -> pathlib.Path:
    """Prepares the data of a recipe unless that is done, and trains; resumes a stopped run.

    Args:
        recipe: a TOML file, or what `load_recipe` gave.
        overrides: see `load_recipe`; only for a file.

    Returns:
        The folder of the best model.

    Raises:
        Stopped: a signal asked the run to stop, and its state is saved.
        RecipeError: the recipe cannot be read, or keys or values are wrong.
        Error: the data, the model's files or the run folder do not fit.

    Example:
        >>> tfsum.train("training/bert_sum_ext_news.toml", ["train.steps=50"])  # doctest: +SKIP
        PosixPath('runs/bert_sum_ext_news/best')
    """
    if not isinstance(recipe, Mapping):
        recipe = load_recipe(recipe, overrides)
    return train_task(recipe, training_of_recipe(recipe["model"]["kind"]))


def prepare_recipe(
    recipe: str | pathlib.Path, overrides: Iterable[str] = ()
) -> pathlib.Path | None:
    """Does the first stage of `train` alone: learns the vocabularies of a recipe and prepares its records.

    Args:
        recipe: a TOML file.
        overrides: see `load_recipe`.

    Returns:
        The folder of the records; None for a task that reads its texts at training.

    Raises:
        RecipeError: the recipe cannot be read, or keys or values are wrong.
        Error: the data or the model's files do not fit.

    Example:
        >>> prepare_recipe("training/bert_sum_ext_news.toml")  # doctest: +SKIP
        PosixPath('records/news')
    """
    loaded = load_recipe(recipe, overrides)
    training_of_recipe(loaded["model"]["kind"]).prepare_data(loaded)
    records = loaded["data"].get("records")
    return None if records is None else pathlib.Path(records)


def _kind_key() -> Key:
    return Key((str,), DEFAULT, tuple(model_kinds()))


def _schema_of(given: Mapping[str, Any]) -> dict[str, dict[str, Key]]:
    """The schema of a parsed recipe's kind; for an unknown kind, a schema in which this is the only error."""
    model = given.get("model")
    kind = model.get("kind", DEFAULT) if isinstance(model, dict) else DEFAULT
    if isinstance(kind, str) and kind in model_kinds():
        return schema(kind)
    return {
        section: {
            **dict.fromkeys(table, Key()),
            **({"kind": _kind_key()} if section == "model" else {}),
        }
        for section, table in given.items()
        if isinstance(table, dict)
    }
