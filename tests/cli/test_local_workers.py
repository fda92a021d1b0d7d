"""The launcher of `tfsum train --local-workers`, with small programs in place of the workers'
trainings."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import tfsum
from tfsum.cli import local_workers
from tfsum.cli import train as verb
from tfsum.cli.main import main

OURS = str(pathlib.Path(tfsum.__file__).parents[1])
RECIPE, CORPORA = "bert_sum_ext_news", ["data.train=a.jsonl", "data.validation=b.jsonl"]
INDEX = (
    "import json, os, signal, sys, time; i = json.loads(os.environ['TF_CONFIG'])['task']['index']; "
)
# A worker that stops on SIGTERM and on Ctrl-C, its state saved.
STOPS = (
    "[signal.signal(n, lambda *_: os._exit(75)) for n in (2, 15)]; print('ready', file=sys.stderr,"
    " flush=True); "
)
FOLLOWS = "from tfsum.cli.local_workers import end_with_launcher; end_with_launcher(); "


@pytest.fixture
def launch(monkeypatch):
    """A function: what `run_workers` gives with a program as the workers."""
    monkeypatch.delenv("TF_CONFIG", raising=False)

    def run(program, timeout=600):
        monkeypatch.setattr(local_workers, "START", INDEX + program)
        return local_workers.run_workers(2, [], timeout)

    return run


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(75)", 75),
        ("sys.exit(2 if i else 0)", 2),
        ("print('no corpus', file=sys.stderr) if i else None; sys.exit(1 if i else 75)", 75),
        ("os.kill(os.getpid(), signal.SIGKILL) if i else sys.exit(1)", None),
    ],
)
def test_the_status_is_that_of_the_first_that_failed(launch, program, status):
    assert launch(program) in ((status,) if status is not None else (1, 137))


def test_nothing_of_the_working_folder_is_run(launch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("open('run', 'w')\n")
    launch("import json")
    assert not (tmp_path / "run").exists()


def test_a_dead_worker_ends_all_with_its_error_and_status(launch, monkeypatch, capfd):
    """The other does not notice, and is killed when it has had its time: [train] worker_timeout and
    the grace."""
    monkeypatch.setattr(local_workers, "GRACE", 0.5)
    begin = time.monotonic()
    assert (
        launch(
            "print('no corpus', file=sys.stderr) or sys.exit(3) if i else time.sleep(600)",
            timeout=1,
        )
        == 3
    )
    assert 1.5 <= time.monotonic() - begin < 500  # of the 600 that it sleeps
    assert "[worker 1] no corpus" in capfd.readouterr().err
    assert (
        launch("os.kill(os.getpid(), signal.SIGKILL) if i else time.sleep(600)", timeout=0)
        == 128 + signal.SIGKILL
    )
    assert "worker 1 was ended by SIGKILL; waiting for the others" in capfd.readouterr().err


def launcher(program):
    """A launcher in a process of its own, whose two workers are ready."""
    code = (
        "import sys; from tfsum.cli import local_workers; local_workers.START = sys.argv[1]; "
        "sys.exit(local_workers.run_workers(2, [], 600))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, program],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": OURS},
        # a suite that runs in a shell's background ignores it, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    ready = [process.stderr.readline() for _ in range(2)]
    assert sorted(ready) == ["[worker 0] ready\n", "[worker 1] ready\n"]
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_launcher_ends_all(number):
    process = launcher(INDEX + STOPS + "time.sleep(600)")
    process.send_signal(number)
    process.communicate(timeout=500)
    assert process.returncode == 75


def test_workers_stop_where_their_launcher_is_killed(tmp_path):
    """SIGKILL leaves no time to pass on anything: the workers notice that their standard input has
    ended."""
    files = tmp_path / "ended-"
    stops = STOPS.replace(
        "os._exit(75)", f"(open({str(files)!r} + str(i), 'w').close(), os._exit(75))"
    )
    process = launcher(INDEX + FOLLOWS + stops + "time.sleep(600)")
    process.kill()
    process.wait()
    until = time.monotonic() + 500
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ended-0", "ended-1"]


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        (["train.worker_timeout=300"], 300),
        ([], 60),
    ],
)
def test_the_launcher_waits_longer_than_the_workers(monkeypatch, sets, expected):
    called = []
    monkeypatch.setattr(verb, "run_workers", lambda *arguments: called.append(arguments) or 0)
    words = [word for text in [*CORPORA, *sets] for word in ("--set", text)]
    assert main(["train", RECIPE, "--local-workers", "2", *words]) == 0
    assert called == [(2, ["train", RECIPE, *words], expected)]


def test_a_wrong_recipe_starts_no_worker(monkeypatch, capsys):
    monkeypatch.setattr(verb, "run_workers", None)
    words = ["--local-workers", "2", "--set", "train.worker_timeout=soon"]
    assert main(["train", RECIPE, *words]) == 2
    assert 'worker_timeout="soon": expected a whole number from 1' in capsys.readouterr().err
