"""Plots of learning-rate schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tfsum.errors import Error
from tfsum.visualization.style import COLORS, LINES, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 1000  # per curve; more than a figure has pixels


def plot_learning_rate(schedules: Mapping[str, Callable], steps: int) -> Figure:
    """Plots learning rates over the training steps.

    Args:
        schedules: label -> a Keras schedule, such as `tfsum.training.optimizer.WarmUp`.
        steps: number of optimizer steps.

    Returns:
        A matplotlib figure.

    Raises:
        Error: no schedule, or no step.

    Example:
        >>> from tfsum.training.optimizer import WarmUp
        >>> figure = plot_learning_rate({"paper": WarmUp(1e-3, 4000)}, steps=10_000)
    """
    if not schedules or steps < 1:
        raise Error(
            f"plot_learning_rate: {len(schedules)} schedules over {steps} steps; expected one or more of both"
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
