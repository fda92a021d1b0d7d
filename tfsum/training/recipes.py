"""From a recipe to a trained model: `tfsum train RECIPE` is `load_recipe`, then `train`."""

import pathlib
from typing import Any

from tfsum.data.prepare import prepare
from tfsum.models import BertSumExt
from tfsum.training.extractive import ExtractiveRun, build_model, strategy_of
from tfsum.training.recipe_file import Key, keys_of, read_recipe
from tfsum.training.recipe_writer import write_recipe

TEXT = ("lowercase", "strip_accents", "newline")
MEASURED = ("sentences", "block_trigrams", "length_weight", "documents")


def schema() -> dict[str, dict[str, Key]]:
    """What a recipe may say: section -> key -> `Key`; the keys are arguments of the functions they go to."""
    prepared = keys_of(prepare, "corpus", "out_dir", "vocabulary", "window_length", "columns", "progress")
    return {
        "data": {"train": Key((str,)), "validation": Key((str,)), "records": Key((str,)),
                 **{k: v for k, v in prepared.items() if k not in TEXT}},
        "text": {k: prepared[k] for k in TEXT},
        "model": {**keys_of(build_model, "precision", "seed"), **keys_of(BertSumExt, "bert", "name")},
        "train": {"strategy": Key((str,), "one", ("one", "mirrored")),
                  **keys_of(ExtractiveRun, "model", "train_records", "validation_records", "vocabulary", "settings",
                            *MEASURED)},
        "evaluate": {k: v for k, v in keys_of(ExtractiveRun).items() if k in MEASURED},
    }


def load_recipe(path: str | pathlib.Path, overrides=()) -> dict[str, dict[str, Any]]:
    """Reads a recipe, applies `section.key=VALUE` overrides and fills in the defaults.

    Raises:
        RecipeError: the file cannot be read, or keys or values are wrong (all of them in one message).
    """
    return read_recipe(path, schema(), overrides)


def train(recipe: dict[str, dict[str, Any]]) -> pathlib.Path:
    """Prepares the data of a recipe where that is still to do, and trains; goes on where a run was stopped.

    Args:
        recipe: as `load_recipe` gives it.

    Returns:
        The folder of the best model.

    Raises:
        Stopped: a signal asked the run to stop, and its state is saved.
        Error: the data, the encoder or the run folder do not fit.
    """
    data, text = recipe["data"], recipe["text"]
    names = ("train", "validation", "records")
    options = {k: v for k, v in data.items() if k not in names}
    # The precision is global in Keras: it must stand before the first layer does.
    with strategy_of(recipe["train"]["strategy"]).scope():
        model, vocabulary = build_model(**recipe["model"], **{k: recipe["train"][k] for k in ("precision", "seed")})
    records = {}
    for split in ("train", "validation"):
        # Validation needs no soft labels, and its oracle is the report's.
        labels = options["labels"] if split == "train" else "greedy"
        records[split] = pathlib.Path(data["records"]) / split
        counts = prepare(data[split], records[split], vocabulary, window_length=model.window_length,
                         **{**options, "labels": labels}, **text)
        print(f"{split}: " + ", ".join(f"{v} {k}" for k, v in counts.items()), flush=True)
    # What was learned depends on neither folder, and both are places of one machine.
    told = {**recipe, "data": {k: v for k, v in data.items() if k != "records"},
            "train": {k: v for k, v in recipe["train"].items() if k != "folder"}}
    settings = {"text": {**text, "window_length": model.window_length}, "recipe": told}
    arguments = {k: v for k, v in recipe["train"].items() if k != "strategy"} | recipe["evaluate"]
    run = ExtractiveRun(model, records["train"], records["validation"], vocabulary, settings, **arguments)
    write_recipe(recipe, run.folder / "recipe.toml")
    return run.fit()
