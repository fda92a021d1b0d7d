"""Plots training runs over their steps: validation scores and learning rates."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from tfsum.errors import require
from tfsum.visualization.style import COLORS, LINES, new_figure

POINTS = 1000  # per curve; more than a figure has pixels


def plot_curves(histories: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    """Plots each score over the training steps, with a line for each run.

    Args:
        histories: Validations by the name of the run, as `history` in its history.json: the step
            and the scores of each.

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes, with axes for each score.

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

    # each run once, though it may lack a score
    lines = {str(line.get_label()): line for ax in axes for line in ax.get_lines()}
    figure.legend(
        list(lines.values()), list(lines), loc="outside lower center", ncols=2, fontsize=8
    )
    return figure


def plot_learning_rate(schedules: Mapping[str, Callable], steps: int) -> Figure:
    """Plots learning rates over the training steps.

    Args:
        schedules: Keras schedules by label, such as `tfsum.training.optimizer.WarmUp`.
        steps: Number of optimizer steps.

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes.

    Raises:
        Error: There is no schedule or no step.

    Example:
        >>> from tfsum.training.optimizer import WarmUp
        >>> figure = plot_learning_rate({"paper": WarmUp(1e-3, 4000)}, steps=10_000)
    """
    require(
        schedules and steps > 0,
        f"plot_learning_rate: {len(schedules)} schedules over {steps} steps; expected one or"
        " more of both",
    )

    done = np.unique(np.linspace(0, steps - 1, POINTS).round().astype(int))
    figure, (ax,) = new_figure(8, 3.5)
    for order, (label, schedule) in enumerate(schedules.items()):
        ax.plot(
            done,
            [float(schedule(int(step))) for step in done],
            color=COLORS[order % len(COLORS)],
            linestyle=LINES[order % len(LINES)],
            label=label,
        )
    ax.set(
        xlabel="optimizer steps done", ylabel="learning rate", title="Learning rate", ylim=(0, None)
    )
    ax.grid(color="#E0E0E0")
    ax.legend(fontsize=8)
    return figure
