"""The workers of a training: who they are, and what they tell each other besides gradients."""

import contextlib
import importlib.metadata
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import keras
import numpy as np
import tensorflow as tf

from tfsum.data.corpus_files import corpus_digest
from tfsum.errors import DataError, Error, RecipeError, Stopped
from tfsum.training.settings import keys_of

Item = TypeVar("Item")
Value = TypeVar("Value")
PACKAGES = ("tfsum", "tensorflow", "keras", "numpy")
SUM = tf.distribute.ReduceOp.SUM
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


class Workers:
    """The processes that train one model together; often only one.

    Every worker must make the same calls in the same order: each waits for all others.

    Args:
        strategy: Strategy of the training.

    Attributes:
        count: Number of workers.
        index: Number of this worker, from 0.
        task: Type and number of its task in the cluster.
        is_chief: Whether this worker is the first; only the chief writes files.

    Example:
        >>> workers = Workers(tf.distribute.get_strategy())
        >>> workers.count, workers.is_chief, workers.exchange({"step": 3})
        (1, True, [{'step': 3}])
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        jobs, self.task = {"worker": [""]}, ("worker", 0)
        resolver = strategy.cluster_resolver
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy) and resolver is not None:
            jobs = resolver.cluster_spec().as_dict()
            self.task = (resolver.task_type, int(resolver.task_id))

        job, self.index = self.task
        if job != "chief":
            self.index += len(jobs.get("chief", ()))
        self.count = sum(map(len, jobs.values()))
        self.is_chief = self.index == 0
        self._run = tf.function(
            lambda vector: strategy.run(self._add, args=(vector,)),
            autograph=False,
            input_signature=[tf.TensorSpec([None], tf.int32)],
        )

    @property
    def layout(self) -> str:
        """Devices of the training, such as "2 workers with 1 GPU each"."""
        kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
        devices = self._strategy.num_replicas_in_sync // self.count
        each = f"{devices} {kind}" + "s" * (devices > 1)
        if self.count > 1:
            return f"{self.count} workers with {each} each"
        return each

    def exchange(self, value: Value) -> list[Value]:
        """Sends a value to all workers.

        Args:
            value: Value that is JSON-serializable.

        Returns:
            Values of all workers, in their order.
        """
        if self.count == 1:
            return [value]

        # The JSON text as whole int32 numbers, filled up with blanks; first its sizes.
        text = json.dumps(value).encode()
        data = np.frombuffer(text + b" " * (-len(text) % 4), np.int32)
        sizes = np.zeros(self.count, np.int32)
        sizes[self.index] = len(data)
        sizes = self._sum(sizes)

        rows = np.zeros((self.count, sizes.max()), np.int32)
        rows[self.index, : len(data)] = data
        rows = self._sum(rows.reshape(-1)).reshape(rows.shape)
        return [json.loads(row[:size].tobytes()) for row, size in zip(rows, sizes)]

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
        """Applies a function to items, each on one of the workers.

        Args:
            function: Function of an item whose results are JSON-serializable.
            items: Items, the same on all workers.

        Returns:
            Results in the order of the items, on all workers.

        Raises:
            Error: The function raised an error on one of the workers; raised on all workers.
        """
        own = itertools.islice(items, self.index, None, self.count)
        shares = self._together(lambda: [function(item) for item in own])
        return [
            shares[number % self.count][number // self.count]
            for number in range(sum(map(len, shares)))
        ]

    def map_rows(
        self, function: Callable[[np.ndarray], list], batches: Iterable[np.ndarray], count: int
    ) -> list[Any]:
        """Applies a function to batches of rows, each batch on one of the workers.

        Args:
            function: Function of the numbers of some rows; a JSON-serializable answer for each.
            batches: Numbers of the rows of each batch, the same on all workers.
            count: Number of the first rows that are asked for; the others are left out.

        Returns:
            Answers in the order of the rows, on all workers.

        Raises:
            Error: As `map`.

        Example:
            >>> workers = Workers(tf.distribute.get_strategy())
            >>> batches = [np.array([2, 0]), np.array([1, 3])]
            >>> workers.map_rows(lambda rows: (10 * rows).tolist(), batches, 3)
            [0, 10, 20]
        """
        kept = [batch[batch < count] for batch in batches if batch.min() < count]
        answers: list[Any] = [None] * count
        for rows, values in zip(kept, self.map(function, kept)):
            for row, value in zip(rows, values):
                answers[row] = value
        return answers

    def by_chief(self, work: Callable[[], Value]) -> Value:
        """Does some work on the chief while the others wait.

        Args:
            work: Function whose result is JSON-serializable.

        Returns:
            The result, on all workers.

        Raises:
            Error: The work raised an error; raised on all workers.
        """
        return self._together(work if self.is_chief else lambda: None)[0]

    def _together(self, work: Callable[[], Any]) -> list[Any]:
        """The results of the workers' own works, on all workers, and so an error of one of them."""
        try:
            mine = {"result": work()}
        except Error as error:
            self.exchange({"error": str(error)})
            raise

        answers = self.exchange(mine)
        for index, answer in enumerate(answers):
            if "error" in answer:
                raise Error(f"worker {index}: {answer['error']}")
        return [answer["result"] for answer in answers]

    def take_from_chief(self, variables: Sequence[keras.Variable]) -> None:
        """Assigns the chief's values of Keras variables on all workers, bit by bit.

        Args:
            variables: Keras variables, the same on all workers.
        """
        if self.count == 1:
            return

        for variable in variables:  # one by one, so that only one is in memory twice
            value = np.asarray(variable.numpy())
            content = value.tobytes() if self.is_chief else bytes(value.nbytes)
            total = self._sum(np.frombuffer(content + bytes(-value.nbytes % 4), np.int32))
            content = total.tobytes()[: value.nbytes]
            variable.assign(np.frombuffer(content, value.dtype).reshape(value.shape))

    def _sum(self, vector: np.ndarray) -> np.ndarray:
        """Sums an int32 vector over the workers."""
        return self._strategy.experimental_local_results(self._run(tf.constant(vector)))[0].numpy()

    def _add(self, vector: tf.Tensor) -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        devices = context.num_replicas_in_sync // self.count

        # Only one of a worker's devices counts.
        first = context.replica_id_in_sync_group % devices == 0
        return context.all_reduce(SUM, tf.where(first, vector, 0))


def check_same_training(workers: Workers, recipe: Mapping[str, Mapping[str, Any]]) -> None:
    """Checks that all workers train the same.

    Args:
        workers: Workers of the training.
        recipe: Section -> key -> value, without the folders of records and run, which may differ
            from machine to machine.

    Raises:
        RecipeError: A key, a package's version or a corpus differs; the error names them all.

    Example:
        >>> check_same_training(Workers(tf.distribute.get_strategy()), {"train": {"steps": 10}})
    """
    first, *others = workers.exchange(_identity(recipe) if workers.count > 1 else {})
    wrong = [
        f"{name} is {other.get(name)!r} on worker {number} and {first.get(name)!r} on worker 0"
        for number, other in enumerate(others, start=1)
        for name in sorted({*first, *other})
        if first.get(name) != other.get(name)
    ]
    if wrong:
        raise RecipeError(
            f"the workers train different things: {'; '.join(wrong)}. Start all with the same"
            " recipe, corpora and versions"
        )


def _identity(recipe: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Name -> value of what must be the same on all workers."""
    found = {f"the version of {name}": importlib.metadata.version(name) for name in PACKAGES}
    for name, value in keys_of(recipe).items():
        found[name] = json.dumps(value, default=os.fspath)

    for value in filter(None, recipe.get("data", {}).values()):
        # Most are no corpus; whoever reads one reports its faults.
        with contextlib.suppress(DataError, OSError, TypeError):
            found[f"the corpus {value}"] = f"SHA-256 {corpus_digest(value)[:16]}"
    return found
