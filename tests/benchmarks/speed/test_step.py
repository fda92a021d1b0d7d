"""The cost of a step: its interval, and when it is too much."""

import pytest

pytest.importorskip("tensorflow")

from benchmarks.speed import step


def test_a_step_that_costs_more_is_a_failure():
    assert [step.exit_status(high) for high in (1.0, 1.049, 1.05, 1.3)] == [0, 0, 1, 1]


def test_the_interval_of_a_median():
    # P(at most 1 of 10 below the median) = 0.011, of at most 2 0.055: the 2nd and the 9th
    ratios = [float(i) for i in range(1, 11)]
    assert step.interval(ratios) == (5.5, 2.0, 9.0)
    with pytest.raises(SystemExit, match="6 or more"):
        step.interval([1.0, 1.0])
