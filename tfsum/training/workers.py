"""The workers of a training: who they are, and what they tell each other besides gradients."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.errors import Error, Stopped

SUM = tf.distribute.ReduceOp.SUM
LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.InternalError,
)
"""What TensorFlow raises on the workers that are left; an InternalError may also be a fault of this one."""
_TASK = re.compile(r"/job:(\w+)/replica:\d+/task:(\d+)")
_TOGETHER = re.compile(
    r"collective|coordination|rpc", re.IGNORECASE
)  # what InternalErrors of lost workers speak of


def lost_worker(error: Exception, own: tuple[str, int] = ("worker", 0)) -> Stopped | None:
    """What the workers that are left report.

    Args:
        error: what TensorFlow raised, one of `LOST`.
        own: the type and the number of this worker's task.

    Returns:
        The report, or None where the error is this worker's own.

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
    tasks = [(job, int(number)) for job, number in _TASK.findall(str(error))]
    others = [task for task in tasks if task != own]
    if (
        isinstance(error, tf.errors.InternalError)
        and not others
        and not _TOGETHER.search(str(error))
    ):
        return None
    who = " ".join(map(str, others[0])) if others else "another worker"
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    said = next((line for line in lines if "/task:" in line), lines[0]).strip()[:200]
    return Stopped(
        f"{who} does not answer any more. Start all workers again by the same command to resume from the "
        f"last checkpoint; the steps after it are trained again (TensorFlow: {said})"
    )


class Workers:
    """The processes that train one model together; one where the strategy is not of several workers.

    Every worker must make the same calls in the same order: each waits for all others.

    Args:
        strategy: of the training.

    Attributes:
        count: their number.
        index: that of this one, from 0.
        task: the type and the number of its task in the cluster.
        is_chief: whether this one is the first, which alone writes.

    Example:
        >>> workers = Workers(tf.distribute.get_strategy())
        >>> workers.count, workers.is_chief, workers.exchange({"step": 3})
        (1, True, [{'step': 3}])
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        resolver = strategy.cluster_resolver
        several = (
            isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy) and resolver is not None
        )
        jobs = resolver.cluster_spec().as_dict() if several else {"worker": [""]}
        self.count = sum(map(len, jobs.values()))
        self.index = int(resolver.task_id) if several else 0
        if several and "chief" in jobs and resolver.task_type != "chief":
            self.index += len(jobs["chief"])
        self.is_chief = self.index == 0
        self.task = (resolver.task_type, int(resolver.task_id)) if several else ("worker", 0)
        self._run = tf.function(
            lambda vector: strategy.run(self._add, args=(vector,)),
            autograph=False,
            input_signature=[tf.TensorSpec([None], tf.int32)],
        )

    def exchange(self, value: Any) -> list[Any]:
        """Sends a value to all workers.

        Args:
            value: JSON-serializable.

        Returns:
            The values of all, in the order of the workers.
        """
        if self.count == 1:
            return [value]
        text = json.dumps(value).encode()
        data = np.frombuffer(
            text + b" " * (-len(text) % 4), np.int32
        )  # blanks after JSON mean nothing
        sizes = np.zeros(self.count, np.int32)
        sizes[self.index] = len(data)
        sizes = self._sum(sizes)
        rows = np.zeros((self.count, sizes.max()), np.int32)
        rows[self.index, : len(data)] = data
        rows = self._sum(rows.reshape(-1)).reshape(rows.shape)
        return [json.loads(row[:size].tobytes()) for row, size in zip(rows, sizes)]

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Applies a function to items, each on one of the workers.

        Args:
            function: its results are JSON-serializable.
            items: the same on all workers.

        Returns:
            The results in the order of the items, on all workers.

        Raises:
            Error: what the function raised on one of them, on all workers, or they have not the same number of items.
        """
        if self.count == 1:
            return [function(item) for item in items]
        mine: dict[str, Any] = {"total": 0, "results": []}
        try:
            for number, item in enumerate(items):
                mine["total"] = number + 1
                if number % self.count == self.index:
                    mine["results"].append(function(item))
        except Error as error:
            mine = {"error": str(error)}
        shares = self.exchange(mine)
        for index, share in enumerate(shares):
            if "error" in share:
                raise Error(f"worker {index}: {share['error']}")
        totals = [share["total"] for share in shares]
        if len({*totals}) > 1:
            raise Error(
                f"the workers have {', '.join(map(str, totals))} batches to validate; expected the same "
                "number: their records differ. Remove them on all workers and start again"
            )
        return [
            shares[number % self.count]["results"][number // self.count]
            for number in range(totals[0])
        ]

    def by_chief(self, work: Callable[[], Any]) -> Any:
        """Does some work on the chief while the others wait.

        Args:
            work: its result is JSON-serializable.

        Returns:
            The result, on all workers.

        Raises:
            Error: what the work raised, on all workers.
        """
        if self.count == 1:
            return work()
        answer: Any = None
        if self.is_chief:
            try:
                answer = {"result": work()}
            except Error as error:
                self.exchange({"error": str(error)})
                raise
        answer = self.exchange(answer)[0]
        if "error" in answer:
            raise Error(f"worker 0: {answer['error']}")
        return answer["result"]

    def take_from_chief(self, variables: Sequence[Any]) -> None:
        """Assigns the chief's values of Keras variables on all workers, bit by bit."""
        if self.count == 1:
            return
        for variable in variables:  # one after another, so that one alone is in memory twice
            value = np.asarray(variable.numpy())
            content = value.tobytes() if self.is_chief else bytes(value.nbytes)
            found = self._sum(
                np.frombuffer(content + bytes(-value.nbytes % 4), np.int32)
            ).tobytes()[: value.nbytes]
            variable.assign(np.frombuffer(found, value.dtype).reshape(value.shape))

    def _sum(self, vector: np.ndarray) -> np.ndarray:
        """The sum of an int32 vector over the workers."""
        return self._strategy.experimental_local_results(self._run(tf.constant(vector)))[0].numpy()

    def _add(self, vector: tf.Tensor) -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        devices = context.num_replicas_in_sync // self.count
        first = (
            context.replica_id_in_sync_group % devices == 0
        )  # of several devices of a worker one counts
        return context.all_reduce(SUM, tf.where(first, vector, 0))
