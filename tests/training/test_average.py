"""The moving average of weights against its closed formula."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.training.average import WeightAverage


class Counted:
    """What an optimizer is to the average: the number of its steps."""

    def __init__(self):
        self.iterations = keras.Variable(0, dtype="int64")


@pytest.fixture
def model():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(2, use_bias=False)])
    model.layers[0].set_weights([np.array([[3.0, -1.0]], np.float32)])
    return model


def follow(model, decay, weights):
    """Sets the weights one after another, as steps would, and gives the average after each."""
    optimizer = Counted()
    average, found = WeightAverage(model, optimizer, decay), []
    for step, value in enumerate(weights, 1):
        model.layers[0].set_weights([value])
        optimizer.iterations.assign(step)
        average.on_train_batch_end(step)
        found.append(average.variables[0].numpy())
    return average, found


WEIGHTS = [np.array([[float(i * i), 1.0 - i]], np.float32) for i in range(1, 41)]


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9, 0.999])
def test_closed_formula(model, decay):
    """avg_n = sum over i of w_i (1 - d_i) prod of the later d_j, the weights before the first step being w_0."""
    start = model.layers[0].get_weights()[0]
    d = [min(decay, (1 + t) / (10 + t)) for t in range(1, 41)]
    found = follow(model, decay, WEIGHTS)[1]
    for n in (1, 7, 40):
        expected = start * np.prod(d[:n])
        expected = expected + sum(WEIGHTS[i] * (1 - d[i]) * np.prod(d[i + 1 : n]) for i in range(n))
        np.testing.assert_allclose(found[n - 1], expected, rtol=1e-5)


def test_applied_inside_a_with_alone_even_when_it_fails(model):
    average = follow(model, 0.9, WEIGHTS)[0]
    own = model.layers[0].get_weights()[0]
    with pytest.raises(KeyError), average.applied():
        np.testing.assert_array_equal(model.layers[0].get_weights()[0], average.variables[0])
        raise KeyError
    np.testing.assert_array_equal(model.layers[0].get_weights()[0], own)


def test_it_follows_fit(model):
    optimizer = keras.optimizers.SGD(0.1)
    model.compile(optimizer=optimizer, loss="mse")
    optimizer.build(model.trainable_variables)
    average = WeightAverage(model, optimizer, 0.0)
    model.fit(
        tf.data.Dataset.from_tensors((np.ones((2, 1)), np.zeros((2, 2)))).repeat(3),
        verbose=0,
        callbacks=[average],
    )
    np.testing.assert_allclose(average.variables[0], model.layers[0].get_weights()[0], rtol=1e-6)
