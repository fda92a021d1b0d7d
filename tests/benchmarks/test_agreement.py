"""benchmarks/agreement.py: what its table says of what agrees and of what does not."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")
from agreement import show, stored_rows


def row(found, expected, name="x", tolerance=2e-5):
    return name, np.asarray(found, np.float32), np.asarray(expected, np.float32), tolerance


def test_the_largest_difference_of_all(capsys):
    assert show("title", iter([("two", [row([1, 2], [1, 2 + 1e-5]), row([3], [3])])]))
    title, _, line = capsys.readouterr().out.strip().split("\n")
    assert title == "title" and line.split() == ["two", "3", "1.00e-05", "2e-05", "ok"]


@pytest.mark.parametrize(
    "wrong",
    [
        row([1.0], [1.001]),
        row([0.0, 0.0], [0.0]),
        row([np.nan], [1.0]),
        row([1.0], [np.nan]),
        row(1, 0, tolerance=0.0),
    ],
)
def test_one_that_is_over(wrong, capsys):
    assert not show(
        "title", [("fine", [row([1.0], [1.0], "y")]), ("all", [row([1.0], [1.0], "y"), wrong])]
    )
    fine, line = capsys.readouterr().out.strip().split("\n")[2:]
    assert fine.endswith(" ok") and line.endswith(" NOT OK: x")


def test_what_is_stored_agrees():
    assert show("title", stored_rows(None))
