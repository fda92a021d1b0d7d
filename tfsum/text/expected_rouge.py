"""Sentences ranked by the ROUGE that they can be expected to reach together.

The best sentences by score often say one thing twice, and are short where ROUGE's F would reward
more. Here the scores make an expected reference: every n-gram of the document, counted as often as
its sentences are likely to be in the summary. A summary is then built sentence by sentence, each
time with the one that makes ROUGE's F against that reference largest, as the mean of ROUGE-1 and
ROUGE-2. That is the choice of least expected loss (minimum Bayes risk: Kumar and Byrne, NAACL
2004), made greedily, and with the expectation taken inside ROUGE.
"""

import unicodedata
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfsum.text.repeat import row_ids

SELECTIONS = ("score", "expected_rouge")  # what a recipe or an export may name
CANDIDATES = 64  # the best of each document by score: more than most documents have sentences
ORDERS = 2  # unigrams and bigrams


class _Grams(NamedTuple):
    """The n-grams of K candidates: an entry for each candidate and n-gram of it."""

    candidate: tf.Tensor  # (E,) int64, the candidate
    gram: tf.Tensor  # (E,) int64, the n-gram's number among all U of the documents
    count: tf.Tensor  # (E,) float32, how often the candidate holds it
    cell: tf.Tensor  # (E,) int64, candidate * ORDERS + order
    grams: tf.Tensor  # U


class _Summaries(NamedTuple):
    """The summaries so far."""

    rank: tf.Tensor  # (K,) float32, 0 for candidates that are not chosen
    covered: tf.Tensor  # (U,) float32, how often each n-gram occurs in its document's summary
    size: tf.Tensor  # (B, ORDERS) float32, n-grams of the summary
    overlap: tf.Tensor  # (B, ORDERS) float32, those that the expected reference holds too


def is_word(vocabulary: list[str]) -> np.ndarray:
    """Tells which word pieces ROUGE counts: those with a letter or a digit.

    Args:
        vocabulary: Word pieces; those in square brackets are special tokens and never words.

    Returns:
        bool (V,).

    Example:
        >>> is_word(["[PAD]", ".", "rain"]).tolist()
        [False, False, True]
    """
    return np.array(
        [
            not (piece.startswith("[") and piece.endswith("]"))
            and any(unicodedata.category(c)[0] in "LN" for c in piece)
            for piece in vocabulary
        ]
    )


def expected_rouge_ranks(
    probabilities: tf.Tensor,
    present: tf.Tensor,
    pieces: tf.RaggedTensor,
    words: tf.Tensor | np.ndarray,
    most: tf.Tensor,
    limit: int,
) -> tf.Tensor:
    """Ranks sentences so that the first `most` have together the largest expected ROUGE.

    Args:
        probabilities: Scores of the sentences from 0 to 1, (B, S) float; NaN counts as 0.
        present: Sentences that may be chosen, (B, S) bool.
        pieces: Word pieces of the sentences, (B, S, P) int32.
        words: Pieces that ROUGE counts, (V,) bool, see `is_word`.
        most: Sentences that each summary is to have, (B,) int32.
        limit: Number of sentences chosen by expected ROUGE; the others follow by score.

    Returns:
        float32 (B, S): above 1 for the chosen sentences, highest for the first that was chosen;
        the score, from 0 to 1, for the others.

    In the example the second sentence repeats the first, so the third one is ranked before it.

    Example:
        >>> pieces = tf.ragged.constant([[[1, 2], [1, 2], [3, 4]]])
        >>> words = np.array([False, True, True, True, True])
        >>> ranks = expected_rouge_ranks(
        ...     tf.constant([[0.75, 0.5, 0.5]]),
        ...     tf.constant([[True, True, True]]),
        ...     pieces,
        ...     words,
        ...     tf.constant([2]),
        ...     limit=2,
        ... )
        >>> ranks.numpy().tolist()
        [[3.0, 0.5, 2.0]]
    """
    p = tf.where(present & ~tf.math.is_nan(probabilities), probabilities, 0.0)
    shape = tf.shape(p, tf.int64)

    # The K candidates: the best of each document by score. A padded column, so that there is one.
    width = tf.minimum(tf.shape(p)[1], CANDIDATES - 1) + 1
    scores = tf.pad(tf.where(present, p, -1.0), [[0, 0], [0, 1]], constant_values=-1.0)
    best, index = tf.math.top_k(scores, width)
    where = tf.where(best >= 0.0)
    row, probability = where[:, 0], tf.gather_nd(best, where)
    sentence = tf.cast(tf.gather_nd(index, where), tf.int64)
    sentences = tf.gather(pieces.values, tf.gather(pieces.row_splits, row) + sentence)
    grams = _count(sentences, row, words)

    # (K,) how often each is expected in its document's summary
    mass = tf.math.unsorted_segment_sum(probability, row, shape[0])
    times = tf.cast(tf.maximum(most, 0), tf.float32) / tf.where(mass > 0.0, mass, 1.0)
    share = probability * tf.gather(times, row)

    rank = _choose(grams, where, tf.shape(best, tf.int64), share, limit)
    ranked = tf.scatter_nd(tf.stack([row, sentence], 1), rank, shape)
    return tf.where(ranked > 0.0, 1.0 + ranked, p)


def _count(sentences: tf.RaggedTensor, row: tf.Tensor, words: tf.Tensor | np.ndarray) -> _Grams:
    """Counts the n-grams of candidates (K, P) of the documents `row` (K,)."""
    owner, ids = row_ids(sentences), tf.cast(sentences.flat_values, tf.int64)
    counts = tf.gather(words, ids)
    owner, ids = tf.boolean_mask(owner, counts), tf.boolean_mask(ids, counts)
    inside = owner[:-1] == owner[1:]
    first, second = tf.boolean_mask(ids[:-1], inside), tf.boolean_mask(ids[1:], inside)

    # The keys of a document: unigrams below `base`, bigrams from there below `span`.
    base = tf.size(words, tf.int64)
    span = base * (base + 1)
    key = tf.concat([ids, base + first * base + second], 0)
    owner = tf.concat([owner, tf.boolean_mask(owner[1:], inside)], 0)

    # (U,) different n-grams of all documents, (E,) different ones of each candidate
    keys, gram = tf.unique(key + span * tf.gather(row, owner), tf.int64)
    grams = tf.maximum(tf.size(keys, tf.int64), 1)
    entry, place = tf.unique(owner * grams + gram, tf.int64)
    count = tf.math.unsorted_segment_sum(tf.ones_like(place, tf.float32), place, tf.size(entry))
    candidate, gram = entry // grams, entry % grams
    order = tf.cast(tf.gather(keys, gram) % span >= base, tf.int64)
    return _Grams(candidate, gram, count, candidate * ORDERS + order, grams)


def _choose(
    grams: _Grams, where: tf.Tensor, shape: tf.Tensor, share: tf.Tensor, limit: int
) -> tf.Tensor:
    """Ranks the chosen of K candidates: `limit` for the first of each document, then less.

    Args:
        grams: N-grams of the candidates.
        where: Document of each candidate and its column among that document's, (K, 2).
        shape: Number of documents and columns, (2,).
        share: How often each candidate is expected in its document's summary, (K,).
        limit: Number of sentences chosen.

    Returns:
        (K,) float32; 0 for candidates that are not chosen.
    """
    row, column = where[:, 0], where[:, 1]
    cells = tf.size(share, tf.int64) * ORDERS
    segment_sum = tf.math.unsorted_segment_sum

    def per_candidate(values: tf.Tensor) -> tf.Tensor:
        """Sums of (E,) values for each candidate and order, (K, ORDERS)."""
        return tf.reshape(segment_sum(values, grams.cell, cells), [-1, ORDERS])

    def per_gram(weight: tf.Tensor) -> tf.Tensor:
        """Counts of the n-grams (U,), those of each candidate weighted (K,)."""
        weighted = grams.count * tf.gather(weight, grams.candidate)
        return segment_sum(weighted, grams.gram, grams.grams)

    def per_document(values: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
        """Sums of values (K, ORDERS), weighted (K,), for each document, (B, ORDERS)."""
        return segment_sum(values * weight[:, tf.newaxis], row, shape[0])

    # The expected reference: (U,) its n-grams, (B, ORDERS) its size.
    size = per_candidate(grams.count)
    expected = per_gram(share)
    expected_size = per_document(size, share)

    def one_more(step: tf.Tensor, now: _Summaries) -> tuple[tf.Tensor, _Summaries]:
        # (K, ORDERS) ROUGE's F of each summary with each of its candidates
        covered, target = tf.gather(now.covered, grams.gram), tf.gather(expected, grams.gram)
        gain = per_candidate(
            tf.minimum(covered + grams.count, target) - tf.minimum(covered, target)
        )
        sizes = tf.gather(now.size + expected_size, row) + size
        rouge = 2.0 * (tf.gather(now.overlap, row) + gain) / tf.where(sizes > 0.0, sizes, 1.0)

        # The best candidate of each document; the first of equals, which is the better by score.
        # A sentence without a word would cost nothing: it comes after all that have one.
        value = tf.where(size[:, 0] > 0.0, tf.reduce_mean(rouge, 1), -1.0)
        value = tf.where(now.rank > 0.0, -2.0, value)
        table = tf.tensor_scatter_nd_update(tf.fill(shape, -2.0), where, value)
        is_new = (tf.gather(tf.argmax(table, 1), row) == column) & (now.rank == 0.0)

        new = tf.cast(is_new, tf.float32)
        return step + 1, _Summaries(
            rank=tf.where(is_new, tf.cast(limit - step, tf.float32), now.rank),
            covered=now.covered + per_gram(new),
            size=now.size + per_document(size, new),
            overlap=now.overlap + per_document(gain, new),
        )

    nothing = tf.zeros_like(expected_size)
    begin = _Summaries(tf.zeros_like(share), tf.zeros_like(expected), nothing, nothing)
    _, summaries = tf.while_loop(
        lambda step, _: step < limit, one_more, [0, begin], parallel_iterations=1
    )
    return summaries.rank
