"""Two processes on this machine as the workers of one training: the model of one process, and no
worker left alone."""

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

CORPUS = pathlib.Path(__file__).parents[1] / "fixtures" / "tiny_corpus"
# the same package as the tests', checkout or installed
OURS = str(pathlib.Path(tfsum.__file__).parents[1])
START = "import sys; from tfsum.cli.main import main; sys.exit(main())"
NO_GRADIENT = "attention.self.key.bias"  # but rounding, of which Adam makes whole steps
EXACT = {
    "model.hidden_dropout_prob": 0.0,
    "model.attention_probs_dropout_prob": 0.0,
    "train.average_decay": 0.0,
}
# long after the first checkpoint still at work
LONG = {"train__steps": 1000, "train__validate_every": 50}


@pytest.fixture
def start(tmp_path):
    """A function: starts `tfsum train` on the tiny recipe, in a folder of that name."""
    shutil.copytree(CORPUS, tmp_path, dirs_exist_ok=True)

    def begin(name, *words, environment=None, **keys):
        keys = {
            "train.folder": f"runs/{name}",
            "data.records": f"records/{name}",
            **EXACT,
            **{key.replace("__", "."): value for key, value in keys.items()},
        }
        sets = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
        return subprocess.Popen(
            [sys.executable, "-c", START, "train", "extractive.toml", *words, *sets],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": OURS, **(environment or {})},
        )

    return begin


def done(process) -> tuple[int, str]:
    _, errors = process.communicate(timeout=600)
    return process.returncode, errors


def weights(run: pathlib.Path) -> dict:
    return load_file(run / "best" / "model.safetensors")


def config(index: int, addresses: list[str]) -> dict:
    return {
        "TF_CONFIG": json.dumps(
            {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        )
    }


@pytest.mark.slow  # three processes that train; .ci/run runs it
def test_two_workers_are_one_process(start, tmp_path):
    assert done(start("one"))[0] == 0
    status, errors = done(start("two", "--local-workers", "2"))
    assert status == 0, errors
    # the chief alone reports
    assert "[worker 0] step 4/4" in errors and "[worker 1] step" not in errors
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
    in_training(tmp_path / "runs" / "lost", both)
    both[1].send_signal(number)
    status, errors = done(both[0])
    both[1].kill()
    done(both[1])
    assert status == 75 and re.search(
        r"worker 1 does not answer any more\. .* to resume", errors
    ), errors[-3000:]
    status, errors = done(start("lost", "--local-workers", "2", **LONG))
    assert status == 0 and "resuming after step" in errors
    whole, resumed = weights(tmp_path / "runs" / "whole"), weights(tmp_path / "runs" / "lost")
    assert all(np.array_equal(whole[name], resumed[name]) for name in whole)


def in_training(folder, processes) -> None:
    """Waits for the first checkpoint of a run, ten minutes at most."""
    until = time.monotonic() + 600
    while not list(folder.glob("checkpoints/*.index")):
        assert time.monotonic() < until and all(process.poll() is None for process in processes)
        time.sleep(0.05)


@pytest.mark.slow
def test_the_others_stop_with_a_timeout_of_their_own(start, tmp_path):
    """How long they wait is in test_strategies.py."""
    found, keys = free_addresses(2), {**LONG, "train__worker_timeout": 12}
    both = [start("soon", environment=config(i, found), **keys) for i in range(2)]
    in_training(tmp_path / "runs" / "soon", both)
    both[1].send_signal(signal.SIGSTOP)
    status, errors = done(both[0])
    both[1].kill()
    done(both[1])
    assert status == 75 and "worker 1 does not answer any more." in errors, errors[-3000:]


def children(process) -> list[int]:
    """The workers of a launcher."""
    file = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not file.exists():
        pytest.skip("/proc does not list the children of a process here")
    return [int(number) for number in file.read_text().split()]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["ctrl-c", "a dead worker", "a killed launcher"])
def test_no_worker_of_a_launcher_is_left(start, tmp_path, what):
    launcher = start("local", "--local-workers", "2", train__steps=5000, train__validate_every=50)
    in_training(tmp_path / "runs" / "local", [launcher])
    workers = children(launcher)
    assert len(workers) == 2
    if what == "a dead worker":
        os.kill(workers[1], signal.SIGKILL)
    else:
        launcher.send_signal(signal.SIGINT if what == "ctrl-c" else signal.SIGKILL)
    status, errors = done(launcher)
    until = time.monotonic() + 600
    while (
        any(pathlib.Path(f"/proc/{worker}").exists() for worker in workers)
        and time.monotonic() < until
    ):
        time.sleep(0.1)
    assert not [worker for worker in workers if pathlib.Path(f"/proc/{worker}").exists()]
    assert status == (-signal.SIGKILL if what == "a killed launcher" else 75)
    if what == "a dead worker":
        assert "worker 1 was ended by SIGKILL; waiting for the others" in errors
        assert re.search(r"\[worker 0\] .*worker 1 does not answer any more\.", errors), errors[
            -3000:
        ]
    else:  # the state is saved, in both cases
        assert what == "a killed launcher" or re.search(
            r"\[worker 0\] .*stopped after step \d+ of 5000", errors
        )
        step = max(
            int(path.stem[5:]) for path in tmp_path.glob("runs/local/checkpoints/ckpt-*.json")
        )
        assert step > 0 and not (tmp_path / "runs" / "local" / "lock").exists()


@pytest.mark.slow
def test_a_worker_without_its_corpus_ends_all_with_its_error(start, tmp_path):
    (tmp_path / "documents.jsonl").write_text("no JSON\n")
    status, errors = done(start("wrong", "--local-workers", "2"))
    assert status == 1 and "documents.jsonl" in errors and "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value", "tolerance"),
    [
        ("train.precision", "float16", 2e-3),
        ("train.jit_compile", "true", 1e-5),
        ("model.freeze_layers", 1, 1e-5),
    ],
)
def test_two_workers_are_one_process_with(start, tmp_path, key, value, tolerance):
    """Weights move by 1e-3 a step; float16 rounds to 1e-3 of a value, which Adam's first steps show
    in full."""
    name = key.replace(".", "__")
    assert done(start("one", **{name: value}))[0] == 0
    status, errors = done(start("two", "--local-workers", "2", **{name: value}))
    assert status == 0, errors
    one, two = weights(tmp_path / "runs" / "one"), weights(tmp_path / "runs" / "two")
    for path, array in one.items():
        if not path.endswith(NO_GRADIENT):
            np.testing.assert_allclose(two[path], array, atol=tolerance, err_msg=path)
    path = "encoder.layer.0.output.dense.weight"
    before = load_file(tmp_path / "encoder" / "model.safetensors")[path]
    assert np.array_equal(two[f"bert.{path}"], before) == (key == "model.freeze_layers")


@pytest.mark.slow
def test_a_signal_to_one_worker_stops_all_after_the_same_step(start, tmp_path):
    found = free_addresses(2)
    both = [
        start("asked", environment=config(i, found), train__steps=5000, train__validate_every=50)
        for i in range(2)
    ]
    in_training(tmp_path / "runs" / "asked", both)
    both[1].send_signal(signal.SIGTERM)
    ended = [done(process) for process in both]
    steps = [re.search(r"stopped after step (\d+) of 5000", errors) for _, errors in ended]
    assert [status for status, _ in ended] == [75, 75] and steps[0][1] == steps[1][1]
