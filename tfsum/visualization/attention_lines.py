"""Attention as lines from query tokens to key tokens (Vaswani et al. 2017, figures 3 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfsum.visualization.attention import Attention
from tfsum.visualization.style import COLORS, fonts_for, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_attention_lines(
    attention: Attention, layer: int, heads: int | Sequence[int] | None = None
) -> Figure:
    """Plots a line for every pair of tokens: a colour per head, more opaque for more weight.

    Args:
        attention: from `bert_attention` or `transformer_attention`.
        layer: counted from 0.
        heads: one or more of them, counted from 0; all by default.

    Returns:
        A matplotlib figure.

    Raises:
        Error: there is no such layer or head.

    Example:
        >>> attention = Attention(
        ...     "self-attention", np.full((1, 2, 2, 2), 0.5), ["a", "b"], ["a", "b"]
        ... )
        >>> figure = plot_attention_lines(attention, layer=0)
    """
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    heads = (
        range(attention.weights.shape[1])
        if heads is None
        else [heads]
        if isinstance(heads, int)
        else heads
    )
    longest = max(len(attention.queries), len(attention.keys))
    figure, (ax,) = new_figure(5, max(3.0, 0.24 * longest))
    query, key = np.meshgrid(
        np.arange(len(attention.queries)), np.arange(len(attention.keys)), indexing="ij"
    )
    ends = np.stack(
        [
            np.stack([np.zeros(query.size), query.ravel()], -1),
            np.stack([np.ones(key.size), key.ravel()], -1),
        ],
        axis=1,
    )  # (Tq*Tk, 2 ends, x and y)
    for order, head in enumerate(heads):
        weights = np.clip(attention.of(layer, head).ravel(), 0, 1)
        color = to_rgb(COLORS[order % len(COLORS)])
        lines = LineCollection(
            list(ends), colors=[(*color, weight) for weight in weights], linewidths=2 * weights
        )
        ax.add_collection(lines)
        ax.plot([], [], color=color, label=f"head {head}")  # the legend's: a line of full strength
    for place, tokens, side in ((0, attention.queries, "right"), (1, attention.keys, "left")):
        fonts = fonts_for(tokens)
        for y, token in enumerate(plain(tokens)):
            ax.text(
                1.06 * place - 0.03, y, token, ha=side, va="center", fontsize=8, fontfamily=fonts
            )
    ax.set(xlim=(-0.6, 1.6), ylim=(longest - 0.5, -1), title=f"{attention.kind}, layer {layer}")
    ax.text(0, -0.8, "query", ha="right", fontsize=8, style="italic")
    ax.text(1, -0.8, "key", ha="left", fontsize=8, style="italic")
    ax.set_axis_off()
    figure.legend(handles=list(ax.get_lines()), loc="outside lower center", ncols=4, fontsize=8)
    return figure
