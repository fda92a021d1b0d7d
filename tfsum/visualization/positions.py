"""Plots what a Transformer knows of positions: its masks and the sinusoidal positional encoding."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from tfsum.errors import Error
from tfsum.layers import look_ahead_mask, padding_mask, positional_encoding
from tfsum.visualization.style import (
    COLORS,
    HIDDEN_COLOR,
    LINES,
    SIGNED_MAP,
    VISIBLE_COLOR,
    new_figure,
)


def plot_look_ahead_mask(length: int = 10) -> Figure:
    """Plots which positions each position of a target can see (Vaswani et al. 2017, section 3.2.3).

    Args:
        length: Number of positions T.

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes.

    Example:
        >>> figure = plot_look_ahead_mask(5)
    """
    return _mask_figure(
        look_ahead_mask(length)[0], "Look-ahead mask", "key position", "query position"
    )


def plot_padding_mask(ids: ArrayLike) -> Figure:
    """Plots which positions of a batch are tokens and which are padding.

    Args:
        ids: Integers (B, T); 0 is padding.

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes.

    Example:
        >>> figure = plot_padding_mask([[5, 6, 0], [7, 0, 0]])
    """
    return _mask_figure(
        padding_mask(np.asarray(ids)), "Padding mask", "position (tokens)", "row of the batch"
    )


def _mask_figure(mask: ArrayLike, title: str, x: str, y: str) -> Figure:
    figure, (ax,) = new_figure(5, 4.5)
    ax.imshow(
        np.asarray(mask),
        cmap=ListedColormap([HIDDEN_COLOR, VISIBLE_COLOR]),
        vmin=0,
        vmax=1,
        interpolation="nearest",
    )
    ax.set(xlabel=x, ylabel=y, title=title)

    for axis, count in zip((ax.yaxis, ax.xaxis), np.shape(mask)):
        axis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]  # a MaxNLocator
        axis.set_ticks(np.arange(count + 1) - 0.5, minor=True)  # lines between the cells
    ax.grid(which="minor", color="white", linewidth=1)
    ax.tick_params(which="minor", length=0)

    figure.legend(
        handles=[
            Patch(facecolor=VISIBLE_COLOR, label="True: visible"),
            Patch(facecolor=HIDDEN_COLOR, edgecolor="gray", label="False: hidden"),
        ],
        loc="outside lower center",
        ncols=2,
        fontsize=8,
    )
    return figure


def plot_positional_encoding(
    length: int = 100, d_model: int = 20, columns: Sequence[int] = (4, 5, 6, 7)
) -> Figure:
    """Plots some columns of the encoding as curves over the positions (Vaswani et al. 2017, section
    3.5).

    Args:
        length: Number of positions T.
        d_model: Width D.
        columns: Indices of the columns; the defaults reproduce the plot of "The Annotated
            Transformer".

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes.

    Raises:
        Error: There is no such column.

    Example:
        >>> figure = plot_positional_encoding(length=50)
    """
    if outside := [i for i in columns if not 0 <= i < d_model]:
        raise Error(
            f"plot_positional_encoding: column {outside[0]}; with d_model={d_model} they go from 0"
            f" to {d_model - 1}"
        )

    encoded = np.asarray(positional_encoding(length, d_model))
    figure, (ax,) = new_figure(8, 3.5)
    for order, i in enumerate(columns):
        ax.plot(
            encoded[:, i],
            color=COLORS[order % len(COLORS)],
            linestyle=LINES[order % len(LINES)],
            label=f"column {i} ({('sine', 'cosine')[i % 2]})",
        )
    ax.set(
        xlabel="position (tokens)", ylabel="value", title=f"Positional encoding, width {d_model}"
    )
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return figure


def plot_positional_encoding_heat_map(length: int = 100, d_model: int = 128) -> Figure:
    """Plots the whole encoding (T, D), a row per position.

    Args:
        length: Number of positions T.
        d_model: Width D.

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes.

    Example:
        >>> figure = plot_positional_encoding_heat_map(length=50, d_model=16)
    """
    figure, (ax,) = new_figure(8, 5)
    image = ax.imshow(
        np.asarray(positional_encoding(length, d_model)),
        cmap=SIGNED_MAP,
        vmin=-1,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
    )
    ax.set(
        xlabel="column of the vector",
        ylabel="position (tokens)",
        title=f"Positional encoding, width {d_model}",
    )
    figure.colorbar(image, ax=ax, label="value")
    return figure
