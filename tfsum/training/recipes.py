"""From a recipe to a trained model: `tfsum train RECIPE` is `load_recipe`, then `train`."""

import pathlib
from collections.abc import Mapping
from typing import Any

from tfsum.training import classification, extractive, pairs, pretraining
from tfsum.training.recipe_file import Key, read_recipe
from tfsum.training.recipe_writer import compare_with_begun_run
from tfsum.training.run import say

KINDS = {
    "bert_sum_ext": extractive,
    "transformer": pairs,
    "bert_classifier": classification,
    "bert_for_pretraining": pretraining,
}
"""[model] kind -> the module that trains it: `schema()` says what such a recipe may say, `train(recipe)` does it."""

DEFAULT = "bert_sum_ext"
KIND = Key((str,), DEFAULT, tuple(KINDS))


def schema(kind: str = DEFAULT) -> dict[str, dict[str, Key]]:
    """What a recipe may say: section -> key -> `Key`.

    Args:
        kind: a key of `KINDS`.
    """
    sections = KINDS[kind].schema()
    return {**sections, "model": {"kind": KIND, **sections["model"]}}


def load_recipe(path: str | pathlib.Path, overrides=()) -> dict[str, dict[str, Any]]:
    """Reads a recipe, applies `section.key=VALUE` overrides and fills in the defaults.

    Raises:
        RecipeError: the file cannot be read, or keys or values are wrong (all of them in one message).
    """
    return read_recipe(path, _schema_of, overrides)


def _schema_of(given: Mapping[str, Any]) -> dict[str, dict[str, Key]]:
    """The schema of a parsed recipe's kind; where that is none, a schema in which this is the only mistake."""
    model = given.get("model")
    kind = model.get("kind", DEFAULT) if isinstance(model, dict) else DEFAULT
    if kind in tuple(KINDS):  # a kind that is no string may not be hashable
        return schema(kind)
    return {section: {**dict.fromkeys(table, Key()), **({"kind": KIND} if section == "model" else {})}
            for section, table in given.items() if isinstance(table, dict)}


def train(recipe: dict[str, dict[str, Any]]) -> pathlib.Path:
    """Prepares the data of a recipe where that is still to do, and trains; goes on where a run was stopped.

    Args:
        recipe: as `load_recipe` gives it.

    Returns:
        The folder of the best model.

    Raises:
        Stopped: a signal asked the run to stop, and its state is saved.
        Error: the data, the model's files or the run folder do not fit.
    """
    for line in compare_with_begun_run(recipe):
        say(line)
    return KINDS[recipe["model"]["kind"]].train(recipe)
