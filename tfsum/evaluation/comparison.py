"""Systems compared: percentile bootstrap intervals of means over documents (Efron 1979; for
summaries, Lin 2004), and their scores as a table of text."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfsum.errors import require

DIFFERENCE = ("difference", "difference_low", "difference_high")


class Report:
    """What every report has; its subclasses are dataclasses.

    Attributes:
        settings: Settings of the evaluation, by name.
    """

    settings: dict

    def to_json(self) -> str:
        """The report as a JSON object of one line."""
        return json.dumps(vars(self), ensure_ascii=False)

    def settings_line(self) -> str:
        """The settings as text."""
        return ", ".join(f"{name} {value}" for name, value in self.settings.items())


def bootstrap_intervals(
    values: np.ndarray,
    samples: int = 1000,
    seed: int = 0,
    statistic: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Computes 95 % intervals of the means of columns, from the same resampled documents.

    For a column of differences between two systems, this is the paired bootstrap.

    Args:
        values: Array (D, ...), one row per document.
        samples: Number of samples of D documents with replacement.
        seed: Seed of the samples.
        statistic: Function from means (samples, ...) of the columns to values (samples, ...), such
            as F1; None for the means themselves.

    Returns:
        The lower and the upper ends, each with the shape of a row or of a value of `statistic`.

    Raises:
        Error: There is no document or no sample.

    Example:
        >>> low, high = bootstrap_intervals(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]))
        >>> bool(1 <= low[0] < 2 < high[0] <= 3), low[1].item(), high[1].item()
        (True, 5.0, 5.0)
    """
    values = np.asarray(values, np.float64)
    require(
        len(values) and samples > 0,
        f"bootstrap: {len(values)} documents, {samples} samples; expected 1 or more of both",
    )

    # the count (D,) of each document in a sample, times the columns (D, C), gives the sums (C,)
    random = np.random.default_rng(seed)
    columns = values.reshape(len(values), -1)
    even = np.full(len(values), 1 / len(values))
    sums = [random.multinomial(len(values), even) @ columns for _ in range(samples)]
    means = (np.stack(sums) / len(values)).reshape(samples, *values.shape[1:])

    if statistic is not None:
        means = statistic(means)
    return tuple(np.quantile(means, [0.025, 0.975], axis=0))


def comparison_lines(
    systems: Mapping[str, Mapping[str, Any]],
    metrics: Sequence[str],
    value: str,
    baseline: str | None,
    unit: str = "",
    count: str | None = None,
) -> list[str]:
    """Formats a table with a row for each system, then the differences to a baseline.

    Args:
        systems: Scores by system and metric: the keys `value`, "low", "high" and, with a baseline,
            `DIFFERENCE`.
        metrics: Metrics of the columns.
        value: Key of a metric's value.
        baseline: Name of the system that the others are compared with; None for no differences.
        unit: Text after the name of the metric in the head of its column.
        count: Key of a number that is the last column, without an interval.

    Returns:
        Lines without trailing white space.

    Example:
        >>> scores = {"model": {"accuracy": {"value": 90.0, "low": 85.0, "high": 95.0}}}
        >>> print("\\n".join(comparison_lines(scores, ["accuracy"], "value", None)))
        system  accuracy (95 %)
        model   90.00 (85.00, 95.00)
    """
    width = max(len("system"), *map(len, systems))

    def row(name: str, cells: list[str]) -> str:
        return (f"{name:<{width}}" + "".join(f"  {cell:<24}" for cell in cells)).rstrip()

    def cells(scores: Mapping[str, Any], keys: tuple[str, str, str], sign: str = "") -> list[str]:
        numbers = (
            [format(scores[metric][key], f"{sign}.2f") for key in keys] for metric in metrics
        )
        return [f"{middle} ({low}, {high})" for middle, low, high in numbers]

    lines = [row("system", [*(f"{metric}{unit} (95 %)" for metric in metrics), count or ""])]
    for name, scores in systems.items():
        last = format(scores[count], f"{len(count)}.2f") if count else ""
        lines.append(row(name, [*cells(scores, (value, "low", "high")), last]))

    if baseline is not None:
        lines += ["", f"difference to {baseline}"]
        lines += [
            row(name, cells(scores, DIFFERENCE, "+"))
            for name, scores in systems.items()
            if name != baseline
        ]
    return lines
