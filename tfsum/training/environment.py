"""Global settings that are made before any layer is built: strategy, precision and seed; and where
the workers of a training are announced."""

import os

import keras
import tensorflow as tf
from tensorflow.python.distribute import collective_all_reduce_strategy

from tfsum.errors import Error, RecipeError
from tfsum.json_text import parse_json
from tfsum.private_names import check_private_names
from tfsum.training.log import log

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


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
    resolver = cluster_resolver()
    workers = 1 if resolver is None else sum(map(len, resolver.cluster_spec().as_dict().values()))
    if name == "auto":
        name = "multi_worker" if workers > 1 else "one"
        if workers == 1 and len(tf.config.list_physical_devices("GPU")) > 1:
            name = "mirrored"

    if workers > 1 and name != "multi_worker":
        raise RecipeError(
            f"[train] strategy is {name!r}, and {workers} workers are announced (TF_CONFIG, SLURM);"
            " each would train a model of its own: set it to 'auto' or 'multi_worker', or unset"
            " TF_CONFIG"
        )
    if workers == 1 and name == "multi_worker":
        raise RecipeError(
            f"[train] strategy is {name!r}, and no other worker is announced; set TF_CONFIG on each"
            " worker, start them by srun, or give `tfsum train --local-workers 2`"
        )

    if name == "multi_worker":
        return _join_workers(resolver, worker_timeout)
    if name == "one":
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

    addresses = [address for job in resolver.cluster_spec().as_dict().values() for address in job]
    log(
        f"{resolver.task_type} {resolver.task_id}: waiting for all workers ({', '.join(addresses)})"
    )

    try:
        return tf.distribute.MultiWorkerMirroredStrategy(resolver)
    except RuntimeError as error:
        raise Error(
            f"the workers cannot be joined ({error}); train in a process that has not used"
            " TensorFlow before"
        ) from None


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
    if not tasks.isdecimal():
        raise RecipeError(
            f"SLURM_STEP_NUM_TASKS is {tasks[:80]!r}; expected the number of tasks that srun has"
            " started, or no SLURM_STEP_NUM_TASKS"
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
