"""Oracle labels: which sentences of a document make the best extract, judged by its summary.

Score of an extract = ROUGE-1 F + ROUGE-2 F over *sets* of n-grams, as `cal_rouge` of the BertSum
and PreSumm preprocessing computes it: bigrams of the extract stay inside a sentence, those of the
summary cross sentences. A set of n-grams is a Python integer with one bit an n-gram, so that a
union is `|` and its size `bit_count()`.
"""

import itertools
import math
from collections.abc import Callable, Sequence

from tfsum.errors import DataError
from tfsum.text.words import joined_words

# An n-gram order of one document: the sentences' sets, the mask of the summary's bits and the
# summary's size.
_Sets = tuple[list[int], int, int]


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

    Raises:
        DataError: If `size` is not positive.

    Example:
        >>> greedy_labels(
        ...     ["The cat sat.", "A dog ran.", "It rained."], "A dog ran in the rain.", size=1
        ... )
        [0.0, 1.0, 0.0]
    """
    unigrams, bigrams = _ngram_sets(sentences, summary, size, words)
    labels = [0.0] * len(sentences)
    union, best = (0, 0), 0.0
    for _ in range(size):
        choice = None
        for i in range(len(sentences)):
            if labels[i]:
                continue
            candidate = (union[0] | unigrams[0][i], union[1] | bigrams[0][i])
            score = _f1(candidate[0], unigrams) + _f1(candidate[1], bigrams)
            if score > best:
                best, choice, chosen_union = score, i, candidate
        if choice is None:
            break
        labels[choice], union = 1.0, chosen_union

    return labels


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

    Raises:
        DataError: If `size` is not positive.

    Source: nlpyang/BertSum, prepro/data_builder.py, `combination_selection`.

    Example:
        >>> combination_labels(
        ...     ["The cat sat.", "A dog ran.", "It rained."], "A dog ran in the rain."
        ... )
        [0.0, 1.0, 0.0]
    """
    unigrams, bigrams = _ngram_sets(sentences, summary, size, words)
    useful, best = list(range(len(sentences))), 0.0
    chosen: tuple[int, ...] = ()
    for number in range(1, size + 1):
        useless = set()
        for extract in itertools.combinations(useful, number):
            ones = twos = 0
            for i in extract:
                ones, twos = ones | unigrams[0][i], twos | bigrams[0][i]
            score = _f1(ones, unigrams) + _f1(twos, bigrams)
            if score > best:
                best, chosen = score, extract
            if number == 1 and score == 0:
                useless.add(extract[0])
        useful = [i for i in useful if i not in useless]

    return [float(i in chosen) for i in range(len(sentences))]


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
        DataError: If `size`, `temperature` or `width` is not positive.

    Example:
        >>> labels = soft_labels(
        ...     ["The cat sat.", "A dog ran.", "It rained."], "A dog ran in the rain."
        ... )
        >>> [round(label, 2) for label in labels]
        [0.0, 1.0, 0.0]
    """
    if temperature <= 0 or width <= 0:
        raise DataError(
            f"soft labels: temperature {temperature} and width {width} were given; both must be"
            " above 0 (for the single best extract use labels='greedy')"
        )

    kept = _best_extracts(_ngram_sets(sentences, summary, size), size, width)
    labels = [0.0] * len(sentences)
    if not kept:
        return labels

    top = kept[0][0]
    weights = [math.exp((score - top) / temperature) for score, _ in kept]
    total = sum(weights)
    for weight, (_, extract) in zip(weights, kept):
        for i in extract:
            labels[i] += weight / total

    return [min(label, 1.0) for label in labels]


def _best_extracts(
    sets: tuple[_Sets, _Sets], size: int, width: int
) -> list[tuple[float, tuple[int, ...]]]:
    """The `width` best extracts that a beam search meets, best first: (score, sentence indexes in
    order)."""
    unigrams, bigrams = sets
    # A sentence without a word of the summary can only lower precision: it is in no best extract.
    useful = [i for i, bits in enumerate(unigrams[0]) if bits & unigrams[1]]
    beam: list[tuple[float, tuple[int, ...], int, int]] = [(0.0, (), 0, 0)]
    kept: list[tuple[float, tuple[int, ...]]] = []
    for _ in range(size):
        grown = {}
        for _, extract, ones, twos in beam:
            for i in useful:
                if i in extract:
                    continue
                key = tuple(sorted((*extract, i)))
                if key in grown:
                    continue
                one, two = ones | unigrams[0][i], twos | bigrams[0][i]
                grown[key] = (_f1(one, unigrams) + _f1(two, bigrams), key, one, two)
        beam = sorted(grown.values(), key=lambda item: (-item[0], item[1]))[:width]
        kept.extend(item[:2] for item in beam)

    return sorted(kept, key=lambda item: (-item[0], len(item[1]), item[1]))[:width]


def _ngram_sets(
    sentences: Sequence[str],
    summary: str | Sequence[str],
    size: int,
    words: Callable[[str], list[str]] = joined_words,
) -> tuple[_Sets, _Sets]:
    """The unigram and the bigram sets of a document and its summary."""
    if size < 1:
        raise DataError(f"oracle: size {size} was given; an extract holds at least 1 sentence")

    reference = words(summary if isinstance(summary, str) else " ".join(summary))
    documents = [words(sentence) for sentence in sentences]
    unigrams = _bit_sets(documents, reference)
    pairs = [list(itertools.pairwise(document)) for document in documents]

    return unigrams, _bit_sets(pairs, list(itertools.pairwise(reference)))


def _bit_sets(sentences: list[list], reference: list) -> _Sets:
    """Numbers the n-grams, the summary's first, and turns each sentence into its set of bits."""
    bits: dict = {}
    for gram in reference:
        bits.setdefault(gram, len(bits))

    size = len(bits)
    sets = []
    for grams in sentences:
        value = 0
        for gram in grams:
            value |= 1 << bits.setdefault(gram, len(bits))
        sets.append(value)

    return sets, (1 << size) - 1, size


def _f1(candidate: int, sets: _Sets) -> float:
    """F of a set of n-grams against the summary's, 0 when either is empty (`cal_rouge`)."""
    _, mask, size = sets
    count = candidate.bit_count()
    if not count or not size:
        return 0.0

    hits = (candidate & mask).bit_count()
    precision, recall = hits / count, hits / size

    return 2.0 * (precision * recall) / (precision + recall + 1e-8)
