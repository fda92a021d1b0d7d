"""The report of `tfsum explain` on a model that writes: what it wrote, and where each word of that looked."""

import numpy as np

from tfsum.visualization.html_page import escape, facts, page
from tfsum.visualization.written import WrittenExplanation

STRONGEST = 3
FAINTEST = 0.01  # what a word of less weight would be shaded with is not to be seen


def written_report(explanation: WrittenExplanation, title: str) -> str:
    """Writes an explanation as a page: the answer, the text, and for each word written the words it looked at.

    Args:
        explanation: what `explain_written` gave.
        title: of the page, such as the name of the text's file.

    Returns:
        HTML, to be stored as UTF-8. Text is escaped: nothing in it becomes markup.
    """
    answer, attention = explanation.answer, explanation.attention
    rows = {"model": explanation.model, "characters": f"{len(explanation.text):,}",
            "tokens": f"{len(attention.keys):,} words and marks read, {len(attention.queries):,} written",
            "log-probability": f"{answer.log_probability:.3f}",
            "coverage": f"{answer.coverage:.1%} of the text was read"}
    pairs = zip(attention.queries, attention.of(layer=0, head=0))
    looks = "\n".join(_word(word, weights, attention.keys) for word, weights in pairs)
    body = (f'<h2>Answer</h2>\n<div class="text" dir="auto">{escape(answer.summary)}</div>\n'
            f'<h2>Text</h2>\n<div class="text" dir="auto">{escape(explanation.text)}</div>\n'
            "<h2>Where each word looked</h2>\n<p>Cross-attention, the mean over layers and heads; a word's sums to 1. "
            f"Open a word to see the whole text, the darker the more it was looked at.</p>\n{looks}")
    return page(title, facts(rows, answer.warnings) + body)


def _word(word: str, weights: np.ndarray, read: list[str]) -> str:
    """A word written: those that it looked at most, and behind them all that were read."""
    best = np.argsort(-weights, kind="stable")[:STRONGEST]
    strongest = ", ".join(f"<bdi>{escape(read[i])}</bdi> {weights[i]:.2f}" for i in best)
    shades = [f'<span class="sentence" style="--shade:{weight:.2f}" title="{weight:.3f}">{escape(token)}</span>'
              if weight >= FAINTEST else escape(token) for token, weight in zip(read, weights)]
    return (f'<details class="word"><summary><bdi><b>{escape(word)}</b></bdi>: {strongest}</summary>'
            f'<div class="text" dir="auto">{" ".join(shades)}</div></details>')
