"""What the tests of all kinds of runs share."""

import os
import signal

import pytest


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
