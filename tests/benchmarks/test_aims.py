"""The exit status of a benchmark says whether its aim was reached."""

import numpy as np
import pytest
import soak
import step_cost


@pytest.mark.parametrize(
    ("status", "checkpoints", "growth", "expected"),
    [
        (75, 9, 0.9, 0),
        (75, 9, -3.0, 0),
        (75, 9, 1.0, 1),
        (75, 9, 1.5, 1),
        (1, 9, 0.1, 1),
        (75, 0, 0.1, 1),
    ],
)
def test_memory_that_grows_is_a_failure(status, checkpoints, growth, expected):
    minutes = np.arange(10.0, 20.0, 0.5)
    samples = np.stack([minutes, 1000 + (growth + 1e-9) * minutes], 1)
    result, line = soak.verdict(status, checkpoints, samples)
    assert result == expected and f"{growth:+.3f} MB a minute (aim: below 1)" in line


def test_nothing_after_the_warm_up_is_a_failure():
    assert soak.verdict(75, 9, np.zeros((0, 2))) == (1, "too short: nothing after the warm-up")


def test_a_step_that_costs_more_is_a_failure():
    assert [step_cost.exit_status(high) for high in (1.0, 1.049, 1.05, 1.3)] == [0, 0, 1, 1]
