"""From a recipe to the best model folder, in four stages: prepare the data, build the model, make
the run, fit; and what a training is about to do."""

import contextlib
import hashlib
import pathlib
import platform
import re
from typing import Protocol, TypeVar

import keras
import numpy as np
import tensorflow as tf

import tfsum
from tfsum.errors import Stopped
from tfsum.training.log import format_counts, log, muted
from tfsum.training.recipe_file import compare_with_started_run, write_recipe
from tfsum.training.run import AnyModel, Run
from tfsum.training.run_folder import locked
from tfsum.training.settings import Recipe
from tfsum.training.workers import Workers, check_same_training, strategy_of

AnyRecipe = TypeVar("AnyRecipe", bound=Recipe, contravariant=True)
Data = TypeVar("Data")
STRATEGIES = {
    tf.distribute.MirroredStrategy: "mirrored",
    tf.distribute.MultiWorkerMirroredStrategy: "multi_worker",
}
"""Class -> its name in recipes."""
NOT_LEARNED = {"data": {"records"}, "train": {"folder", "tensorboard"}}
"""Keys that change nothing of what is learned: the folders, and what only watches a training."""
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.InternalError,
)
"""Errors of TensorFlow where another worker is lost; an InternalError may be this worker's own."""
_TASK = re.compile(r"/job:(\w+)/replica:\d+/task:(\d+)")
# Words in an InternalError if another worker is lost.
_TOGETHER = re.compile(r"collective|coordination|rpc", re.IGNORECASE)


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
        if workers.count == 1:
            raise
        raise lost_worker(error, workers.task) or error from None


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


def lost_worker(error: Exception, own: tuple[str, int] = ("worker", 0)) -> Stopped | None:
    """Turns an error of TensorFlow into the report that another worker was lost.

    Args:
        error: Error raised by TensorFlow, one of `LOST`.
        own: Type and number of this worker's task.

    Returns:
        The report, or None if the error is this worker's own.

    Example:
        >>> print(
        ...     lost_worker(RuntimeError("/job:worker/replica:0/task:1 is down"))
        ... )  # doctest: +ELLIPSIS
        worker 1 does not answer any more. ...
        >>> lost_worker(
        ...     tf.errors.InternalError(None, None, "libdevice not found at ./libdevice.10.bc")
        ... ) is None
        True
    """
    message = str(error)
    tasks = [(job, int(number)) for job, number in _TASK.findall(message)]
    others = [task for task in tasks if task != own]
    if isinstance(error, tf.errors.InternalError) and not (others or _TOGETHER.search(message)):
        return None

    who = " ".join(map(str, others[0])) if others else "another worker"
    lines = [line for line in message.splitlines() if line.strip()] or [type(error).__name__]
    reason = next((line for line in lines if "/task:" in line), lines[0]).strip()[:200]
    return Stopped(
        f"{who} does not answer any more. Start all workers again by the same command to resume"
        f" from the last checkpoint; the steps after it are trained again (TensorFlow: {reason})"
    )


def set_precision_and_seed(
    precision: str = "float32", seed: int = 0, deterministic: bool = False
) -> None:
    """Sets Keras's dtype policy and random seed for layers built afterwards.

    Args:
        precision: Type of products and activations: "float32", "bfloat16" or "float16"; weights
            stay float32.
        seed: Seed of new weights and of dropout.
        deterministic: Whether TensorFlow uses only operations that give the same bits each time,
            for the rest of the process. On CPUs a training does so anyway; on GPUs this is slower.

    Example:
        >>> set_precision_and_seed("float32", seed=0)
        >>> keras.config.dtype_policy().name
        'float32'
    """
    keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    keras.config.set_dtype_policy(POLICIES[precision])


def start_report(recipe: Recipe, run: Run) -> list[str]:
    """Describes a training.

    Args:
        recipe: Recipe of the training.
        run: Run that is about to begin.

    Returns:
        Lines: recipe and versions, strategy and devices, precision and batch, rows and tokens of
        a pass, parameters.

    Example:
        >>> for line in start_report(recipe, run):  # doctest: +SKIP
        ...     print(line)
        recipe 5a3d...; tfsum 0.9.0, tensorflow 2.21.0, keras 3.15.0, numpy 2.4.0, Python 3.13.1
        strategy one: 1 CPU
        precision float32; a batch of 512 tokens at the most, padding included (12.2 rows on
        average), in 1 part
        one pass: 60 documents, 4 batches, 1630 tokens, 1745 padded_tokens; 6.6% are padding
        parameters: 4,880, of which 4,880 are trained
    """
    model, train = run.model, recipe.train
    learned = recipe.model_dump_json(exclude=NOT_LEARNED).encode()
    versions = ", ".join(
        f"{package.__name__} {package.__version__}" for package in (tfsum, tf, keras, np)
    )
    strategy = STRATEGIES.get(type(model.distribute_strategy), "one")
    devices, parts = model.distribute_strategy.num_replicas_in_sync, train.micro_batches

    batch, first = "a batch", run.batches(0).batcher
    if budget := getattr(train, "tokens_per_batch", None):  # a user's own task may count otherwise
        batch += f" of {budget:,} tokens at the most, padding included"
    batch += f" ({len(first.length) / len(first.plan()):.1f} rows on average)"
    if devices > 1:
        batch += f", shared among {devices} devices"

    counts = run.batches(train.steps - 1).batcher.report()  # later batches may be larger
    padding = counts.pop("padding")
    return [
        f"recipe {hashlib.blake2b(learned, digest_size=6).hexdigest()}; {versions}, Python"
        f" {platform.python_version()}",
        f"strategy {strategy}: {run.workers.layout}",
        f"precision {train.precision}; {batch}, in {parts} part" + "s" * (parts > 1),
        f"one pass: {format_counts(counts)}; {padding:.1%} are padding",
        f"parameters: {model.count_params():,}, of which"
        f" {sum(v.shape.num_elements() for v in model.trainable_variables):,} are trained",
    ]
