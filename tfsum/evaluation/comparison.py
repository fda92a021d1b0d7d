"""Systems beside each other as lines of text: each metric with its interval, then the differences to one of them."""

from collections.abc import Mapping, Sequence
from typing import Any

DIFFERENCE = ("difference", "difference_low", "difference_high")


def comparison_lines(
    systems: Mapping[str, Mapping[str, Any]],
    metrics: Sequence[str],
    value: str,
    baseline: str | None,
    unit: str = "",
    count: str | None = None,
) -> list[str]:
    """The lines of a table with a row for each system.

    Args:
        systems: name -> metric -> `value`'s key, `low`, `high` and, with a baseline, the keys of `DIFFERENCE`.
        metrics: the columns.
        value: key of a metric's value.
        baseline: the system that `difference` compares with; None where there are no differences.
        unit: stands after the metric's name in the head of its column.
        count: a key of a system whose number is a last column, without interval.

    Returns:
        The lines, without trailing white space.

    Example:
        >>> scores = {"model": {"accuracy": {"value": 90.0, "low": 85.0, "high": 95.0}}}
        >>> print("\\n".join(comparison_lines(scores, ["accuracy"], "value", None)))
        system  accuracy (95 %)
        model   90.00 (85.00, 95.00)
    """
    width = max(len("system"), *map(len, systems))

    def row(name: str, cells: list[str], last: str = "") -> str:
        return (f"{name:<{width}}" + "".join(f"  {cell:<24}" for cell in cells) + last).rstrip()

    def cells(scores: Mapping[str, Any], keys: tuple[str, str, str], sign: str = "") -> list[str]:
        numbers = (
            [format(scores[metric][key], f"{sign}.2f") for key in keys] for metric in metrics
        )
        return [f"{middle} ({low}, {high})" for middle, low, high in numbers]

    lines = [
        row(
            "system",
            [f"{metric}{unit} (95 %)" for metric in metrics],
            f"  {count}" if count else "",
        )
    ]
    for name, scores in systems.items():
        last = f"  {scores[count]:{len(count)}.2f}" if count else ""
        lines.append(row(name, cells(scores, (value, "low", "high")), last))
    if baseline is not None:
        lines += ["", f"difference to {baseline}"]
        lines += [
            row(name, cells(scores, DIFFERENCE, "+"))
            for name, scores in systems.items()
            if name != baseline
        ]
    return lines
