"""Explains an abstractive answer: its words and their cross-attention, as an HTML page."""

import dataclasses

import numpy as np
import tensorflow as tf

from tfsum.generation.generator import Attention, Generated, Generator
from tfsum.html_page import escape, facts, page
from tfsum.request import SummaryRequest, sentence_of
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.escape import BYTE_PIECES

STRONGEST = 3
FAINTEST = 0.01  # the shade of a smaller weight is not visible


def explain_page(generator: Generator, text: str, title: str, request: SummaryRequest) -> str:
    """Returns the page about the answer to a text.

    Args:
        generator: Abstractive model from `tfsum.load`.
        text: The text.
        title: Title of the page.
        request: What is asked; the model writes what it was exported for, whatever it is.

    Raises:
        Error: `text` is no str.
    """
    return written_report(explain_written(text, generator), title)


@dataclasses.dataclass(frozen=True)
class WrittenExplanation:
    """The answer of an abstractive model to a text, with its cross-attention.

    Attributes:
        text: The text.
        answer: The model's answer.
        attention: The cross-attention by words, the mean over layers and heads, stored as one layer
            of one head; queries are the words of the answer, keys those of the text.
        model: NAME/VERSION of the model.
    """

    text: str
    answer: Generated
    attention: Attention
    model: str


def explain_written(text: str, generator: Generator) -> WrittenExplanation:
    """Gets a model's answer to a text and its cross-attention.

    Args:
        text: The text.
        generator: Abstractive model from `tfsum.load`.

    Returns:
        A `WrittenExplanation`.

    Raises:
        Error: `text` is no str.
        ExportError: Model was exported without the signature `attend`.
    """
    answer, attended = generator(text), generator.attend(text)
    read, owner_read = words(attended.source_ids, attended.source_vocabulary)
    written, owner_written = words(attended.ids, attended.vocabulary)
    weights = by_words(attended.attention, owner_written, owner_read)
    return WrittenExplanation(
        text,
        answer,
        Attention("cross-attention", weights[None, None], written, read),
        "/".join(generator.path.resolve().parts[-2:]),
    )


def words(ids: list[int], vocabulary: list[str]) -> tuple[list[str], list[int]]:
    """Joins word pieces into words.

    Args:
        ids: The pieces.
        vocabulary: The word pieces by id.

    Returns:
        The words, special tokens by their names, and the place of each piece's word among them.

    Example:
        >>> words([0, 1, 2], ["[CLS]", "play", "##ing"])
        (['[CLS]', 'playing'], [0, 1, 1])
    """
    pieces = [vocabulary[i] for i in ids]
    # A character that the vocabulary lacks is written as its bytes; all but the first continue a
    # word.
    continues = [
        piece.startswith("##") or 0x80 <= BYTE_PIECES.get(piece, 0) < 0xC0 for piece in pieces
    ]
    begins = [i for i, more in enumerate(continues) if i == 0 or not more]
    rows = tf.RaggedTensor.from_row_starts(
        tf.constant(ids, tf.int32), tf.constant(begins, tf.int64)
    )

    texts = Detokenizer(vocabulary).detokenize(rows).numpy()
    named = [text.decode().strip() or pieces[begin] for text, begin in zip(texts, begins)]
    return named, (np.searchsorted(begins, np.arange(len(ids)), side="right") - 1).tolist()


def by_words(weights: np.ndarray, owner_written: list[int], owner_read: list[int]) -> np.ndarray:
    """Averages attention over the pieces of query words, sums it over those of key words.

    Args:
        weights: Float32 (L, Ts), from pieces of the answer to those of the text.
        owner_written: The word of each piece of the answer.
        owner_read: The word of each piece of the text.

    Returns:
        float32 (words of the answer, words of the text).

    Example:
        >>> by_words(np.array([[0.25, 0.75], [0.75, 0.25]]), [0, 0], [0, 0]).tolist()
        [[1.0]]
    """
    # (L, words written)
    queries = np.eye(max(owner_written, default=-1) + 1, dtype=np.float32)[owner_written]
    keys = np.eye(max(owner_read, default=-1) + 1, dtype=np.float32)[owner_read]  # (Ts, words read)
    return (queries / np.maximum(queries.sum(0), 1)).T @ weights @ keys


def written_report(explanation: WrittenExplanation, title: str) -> str:
    """Renders an explanation as an HTML page.

    It shows the answer, the text, and each word of the answer with its cross-attention.

    Args:
        explanation: Result of `explain_written`.
        title: Title of the page, such as the name of the text's file.

    Returns:
        HTML, to be stored as UTF-8. Text is escaped: nothing in it becomes markup.

    Example:
        >>> answer = Generated("cold", -1.0, 1.0, True, [])
        >>> attention = Attention("cross-attention", np.ones((1, 1, 1, 1)), ["froid"], ["cold"])
        >>> written_report(WrittenExplanation("cold", answer, attention, "translator/1"), "a text")[
        ...     :15
        ... ]
        '<!doctype html>'
    """
    answer, attention = explanation.answer, explanation.attention
    rows = {
        "model": explanation.model,
        "characters": f"{len(explanation.text):,}",
        "tokens": (
            f"{len(attention.keys):,} words and marks read, {len(attention.queries):,} written"
        ),
        "log-probability": f"{answer.log_probability:.3f}",
        "coverage": f"{answer.coverage:.1%} of the text was read",
    }
    details = "\n".join(
        _word(word, weights, attention.keys)
        for word, weights in zip(attention.queries, attention.select(layer=0, head=0))
    )
    body = (
        '<h2>Answer</h2>\n<div class="text"'
        f' dir="auto">{escape(answer.summary)}</div>\n<h2>Text</h2>\n<div class="text"'
        f' dir="auto">{escape(explanation.text)}</div>\n<h2>Where each word'
        " looked</h2>\n<p>Cross-attention, the mean over layers and heads; a word's sums to 1."
        f" Open a word to see the whole text, the darker the more it was looked at.</p>\n{details}"
    )

    return page(title, facts(rows, [*map(sentence_of, answer.warnings)]) + body)


def _word(word: str, weights: np.ndarray, read: list[str]) -> str:
    """A word of the answer: its strongest keys, and when opened the whole text."""
    strongest = ", ".join(
        f"<bdi>{escape(read[i])}</bdi> {weights[i]:.2f}"
        for i in np.argsort(-weights, kind="stable")[:STRONGEST]
    )
    shades = [
        (
            f'<span class="sentence" style="--shade:{weight:.2f}"'
            f' title="{weight:.3f}">{escape(token)}</span>'
            if weight >= FAINTEST
            else escape(token)
        )
        for token, weight in zip(read, weights)
    ]
    return (
        f'<details class="word"><summary><bdi><b>{escape(word)}</b></bdi>: {strongest}</summary>'
        f'<div class="text" dir="auto">{" ".join(shades)}</div></details>'
    )
