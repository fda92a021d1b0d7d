"""Whose fault an error of TensorFlow is: another worker's that is gone, or this one's own."""

import pytest
import tensorflow as tf

from tfsum.training.train import LOST, lost_worker

DOWN = (
    "Collective ops is aborted by: /job:worker/replica:0/task:1 is down\nRestart your program to"
    " reset.\n"
)


@pytest.mark.parametrize("kind", LOST)
def test_another_worker_is_named(kind):
    own = "node on /job:worker/replica:0/task:0/device:CPU:0: "
    assert str(lost_worker(kind(None, None, own + DOWN))).startswith(
        "worker 1 does not answer any more."
    )
    chief = DOWN.replace("worker", "chief").replace("task:1", "task:0")
    assert str(lost_worker(kind(None, None, own + chief))).startswith(
        "chief 0 does not answer any more."
    )
    assert str(lost_worker(kind(None, None, "Collective ops is aborted"))).startswith(
        "another worker does not answer"
    )


@pytest.mark.parametrize(
    "message",
    [
        "libdevice not found at ./libdevice.10.bc",
        (
            "Failed to launch CUDA kernel\n\t [[{{node a}}]] on"
            " /job:worker/replica:0/task:1/device:GPU:0"
        ),
    ],
)
def test_an_internal_error_of_this_worker_is_its_own(message):
    assert lost_worker(tf.errors.InternalError(None, None, message), ("worker", 1)) is None
