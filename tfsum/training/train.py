"""From a recipe to the best model folder, in four stages: prepare the data, build the model, make the run, fit."""

import pathlib
from collections.abc import Mapping
from typing import Any, Protocol

import keras

from tfsum.models.model import Model
from tfsum.training.environment import refuse_workers, set_precision_and_seed, strategy_of
from tfsum.training.lock import locked
from tfsum.training.log import log
from tfsum.training.recipe_writer import compare_with_started_run, write_recipe
from tfsum.training.run import Run

Recipe = Mapping[str, Mapping[str, Any]]


class TaskTraining(Protocol):
    """The interface of a task's `train` part; the type of the data is the task's own.

    Example:
        >>> from tfsum.tasks import task
        >>> hasattr(task("extractive").part("train"), "make_run")
        True
    """

    def prepare_data(self, recipe: Recipe) -> Any:
        """Reads or learns vocabularies, prepares missing records, and checks the recipe."""

    def build_model(self, recipe: Recipe, data: Any) -> Model:
        """Builds the model, with the recipe's initial weights."""

    def make_run(self, recipe: Recipe, data: Any, model: Model) -> Run:
        """Makes the run that trains and validates the model."""


def train_task(recipe: Recipe, task: TaskTraining) -> pathlib.Path:
    """Trains a model from a recipe; resumes a stopped run.

    Args:
        recipe: section -> key -> value, with every key.
        task: the `train` part of the recipe's task.

    Returns:
        The folder of the best model.

    Raises:
        Stopped: a signal asked the run to stop, and its state is saved.
        Error: the data, the model's files or the run folder do not fit, another process uses the run folder, or the
            loss or a weight is no finite number.
        RecipeError: TF_CONFIG announces several workers.

    Example:
        >>> from tfsum.tasks import task
        >>> from tfsum.tasks.recipes import load_recipe
        >>> recipe = load_recipe("training/bert_sum_ext_news.toml")  # doctest: +SKIP
        >>> train_task(recipe, task("extractive").part("train"))  # doctest: +SKIP
        PosixPath('runs/bert_sum_ext_news/best')
    """
    refuse_workers()
    with locked(recipe["train"]["folder"]):
        for line in compare_with_started_run(recipe):
            log(line)
        data = task.prepare_data(recipe)
        train, policy = recipe["train"], keras.config.dtype_policy()
        try:
            set_precision_and_seed(train["precision"], train["seed"])
            with strategy_of(train["strategy"]).scope():
                model = task.build_model(recipe, data)
            run = task.make_run(recipe, data, model)
            write_recipe(recipe, run.folder / "recipe.toml")
            return run.fit()
        finally:
            keras.config.set_dtype_policy(policy)  # a model that is exported afterwards is of the caller's precision
