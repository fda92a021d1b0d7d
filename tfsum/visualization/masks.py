"""Plots of the masks: visible and hidden positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tfsum.layers import look_ahead_mask, padding_mask
from tfsum.visualization.style import HIDDEN_COLOR, VISIBLE_COLOR, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_look_ahead_mask(length: int = 10) -> Figure:
    """Plots which positions each position of a target can see (Vaswani et al. 2017, section 3.2.3).

    Args:
        length: number of positions T.

    Returns:
        A matplotlib figure.

    Example:
        >>> figure = plot_look_ahead_mask(5)
    """
    mask = np.asarray(look_ahead_mask(length))
    return _plot(mask, "Look-ahead mask", "key position", "query position")


def plot_padding_mask(ids: ArrayLike) -> Figure:
    """Plots which positions of a batch are tokens and which are padding.

    Args:
        ids: ints (B, T); 0 is padding.

    Returns:
        A matplotlib figure.

    Example:
        >>> figure = plot_padding_mask([[5, 6, 0], [7, 0, 0]])
    """
    return _plot(
        np.asarray(padding_mask(np.asarray(ids))),
        "Padding mask",
        "position (tokens)",
        "row of the batch",
    )


def _plot(mask: np.ndarray, title: str, x: str, y: str) -> Figure:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    figure, (ax,) = new_figure(5, 4.5)
    ax.imshow(
        mask,
        cmap=ListedColormap([HIDDEN_COLOR, VISIBLE_COLOR]),
        vmin=0,
        vmax=1,
        interpolation="nearest",
    )
    ax.set(xlabel=x, ylabel=y, title=title)
    for axis, count in ((ax.xaxis, mask.shape[1]), (ax.yaxis, mask.shape[0])):
        axis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]  # a MaxNLocator
        axis.set_ticks(np.arange(count + 1) - 0.5, minor=True)  # lines between the cells
    ax.grid(which="minor", color="white", linewidth=1)
    ax.tick_params(which="minor", length=0)
    patches = [
        Patch(facecolor=VISIBLE_COLOR, label="True: visible"),
        Patch(facecolor=HIDDEN_COLOR, edgecolor="gray", label="False: hidden"),
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=2, fontsize=8)
    return figure
