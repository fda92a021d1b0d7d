"""Global settings that must be made before any layer is built: the strategy, the precision and the seed."""

import json
import os

import keras
import tensorflow as tf

from tfsum.errors import RecipeError

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def strategy_of(name: str) -> tf.distribute.Strategy:
    """The strategy of a recipe: "one" device, or "mirrored" over all GPUs (all logical CPUs where there is no GPU).

    Raises:
        RecipeError: the name is unknown.

    Args:
        name: "one" or "mirrored".

    Example:
        >>> strategy_of("one").num_replicas_in_sync
        1
    """
    if name == "one":
        return tf.distribute.get_strategy()
    if name != "mirrored":
        raise RecipeError(f"[train] strategy is {name!r}; expected 'one' or 'mirrored'")
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def refuse_workers() -> None:
    """Checks that TF_CONFIG does not announce several workers, each of which would train a model of its own.

    Raises:
        RecipeError: it does, or it is no JSON.

    Example:
        >>> refuse_workers()
    """
    config = os.environ.get("TF_CONFIG", "")
    if not config.strip():
        return
    try:
        cluster = json.loads(config).get("cluster", {})
        workers = sum(len(cluster.get(job, ())) for job in ("chief", "worker"))
    except (ValueError, AttributeError, TypeError):
        raise RecipeError(f"TF_CONFIG is {config[:80]!r}; expected JSON with a \"cluster\", or no TF_CONFIG") from None
    if workers > 1:
        raise RecipeError(f"TF_CONFIG announces {workers} workers; training on several machines is not supported yet; "
                          "unset TF_CONFIG to train on this one")


def set_precision_and_seed(precision: str = "float32", seed: int = 0) -> None:
    """Sets Keras's dtype policy and random seed for layers built afterwards.

    Args:
        precision: "float32", "bfloat16" or "float16": of products and activations; weights stay float32.
        seed: of new weights and of dropout.

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
    keras.config.set_dtype_policy(POLICIES[precision])
