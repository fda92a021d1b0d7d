"""The workers of a training: how they are found and joined, and what they tell each other besides
gradients."""

import contextlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.distribute import collective_all_reduce_strategy

import tfsum
from tfsum.data.corpus_files import corpus_digest
from tfsum.errors import DataError, Error, RecipeError, as_error, require
from tfsum.json_text import parse_json
from tfsum.private_names import check_private_names
from tfsum.training.log import log
from tfsum.training.settings import keys_of

Item = TypeVar("Item")
Value = TypeVar("Value")
PACKAGES = (tfsum, tf, keras, np)
SUM = tf.distribute.ReduceOp.SUM


def strategy_of(name: str, worker_timeout: int = 60) -> tf.distribute.Strategy:
    """Makes the strategy of a recipe.

    Args:
        name: "one" device; "mirrored" over all GPUs of this machine (all logical CPUs if there is
            no GPU); "multi_worker" over all GPUs of the machines that TF_CONFIG or SLURM announce
            (`cluster_resolver`); "auto" for the one of these that uses all devices.
        worker_timeout: Seconds after which the workers notice that one does not answer.

    Raises:
        RecipeError: The name does not fit the workers that are announced.
        Error: The workers cannot be joined: TensorFlow was used before in this process.

    Example:
        >>> strategy_of("one").num_replicas_in_sync
        1
    """
    if resolver := cluster_resolver():
        if name in ("auto", "multi_worker"):
            return _join_workers(resolver, worker_timeout)
        workers = sum(map(len, resolver.cluster_spec().as_dict().values()))
        raise RecipeError(
            f"[train] strategy is {name!r}, and {workers} workers are announced (TF_CONFIG, SLURM);"
            " each would train a model of its own: set it to 'auto' or 'multi_worker', or unset"
            " TF_CONFIG"
        )

    require(
        name != "multi_worker",
        f"[train] strategy is {name!r}, and no other worker is announced; set TF_CONFIG on each"
        " worker, start them by srun, or give `tfsum train --local-workers 2`",
        RecipeError,
    )
    if name == "one" or (name == "auto" and len(tf.config.list_physical_devices("GPU")) < 2):
        return tf.distribute.get_strategy()

    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def _join_workers(
    resolver: tf.distribute.cluster_resolver.ClusterResolver, timeout: int
) -> tf.distribute.Strategy:
    # A worker is asked in intervals, and given up at the third try.
    extended = collective_all_reduce_strategy.CollectiveAllReduceExtended
    check_private_names("tensorflow", extended, "_check_health_interval", "_check_health_timeout")
    extended._check_health_interval = timeout / 2
    extended._check_health_timeout = max(1, timeout // 6)

    addresses = ", ".join(itertools.chain(*resolver.cluster_spec().as_dict().values()))
    log(f"{resolver.task_type} {resolver.task_id}: waiting for all workers ({addresses})")

    with as_error(
        "the workers cannot be joined",
        RuntimeError,
        cure="; train in a process that has not used TensorFlow before",
    ):
        return tf.distribute.MultiWorkerMirroredStrategy(resolver)


def cluster_resolver() -> tf.distribute.cluster_resolver.ClusterResolver | None:
    """Finds the cluster that this process is a worker of.

    Returns:
        TensorFlow's resolver for TF_CONFIG, or for SLURM if `srun` started several tasks; None if
        there is no cluster.

    Raises:
        RecipeError: TF_CONFIG is not JSON, or has jobs that are not supported, or
            SLURM_STEP_NUM_TASKS is no number.

    Example:
        >>> cluster_resolver() is None
        True
    """
    config = os.environ.get("TF_CONFIG", "")
    if config.strip():
        try:
            cluster = parse_json(config).get("cluster", {})
            workers = sum(len(cluster.get(job, ())) for job in ("chief", "worker"))
        except (ValueError, AttributeError, TypeError):
            raise RecipeError(
                f'TF_CONFIG is {config[:80]!r}; expected JSON with a "cluster", or no TF_CONFIG'
            ) from None

        if others := sorted({*cluster} - {"chief", "worker"}):
            raise RecipeError(
                f'TF_CONFIG has the job {others[0]!r}; expected "worker" (and "chief") alone: '
                "parameter servers, evaluators and TPUs are not supported"
            )
        if workers > 1:
            return tf.distribute.cluster_resolver.TFConfigClusterResolver()
        return None

    os.environ.pop("TF_CONFIG", None)  # TensorFlow's strategies take a blank one for broken JSON
    tasks = os.environ.get("SLURM_STEP_NUM_TASKS", "").strip() or "1"
    require(
        tasks.isdecimal(),
        f"SLURM_STEP_NUM_TASKS is {tasks[:80]!r}; expected the number of tasks that srun has"
        " started, or no SLURM_STEP_NUM_TASKS",
        RecipeError,
    )
    if int(tasks) > 1:
        return _slurm()
    return None


def _slurm() -> tf.distribute.cluster_resolver.ClusterResolver:
    # TensorFlow's resolver for SLURM counts GPUs by nvidia-smi, and fails if there is none. So it
    # is told that there are enough, and only asked for names.
    slurm = tf.distribute.cluster_resolver.SlurmClusterResolver(
        gpus_per_node=1 << 20, gpus_per_task=1, auto_set_gpu=False
    )
    cluster = slurm.cluster_spec()  # which also finds out which task this process is
    hosts = [address.rpartition(":")[0] for address in cluster.job_tasks(slurm.task_type)]
    neighbours = [task for task, host in enumerate(hosts) if host == hosts[slurm.task_id]]

    # Each task of a host takes its own share of the GPUs, unless SLURM has given it one.
    gpus = tf.config.list_physical_devices("GPU")
    if len(gpus) >= len(neighbours) > 1 and "SLURM_GPUS_PER_TASK" not in os.environ:
        share, own = len(gpus) // len(neighbours), neighbours.index(slurm.task_id)
        gpus = gpus[own * share : (own + 1) * share]
        tf.config.set_visible_devices(gpus, "GPU")

    return tf.distribute.cluster_resolver.SimpleClusterResolver(
        cluster,
        task_type=slurm.task_type,
        task_id=slurm.task_id,
        rpc_layer="grpc",
        num_accelerators={"GPU": len(gpus)} if gpus else {},
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
        own = np.arange(self.count) == self.index
        sizes = self._sum(np.where(own, len(data), 0).astype(np.int32))

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
        answers = itertools.chain.from_iterable(self.map(function, kept))
        by_row = dict(zip(itertools.chain.from_iterable(kept), answers))
        return [by_row[row] for row in range(count)]

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
    require(
        not wrong,
        f"the workers train different things: {'; '.join(wrong)}. Start all with the same"
        " recipe, corpora and versions",
        RecipeError,
    )


def _identity(recipe: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Name -> value of what must be the same on all workers."""
    found = {f"the version of {each.__name__}": each.__version__ for each in PACKAGES}
    found |= {name: json.dumps(value, default=os.fspath) for name, value in keys_of(recipe).items()}
    for value in filter(None, recipe.get("data", {}).values()):
        # Most are no corpus; whoever reads one reports its faults.
        with contextlib.suppress(DataError, OSError, TypeError):
            found[f"the corpus {value}"] = f"SHA-256 {corpus_digest(value)[:16]}"
    return found
