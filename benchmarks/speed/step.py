"""What the exact step costs: tfsum's `fit` against Keras's on one device, and against a loop by
hand on two.

    python -m benchmarks step
    python -m benchmarks step --devices 2

A BertClassifier of 2 layers, width 128 and BERT's 30,522 pieces, batches of 32 texts of 64 pieces,
Keras's Adam. Theirs on one device: the same layers in a plain `keras.Model`, compiled with
SparseCategoricalCrossentropy. On two logical CPUs: the loop of TensorFlow's guide "Custom training
with tf.distribute.Strategy", with the same layers. The two are timed in turns, in an order that
changes; a ratio is that of two times of the same round. Prints the medians of the times, and that
of the ratios with its 95 % interval (order statistics of the binomial distribution, so that a round
in which the machine did something else counts as one). The exit status is 1 where the upper end is
1.05 or more.
"""

import argparse
import functools
import math
import statistics
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from benchmarks import results
from tfsum.models import BertClassifier
from tfsum.training.workers import strategy_of

ROWS, LENGTH, VOCABULARY = 32, 64, 30522
MOST = 1.05  # of the upper end of the interval
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 512,
    "max_position_embeddings": 64,
}

Steps = Callable[[int], object]  # trains so many steps


class Plain(keras.Model):
    """The same layers, trained by Keras's own step."""

    def __init__(self):
        super().__init__()
        self.classifier = built_classifier()
        self.built = True

    def call(self, inputs, training=None):
        return self.classifier(inputs, training=training)


def built_classifier() -> BertClassifier:
    model = BertClassifier(SIZES, ["a", "b"])
    model.build()
    return model


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """The median of ratios, and an interval that holds the true one with at least 95 %."""
    count, ordered = len(ratios), sorted(ratios)
    if count < 6:
        raise SystemExit("--rounds: expected 6 or more")
    below, skipped = 1 / 2**count, 0
    while below <= 0.025:
        skipped += 1
        below += math.comb(count, skipped) / 2**count
    return statistics.median(ratios), ordered[skipped - 1], ordered[count - skipped]


def exit_status(high: float) -> int:
    """1 where the upper end of the interval is too large."""
    return int(high >= MOST)


def fit(model: keras.Model, rows: dict | tuple) -> Steps:
    """Steps of `fit` on rows that are repeated."""
    data = tf.data.Dataset.from_tensor_slices(rows).repeat().batch(ROWS)
    return lambda steps: model.fit(data, steps_per_epoch=steps, verbose=0, shuffle=False)


def loop(strategy: tf.distribute.Strategy, model: Plain, rows: tuple) -> Steps:
    """Steps of TensorFlow's loop by hand on all devices."""
    with strategy.scope():
        optimizer = keras.optimizers.Adam(1e-4)
        optimizer.build(model.trainable_variables)
    each = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    data = tf.data.Dataset.from_tensor_slices(rows).repeat().batch(ROWS)

    def replica_step(batch: tuple) -> tf.Tensor:
        inputs, labels = batch
        with tf.GradientTape() as tape:
            losses = each(labels, model(inputs, training=True))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=ROWS)
        gradients = tape.gradient(
            loss,
            [variable.value for variable in model.trainable_variables],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    @tf.function(autograph=False)
    def distributed_step(batch: tuple) -> tf.Tensor:
        losses = strategy.run(replica_step, args=(batch,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    def steps_by_hand(steps: int) -> None:
        batches = iter(strategy.experimental_distribute_dataset(data))
        for _ in range(steps):
            distributed_step(next(batches)).numpy()

    return steps_by_hand


def systems(devices: int) -> dict[str, Steps]:
    """tfsum's steps, and those of the other."""
    if devices == 2:
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * 2
        )
    strategy = strategy_of("mirrored" if devices == 2 else "one")
    random = np.random.default_rng(0)
    ids = random.integers(1, VOCABULARY, (ROWS * 8, LENGTH)).astype("int32")
    labels = random.integers(0, 2, ROWS * 8).astype("int32")
    inputs = {"token_ids": ids, "segment_ids": np.zeros_like(ids)}

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with strategy.scope():
        ours, theirs = built_classifier(), Plain()
        ours.compile(keras.optimizers.Adam(1e-4), jit_compile=False)
        theirs.compile(keras.optimizers.Adam(1e-4), loss=loss, jit_compile=False)
    made = {"tfsum": fit(ours, {**inputs, "labels": labels})}
    if devices == 1:
        return made | {"Keras": fit(theirs, (inputs, labels))}
    return made | {"loop": loop(strategy, theirs, (inputs, labels))}


OPTIONS = {
    "--devices": {"type": int, "default": 1, "choices": (1, 2)},
    "--rounds": {"type": int, "default": 40, "help": "6 or more; default 40"},
    "--steps": {"type": int, "default": 10, "help": "of a round; default 10"},
}


def run(options: argparse.Namespace) -> int:
    made = systems(options.devices)
    for steps in made.values():
        steps(3)  # traces

    def milliseconds(steps: Steps) -> float:
        return 1000 * results.seconds(lambda: steps(options.steps)) / options.steps

    calls = {name: functools.partial(milliseconds, steps) for name, steps in made.items()}
    taken = results.in_turns(calls, options.rounds, pause=0.0)
    middle, low, high = interval([a / b for a, b in zip(*taken.values())])
    medians = ", ".join(f"{name} {statistics.median(each):.1f}" for name, each in taken.items())
    print(
        f"{options.devices} device(s), {options.rounds} rounds of {options.steps} steps,"
        f" milliseconds of a step: {medians} (medians); ratio {middle:.3f}, 95 % interval"
        f" {low:.3f} to {high:.3f} (aim: below {MOST})"
    )
    return exit_status(high)
