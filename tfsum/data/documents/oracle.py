"""Oracle labels: which sentences of a document make the best extract, judged by its summary.

Score of an extract = ROUGE-1 F + ROUGE-2 F over *sets* of n-grams, as `cal_rouge` of the BertSum
and PreSumm preprocessing computes it: bigrams of the extract stay inside a sentence, those of the
summary cross sentences. A set of n-grams is a Python integer with one bit an n-gram, so that a
union is `|` and its size `bit_count()`.
"""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence

from tfsum.errors import DataError, require
from tfsum.text.words import joined_words

Extract = tuple[int, ...]
"""Numbers of the sentences of an extract."""


def greedy_labels(
    sentences: Sequence[str],
    summary: str | Sequence[str],
    size: int = 3,
    words: Callable[[str], list[str]] = joined_words,
) -> list[float]:
    """Labels sentences greedily: adds the one that helps most, while one helps.

    This is `greedy_selection` of BertSum and PreSumm.

    Args:
        sentences: (S,) sentences of the document.
        summary: Its summary, one string or one string a sentence.
        size: Largest number of sentences chosen.
        words: Function that splits a text into the words to count.

    Returns:
        (S,) labels, 1.0 for a chosen sentence; ties go to the earlier sentence; all 0.0 when
        nothing overlaps.

    Example:
        >>> greedy_labels(
        ...     ["The cat sat.", "A dog ran.", "It rained."], "A dog ran in the rain.", size=1
        ... )
        [0.0, 1.0, 0.0]
    """
    judge = _Judge(sentences, summary, words)
    chosen: Extract = ()
    best = 0.0
    for _ in range(size):
        grown = [(judge.score((*chosen, i)), (*chosen, i)) for i in judge.useful if i not in chosen]
        score, extract = max(grown, key=operator.itemgetter(0), default=(0.0, ()))
        if score <= best:
            break
        best, chosen = score, extract

    return _labels(chosen, len(sentences))


def combination_labels(
    sentences: Sequence[str],
    summary: str | Sequence[str],
    size: int = 3,
    words: Callable[[str], list[str]] = joined_words,
) -> list[float]:
    """Labels the best of all extracts of up to `size` sentences.

    This is `combination_selection` of BertSum.

    Some 10,000 extracts of a document of 40 sentences are scored, and 8 times as many for twice the
    sentences.

    Args:
        sentences: (S,) sentences of the document.
        summary: Its summary, one string or one string a sentence.
        size: Largest number of sentences in an extract.
        words: Function that splits a text into the words to count.

    Returns:
        (S,) labels, 1.0 for a chosen sentence; ties go to the smaller extract, then to the earlier
        sentences; all 0.0 when nothing overlaps.

    Source: nlpyang/BertSum, prepro/data_builder.py, `combination_selection`.

    Example:
        >>> combination_labels(
        ...     ["The cat sat.", "A dog ran.", "It rained."], "A dog ran in the rain."
        ... )
        [0.0, 1.0, 0.0]
    """
    judge = _Judge(sentences, summary, words)
    extracts = itertools.chain.from_iterable(
        itertools.combinations(judge.useful, number) for number in range(1, size + 1)
    )
    return _labels(max(extracts, key=judge.score, default=()), len(sentences))


def soft_labels(
    sentences: Sequence[str],
    summary: str | Sequence[str],
    size: int = 3,
    temperature: float = 0.02,
    width: int = 16,
) -> list[float]:
    """Share of the best extracts that hold each sentence, better extracts weighing more.

    A beam search visits extracts of up to `size` sentences; the best `width` of all visited ones
    are kept, weighted by softmax(score / temperature), and a sentence's label is the sum of the
    weights of the extracts with it.

    Args:
        sentences: (S,) sentences of the document.
        summary: Its summary, one string or one string a sentence.
        size: Largest number of sentences in an extract.
        temperature: Temperature in units of the score (0 to 2); towards 0 only the best extract
            counts.
        width: Extracts kept at each size and at the end.

    Returns:
        (S,) labels between 0 and 1, their sum at most `size`; all 0.0 when nothing overlaps.

    Raises:
        DataError: `temperature` or `width` is not positive.

    Example:
        >>> labels = soft_labels(
        ...     ["The cat sat.", "A dog ran.", "It rained."], "A dog ran in the rain."
        ... )
        >>> [round(label, 2) for label in labels]
        [0.0, 1.0, 0.0]
    """
    require(
        temperature > 0 and width > 0,
        f"soft labels: temperature {temperature} and width {width} were given; both must be"
        " above 0 (for the single best extract use labels='greedy')",
        DataError,
    )

    # the `width` best extracts that a beam search meets, best first: scores and sentences in order
    judge = _Judge(sentences, summary)
    beam: list[tuple[float, Extract]] = [(0.0, ())]
    visited: list[tuple[float, Extract]] = []
    for _ in range(size):
        grown = {
            tuple(sorted((*extract, i)))
            for _, extract in beam
            for i in judge.useful
            if i not in extract
        }
        scored = [(judge.score(extract), extract) for extract in grown]
        beam = sorted(scored, key=lambda item: (-item[0], item[1]))[:width]
        visited.extend(beam)
    kept = sorted(visited, key=lambda item: (-item[0], len(item[1]), item[1]))[:width]

    weights = [math.exp((score - kept[0][0]) / temperature) for score, _ in kept]
    shares = [(weight / sum(weights), extract) for weight, (_, extract) in zip(weights, kept)]
    return [
        min(1.0, sum((share for share, extract in shares if i in extract), 0.0))
        for i in range(len(sentences))
    ]


def _labels(extract: Extract, sentences: int) -> list[float]:
    return [float(i in extract) for i in range(sentences)]


def _union(sets: Iterable[int]) -> int:
    return functools.reduce(operator.or_, sets, 0)


class _Judge:
    """Scores extracts of a document by its summary.

    Attributes:
        useful: Sentences with a word of the summary; any other can only lower precision, and is in
            no best extract.
    """

    def __init__(
        self,
        sentences: Sequence[str],
        summary: str | Sequence[str],
        words: Callable[[str], list[str]] = joined_words,
    ) -> None:
        reference = words(summary if isinstance(summary, str) else " ".join(summary))
        documents = [words(sentence) for sentence in sentences]
        pairs = [list(itertools.pairwise(document)) for document in documents]
        self._unigrams = _GramSets(documents, reference)
        self._bigrams = _GramSets(pairs, list(itertools.pairwise(reference)))
        self.useful = [
            i for i, bits in enumerate(self._unigrams.sets) if bits & self._unigrams.summary
        ]

    def score(self, extract: Extract) -> float:
        """F of the words of an extract and F of its pairs of words, added."""
        return self._unigrams.f1(extract) + self._bigrams.f1(extract)


class _GramSets:
    """The n-grams of one order: a set for each sentence and one for the summary, as bits."""

    def __init__(self, sentences: list[list], reference: list) -> None:
        grams = dict.fromkeys(itertools.chain(reference, *sentences))
        bits = {gram: 1 << number for number, gram in enumerate(grams)}
        self.summary, *self.sets = (
            _union(bits[gram] for gram in grams) for grams in (reference, *sentences)
        )

    def f1(self, extract: Extract) -> float:
        """F of the n-grams of an extract, 0 when there are none (`cal_rouge`)."""
        union = _union(self.sets[i] for i in extract)
        hits = (union & self.summary).bit_count()
        if not hits:
            return 0.0

        precision, recall = hits / union.bit_count(), hits / self.summary.bit_count()
        return 2.0 * (precision * recall) / (precision + recall + 1e-8)
