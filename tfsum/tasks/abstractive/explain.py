"""Why these words: what an exported Transformer wrote, where each word of it looked in the text, and a page of it."""

import dataclasses

import numpy as np
import tensorflow as tf

from tfsum.tasks.abstractive.generator import Generated, Generator
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.escape import BYTE_PIECES
from tfsum.visualization.attention import Attention
from tfsum.visualization.html_page import escape, facts, page

STRONGEST = 3
FAINTEST = 0.01  # what a word of less weight would be shaded with is not to be seen


def explain_page(generator: Generator, text: str, title: str) -> str:
    """The page about the answer to a text; for the arguments see `explain_written` and `written_report`."""
    return written_report(explain_written(text, generator), title)


@dataclasses.dataclass(frozen=True)
class WrittenExplanation:
    """What an abstractive model did with a text.

    Attributes:
        text: the text.
        answer: what the model wrote.
        attention: its cross-attention by words, the mean over layers and heads, as one layer of one head: the words
            written look at the words read.
        model: NAME/VERSION of the model.
    """

    text: str
    answer: Generated
    attention: Attention
    model: str


def explain_written(text: str, generator: Generator) -> WrittenExplanation:
    """Asks a model for its answer to a text and for where it looked.

    Args:
        text: the text.
        generator: what `tfsum.load` gave for an abstractive model.

    Returns:
        A `WrittenExplanation`.

    Raises:
        Error: `text` is no str.
        ExportError: the model was exported without the signature `attend`.
    """
    answer, looks = generator(text), generator.attend(text)
    read, owner_read = words(looks.source_ids, looks.source_vocabulary)
    written, owner_written = words(looks.ids, looks.vocabulary)
    weights = by_words(looks.attention, owner_written, owner_read)
    return WrittenExplanation(text, answer, Attention("cross-attention", weights[None, None], written, read),
                              "/".join(generator.path.resolve().parts[-2:]))


def words(ids: list[int], vocabulary: list[str]) -> tuple[list[str], list[int]]:
    """Puts word pieces together.

    Args:
        ids: the pieces.
        vocabulary: what they are.

    Returns:
        The words, special tokens by their names, and the place of each piece's word among them.
    """
    pieces = [vocabulary[i] for i in ids]
    # A character that the vocabulary lacks is written as its bytes, of which all but the first go on.
    goes_on = [piece.startswith("##") or 0x80 <= BYTE_PIECES.get(piece, 0) < 0xC0 for piece in pieces]
    begins = [i for i, more in enumerate(goes_on) if i == 0 or not more]
    rows = tf.RaggedTensor.from_row_starts(tf.constant(ids, tf.int32), tf.constant(begins, tf.int64))
    texts = [text.decode().strip() for text in Detokenizer(vocabulary).detokenize(rows).numpy()] if ids else []
    named = [text or pieces[begin] for text, begin in zip(texts, begins)]
    return named, (np.searchsorted(begins, np.arange(len(ids)), side="right") - 1).tolist()


def by_words(weights: np.ndarray, owner_written: list[int], owner_read: list[int]) -> np.ndarray:
    """Attention of pieces (L, Ts) to that of words: the mean over a word that looks, the sum over one looked at."""
    looks = np.eye(max(owner_written, default=-1) + 1, dtype=np.float32)[owner_written]  # (L, words written)
    seen = np.eye(max(owner_read, default=-1) + 1, dtype=np.float32)[owner_read]  # (Ts, words read)
    return (looks / np.maximum(looks.sum(0), 1)).T @ weights @ seen


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
