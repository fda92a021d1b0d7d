"""What the exact step costs: tfsum's `fit` against Keras's on one device, and against a loop by
hand on two.

python benchmarks/step_cost.py
python benchmarks/step_cost.py --devices 2
python benchmarks/step_cost.py --saving

A BertClassifier of 2 layers, width 128 and BERT's 30,522 pieces, batches of 32 texts of 64 pieces,
Keras's Adam. Theirs on one device: the same layers in a plain `keras.Model`, compiled with
SparseCategoricalCrossentropy. On two logical CPUs: the loop of TensorFlow's guide "Custom training
with tf.distribute.Strategy", with the same layers. The two are timed in turns, in an order that
changes; a ratio is that of two times of the same round. Prints the medians of the times, and that
of the ratios with its 95 % interval (order statistics of the binomial distribution, so that a round
in which the machine did something else counts as one). The exit status is 1 where the upper end is
1.05 or more.

`--saving` measures in place of steps how long a checkpoint of that model, Adam's moments and the
average keeps training waiting (`Checkpoints.save`, while no other is being written), beside copying
the same variables to numpy, and how long its thread then takes to check and write it.
"""

import argparse
import functools
import math
import statistics
import sys
import tempfile
import time

import numpy as np

ROWS, LENGTH, VOCABULARY = 32, 64, 30522
MOST = 1.05  # of the upper end of the interval


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """The median of ratios, and an interval that holds the true one with at least 95 %."""
    count, below, ordered = len(ratios), 0.0, sorted(ratios)
    for skipped in range(count // 2):
        below += math.comb(count, skipped) / 2**count
        if below > 0.025:
            return statistics.median(ratios), ordered[skipped - 1], ordered[count - skipped]
    raise SystemExit("--rounds: expected 6 or more")


def exit_status(high: float) -> int:
    """1 where the upper end of the interval is too large."""
    return 0 if high < MOST else 1


def classifier():
    """The model, built."""
    from tfsum.models import BertClassifier

    model = BertClassifier(
        {
            "vocab_size": VOCABULARY,
            "hidden_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 512,
            "max_position_embeddings": 64,
        },
        ["a", "b"],
    )
    model.build()
    return model


def saving(rounds: int) -> int:
    """Prints the pause of a checkpoint."""
    import keras

    from tfsum.training.callbacks import WeightAverage
    from tfsum.training.checkpoints import Checkpoints

    model, optimizer = classifier(), keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    groups = {
        "model": model.variables,
        "optimizer": optimizer.variables,
        "average": WeightAverage(model, optimizer, 0.99).variables,
    }
    variables = [variable for group in groups.values() for variable in group]
    times: dict[str, list[float]] = {"copy": [], "save": [], "write": []}
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = Checkpoints(folder, groups)
        for step in range(rounds + 1):
            moments = [time.perf_counter()]
            for work in (
                lambda: [variable.numpy() for variable in variables],
                functools.partial(checkpoints.save, step, {}),
                checkpoints.wait,
            ):
                work()
                moments.append(time.perf_counter())
            for name, begin, end in zip(times, moments, moments[1:]):
                times[name].append(1000 * (end - begin))
    size = sum(variable.numpy().nbytes for variable in variables) / 2**20
    copy, save, write = (statistics.median(found[1:]) for found in times.values())
    print(
        f"{size:.0f} MB in {len(variables)} variables, {rounds} checkpoints: copying to numpy"
        f" {copy:.1f} ms, the pause of training {save:.1f} ms (the first {times['save'][0]:.1f}"
        f" ms), writing beside it {write:.1f} ms (medians)"
    )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=1, choices=(1, 2))
    parser.add_argument("--rounds", type=int, default=40, help="6 or more; default 40")
    parser.add_argument("--steps", type=int, default=10, help="of a round; default 10")
    parser.add_argument("--saving", action="store_true", help="measure the pause of a checkpoint")
    arguments = parser.parse_args()
    if arguments.saving:
        return saving(arguments.rounds)

    import keras
    import tensorflow as tf

    if arguments.devices == 2:
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
        )
    from tfsum.training.environment import strategy_of

    strategy = strategy_of("mirrored" if arguments.devices == 2 else "one")
    random = np.random.default_rng(0)
    ids = random.integers(1, VOCABULARY, (ROWS * 8, LENGTH)).astype("int32")
    labels = random.integers(0, 2, ROWS * 8).astype("int32")
    inputs = {"token_ids": ids, "segment_ids": np.zeros_like(ids)}

    class Plain(keras.Model):
        """The same layers, trained by Keras's own step."""

        def __init__(self):
            super().__init__()
            self.classifier = classifier()
            self.built = True

        def call(self, inputs, training=None):
            return self.classifier(inputs, training=training)

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with strategy.scope():
        ours, theirs = classifier(), Plain()
        ours.compile(keras.optimizers.Adam(1e-4), jit_compile=False)
        if arguments.devices == 1:
            theirs.compile(keras.optimizers.Adam(1e-4), loss=loss, jit_compile=False)
        else:
            optimizer = keras.optimizers.Adam(1e-4)
            optimizer.build(theirs.trainable_variables)

    def our_data():
        return tf.data.Dataset.from_tensor_slices({**inputs, "labels": labels}).repeat().batch(ROWS)

    def their_data():
        return tf.data.Dataset.from_tensor_slices((inputs, labels)).repeat().batch(ROWS)

    def our_steps(steps):
        ours.fit(our_data(), steps_per_epoch=steps, epochs=1, verbose=0, shuffle=False)

    def keras_steps(steps):
        theirs.fit(their_data(), steps_per_epoch=steps, epochs=1, verbose=0, shuffle=False)

    def replica_step(batch):
        x, y = batch
        each = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
        with tf.GradientTape() as tape:
            value = tf.nn.compute_average_loss(
                each(y, theirs(x, training=True)), global_batch_size=ROWS
            )
        gradients = tape.gradient(
            value,
            [v.value for v in theirs.trainable_variables],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        optimizer.apply(gradients, theirs.trainable_variables)
        return value

    @tf.function(autograph=False)
    def distributed_step(batch):
        return strategy.reduce(
            tf.distribute.ReduceOp.SUM, strategy.run(replica_step, args=(batch,)), axis=None
        )

    def loop_steps(steps):
        batches = iter(strategy.experimental_distribute_dataset(their_data()))
        for _ in range(steps):
            distributed_step(next(batches)).numpy()

    systems = {
        "tfsum": our_steps,
        "Keras" if arguments.devices == 1 else "loop": (
            keras_steps if arguments.devices == 1 else loop_steps
        ),
    }
    for run in systems.values():
        run(3)  # traces
    times: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(arguments.rounds):
        for name in list(systems) if number % 2 else list(systems)[::-1]:
            begin = time.perf_counter()
            systems[name](arguments.steps)
            times[name].append((time.perf_counter() - begin) / arguments.steps)
    ours_times, (name, theirs_times) = times["tfsum"], list(times.items())[1]
    middle, low, high = interval([a / b for a, b in zip(ours_times, theirs_times)])
    medians = [1000 * statistics.median(found) for found in (ours_times, theirs_times)]
    print(
        f"{arguments.devices} device(s), {arguments.rounds} rounds of {arguments.steps} steps:"
        f" tfsum {medians[0]:.1f} ms a step, {name} {medians[1]:.1f} ms (medians); ratio"
        f" {middle:.3f}, 95 % interval {low:.3f} to {high:.3f} (aim: below {MOST})"
    )
    return exit_status(high)


if __name__ == "__main__":
    sys.exit(main())
