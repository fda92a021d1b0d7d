"""Checkpoints: what comes back, which are kept, and a file of another model."""

import errno
import json
import os
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.errors import CheckpointError, Error
from tfsum.layers import Dropout
from tfsum.training.checkpoints import Checkpoints


def model(width=3):
    keras.utils.set_random_seed(1)
    layers = [
        keras.layers.Dense(width, name="dense"),
        Dropout(0.5, name="drop"),
        Dropout(0.5, name="other"),
    ]
    made = keras.Sequential([keras.Input((2,)), *layers], name="some")
    made(np.zeros((1, 2), np.float32))
    return made


def test_everything_comes_back_into_a_model_built_later(tmp_path):
    """Also the seeds of dropout, though Keras gives the later model's generators other names."""
    first = model()
    first.layers[0].set_weights([np.full((2, 3), 5.0), np.ones(3)])
    for variable, value in zip(first.non_trainable_variables, ([7, 1], [8, 2]), strict=True):
        variable.assign(value)
    checkpoints = Checkpoints(tmp_path, {"model": first.variables})
    checkpoints.save(4, {"best": None, "list": [1.5]})
    first.layers[0].set_weights([np.zeros((2, 3)), np.zeros(3)])  # copied before
    checkpoints.wait()
    first.layers[0].set_weights([np.full((2, 3), 5.0), np.ones(3)])
    second = model()
    assert Checkpoints(tmp_path, {"model": second.variables}).restore() == {
        "best": None,
        "list": [1.5],
    }
    for a, b in zip(first.variables, second.variables, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_full_disk_is_one_error_and_the_checkpoint_before_is_kept(tmp_path, monkeypatch):
    one = model()
    checkpoints = Checkpoints(tmp_path, {"model": one.variables})
    checkpoints.save(1, {"step": 1})
    checkpoints.wait()
    before = sorted(path.name for path in tmp_path.iterdir())

    def full(prefix):
        pathlib.Path(f"{prefix}_temp").mkdir(parents=True)
        pathlib.Path(f"{prefix}_temp", "part").write_text("half")
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device\nmore")

    monkeypatch.setattr(tf.train.Checkpoint, "write", lambda self, prefix: full(prefix))
    checkpoints.save(12, {"step": 12})
    while checkpoints.writing:
        pass
    assert checkpoints.failed
    with pytest.raises(
        Error,
        match=r"the checkpoint of step 12 cannot be written \(No space left on device\); the one "
        "before it is kept. Make room",
    ):
        checkpoints.wait()
    assert not checkpoints.failed  # it is said once
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert Checkpoints(tmp_path, {"model": one.variables}).restore() == {"step": 1}


@pytest.mark.parametrize("place", ["mkdir", "write", "replace", "fsync"])
def test_a_folder_that_became_read_only_is_one_error_and_the_checkpoint_before_is_kept(
    tmp_path, monkeypatch, place
):
    one = model()
    checkpoints = Checkpoints(tmp_path, {"model": one.variables})
    checkpoints.save(1, {"step": 1})
    checkpoints.wait()

    def refused(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    of = {"mkdir": pathlib.Path, "write": tf.train.Checkpoint, "replace": os, "fsync": os}[place]
    with monkeypatch.context() as patch:
        patch.setattr(of, place, refused)
        checkpoints.save(12, {"step": 12})
        with pytest.raises(
            Error,
            match=r"the checkpoint of step 12 cannot be written \(Read-only file system\); the "
            "one before it is kept",
        ):
            checkpoints.wait()
    assert Checkpoints(tmp_path, {"model": one.variables}).restore() == {"step": 1}
    checkpoints.save(13, {"step": 13})  # where it can be written again
    checkpoints.wait()
    assert not list(tmp_path.glob("writing-*"))


def test_the_newest_are_kept(tmp_path):
    one = model()
    checkpoints = Checkpoints(tmp_path, {"model": one.variables})
    assert checkpoints.restore() is None
    for step in (1, 5, 30):
        one.layers[0].set_weights([np.full((2, 3), step), np.zeros(3)])
        checkpoints.save(step, {"step": step})
    checkpoints.wait()
    assert sorted(p.name for p in tmp_path.glob("*.json")) == ["ckpt-30.json", "ckpt-5.json"]
    assert not list(tmp_path.glob("ckpt-1.*")) and not list(tmp_path.glob("*.part"))
    assert Checkpoints(tmp_path, {"model": one.variables}).restore() == {"step": 30}
    assert one.layers[0].get_weights()[0][0, 0] == 30


def test_a_run_killed_while_it_wrote_goes_on_from_the_one_before(tmp_path):
    one = model()
    before = Checkpoints(tmp_path, {"model": one.variables})
    before.save(1, {"step": 1})
    before.wait()
    # What a kill leaves: files that no JSON file names, under their own or the temporary name.
    (tmp_path / "ckpt-2.data-00000-of-00001").write_bytes(b"half")
    (tmp_path / "writing-3").mkdir()
    (tmp_path / "writing-3" / "ckpt-3.index").write_bytes(b"half")
    checkpoints = Checkpoints(tmp_path, {"model": one.variables})
    assert checkpoints.restore() == {"step": 1}
    checkpoints.save(5, {"step": 5})
    checkpoints.save(6, {"step": 6})
    checkpoints.wait()
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} == {"ckpt-5", "ckpt-6"}


@pytest.mark.parametrize("harm", ["empty", "half", "flipped", "gone"])
@pytest.mark.parametrize("end", ["json", "index", "data-00000-of-00001"])
def test_a_damaged_checkpoint_is_reported_and_the_one_before_it_is_used(
    tmp_path, capsys, harm, end
):
    one = model()
    checkpoints = Checkpoints(tmp_path, {"model": one.variables})
    for step in (1, 2):
        one.layers[0].set_weights([np.full((2, 3), step), np.zeros(3)])
        checkpoints.save(step, {"step": step})
    checkpoints.wait()
    file = tmp_path / f"ckpt-2.{end}"
    data = file.read_bytes()
    if harm == "gone":
        file.unlink()
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
        file.write_bytes({"empty": b"", "half": data[:middle], "flipped": flipped}[harm])
    fresh = model()
    assert Checkpoints(tmp_path, {"model": fresh.variables}).restore() == {"step": 1}
    assert fresh.layers[0].get_weights()[0][0, 0] == 1
    if (end, harm) != ("json", "gone"):  # then it is one that was never finished
        assert "ckpt-2 is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"files": []},
        {"files": None},
        {"files": "ckpt-2.index"},
        {"files": 3},
        {"files": {"ckpt-2.index": ["checksum"]}},
        {"files": {"../ckpt-2.index": "checksum"}},
        {"state": []},
        {"state": None},
        "[" * 100_000,
        f'{{"format": {"9" * 5_000}}}',
    ],
    ids=lambda change: f"{change!s:.40}",
)
def test_a_json_file_of_another_form_is_a_damaged_checkpoint(tmp_path, capsys, change):
    one = model()
    checkpoints = Checkpoints(tmp_path, {"model": one.variables})
    for step in (1, 2):
        checkpoints.save(step, {"step": step})
    checkpoints.wait()
    file = tmp_path / "ckpt-2.json"
    described = json.loads(file.read_text())
    file.write_text(change if isinstance(change, str) else json.dumps(described | change))

    assert Checkpoints(tmp_path, {"model": one.variables}).restore() == {"step": 1}
    assert (tmp_path / "damaged-ckpt-2.json").is_file()
    (line,) = capsys.readouterr().err.splitlines()
    assert "ckpt-2 is damaged" in line and "ckpt-1 is used" in line


def test_damaged_checkpoints_are_set_aside_and_push_no_whole_one_out(tmp_path):
    checkpoints = Checkpoints(tmp_path, {"model": model().variables}, keep=3)
    for step in (100, 200, 300):
        checkpoints.save(step, {"step": step})
    checkpoints.wait()
    for step in (200, 300):
        (tmp_path / f"ckpt-{step}.index").write_bytes(b"")

    resumed = Checkpoints(tmp_path, {"model": model().variables}, keep=2)
    assert resumed.restore() == {"step": 100}
    resumed.save(150, {"step": 150})
    resumed.wait()
    assert {path.name for path in tmp_path.glob("*.json")} == {
        "ckpt-100.json",
        "ckpt-150.json",
        "damaged-ckpt-200.json",
        "damaged-ckpt-300.json",
    }
    assert resumed.restore() == {"step": 150}


def test_a_checkpoint_that_was_just_written_is_kept_among_later_ones(tmp_path):
    for step in (300, 400):
        checkpoints = Checkpoints(tmp_path, {"model": model().variables})
        checkpoints.save(step, {"step": step})
        checkpoints.wait()
    checkpoints.save(150, {"step": 150})
    checkpoints.wait()
    assert {path.name for path in tmp_path.glob("*.json")} == {"ckpt-150.json", "ckpt-400.json"}


def test_none_that_is_whole_and_one_of_a_later_tfsum(tmp_path):
    one = model()
    checkpoints = Checkpoints(tmp_path, {"model": one.variables})
    checkpoints.save(1, {})
    checkpoints.wait()
    described = json.loads((tmp_path / "ckpt-1.json").read_text())
    (tmp_path / "ckpt-1.json").write_text(json.dumps({**described, "format": 9}))
    with pytest.raises(CheckpointError, match="ckpt-1: its format is 9, and this tfsum reads 2"):
        Checkpoints(tmp_path, {"model": one.variables}).restore()
    (tmp_path / "ckpt-1.json").write_text("")
    with pytest.raises(
        CheckpointError, match="no checkpoint is whole .ckpt-1: its JSON file cannot be read"
    ):
        Checkpoints(tmp_path, {"model": one.variables}).restore()


def test_a_checkpoint_of_another_model(tmp_path):
    checkpoints = Checkpoints(tmp_path, {"model": model(3).variables})
    checkpoints.save(1, {})
    checkpoints.wait()
    with pytest.raises(CheckpointError, match="ckpt-1: does not fit this recipe's model"):
        Checkpoints(tmp_path, {"model": model(4).variables}).restore()


def test_two_variables_of_one_path(tmp_path):
    twins = [keras.Variable(0.0, name="twin"), keras.Variable(1.0, name="twin")]
    with pytest.raises(CheckpointError, match="two variables of model share a path"):
        Checkpoints(tmp_path, {"model": twins})
