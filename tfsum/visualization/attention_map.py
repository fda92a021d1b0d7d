"""Attention as heat maps: a row per query token, a column per key token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfsum.visualization.attention import Attention
from tfsum.visualization.style import AMOUNT_MAP, new_figure, show_tokens

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADS_IN_A_ROW = 4


def plot_attention(attention: Attention, layer: int, head: int | None = None) -> Figure:
    """Plots the weights of one head, or of all heads of a layer side by side.

    Args:
        attention: from `bert_attention` or `transformer_attention`.
        layer: counted from 0.
        head: counted from 0; all by default.

    Returns:
        A matplotlib figure. All its maps share one colour scale.

    Raises:
        Error: there is no such layer or head.

    Example:
        >>> import numpy as np
        >>> attention = Attention(
        ...     "self-attention", np.full((1, 2, 2, 2), 0.5), ["a", "b"], ["a", "b"]
        ... )
        >>> figure = plot_attention(attention, layer=0, head=1)
    """
    weights = attention.of(layer, head)
    maps = weights[None] if head is not None else weights
    columns = min(len(maps), HEADS_IN_A_ROW)
    rows = -(-len(maps) // columns)
    side = min(8.0, max(3.0, 0.22 * max(weights.shape[-2:])))
    figure, axes = new_figure(columns * side + 1, rows * side, rows, columns)
    for ax in axes[len(maps) :]:
        ax.set_axis_off()
    for i, (ax, values) in enumerate(zip(axes, maps)):
        image = ax.imshow(
            values,
            cmap=AMOUNT_MAP,
            vmin=0,
            vmax=float(maps.max()),
            interpolation="nearest",
            aspect="auto",
        )
        show_tokens(ax.xaxis, attention.keys, rotation=90)
        show_tokens(ax.yaxis, attention.queries)
        ax.set_title(f"head {i if head is None else head}", fontsize=9)
    figure.supxlabel("keys", fontsize=9)
    figure.supylabel("queries", fontsize=9)
    figure.suptitle(f"{attention.kind}, layer {layer}")
    figure.colorbar(image, ax=axes, label="attention weight (a row sums to 1)", shrink=0.8)
    return figure
