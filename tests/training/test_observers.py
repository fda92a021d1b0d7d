"""What watches a training: the progress line, the profiler, TensorBoard."""

import re
import types

import keras
import pytest
import tensorflow as tf

from tfsum.errors import Error, RecipeError
from tfsum.training import progress
from tfsum.training.profile import Profile, profiled_steps
from tfsum.training.progress import Progress
from tfsum.training.run_settings import RunSettings


@pytest.fixture
def clock(monkeypatch):
    """The seconds that `time.monotonic` gives to the progress line; a list of one number."""
    now = [1000.0]
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    return now


def watched(total, done):
    callback = Progress(total, done)
    callback.set_model(
        types.SimpleNamespace(
            seconds_waiting=0.0, optimizer=types.SimpleNamespace(learning_rate=1e-3)
        )
    )
    return callback


def test_without_a_terminal_a_line_a_minute_and_the_last(clock, capsys):
    callback = watched(total=110, done=100)
    callback.on_epoch_begin(0)
    for _ in range(10):  # a step takes 20 seconds, 5 of which are waited for data
        clock[0] += 20
        callback.model.seconds_waiting += 5.0
        callback.on_train_batch_end(0, {"loss": 2.5, "tokens": 60.0, "positions": 80.0})
    callback.on_epoch_end(0)
    *lines, memory = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"memory at the most: [\d,]+ MB of (this process|a GPU)", memory)
    assert [line.split()[1] for line in lines] == ["101/110", "104/110", "107/110", "110/110"]
    assert (
        lines[0] == "step 101/110  loss 2.5000  rate 1.00e-03  first step after 20 s"
    )  # no measure of the others
    assert lines[1] == (
        "step 104/110  loss 2.5000  rate 1.00e-03  3 tokens/s  padding 25%  waiting for data 25%  "
        "0:02:00 to go"
    )


def test_a_validation_is_no_part_of_the_speed(clock, capsys):
    callback = watched(total=3, done=0)
    for _ in range(3):
        callback.on_epoch_begin(0)
        clock[0] += 10
        callback.on_train_batch_end(0, {"loss": 1.0, "tokens": 100.0, "positions": 100.0})
        callback.on_epoch_end(0)
        clock[0] += 500
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("memory")]
    assert [line.split("  ")[3] for line in lines] == [
        "first step after 10 s",
        "10 tokens/s",
        "10 tokens/s",
    ]


@pytest.mark.parametrize("text", ["20", "0:3", "9:8", "a:b", "1:2:3", "-1:4"])
def test_steps_to_profile_that_are_none(text):
    with pytest.raises(
        RecipeError, match=r"profile is .*; expected the first and the last step, such as \"20:30\""
    ):
        profiled_steps(text)


@pytest.mark.parametrize(("steps", "recorded"), [("2:3", [2, 3]), ("3:9", [3, 4]), ("7:8", [])])
def test_the_profiler_records_the_steps_of_one_interval(monkeypatch, tmp_path, steps, recorded):
    found, on = [], []
    monkeypatch.setattr(tf.profiler.experimental, "start", lambda folder: on.append(folder))
    monkeypatch.setattr(tf.profiler.experimental, "stop", lambda: on.pop())
    callback = Profile(steps, tmp_path)
    for step in range(1, 5):
        callback.on_train_batch_begin(0)
        if on:
            found.append(step)
        callback.on_train_batch_end(0)
    callback.on_epoch_end(0)
    assert found == recorded and not on


def test_the_profiler_writes_its_file(tmp_path, capsys):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(
        tf.ones((8, 2)),
        tf.ones((8, 1)),
        batch_size=2,
        verbose=0,
        callbacks=[Profile("2:3", tmp_path)],
    )
    assert list(tmp_path.rglob("*.xplane.pb"))
    assert "profile of the steps 2 to 3 of this process" in capsys.readouterr().err


def test_tensorboard_that_is_not_installed_is_one_error(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        Error, match=r"tensorboard is true, .* pip install 'tfsum\[tensorboard\]', or leave"
    ):
        RunSettings(folder="run", steps=10, tensorboard=True)
