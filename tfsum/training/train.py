"""From a recipe to the best model folder, in four stages: prepare the data, build the model, make the run, fit."""

import contextlib
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import keras
import tensorflow as tf

from tfsum.models.model import Model
from tfsum.training.environment import set_precision_and_seed, strategy_of
from tfsum.training.lock import locked
from tfsum.training.log import log, muted
from tfsum.training.recipe_writer import compare_with_started_run, write_recipe
from tfsum.training.run import Run
from tfsum.training.same_training import check_same_training
from tfsum.training.start_report import start_report
from tfsum.training.workers import LOST, Workers, lost_worker

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
        Stopped: a signal asked the run to stop, or another worker was lost; its state is saved.
        Error: the data, the model's files or the run folder do not fit, another process uses the run folder, or the
            loss or a weight is no finite number.
        RecipeError: the strategy does not fit the workers that are announced, or another worker trains something else.

    Example:
        >>> from tfsum.tasks import task
        >>> from tfsum.tasks.recipes import load_recipe
        >>> recipe = load_recipe("training/bert_sum_ext_news.toml")  # doctest: +SKIP
        >>> train_task(recipe, task("extractive").part("train"))  # doctest: +SKIP
        PosixPath('runs/bert_sum_ext_news/best')
    """
    # First of all: workers are joined before TensorFlow is used.
    strategy = strategy_of(recipe["train"]["strategy"], recipe["train"]["worker_timeout"])
    workers = Workers(strategy)
    check_same_training(workers, recipe)
    try:
        with muted(not workers.is_chief), _locked_by_chief(workers, recipe["train"]["folder"]):
            return _train(recipe, task, strategy, workers)
    except LOST as error:
        stopped = lost_worker(error, workers.task) if workers.count > 1 else None
        if stopped is None:
            raise
        raise stopped from None


def _train(
    recipe: Recipe, task: TaskTraining, strategy: tf.distribute.Strategy, workers: Workers
) -> pathlib.Path:
    for line in workers.by_chief(lambda: compare_with_started_run(recipe)):
        log(line)
    data = _after_chief(workers, lambda: task.prepare_data(recipe))
    train, policy = recipe["train"], keras.config.dtype_policy()
    try:
        set_precision_and_seed(train["precision"], train["seed"], train["deterministic"])
        with strategy.scope():
            model = task.build_model(recipe, data)
        run = task.make_run(recipe, data, model)
        if workers.is_chief:
            write_recipe(recipe, run.folder / "recipe.toml")
        for line in start_report(
            recipe, model, workers, run.variables, run.rows_per_batch(), run.largest_part()
        ):
            log(line)
        return run.fit()
    finally:
        keras.config.set_dtype_policy(
            policy
        )  # a model that is exported afterwards is of the caller's precision


def _locked_by_chief(workers: Workers, folder: str) -> contextlib.AbstractContextManager:
    """The lock of the run folder, held by the chief; all workers fail where it cannot be had."""
    held = contextlib.ExitStack()
    workers.by_chief(lambda: held.enter_context(locked(folder)))
    return held


def _after_chief(workers: Workers, work: Callable[[], Any]) -> Any:
    """What some work gives on each worker, done by the chief first: in a shared folder the others find it done."""
    found: list[Any] = []
    workers.by_chief(lambda: found.append(work()))
    return found[0] if found else work()
