"""Plots the scores of the sentences of a document."""

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tfsum.tasks.bert_sum_ext.explain import Explanation
from tfsum.visualization.style import COLORS, HIDDEN_COLOR, fonts_for, new_figure, plain

SHOWN_WITH_TEXT, LETTERS = 60, 50


def plot_sentence_scores(explanation: Explanation) -> Figure:
    """Plots a bar for each sentence of a document; those of the summary are hatched.

    Args:
        explanation: `Explanation`, the result of `tfsum.visualization.explain`.

    Returns:
        A matplotlib `Figure`, which `figure.savefig("x.png")` writes; with more than 60 sentences,
        numbers replace their texts.

    Example:
        >>> from tfsum.request import SummaryAnswer
        >>> summary = SummaryAnswer("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, [])
        >>> figure = plot_sentence_scores(
        ...     Explanation("It rained.", summary, summary, [0], "news/1", "by score")
        ... )
    """
    every = explanation.every
    count = len(every.sentences)
    figure, (ax,) = new_figure(8, min(12.0, max(2.0, 0.2 * count + 1)))
    bars = ax.barh(range(count), every.scores, color=HIDDEN_COLOR, edgecolor="gray", linewidth=0.5)
    for i in explanation.chosen:
        bars[i].set(facecolor=COLORS[0], hatch="//")

    if count <= SHOWN_WITH_TEXT:
        labels = [f"{_beginning(sentence)}  {i + 1}" for i, sentence in enumerate(every.sentences)]
        ax.set_yticks(range(count), plain(labels), fontfamily=fonts_for(labels), fontsize=7)

    ax.set(
        xlim=(0, 1),
        ylim=(count - 0.4, -0.6),
        xlabel="score (probability)",
        ylabel="sentence",
        title=f"Sentence scores by {plain([explanation.model])[0]}",
    )
    ax.grid(axis="x", color="#E0E0E0")
    figure.legend(
        handles=[
            Patch(facecolor=COLORS[0], hatch="//", edgecolor="gray", label="in the summary"),
            Patch(facecolor=HIDDEN_COLOR, edgecolor="gray", label="left out"),
        ],
        loc="outside lower center",
        ncols=2,
        fontsize=8,
    )
    return figure


def _beginning(sentence: str) -> str:
    words = " ".join(sentence.split())
    if len(words) <= LETTERS:
        return words
    return words[: LETTERS - 1] + "…"
