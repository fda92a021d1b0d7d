"""Runs that tfsum 0.1.0 began: their records are found done, and they are resumed to their end."""

import json
import pathlib
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

import tfsum

OLD = pathlib.Path(__file__).parents[1] / "fixtures" / "version_0_1_0"


@pytest.mark.parametrize("task", ["extractive", "abstractive", "classification", "pretraining"])
def test_a_run_of_0_1_0_is_resumed(task, tmp_path, monkeypatch, capfd):
    shutil.copytree(OLD, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    run, records = pathlib.Path("runs") / task, pathlib.Path("records") / task
    before = {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in records.rglob("*.tfrecord")
    }
    old = json.loads((run / "history.json").read_text())["history"]
    best = load_file(run / "best" / "model.safetensors")
    assert tfsum.train(f"{task}.toml") == run / "best"
    assert "resuming after step 2 of 4" in capfd.readouterr().err
    assert {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in records.rglob("*.tfrecord")
    } == before
    history = json.loads((run / "history.json").read_text())["history"]
    assert history[:1] == old and [row["step"] for row in history] == [2, 4]
    now = load_file(run / "best" / "model.safetensors")
    assert now.keys() == best.keys() and all(np.isfinite(value).all() for value in now.values())
