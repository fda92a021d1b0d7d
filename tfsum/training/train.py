"""From a recipe to the best model folder, in four stages: prepare the data, build the model, make
the run, fit."""

import contextlib
import pathlib
from typing import Protocol, TypeVar

import keras
import tensorflow as tf

from tfsum.models.model import Model
from tfsum.training.environment import set_precision_and_seed, strategy_of
from tfsum.training.log import log, muted
from tfsum.training.recipe_file import compare_with_started_run, write_recipe
from tfsum.training.run import Run
from tfsum.training.run_folder import locked
from tfsum.training.settings import Recipe
from tfsum.training.start_report import start_report
from tfsum.training.workers import LOST, Workers, check_same_training, lost_worker

AnyRecipe = TypeVar("AnyRecipe", bound=Recipe, contravariant=True)
Data = TypeVar("Data")
AnyModel = TypeVar("AnyModel", bound=Model)


class Training(Protocol[AnyRecipe, Data, AnyModel]):
    """The stages of a task's training: what one returns is given to the next ones."""

    def prepare_data(self, recipe: AnyRecipe) -> Data:
        """Prepares or reads the data of a recipe, unless that is done."""

    def build_model(self, recipe: AnyRecipe, data: Data) -> AnyModel:
        """Builds the model of a recipe, with new weights or stored ones."""

    def make_run(self, recipe: AnyRecipe, data: Data, model: AnyModel) -> Run:
        """Makes the run of a model, ready to `fit`."""


def train_task(recipe: AnyRecipe, task: Training[AnyRecipe, Data, AnyModel]) -> pathlib.Path:
    """Trains a model from a recipe; resumes a stopped run.

    Args:
        recipe: Section -> key -> value, with every key.
        task: The stages of the recipe's task.

    Returns:
        The folder of the best model.

    Raises:
        Stopped: A signal asked the run to stop, or another worker was lost; its state is saved.
        Error: Data, the model's files or the run folder do not fit, another process uses the
            run folder, or the loss or a weight is no finite number.
        RecipeError: Strategy does not fit the workers that are announced, or another worker
            trains something else.

    Example:
        >>> from tfsum.tasks.bert_sum_ext import train
        >>> from tfsum.tasks.recipes import load_recipe
        >>> recipe = load_recipe("news.toml")  # doctest: +SKIP
        >>> train_task(recipe, train)  # doctest: +SKIP
        PosixPath('runs/bert_sum_ext_news/best')
    """
    # First of all: workers are joined before TensorFlow is used.
    strategy = strategy_of(recipe.train.strategy, recipe.train.worker_timeout)
    workers = Workers(strategy)
    check_same_training(workers, recipe.without_folders())
    try:
        with muted(not workers.is_chief), contextlib.ExitStack() as held:
            # The chief holds the lock; all workers fail where it cannot be had.
            workers.by_chief(lambda: held.enter_context(locked(recipe.train.folder)))
            return _train(recipe, task, strategy, workers)
    except LOST as error:
        stopped = lost_worker(error, workers.task) if workers.count > 1 else None
        if stopped is None:
            raise
        raise stopped from None


def _train(
    recipe: AnyRecipe,
    task: Training[AnyRecipe, Data, AnyModel],
    strategy: tf.distribute.Strategy,
    workers: Workers,
) -> pathlib.Path:
    for line in workers.by_chief(lambda: compare_with_started_run(recipe)):
        log(line)

    # By the chief first: in a shared folder the others find it done.
    prepared: list[Data] = []
    workers.by_chief(lambda: prepared.append(task.prepare_data(recipe)))
    data = prepared[0] if prepared else task.prepare_data(recipe)

    train, policy = recipe.train, keras.config.dtype_policy()
    try:
        set_precision_and_seed(train.precision, train.seed, train.deterministic)
        with strategy.scope():
            model = task.build_model(recipe, data)
        run = task.make_run(recipe, data, model)
        if workers.is_chief:
            write_recipe(recipe, run.folder / "recipe.toml")
        for line in start_report(recipe, run):
            log(line)
        return run.fit()
    finally:
        # a model that is exported afterwards is of the caller's precision
        keras.config.set_dtype_policy(policy)
