"""How results are shown."""

import pytest

from benchmarks import results


def test_a_column_is_as_wide_as_its_longest_cell():
    rows = {"tfsum": {"ms": "1.0"}, "b": {"ms": "10.25", "ratio": "2"}}
    assert results.table(rows).splitlines() == [
        "|       | ms    | ratio |",
        "| ----- | ----- | ----- |",
        "| tfsum | 1.0   |       |",
        "| b     | 10.25 | 2     |",
    ]


def test_means_and_shares_with_their_intervals():
    assert results.mean([2.0] * 9) == "2.00 (2.00 to 2.00)"
    assert results.mean([1.0] * 9, signed=True) == "+1.00 (+1.00 to +1.00)"
    assert results.mean([(1, 4), (2, 8)]) == "25.00 (25.00 to 25.00)"


def test_calls_take_turns_in_an_order_that_changes():
    order = []
    calls = {name: lambda name=name: order.append(name) or 1.0 for name in "ab"}
    assert results.in_turns(calls, 2, pause=0.0) == {"a": [1.0, 1.0], "b": [1.0, 1.0]}
    assert order == ["a", "b", "b", "a"]


@pytest.mark.parametrize(("scale", "cell"), [(1, "2.0 (1.0) 1.00"), (10, "20.0 (10.0) 1.00")])
def test_times_beside_the_first(scale, cell):
    found = results.beside_first({"a": [1.0, 2.0, 3.0], "b": [4.0]}, scale=scale)
    assert found["a"] == cell and found["b"].endswith("2.00")
