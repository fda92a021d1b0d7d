"""The workers of a training: who they are, and what they tell each other besides gradients."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.errors import Error, RecipeError, Stopped

SUM = tf.distribute.ReduceOp.SUM
LOST = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError, tf.errors.DeadlineExceededError,
        tf.errors.InternalError)
"""What TensorFlow raises on the workers that are left."""


def announced_workers() -> int:
    """The number of workers that TF_CONFIG or SLURM announce; 1 where neither does.

    Raises:
        RecipeError: TF_CONFIG is no JSON.

    Example:
        >>> announced_workers()
        1
    """
    resolver = cluster_resolver()
    return 1 if resolver is None else sum(map(len, resolver.cluster_spec().as_dict().values()))


def cluster_resolver() -> tf.distribute.cluster_resolver.ClusterResolver | None:
    """TensorFlow's resolver of the cluster that this process is a worker of.

    Returns:
        That of TF_CONFIG, or of SLURM where `srun` has started several tasks; None where there is no cluster.

    Raises:
        RecipeError: TF_CONFIG is no JSON, or has jobs that are not supported.

    Example:
        >>> cluster_resolver() is None
        True
    """
    config = os.environ.get("TF_CONFIG", "")
    if config.strip():
        try:
            cluster = json.loads(config).get("cluster", {})
            workers = sum(len(cluster.get(job, ())) for job in ("chief", "worker"))
        except (ValueError, AttributeError, TypeError):
            raise RecipeError(f"TF_CONFIG is {config[:80]!r}; expected JSON with a \"cluster\", or no TF_CONFIG"
                              ) from None
        if others := sorted({*cluster} - {"chief", "worker"}):
            raise RecipeError(f"TF_CONFIG has the job {others[0]!r}; expected \"worker\" (and \"chief\") alone: "
                              "parameter servers, evaluators and TPUs are not supported")
        return tf.distribute.cluster_resolver.TFConfigClusterResolver() if workers > 1 else None
    os.environ.pop("TF_CONFIG", None)  # an empty one, which TensorFlow's strategies take for broken JSON
    if int(os.environ.get("SLURM_STEP_NUM_TASKS", 1)) > 1:
        return _slurm()
    return None


def _slurm() -> tf.distribute.cluster_resolver.ClusterResolver:
    slurm, simple = (getattr(tf.distribute.cluster_resolver, f"{name}ClusterResolver") for name in ("Slurm", "Simple"))
    if shutil.which("nvidia-smi"):
        return slurm()
    # SLURM's resolver counts GPUs by that program, and knows no nodes without a GPU; so their tasks get some that are
    # not used.
    named = slurm(gpus_per_node=1 << 20, gpus_per_task=1, auto_set_gpu=False)
    cluster = named.cluster_spec()  # which also finds out who this one is
    return simple(cluster, task_type=named.task_type, task_id=named.task_id, num_accelerators={}, rpc_layer="grpc")


def lost_worker(error: Exception) -> Stopped:
    """What the workers that are left report.

    Args:
        error: what TensorFlow raised.

    Example:
        >>> print(lost_worker(RuntimeError("/job:worker/replica:0/task:1 is down")))  # doctest: +ELLIPSIS
        worker 1 does not answer any more; ...
    """
    found = re.search(r"/job:(\w+)/replica:\d+/task:(\d+)", str(error))
    who = f"{found[1]} {found[2]}" if found else "another worker"
    said = str(error).strip().partition("\n")[0][:200]
    return Stopped(f"{who} does not answer any more; the state of the last checkpoint is saved. Start all workers "
                   f"again by the same command to resume (TensorFlow: {said})")


class Workers:
    """The processes that train one model together; one where the strategy is not of several workers.

    Every worker must make the same calls in the same order: each waits for all others.

    Args:
        strategy: of the training.

    Attributes:
        count: their number.
        index: that of this one, from 0.
        is_chief: whether this one is the first, which alone writes.

    Example:
        >>> workers = Workers(tf.distribute.get_strategy())
        >>> workers.count, workers.is_chief, workers.exchange({"step": 3})
        (1, True, [{'step': 3}])
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        self._strategy = strategy
        resolver = strategy.cluster_resolver
        several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy) and resolver is not None
        jobs = resolver.cluster_spec().as_dict() if several else {"worker": [""]}
        self.count = sum(map(len, jobs.values()))
        self.index = int(resolver.task_id) if several else 0
        if several and "chief" in jobs and resolver.task_type != "chief":
            self.index += len(jobs["chief"])
        self.is_chief = self.index == 0
        self._run = tf.function(lambda vector: strategy.run(self._add, args=(vector,)), autograph=False,
                                input_signature=[tf.TensorSpec([None], tf.int32)])

    def exchange(self, value: Any) -> list[Any]:
        """Sends a value to all workers.

        Args:
            value: JSON-serializable.

        Returns:
            The values of all, in the order of the workers.
        """
        if self.count == 1:
            return [value]
        data = np.frombuffer(json.dumps(value).encode(), np.uint8).astype(np.int32)
        sizes = np.zeros(self.count, np.int32)
        sizes[self.index] = len(data)
        sizes = self._sum(sizes)
        rows = np.zeros((self.count, sizes.max()), np.int32)
        rows[self.index, : len(data)] = data
        rows = self._sum(rows.reshape(-1)).reshape(rows.shape)
        return [json.loads(row[:size].astype(np.uint8).tobytes()) for row, size in zip(rows, sizes)]

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Applies a function to items, each on one of the workers.

        Args:
            function: its results are JSON-serializable.
            items: the same on all workers.

        Returns:
            The results in the order of the items, on all workers.
        """
        if self.count == 1:
            return [function(item) for item in items]
        total, mine = 0, []
        for number, item in enumerate(items):
            total = number + 1
            if number % self.count == self.index:
                mine.append(function(item))
        shares = self.exchange(mine)
        return [shares[number % self.count][number // self.count] for number in range(total)]

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
            found = self._sum(np.frombuffer(content + bytes(-value.nbytes % 4), np.int32)).tobytes()[: value.nbytes]
            variable.assign(np.frombuffer(found, value.dtype).reshape(value.shape))

    def _sum(self, vector: np.ndarray) -> np.ndarray:
        """The sum of an int32 vector over the workers."""
        return self._strategy.experimental_local_results(self._run(tf.constant(vector)))[0].numpy()

    def _add(self, vector: tf.Tensor) -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        devices = context.num_replicas_in_sync // self.count
        first = context.replica_id_in_sync_group % devices == 0  # of several devices of a worker one counts
        return context.all_reduce(SUM, tf.where(first, vector, 0))
