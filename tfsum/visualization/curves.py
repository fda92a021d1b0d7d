"""Plot of the scores of training runs, validation by validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tfsum.visualization.style import COLORS, LINES, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_curves(histories: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    """Plots each score over the steps, a line for each run.

    Args:
        histories: name of a run -> its validations, `history` of its history.json: the step and the scores of each.

    Returns:
        A matplotlib figure, with axes for each score.

    Example:
        >>> figure = plot_curves(
        ...     {"runs/news": [{"step": 100, "rouge1": 34.1}, {"step": 200, "rouge1": 35.2}]}
        ... )
    """
    names = list(
        dict.fromkeys(
            name for rows in histories.values() for row in rows for name in row if name != "step"
        )
    )
    figure, axes = new_figure(max(4, 3.5 * len(names)), 3, columns=max(1, len(names)))
    for ax, name in zip(axes, names):
        for i, (run, rows) in enumerate(histories.items()):
            points = [(row["step"], row[name]) for row in rows if name in row]
            ax.plot(
                *zip(*points),
                label=run,
                color=COLORS[i % len(COLORS)],
                linestyle=LINES[i % len(LINES)],
                marker="o",
                markersize=3,
            )
        ax.set(xlabel="step", ylabel=name, title=name)
    lines = {
        str(line.get_label()): line for ax in axes for line in ax.get_lines()
    }  # a run may lack a score
    figure.legend(
        list(lines.values()), list(lines), loc="outside lower center", ncols=2, fontsize=8
    )
    return figure
