"""Draws the pictures of the pages on concepts, into docs/images/.

python docs/pictures.py      # needs pip install '.[plots]'
"""

import pathlib

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

import tfsum
from tfsum.visualization import (
    plot_look_ahead_mask,
    plot_padding_mask,
    plot_positional_encoding_heat_map,
)

ROOT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
COLOURS = ("#9dbdff", "#ffcf4d", "#ffb066", "#9fd8b0", "#d3b5ec", "#e0e1e8")


def save(figure, name: str) -> None:
    """Writes a figure."""
    figure.savefig(IMAGES / f"{name}.png", dpi=90, bbox_inches="tight", facecolor="white")
    plt.close(figure)


def choosing() -> None:
    """Scores of the sentences of the example, and those that are chosen by scores and by ROUGE."""
    text = (ROOT / "examples" / "article.txt").read_text(encoding="utf-8")
    model = tfsum.load()
    (every,) = model.score([text])
    chosen = {end for _, end in model(text, sentences=3).offsets}
    top = {every.offsets[i][1] for i in np.argsort(every.scores)[-3:]}
    ends = [end for _, end in every.offsets]
    colours = [
        COLOURS[1] if s in chosen & top else COLOURS[2] if s in chosen else COLOURS[0] for s in ends
    ]
    figure, axis = plt.subplots(figsize=(8, 2.6))
    axis.bar(range(len(ends)), every.scores, color=colours, edgecolor="#666")
    axis.set(xlabel="sentence of examples/article.txt", ylabel="score")
    for i in np.argsort(every.scores)[-3:]:
        axis.text(i, every.scores[i], "top 3", ha="center", va="bottom", fontsize=8)
    names = ("neither", "chosen, among the top 3", "chosen for its words")
    axis.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c in COLOURS[:3]], names, frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "choosing")


def windows() -> None:
    """Sentences of a document in windows of whole sentences, padded and packed."""
    lengths = [[90, 150, 120, 110], [200, 60, 180], [130, 70]]
    figure, axes = plt.subplots(2, 1, figsize=(8, 3.6), gridspec_kw={"height_ratios": [3, 1]})
    for row, window in enumerate(lengths):
        left = 0
        for i, length in enumerate(window):
            axes[0].barh(-row, length, left=left, color=COLOURS[i], edgecolor="white")
            left += length
        axes[0].barh(-row, 512 - left, left=left, color="white", edgecolor="#999", hatch="///")
    axes[0].set(title="windows of 512 tokens, padded (hatched)", yticks=[], xlim=(0, 1170))
    left = 0
    for window in lengths:
        for i, length in enumerate(window):
            axes[1].barh(0, length, left=left, color=COLOURS[i], edgecolor="white")
            left += length
        axes[1].axvline(left, color="#333")
    axes[1].set(
        title="the same tokens packed: one row after another, no padding", yticks=[], xlim=(0, 1170)
    )
    for axis in axes:
        axis.spines[["top", "right", "left"]].set_visible(False)
    figure.tight_layout()
    save(figure, "windows")


def exact_step() -> None:
    """What a mean of means makes of a batch on two replicas."""
    losses = [np.array([4.0, 4.0, 4.0, 4.0, 4.0, 4.0]), np.array([1.0, 1.0])]
    figure, axis = plt.subplots(figsize=(6, 2.4))
    axis.bar(range(6), losses[0], color=COLOURS[0], label="replica 1: six targets")
    axis.bar(range(6, 8), losses[1], color=COLOURS[2], label="replica 2: two targets")
    whole, means = np.concatenate(losses).mean(), np.mean([part.mean() for part in losses])
    axis.axhline(whole, color="#333", label=f"mean of all targets: {whole:.2f} (the exact step)")
    axis.axhline(
        means, color="#a40000", linestyle="--", label=f"mean of the replicas' means: {means:.2f}"
    )
    axis.set(xlabel="target", ylabel="loss")
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "exact_step")


def masks_and_positions() -> None:
    """The masks and positions of the layers."""
    save(plot_look_ahead_mask(8), "look_ahead_mask")
    save(
        plot_padding_mask(np.array([[7, 8, 9, 0, 0], [7, 8, 0, 0, 0], [7, 8, 9, 6, 5]])),
        "padding_mask",
    )
    save(plot_positional_encoding_heat_map(100, 64), "positional_encoding")


if __name__ == "__main__":
    for draw in (choosing, windows, exact_step, masks_and_positions):
        draw()
