"""Where the workers of a training are announced: TF_CONFIG, or SLURM."""

import json
import os

import tensorflow as tf

from tfsum.errors import RecipeError


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
            raise RecipeError(
                f'TF_CONFIG is {config[:80]!r}; expected JSON with a "cluster", or no TF_CONFIG'
            ) from None
        if others := sorted({*cluster} - {"chief", "worker"}):
            raise RecipeError(
                f'TF_CONFIG has the job {others[0]!r}; expected "worker" (and "chief") alone: '
                "parameter servers, evaluators and TPUs are not supported"
            )
        return tf.distribute.cluster_resolver.TFConfigClusterResolver() if workers > 1 else None
    os.environ.pop(
        "TF_CONFIG", None
    )  # an empty one, which TensorFlow's strategies take for broken JSON
    if int(os.environ.get("SLURM_STEP_NUM_TASKS", 1)) > 1:
        return _slurm()
    return None


def _slurm() -> tf.distribute.cluster_resolver.ClusterResolver:
    # TensorFlow's resolver of SLURM counts GPUs by nvidia-smi, and fails where there is none. So it is told that there
    # are enough, and asked for the names alone.
    slurm, simple = (
        getattr(tf.distribute.cluster_resolver, f"{name}ClusterResolver")
        for name in ("Slurm", "Simple")
    )
    named = slurm(gpus_per_node=1 << 20, gpus_per_task=1, auto_set_gpu=False)
    cluster = named.cluster_spec()  # which also finds out who this one is
    addresses = cluster.job_tasks(named.task_type)
    hosts = [address.rpartition(":")[0] for address in addresses]
    here = [task for task, host in enumerate(hosts) if host == hosts[named.task_id]]
    gpus = tf.config.list_physical_devices("GPU")
    if (
        len(gpus) >= len(here) > 1 and "SLURM_GPUS_PER_TASK" not in os.environ
    ):  # by which each task sees its own alone
        each, own = len(gpus) // len(here), here.index(named.task_id)
        gpus = gpus[own * each : (own + 1) * each]
        tf.config.set_visible_devices(gpus, "GPU")
    return simple(
        cluster,
        task_type=named.task_type,
        task_id=named.task_id,
        rpc_layer="grpc",
        num_accelerators={"GPU": len(gpus)} if gpus else {},
    )
