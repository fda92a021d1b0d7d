"""Two processes on this machine as the workers of one training: the model of one process, and no worker left alone."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

import tfsum
from tfsum.cli.local_workers import free_addresses

FIXTURE = pathlib.Path(__file__).parents[1] / "fixtures" / "version_0_1_0"
OURS = str(pathlib.Path(tfsum.__file__).parents[1])  # the same package as the tests', checkout or installed
START = "import sys; from tfsum.cli.main import main; sys.exit(main())"
NO_GRADIENT = "attention.self.key.bias"  # but rounding, of which Adam makes whole steps
EXACT = {"model.hidden_dropout_prob": 0.0, "model.attention_probs_dropout_prob": 0.0, "train.average_decay": 0.0}
LONG = {"train__steps": 1000, "train__validate_every": 50}  # long after the first checkpoint still at work


@pytest.fixture
def start(tmp_path):
    """A function: starts `tfsum train` on the tiny recipe, in a folder of that name."""
    shutil.copytree(FIXTURE, tmp_path, ignore=shutil.ignore_patterns("runs", "records"), dirs_exist_ok=True)

    def begin(name, *words, environment=None, **keys):
        keys = {"train.folder": f"runs/{name}", "data.records": f"records/{name}", **EXACT,
                **{key.replace("__", "."): value for key, value in keys.items()}}
        sets = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
        return subprocess.Popen([sys.executable, "-c", START, "train", "extractive.toml", *words, *sets], cwd=tmp_path,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PYTHONPATH": OURS, **(environment or {})})

    return begin


def done(process) -> tuple[int, str]:
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


def weights(run: pathlib.Path) -> dict:
    return load_file(run / "best" / "model.safetensors")


def config(index: int, addresses: list[str]) -> dict:
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})}


def test_two_workers_are_one_process(start, tmp_path):
    assert done(start("one"))[0] == 0
    status, errors = done(start("two", "--local-workers", "2"))
    assert status == 0, errors
    assert "[worker 0] step 4/4" in errors and "[worker 1] step" not in errors  # the chief alone reports
    one, two = weights(tmp_path / "runs" / "one"), weights(tmp_path / "runs" / "two")
    for name, value in one.items():
        if not name.endswith(NO_GRADIENT):
            np.testing.assert_allclose(two[name], value, atol=1e-5, err_msg=name)
    files = [tmp_path / "runs" / name / "history.json" for name in ("one", "two")]
    histories = [json.loads(file.read_text())["history"] for file in files]
    assert histories[0] == histories[1]


@pytest.mark.slow  # processes that wait for each other
def test_a_worker_with_another_recipe_is_refused(start):
    found = free_addresses(2)
    both = [start(f"w{i}", environment=config(i, found), train__seed=i) for i in range(2)]
    for status, errors in map(done, both):
        assert status == 2 and "[train] seed is '1' on worker 1 and '0' on worker 0" in errors


@pytest.mark.slow  # TensorFlow takes half a minute to notice
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_is_lost_stops_the_other_and_both_resume(start, tmp_path, number):
    assert done(start("whole", "--local-workers", "2", **LONG))[0] == 0
    found = free_addresses(2)
    both = [start("lost", environment=config(i, found), **LONG) for i in range(2)]
    until = time.monotonic() + 200
    while not list(tmp_path.glob("runs/lost/checkpoints/*.index")) and time.monotonic() < until:
        time.sleep(0.05)
    both[1].send_signal(number)
    status, errors = done(both[0])
    both[1].kill()
    done(both[1])
    assert status == 75 and re.search(r"worker 1 does not answer any more\. .* to resume", errors), errors[-3000:]
    status, errors = done(start("lost", "--local-workers", "2", **LONG))
    assert status == 0 and "resuming after step" in errors
    whole, resumed = weights(tmp_path / "runs" / "whole"), weights(tmp_path / "runs" / "lost")
    assert all(np.array_equal(whole[name], resumed[name]) for name in whole)


@pytest.mark.slow
def test_a_signal_to_one_worker_stops_all_after_the_same_step(start, tmp_path):
    found = free_addresses(2)
    both = [start("asked", environment=config(i, found), train__steps=5000, train__validate_every=50) for i in range(2)]
    until = time.monotonic() + 200
    while not list(tmp_path.glob("runs/asked/checkpoints/*.index")) and time.monotonic() < until:
        time.sleep(0.05)
    both[1].send_signal(signal.SIGTERM)
    ended = [done(process) for process in both]
    steps = [re.search(r"stopped after step (\d+) of 5000", errors) for _, errors in ended]
    assert [status for status, _ in ended] == [75, 75] and steps[0][1] == steps[1][1]
