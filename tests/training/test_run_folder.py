"""A run folder is used by one process at a time, and is free again when that process ends, however
it ends."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from tfsum.errors import Error
from tfsum.training.run_folder import is_locked, locked

HOLD = """
import sys, time
from tfsum.training.run_folder import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    root = str(pathlib.Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "run"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_run_is_refused_and_a_killed_one_holds_nothing(holder, tmp_path):
    with (
        pytest.raises(
            Error, match=rf"run: is in use by process {holder.pid} on .*, since 20.*; wait until"
        ),
        locked(tmp_path / "run"),
    ):
        pass
    assert is_locked(tmp_path / "run")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "run" / "lock").exists() and not is_locked(tmp_path / "run")
    with locked(tmp_path / "run"):
        assert str(os.getpid()) in (tmp_path / "run" / "lock").read_text()
    assert not (tmp_path / "run").exists()  # it was empty


def test_what_the_run_wrote_stays_and_the_lock_goes(tmp_path):
    with locked(tmp_path / "run"):
        (tmp_path / "run" / "history.json").write_text("{}")
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["history.json"]


def test_a_file_is_no_run_folder(tmp_path):
    (tmp_path / "run").write_text("")
    with (
        pytest.raises(Error, match="run: is a file, expected a run folder"),
        locked(tmp_path / "run"),
    ):
        pass
