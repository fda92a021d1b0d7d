"""Plots of the sinusoidal positions (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfsum.errors import Error
from tfsum.layers import positional_encoding
from tfsum.visualization.style import COLORS, LINES, SIGNED_MAP, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_positional_encoding(
    length: int = 100, d_model: int = 20, columns: Sequence[int] = (4, 5, 6, 7)
) -> Figure:
    """Plots some columns of the encoding as curves over the positions.

    Args:
        length: number of positions T.
        d_model: width D.
        columns: which of the D columns; the defaults reproduce the plot of "The Annotated Transformer".

    Returns:
        A matplotlib figure.

    Raises:
        Error: there is no such column.

    Example:
        >>> figure = plot_positional_encoding(length=50)
    """
    beyond = [i for i in columns if not 0 <= i < d_model]
    if beyond:
        raise Error(
            f"plot_positional_encoding: column {beyond[0]}; with d_model={d_model} they go from 0 to "
            f"{d_model - 1}"
        )
    encoded = np.asarray(positional_encoding(length, d_model))
    figure, (ax,) = new_figure(8, 3.5)
    for order, i in enumerate(columns):
        kind = "cosine" if i % 2 else "sine"
        ax.plot(
            encoded[:, i],
            color=COLORS[order % len(COLORS)],
            linestyle=LINES[order % len(LINES)],
            label=f"column {i} ({kind})",
        )
    ax.set(
        xlabel="position (tokens)", ylabel="value", title=f"Positional encoding, width {d_model}"
    )
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return figure


def plot_positional_encoding_heat_map(length: int = 100, d_model: int = 128) -> Figure:
    """Plots the whole encoding (T, D), a row per position.

    Args:
        length: number of positions T.
        d_model: width D.

    Returns:
        A matplotlib figure.

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
