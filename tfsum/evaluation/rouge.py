"""ROUGE-1, ROUGE-2 and ROUGE-Lsum by the `rouge-score` package, for every script.

The package reads only the letters a-z, so that a Korean or Chinese summary scores 0. Here its
tokenizer still reads Latin letters, and English scores are those of the package, bit for bit.
`tfsum.text.words` reads other scripts without stemming: characters of scripts without spaces one by
one, other words whole.
"""

import functools
import re
import types
from collections.abc import Sequence

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from tfsum.errors import require
from tfsum.text.words import split_words

METRICS = ("rouge1", "rouge2", "rougeLsum")
WORDS = {True: "english", False: "plain"}
"""Argument `english` -> what reports call the words that are compared."""

# Every script but Latin (with its additions and ligatures) and general punctuation.
_OTHER_SCRIPTS = re.compile("([\u0370-\u1dff\u2c00-\ufaff\ufb07-\U0003ffff]+)")


_SPLITTERS = (DefaultTokenizer(use_stemmer=True).tokenize, split_words)  # of Latin, of others


def english_words(text: str) -> list[str]:
    """Splits a text by the tokenizer of `rouge-score` with its stemmer, other scripts into words.

    Args:
        text: Text.

    Example:
        >>> english_words("The dogs barked, 고양이는 잤다.")
        ['the', 'dog', 'bark', '고양이는', '잤다']
    """
    runs = _OTHER_SCRIPTS.split(text)  # Latin ones and others in turn
    return [word for i, run in enumerate(runs) for word in _SPLITTERS[i % 2](run)]


def score_pair(
    summary: str | Sequence[str], reference: str | Sequence[str], english: bool = True
) -> dict[str, tuple[float, float, float]]:
    """Scores one summary against one reference.

    Args:
        summary: Sentences of the summary, or a string with one sentence per line.
        reference: Sentences of the reference, or a string with one sentence per line.
        english: Whether to stem Latin words and read only a-z, as `rouge-score` with
            `use_stemmer=True`; False keeps whole words of every alphabet (German, Vietnamese...).
            Other scripts than Latin score the same.

    Returns:
        Precision, recall and F (0 to 1) of each of `METRICS`; 0 where a side has no word.

    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries".

    Example:
        >>> score_pair("The bridge was closed.", "The bridge closed.")["rouge1"]
        (0.75, 1.0, 0.8571428571428571)
    """
    scores = _scorer(english).score(_lines(reference), _lines(summary))
    return {metric: tuple(scores[metric]) for metric in METRICS}


def score_each(
    summaries: Sequence[str | Sequence[str]],
    references: Sequence[str | Sequence[str]],
    english: bool = True,
) -> np.ndarray:
    """Scores every summary against its reference.

    Args:
        summaries: Summaries (D,), each as for `score_pair`.
        references: References (D,), each as for `score_pair`.
        english: Whether to stem Latin words, as for `score_pair`.

    Returns:
        float64 array (D, 3, 3): documents, `METRICS`, and precision, recall and F.

    Raises:
        Error: The numbers of summaries and references differ, or there is none.

    Example:
        >>> score_each(["The bridge was closed."], ["The bridge closed."]).shape
        (1, 3, 3)
    """
    require(
        len(summaries) == len(references) and len(references),
        f"ROUGE: {len(summaries)} summaries and {len(references)} references; "
        "expected as many of both, 1 or more",
    )

    scores = (score_pair(*pair, english) for pair in zip(summaries, references, strict=True))
    return np.array([[score[metric] for metric in METRICS] for score in scores])


def score_summaries(
    summaries: Sequence[str | Sequence[str]],
    references: Sequence[str | Sequence[str]],
    english: bool = True,
) -> dict[str, float]:
    """Averages ROUGE F over documents.

    Args:
        summaries: Summaries (D,), each as for `score_pair`.
        references: References (D,), each as for `score_pair`.
        english: Whether to stem Latin words, as for `score_pair`.

    Returns:
        Mean F (0 to 100) of each metric.

    Raises:
        Error: The numbers of summaries and references differ, or there is none.

    Example:
        >>> round(score_summaries(["The bridge was closed."], ["The bridge closed."])["rouge1"], 1)
        85.7
    """
    scores = score_each(summaries, references, english)[:, :, 2]
    return dict(zip(METRICS, (100 * scores.mean(0)).tolist(), strict=True))


@functools.cache
def _scorer(english: bool) -> RougeScorer:
    # Words of other languages than English are lower-cased, and not stemmed.
    words = english_words if english else split_words
    return RougeScorer(list(METRICS), tokenizer=types.SimpleNamespace(tokenize=words))


def _lines(text: str | Sequence[str]) -> str:
    """Joins sentences by line breaks; those inside a sentence become blanks."""
    if isinstance(text, str):
        return text
    return "\n".join(sentence.replace("\n", " ") for sentence in text)
