"""Global settings that must be made before any layer is built: the strategy, the precision and the seed."""

from typing import Any, Literal, get_args

import keras
import tensorflow as tf
from tensorflow.python.distribute import collective_all_reduce_strategy

from tfsum.errors import Error, RecipeError
from tfsum.training.cluster import cluster_resolver
from tfsum.training.log import log

Strategy = Literal["auto", "one", "mirrored", "multi_worker"]
STRATEGIES = get_args(Strategy)
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def strategy_of(name: str, worker_timeout: int = 60) -> tf.distribute.Strategy:
    """The strategy of a recipe.

    Args:
        name: "one" device; "mirrored" over all GPUs of this machine (all logical CPUs where there is no GPU);
            "multi_worker" over all GPUs of several machines, which TF_CONFIG or SLURM announce, see
            `tfsum.training.cluster`; "auto", which is the first of these three that uses all there is: one for a
            machine with no more than a GPU.
        worker_timeout: seconds after which the other workers notice at the latest that one does not answer.

    Raises:
        RecipeError: the name is unknown, or it does not fit the workers that are announced.
        Error: the workers cannot be joined: TensorFlow has been used before in this process.

    Example:
        >>> strategy_of("one").num_replicas_in_sync
        1
    """
    if name not in STRATEGIES:
        raise RecipeError(
            f"[train] strategy is {name!r}; expected one of {', '.join(STRATEGIES)}; TPUs and parameter "
            "servers are not supported"
        )
    resolver = cluster_resolver()
    workers = 1 if resolver is None else sum(map(len, resolver.cluster_spec().as_dict().values()))
    if name == "auto":
        several = len(tf.config.list_physical_devices("GPU")) > 1
        name = "multi_worker" if workers > 1 else "mirrored" if several else "one"
    if (workers > 1) != (name == "multi_worker"):
        found = (
            f"{workers} workers are announced (TF_CONFIG, SLURM)"
            if workers > 1
            else "no other worker is announced"
        )
        raise RecipeError(
            f"[train] strategy is {name!r}, and {found}; "
            + (
                "each would train a model of its own: set it to 'auto' or 'multi_worker', or unset TF_CONFIG"
                if workers > 1
                else "set TF_CONFIG on each worker, start them by srun, or give `tfsum train --local-workers 2`"
            )
        )
    if name == "multi_worker":
        return _join_workers(resolver, worker_timeout)
    if name == "one":
        return tf.distribute.get_strategy()
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def _join_workers(resolver: Any, timeout: int) -> tf.distribute.Strategy:
    # Private in TensorFlow 2.21, and pinned by a test. A worker is asked in intervals, and given up at the third try.
    extended = collective_all_reduce_strategy.CollectiveAllReduceExtended
    extended._check_health_interval, extended._check_health_timeout = (
        timeout / 2,
        max(1, timeout // 6),
    )
    addresses = [address for job in resolver.cluster_spec().as_dict().values() for address in job]
    log(
        f"{resolver.task_type} {resolver.task_id}: waiting for all workers ({', '.join(addresses)})"
    )
    try:
        return tf.distribute.MultiWorkerMirroredStrategy(resolver)
    except RuntimeError as error:
        raise Error(
            f"the workers cannot be joined ({error}); train in a process that has not used TensorFlow before"
        ) from None


def set_precision_and_seed(
    precision: str = "float32", seed: int = 0, deterministic: bool = False
) -> None:
    """Sets Keras's dtype policy and random seed for layers built afterwards.

    Args:
        precision: "float32", "bfloat16" or "float16": of products and activations; weights stay float32.
        seed: of new weights and of dropout.
        deterministic: whether TensorFlow uses only operations that give the same bits each time, for the rest of the
            process. On CPUs a training does so anyway; on GPUs this is slower.

    Raises:
        RecipeError: the name is unknown.

    Example:
        >>> set_precision_and_seed("float32", seed=0)
        >>> keras.config.dtype_policy().name
        'float32'
    """
    if precision not in POLICIES:
        raise RecipeError(f"[train] precision is {precision!r}; expected {', '.join(POLICIES)}")
    keras.utils.set_random_seed(seed)
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    keras.config.set_dtype_policy(POLICIES[precision])
