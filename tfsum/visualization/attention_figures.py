"""Plots attention: as heat maps, a row per query token and a column per key token, and as lines
from query to key tokens."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from tfsum.errors import require
from tfsum.generation.generator import Attention
from tfsum.visualization.style import (
    AMOUNT_MAP,
    COLORS,
    fonts_for,
    new_figure,
    plain,
    show_tokens,
)

HEADS_IN_A_ROW = 4


def plot_attention(
    attention: Attention | npt.ArrayLike, layer: int = 0, head: int | None = None
) -> Figure:
    """Plots the weights of one head, or of all heads of a layer side by side.

    Args:
        attention: Result of `bert_attention` or `transformer_attention`, or an array of weights
            (Tq, Tk), (H, Tq, Tk) or (L, H, Tq, Tk), whose tokens have numbers.
        layer: Index of the layer, from 0.
        head: Index of the head, from 0; all heads by default.

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes. All its maps share one colour
        scale.

    Raises:
        Error: There is no such layer or head, or the weights have another rank.

    Example:
        >>> weights = np.full((1, 2, 2, 2), 0.5)
        >>> attention = Attention("self-attention", weights, ["a", "b"], ["a", "b"])
        >>> figure = plot_attention(attention, layer=0, head=1)
        >>> figure = plot_attention(weights[0])
    """
    attention = _as_attention(attention)
    weights = attention.select(layer, head)
    maps = weights.reshape(-1, *weights.shape[-2:])  # (heads, Tq, Tk)

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


def plot_attention_lines(
    attention: Attention | npt.ArrayLike, layer: int = 0, heads: int | Sequence[int] | None = None
) -> Figure:
    """Plots a line for every pair of tokens, with a colour per head and opaque for large weights
    (Vaswani et al. 2017, figures 3 to 5).

    Args:
        attention: Result of `bert_attention` or `transformer_attention`, or an array of weights
            (Tq, Tk), (H, Tq, Tk) or (L, H, Tq, Tk), whose tokens have numbers.
        layer: Index of the layer, from 0.
        heads: Index of a head or of several, from 0; all heads by default.

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes.

    Raises:
        Error: There is no such layer or head, or the weights have another rank.

    Example:
        >>> weights = np.full((1, 2, 2, 2), 0.5)
        >>> attention = Attention("self-attention", weights, ["a", "b"], ["a", "b"])
        >>> figure = plot_attention_lines(attention, layer=0)
    """
    attention = _as_attention(attention)
    if heads is None:
        heads = range(attention.weights.shape[1])
    longest = max(len(attention.queries), len(attention.keys))
    figure, (ax,) = new_figure(5, max(3.0, 0.24 * longest))
    # a line of each pair, from x 0 to x 1: (Tq * Tk, 2 ends, x and y)
    pairs = np.indices((len(attention.queries), len(attention.keys))).reshape(2, -1).T
    ends = np.stack([np.broadcast_to([0, 1], pairs.shape), pairs], axis=-1)
    for order, head in enumerate(np.atleast_1d(heads)):
        weights = np.clip(attention.select(layer, head).ravel(), 0, 1)
        color = to_rgb(COLORS[order % len(COLORS)])
        colors = [(*color, weight) for weight in weights]
        ax.add_collection(LineCollection(list(ends), colors=colors, linewidths=2 * weights))
        ax.plot([], [], color=color, label=f"head {head}")  # for the legend

    for x, name, tokens, side in (
        (-0.03, "query", attention.queries, "right"),
        (1.03, "key", attention.keys, "left"),
    ):
        ax.text(round(x), -0.8, name, ha=side, fontsize=8, style="italic")
        fonts = fonts_for(tokens)
        for y, token in enumerate(plain(tokens)):
            ax.text(x, y, token, ha=side, va="center", fontsize=8, fontfamily=fonts)
    ax.set(xlim=(-0.6, 1.6), ylim=(longest - 0.5, -1), title=f"{attention.kind}, layer {layer}")
    ax.set_axis_off()
    figure.legend(handles=list(ax.get_lines()), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _as_attention(attention: Attention | npt.ArrayLike) -> Attention:
    """An array of weights as `Attention`."""
    if isinstance(attention, Attention):
        return attention

    weights = np.asarray(attention, np.float32)
    require(
        2 <= weights.ndim <= 4,
        f"attention has shape {weights.shape}; expected weights (queries, keys), (heads,"
        " queries, keys) or (layers, heads, queries, keys)",
    )
    weights = weights.reshape((1,) * (4 - weights.ndim) + weights.shape)
    queries, keys = ([*map(str, range(count))] for count in weights.shape[2:])
    return Attention("attention", weights, queries, keys)
