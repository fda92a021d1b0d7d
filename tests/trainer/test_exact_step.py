"""The exact step: two replicas and micro-batches give one device's weights; losses as numpy has
them."""

import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.errors import Error
from tfsum.models.model import Model
from tfsum.trainer import exact_step

SCRIPT = pathlib.Path(__file__).with_name("two_devices.py")
NO_GRADIENT = "attention.key.bias"
"""Its gradient is zero but for rounding, which Adam turns into steps of any direction."""


def check(on_two_devices, folder, cases):
    """The weights and losses of two devices are those of one, in a process with two logical
    CPUs."""
    on_two_devices(SCRIPT, folder, *cases)
    for case in cases:
        compare(case, *(dict(np.load(folder / f"{case}_{n}.npz")) for n in (1, 2)))


@pytest.mark.slow  # two graphs a case; .ci/run runs it, and tests/layers has two replicas of a step
def test_two_devices_are_one(on_two_devices, tmp_path):
    """Replicas with 1 and 4 sentences a row, a last batch of 5 rows; 3 micro-batches with
    clipping."""
    check(on_two_devices, tmp_path, ["micro", "plain", "clipped", "sum", "user"])


def compare(case, one, two):
    assert one["moved"] > 1e-3
    assert one.keys() == two.keys()
    for name, value in one.items():
        if not (case == "user" and name.endswith(NO_GRADIENT)):
            np.testing.assert_allclose(two[name], value, atol=1e-6, rtol=1e-6, err_msg=name)


def test_the_private_method_that_the_step_replaces_is_there():
    assert callable(keras.optimizers.Optimizer._all_reduce_sum_gradients)
    optimizer = keras.optimizers.SGD(1.0)
    exact_step.take_reduced_gradients(optimizer)
    assert optimizer._all_reduce_sum_gradients([(1, 2)]) == [(1, 2)]
    scaled = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0))
    exact_step.take_reduced_gradients(scaled)
    assert scaled.inner_optimizer._all_reduce_sum_gradients is list


class Table(Model):
    """A table of rows; the loss sums w * |row|^2 / 2 over the ids that are not 0, so its gradient
    is known."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.table = keras.layers.Embedding(5, 2, name="table")
        self.table.build((None,))
        self.table.set_weights([np.arange(10, dtype=np.float32).reshape(5, 2)])
        self.built = True

    def call(self, inputs):
        return self.table(inputs["token_ids"])

    def summed_loss(self, x, y, training):
        rows = tf.reduce_sum(self(x) ** 2, -1) / 2
        return tf.reduce_sum(tf.where(x["token_ids"] > 0, rows, 0.0))

    def loss_weight(self, x, y):
        return tf.cast(tf.math.count_nonzero(x["token_ids"]), tf.float32)


IDS = np.array([[1, 1, 1], [2, 0, 0], [3, 1, 0], [0, 0, 0]], np.int32)


def expected_table(clip=None, rate=0.1):
    """One step of gradient descent by hand: the gradient of a row is its count times the row, over
    all real ids."""
    table = np.arange(10, dtype=np.float64).reshape(5, 2)
    counts = np.array([0, 4, 1, 1, 0]) / 6
    gradient = table * counts[:, None]
    norm = np.sqrt((gradient**2).sum())
    return table - rate * gradient * (1 if clip is None else min(1, clip / norm))


@pytest.mark.parametrize("micro_batches", [1, 2, 3, 7])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_a_step_by_hand(micro_batches, clip):
    """Padding weighs nothing, repeated rows of a table count before the norm is taken, parts change
    nothing."""
    model = Table()
    model.micro_batches = micro_batches
    model.compile(optimizer=keras.optimizers.SGD(0.1, global_clipnorm=clip), jit_compile=False)
    history = model.fit(tf.data.Dataset.from_tensors({"token_ids": IDS}), verbose=0, shuffle=False)
    np.testing.assert_allclose(model.table.get_weights()[0], expected_table(clip), rtol=1e-6)
    rows = np.arange(10.0).reshape(5, 2)
    np.testing.assert_allclose(
        history.history["loss"], [(rows[IDS[IDS > 0]] ** 2).sum() / 2 / 6], rtol=1e-6
    )
    assert int(model.optimizer.iterations) == 1


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_a_step_that_xla_compiles(micro_batches):
    """Of 3 rows in 2 parts the second has one; a slice that XLA compiles has two, and the other one
    is of zeros."""

    class Padded(Table):
        def summed_loss(self, x, y, training):
            return tf.reduce_sum(self(x) ** 2) / 2

        def loss_weight(self, x, y):
            return tf.cast(tf.size(x["token_ids"]), tf.float32)

    model = Padded()
    model.micro_batches = micro_batches
    model.compile(optimizer=keras.optimizers.SGD(0.1), jit_compile=True)
    model.fit(
        tf.data.Dataset.from_tensor_slices({"token_ids": np.zeros((3, 2), np.int32)}).batch(3),
        verbose=0,
        shuffle=False,
    )
    np.testing.assert_allclose(model.table.get_weights()[0][0], [0.0, 0.9], rtol=1e-6)


def test_the_loss_of_an_epoch_weighs_each_target_alike():
    model = Table()
    model.compile(optimizer=keras.optimizers.SGD(0.0), jit_compile=False)
    data = tf.data.Dataset.from_tensor_slices({"token_ids": IDS}).batch(1)
    rows = np.arange(10.0).reshape(5, 2)
    np.testing.assert_allclose(
        model.evaluate(data, verbose=0), (rows[IDS[IDS > 0]] ** 2).sum() / 12, rtol=1e-6
    )


def test_a_batch_without_a_target_moves_nothing():
    model = Table()
    model.compile(optimizer=keras.optimizers.SGD(0.1), jit_compile=False)
    model.fit(
        tf.data.Dataset.from_tensors({"token_ids": np.zeros((2, 3), np.int32)}),
        verbose=0,
        shuffle=False,
    )
    np.testing.assert_array_equal(model.table.get_weights()[0], np.arange(10).reshape(5, 2))


def test_regularizers_count_once():
    model = Table()
    model.table.embeddings_regularizer = None
    # its gradient is the table itself
    model.table.embeddings.regularizer = keras.regularizers.L2(0.5)
    model.micro_batches = 3
    model.compile(optimizer=keras.optimizers.SGD(0.1), jit_compile=False)
    model.fit(tf.data.Dataset.from_tensors({"token_ids": IDS}), verbose=0, shuffle=False)
    expected = expected_table() - 0.1 * np.arange(10).reshape(5, 2)
    np.testing.assert_allclose(model.table.get_weights()[0], expected, rtol=1e-6)


@pytest.mark.slow  # eight graphs of a step; the two devices above have a batch of unequal parts
def test_a_replica_without_rows_changes_nothing(on_two_devices, tmp_path):
    on_two_devices(pathlib.Path(__file__).with_name("empty_replica.py"), tmp_path)
    for model in ("extractive", "classifier", "transformer", "pretraining"):
        one, two = (dict(np.load(tmp_path / f"{model}_{parts}.npz")) for parts in (1, 2))
        for name, value in one.items():
            np.testing.assert_allclose(
                two[name], value, atol=1e-6, rtol=1e-6, err_msg=f"{model} {name}"
            )


def test_a_strategy_that_is_not_supported():
    with tf.distribute.experimental.CentralStorageStrategy().scope():
        model = Table()
        model.compile(optimizer=keras.optimizers.SGD(0.1), jit_compile=False)
    with pytest.raises(
        Error,
        match=(
            "CentralStorageStrategy.*: training under it is not supported; expected one "
            "device, MirroredStrategy or"
        ),
    ):
        model.fit(tf.data.Dataset.from_tensors({"token_ids": IDS}), verbose=0, shuffle=False)
