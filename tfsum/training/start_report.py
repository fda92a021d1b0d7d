"""What a training is about to do, as the first lines of its log."""

import hashlib
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tfsum
from tfsum.models.model import Model
from tfsum.training.activations import activation_bytes
from tfsum.training.recipe_writer import to_toml, without_folders
from tfsum.training.workers import Workers

WATCHING = {("train", "profile"), ("train", "tensorboard")}


def start_report(
    recipe: Mapping[str, Mapping[str, Any]],
    model: Model,
    workers: Workers,
    variables: Sequence[Any],
    rows: float | None = None,
    part: Any = None,
) -> list[str]:
    """Describes a training.

    Args:
        recipe: section -> key -> value.
        model: the built model, under the strategy of the training.
        workers: of the training.
        variables: the Keras variables that a device holds: of the model, the optimizer and the average.
        rows: of a batch, on average.
        part: the largest part of a batch that a device trains at once, whose activations' memory is estimated.

    Returns:
        Lines: recipe and versions, strategy and devices, precision and batch, parameters, memory.

    Example:
        >>> from tfsum.models import Bert
        >>> bert = Bert(10, 8, 1, 2, 16)
        >>> bert.build()
        >>> recipe = {
        ...     "train": {"tokens_per_batch": 512, "micro_batches": 1, "precision": "float32"}
        ... }
        >>> for line in start_report(
        ...     recipe, bert, Workers(bert.distribute_strategy), bert.variables, rows=12.25
        ... ):
        ...     print(line)  # doctest: +ELLIPSIS
        recipe ...; tfsum ..., tensorflow ..., keras ..., numpy ..., Python ...
        strategy one: 1 CPU
        precision float32; a batch of 512 tokens at the most, padding included (12.2 rows on average), in 1 part
        parameters: 4,880, of which 4,880 are trained
        memory of a device: 0.04 MB for weights, gradients, optimizer and average; the activations of a part come on top
    """
    train = recipe["train"]
    versions = ", ".join(
        f"{package.__name__} {package.__version__}" for package in (tfsum, tf, keras, np)
    )
    devices, parts = model.distribute_strategy.num_replicas_in_sync, train["micro_batches"]
    trained = [v for v in model.variables if v.trainable]
    # A task of one's own may count its batches otherwise.
    most = train.get("tokens_per_batch")
    tokens = f" of {most:,} tokens at the most, padding included" if most else ""
    mean = "" if rows is None else f" ({rows:.1f} rows on average)"
    name = (
        "multi_worker"
        if workers.count > 1
        else "mirrored"
        if isinstance(model.distribute_strategy, tf.distribute.MirroredStrategy)
        else "one"
    )
    shared = f", shared among {devices} devices" if devices > 1 else ""
    return [
        f"recipe {recipe_hash(recipe)}; {versions}, Python {platform.python_version()}",
        f"strategy {name}: {layout(workers, devices)}",
        f"precision {train['precision']}; a batch{tokens}{mean}{shared}, in {parts} part{'s' if parts > 1 else ''}",
        f"parameters: {_size(model.weights):,}, of which {_size(trained):,} are trained",
        _memory(variables, trained, parts, None if part is None else activation_bytes(model, part)),
    ]


def _memory(
    variables: Sequence[Any], trained: Sequence[Any], parts: int, activations: int | None
) -> str:
    """What a device needs; with several parts it holds their sum of gradients beside those of a part."""
    held = _bytes(variables) + _bytes(trained) * (2 if parts > 1 else 1)
    what = f"{_megabytes(held)} for weights, gradients, optimizer and average"
    if activations is None:
        return f"memory of a device: {what}; the activations of a part come on top"
    return (
        f"memory of a device: about {_megabytes(held + activations)}: {what}, and about "
        f"{_megabytes(activations)} for the activations of a part"
    )


def _megabytes(count: int) -> str:
    return f"{count / 2**20:,.{2 if count < 2**20 else 0}f} MB"


def layout(workers: Workers, devices: int) -> str:
    """The devices of a training in words.

    Args:
        workers: of the training.
        devices: of all of them together.

    Example:
        >>> layout(Workers(tf.distribute.get_strategy()), 1)  # without a GPU
        '1 CPU'
    """
    kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
    each = devices // workers.count
    here = f"{each} {kind}{'s' if each > 1 else ''}"
    return f"{workers.count} workers with {here} each" if workers.count > 1 else here


def recipe_hash(recipe: Mapping[str, Mapping[str, Any]]) -> str:
    """A short hash of a recipe, without its folders and what only watches a training (`profile`, `tensorboard`).

    Two runs of the same hash have the same other keys and values.

    Example:
        >>> recipe_hash({"train": {"steps": 1, "folder": "a"}}) == recipe_hash(
        ...     {"train": {"steps": 1, "folder": "b"}}
        ... )
        True
        >>> recipe_hash({"train": {"steps": 1}}) == recipe_hash(
        ...     {"train": {"steps": 1, "profile": "20:30"}}
        ... )
        True
    """
    learned = {
        section: {name: value for name, value in table.items() if (section, name) not in WATCHING}
        for section, table in without_folders(recipe).items()
    }
    return hashlib.blake2b(to_toml(learned).encode(), digest_size=6).hexdigest()


def _size(variables: Sequence[Any]) -> int:
    return sum(int(np.prod(v.shape)) for v in variables)


def _bytes(variables: Sequence[Any]) -> int:
    return sum(int(np.prod(v.shape)) * tf.as_dtype(v.dtype).size for v in variables)
