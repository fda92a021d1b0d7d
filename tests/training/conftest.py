"""What the tests of all kinds of runs share."""

import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(scope="module")
def uninterrupted(request, material, tmp_path_factory):
    """What the `run` of a test's file makes, trained to its end."""
    whole = request.module.run(material, tmp_path_factory.mktemp("whole"))
    whole.fit()
    return whole


@pytest.fixture
def stop_after():
    """A function: lets a run get a signal in its fit, once a step is done."""

    def stop(run, step: int, number=signal.SIGTERM):
        update = run.average.on_train_batch_end

        def update_and_signal(batch, logs=None):
            update(batch, logs)
            if int(run.model.optimizer.iterations) == step:
                os.kill(os.getpid(), number)

        run.average.on_train_batch_end = update_and_signal

    return stop


@pytest.fixture
def same():
    """A function: whether weights, optimizer and average of two runs are the same, bit by bit."""

    def variables(run):
        every = [*run.model.variables, *run.model.optimizer.variables, *run.average.variables]
        return [v.numpy() for v in every if "metric" not in v.path]  # metrics begin anew with each process

    return lambda one, other: all(np.array_equal(a, b) for a, b in zip(variables(one), variables(other), strict=True))


@pytest.fixture
def train_mirrored(material, tmp_path):
    """A function: a script trains one device and two replicas, whose weights must be the same."""

    def train(script: str, rtol: float):
        command = [sys.executable, pathlib.Path(__file__).with_name(script), material, tmp_path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400)
        assert done.returncode == 0, done.stderr[-3000:]
        one, mirrored = (dict(np.load(tmp_path / f"{name}.npz")) for name in ("one", "mirrored"))
        assert one.keys() == mirrored.keys()
        for name, value in one.items():
            if not name.endswith("attention.key.bias"):  # no gradient but rounding, of which Adam makes whole steps
                np.testing.assert_allclose(mirrored[name], value, atol=1e-6, rtol=rtol, err_msg=name)

    return train
