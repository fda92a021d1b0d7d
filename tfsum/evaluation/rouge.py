"""ROUGE-1, ROUGE-2 and ROUGE-Lsum by the `rouge-score` package, with words of every script.

The package reads only the letters a-z: a Korean or Chinese summary scores 0. Here its tokenizer still reads
Latin letters, so that English scores are bit-identical to the package's, and
other scripts are read by `tfsum.text.words`: characters of scripts without spaces one by one, other words whole, no
stemming.
"""

import functools
import re
from collections.abc import Sequence

import numpy as np
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer, Tokenizer

from tfsum.errors import Error
from tfsum.text.words import split_words

METRICS = ("rouge1", "rouge2", "rougeLsum")

# Every script but Latin (with its additions and ligatures) and general punctuation.
_OTHER_SCRIPTS = re.compile("([\u0370-\u1dff\u2c00-\ufaff\ufb07-\U0003ffff]+)")


class EnglishTokenizer(Tokenizer):
    """The words of `rouge-score` with its stemmer; runs of other scripts by our own rules.

    Example:
        >>> EnglishTokenizer().tokenize("The dogs barked, 고양이는 잤다.")
        ['the', 'dog', 'bark', '고양이는', '잤다']
    """

    def __init__(self) -> None:
        self._latin = DefaultTokenizer(use_stemmer=True)

    def tokenize(self, text: str) -> list[str]:
        """The words of `text` in order."""
        words: list[str] = []
        for i, run in enumerate(_OTHER_SCRIPTS.split(text)):
            words += split_words(run) if i % 2 else self._latin.tokenize(run)
        return words


class PlainTokenizer(Tokenizer):
    """Whole lower-cased words of every script, without stemming: for languages other than English.

    Example:
        >>> PlainTokenizer().tokenize("Die Hunde bellten.")
        ['die', 'hunde', 'bellten']
    """

    def tokenize(self, text: str) -> list[str]:
        """The words of `text` in order."""
        return split_words(text)


def score_pair(
    summary: str | Sequence[str], reference: str | Sequence[str], english: bool = True
) -> dict[str, tuple[float, float, float]]:
    """Scores one summary against one reference.

    Args:
        summary: its sentences, or a string with one per line.
        reference: the same of the reference.
        english: stem Latin words and read a-z alone, as `rouge-score` with `use_stemmer=True` does; False
            keeps whole words of every alphabet (German, French, Vietnamese...). Scripts other than Latin
            score alike in both.

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
        summaries: (D,) summaries, each as for `score_pair`.
        references: (D,) references.
        english: see `score_pair`.

    Returns:
        (D, 3, 3) float64: documents, `METRICS`, precision recall F.

    Raises:
        Error: the numbers of summaries and references differ, or there is none.

    Example:
        >>> score_each(["The bridge was closed."], ["The bridge closed."]).shape
        (1, 3, 3)
    """
    if len(summaries) != len(references) or not len(references):
        raise Error(
            f"ROUGE: {len(summaries)} summaries and {len(references)} references; "
            "expected as many of both, 1 or more"
        )
    pairs = zip(summaries, references, strict=True)
    scores = (score_pair(summary, reference, english) for summary, reference in pairs)
    return np.array([[score[metric] for metric in METRICS] for score in scores])


def score_summaries(
    summaries: Sequence[str | Sequence[str]],
    references: Sequence[str | Sequence[str]],
    english: bool = True,
) -> dict[str, float]:
    """Averages ROUGE F over documents; the arguments and errors are those of `score_each`.

    Args:
        summaries: (D,) summaries, each as for `score_pair`.
        references: (D,) references.
        english: see `score_pair`.

    Returns:
        Mean F (0 to 100) of each metric.

    Raises:
        Error: the numbers of summaries and references differ, or there is none.

    Example:
        >>> round(score_summaries(["The bridge was closed."], ["The bridge closed."])["rouge1"], 1)
        85.7
    """
    means = score_each(summaries, references, english)[:, :, 2].mean(0)
    return {metric: 100 * float(mean) for metric, mean in zip(METRICS, means, strict=True)}


@functools.cache
def _scorer(english: bool) -> RougeScorer:
    return RougeScorer(list(METRICS), tokenizer=EnglishTokenizer() if english else PlainTokenizer())


def _lines(text: str | Sequence[str]) -> str:
    """One sentence a line; a line break inside a sentence is a blank."""
    return (
        text
        if isinstance(text, str)
        else "\n".join(" ".join(sentence.split("\n")) for sentence in text)
    )
