"""From a recipe to a trained model: `tfsum.train`; a corpus as records: `tfsum.prepare`."""

import pathlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from tfsum.settings import expected, shown
from tfsum.tasks import task, tasks
from tfsum.training.recipe_file import check_recipe, mistakes_error, read_recipe, recipe_keys
from tfsum.training.settings import Recipe, Settings

if TYPE_CHECKING:  # a recipe is read without what writes records
    from tfsum.data.shards import ShardRunner

DEFAULT = "bert_sum_ext"
"""Kind of a recipe without [model] kind."""


def recipe_class(kind: str) -> type[Recipe]:
    """Returns the class of the recipes of a kind, whose fields are the sections and their keys.

    Args:
        kind: [model] kind of a task.

    Raises:
        RecipeError: No task has it.

    Example:
        >>> recipe_class("transformer").model_fields["train"].annotation.__name__
        'TrainSettings'
    """
    found = task(kind)
    return found.need(found.settings, "settings")


def section_class(kind: str, section: str) -> type[Settings]:
    """Returns the class of a section of the recipes of a kind.

    Args:
        kind: [model] kind of a task.
        section: Name of the section, such as "data".

    Example:
        >>> section_class("transformer", "data").model_fields["max_source_length"].default
        512
    """
    return cast("type[Settings]", recipe_class(kind).model_fields[section].annotation)


def load_recipe(
    source: str | pathlib.Path | Mapping[str, Any], overrides: Iterable[str] = ()
) -> Recipe:
    """Reads a recipe, applies overrides, checks it and fills in the defaults.

    Args:
        source: TOML file, or a mapping of sections.
        overrides: Texts `section.key=VALUE`; without a VALUE the key is reset to its default.

    Returns:
        The recipe of its model's class: `load_recipe(...).train.learning_rate`.

    Raises:
        RecipeError: The file cannot be read, keys are unknown or missing, or values are wrong; all
            mistakes are in one message.

    Example:
        >>> mine = {"folder": "runs/mine", "steps": 100}
        >>> files = {"train": "a.jsonl", "validation": "b.jsonl", "records": "records"}
        >>> model = {"kind": "bert_sum_ext", "encoder": "a_bert"}
        >>> load_recipe({"data": files, "model": model, "train": mine}).train.learning_rate
        0.001
    """
    values, mistakes = read_recipe(source, overrides)
    name = "recipe" if isinstance(source, Mapping) else str(source)
    kind, kinds = _kind(values), [task.name for task in tasks()]
    if kind not in kinds:
        mistakes.append(f"model.kind={shown(kind)}: expected {expected({'enum': kinds})}")
        raise mistakes_error(name, mistakes)
    return check_recipe(recipe_class(kind), values, mistakes, name)


def describe_keys(recipe: str) -> str:
    """Lists every key of a kind of recipe with its default and its meaning.

    Args:
        recipe: TOML file of this kind, or the [model] kind itself.

    Raises:
        RecipeError: The file cannot be read, or no task has its kind.

    Example:
        >>> for line in describe_keys("bert_classifier").splitlines()[:3]:
        ...     print(line)
        [data]
        train  (required)
            Training texts: JSON lines, an object a line such as {"text": "It rained.", "label":
    """
    if recipe in [task.name for task in tasks()]:
        return recipe_keys(recipe_class(recipe))
    values, _ = read_recipe(recipe)
    return recipe_keys(recipe_class(_kind(values)))


def _kind(values: Mapping[str, Any]) -> Any:
    """The [model] kind of a recipe that is not checked yet."""
    model = values.get("model")
    if isinstance(model, Mapping):
        return model.get("kind", DEFAULT)
    return DEFAULT


def train(
    recipe: str | pathlib.Path | Mapping[str, Any] | Recipe, overrides: Iterable[str] = ()
) -> pathlib.Path:
    """Prepares the data of a recipe unless that is done, and trains; resumes a stopped run.

    Args:
        recipe: TOML file, mapping of sections, or recipe that `load_recipe` returned.
        overrides: Texts `section.key=VALUE`, for a file or a mapping.

    Returns:
        The folder of the best model.

    Raises:
        Stopped: A signal asked the run to stop, and its state is saved.
        RecipeError: The recipe cannot be read, or keys or values are wrong.
        Error: The data, the model's files or the run folder do not fit.
    """
    # In here: it loads TensorFlow, which a wrong recipe need not wait for.
    from tfsum.training.train import train_task

    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe, overrides)
    found = task(recipe.model.kind)
    return train_task(recipe, found.need(found.training, "training"))


def prepare_recipe(
    recipe: str | pathlib.Path | Mapping[str, Any], overrides: Iterable[str] = ()
) -> pathlib.Path | None:
    """Does the first stage of `train` alone: learns vocabularies and prepares records.

    Args:
        recipe: TOML file or mapping of sections.
        overrides: Texts `section.key=VALUE`.

    Returns:
        The folder of the records; None for a task that reads its texts at training.

    Raises:
        RecipeError: The recipe cannot be read, or keys or values are wrong.
        Error: The data or the model's files do not fit.
    """
    loaded = load_recipe(recipe, overrides)
    found = task(loaded.model.kind)
    found.need(found.training, "training").prepare_data(loaded)
    records = getattr(loaded.data, "records", None)
    return None if records is None else pathlib.Path(records)


def prepare(
    corpus: str | pathlib.Path,
    out_dir: str | pathlib.Path,
    vocabulary: str | pathlib.Path,
    task_name: str = "bert_sum_ext",
    run: "ShardRunner | None" = None,
    **options: Any,
) -> dict[str, int]:
    """Writes a corpus as records for training; a second call continues where the first stopped.

    Args:
        corpus: Corpus file.
        out_dir: Folder of the shards and of `manifest.json`, one folder for each corpus.
        vocabulary: A vocab.txt, or the folder that holds one.
        task_name: "bert_sum_ext", "bert_sum_abs", "transformer" or "bert_for_pretraining"; a
            classifier reads its texts at training.
        run: Writes the shards in the place of processes of this machine, see `tfsum.beam.prepare`.
        **options: Fields of the task's own class, such as
            `tfsum.data.documents.prepare.DocumentPreparation`.

    Returns:
        The counts of what was written, cut and left out.

    Raises:
        DataError: The corpus or the vocabulary cannot be read.
        Error: An option is unknown or invalid, or `out_dir` was prepared with other settings.
    """
    if options.get("legacy"):
        import tfsum.papers  # noqa: F401  (adds its writers)

    found = task(task_name)
    preparation = found.need(found.prepare, "prepare")(**options)
    return preparation.write(corpus, out_dir, vocabulary, run)
