"""The callbacks of a run: the average of the weights, the progress line."""

import re
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.training import callbacks
from tfsum.training.callbacks import Progress, WeightAverage


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
    """avg_n = sum over i of w_i (1 - d_i) prod of the later d_j, the weights before the first step
    being w_0."""
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


@pytest.fixture
def clock(monkeypatch):
    """The seconds that `time.monotonic` gives to the progress line; a list of one number."""
    now = [1000.0]
    monkeypatch.setattr(callbacks, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    return now


def watched(total, done, tokens, positions):
    callback = Progress(total, done)
    callback.set_model(
        types.SimpleNamespace(
            trainer=types.SimpleNamespace(
                seconds_waiting=0.0, last_tokens=tokens, last_positions=positions
            ),
            optimizer=types.SimpleNamespace(learning_rate=1e-3),
        )
    )
    return callback


def test_without_a_terminal_a_line_a_minute_and_the_last(clock, capsys):
    callback = watched(110, 100, tokens=60.0, positions=80.0)
    callback.on_epoch_begin(0)
    for _ in range(10):  # a step takes 20 seconds, 5 of which are waited for data
        clock[0] += 20
        callback.model.trainer.seconds_waiting += 5.0
        callback.on_train_batch_end(0, {"loss": 2.5})
    callback.on_epoch_end(0)
    *lines, memory = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"memory at the most: [\d,]+ MB of (this process|a GPU)", memory)
    assert [line.split()[1] for line in lines] == ["101/110", "104/110", "107/110", "110/110"]
    # no measure of the others
    assert lines[0] == "step 101/110  loss 2.5000  rate 1.00e-03  first step after 20 s"
    assert lines[1] == (
        "step 104/110  loss 2.5000  rate 1.00e-03  3 tokens/s  padding 25%  waiting for data 25%  "
        "0:02:00 to go"
    )


def test_a_validation_is_no_part_of_the_speed(clock, capsys):
    callback = watched(3, 0, tokens=100.0, positions=100.0)
    for _ in range(3):
        callback.on_epoch_begin(0)
        clock[0] += 10
        callback.on_train_batch_end(0, {"loss": 1.0})
        callback.on_epoch_end(0)
        clock[0] += 500
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("memory")]
    assert [line.split("  ")[3] for line in lines] == [
        "first step after 10 s",
        "10 tokens/s",
        "10 tokens/s",
    ]
