"""Sentences ranked by the ROUGE that they can be expected to reach together.

The best sentences by score often say one thing twice, and are short where ROUGE's F would reward more. Here the scores
make an expected reference: every n-gram of the document, counted as often as its sentences are likely to be in the
summary. A summary is then built sentence by sentence, each time with the one that makes ROUGE's F against that
reference largest, as the mean of ROUGE-1 and ROUGE-2. That is the choice of least expected loss (minimum Bayes risk:
Kumar and Byrne, NAACL 2004), made greedily, and with the expectation taken inside ROUGE.
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
    """The n-grams of the candidates: one entry for each candidate k, n-gram u of its document, and their count."""

    candidate: tf.Tensor  # (E,) int64
    gram: tf.Tensor  # (E,) int64
    count: tf.Tensor  # (E,) float32
    cell: tf.Tensor  # (E,) int64, candidate * ORDERS + order
    grams: tf.Tensor  # U, different n-grams over all documents


class _Summaries(NamedTuple):
    """What is chosen so far."""

    rank: tf.Tensor  # (K,) float32, 0 for candidates that are not chosen
    covered: tf.Tensor  # (U,) float32, how often each n-gram occurs in its document's summary
    size: tf.Tensor  # (B, ORDERS) float32, n-grams of the summary
    overlap: tf.Tensor  # (B, ORDERS) float32, those that the expected reference holds too


def is_word(vocabulary: list[str]) -> np.ndarray:
    """Says which word pieces ROUGE counts: those with a letter or a digit; bool (V,).

    Args:
        vocabulary: the pieces; those in square brackets are special tokens and never words.

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
    """Ranks sentences for `select`, so that the first `most` have together the largest expected ROUGE.

    Args:
        probabilities: (B, S) float, each sentence's score from 0 to 1; NaN counts as 0.
        present: (B, S) bool, True for a real sentence.
        pieces: (B, S, P) int32 ids of the sentences' word pieces.
        words: (V,) bool, the pieces that count, see `is_word`.
        most: (B,) int32, sentences that the summary is to have.
        limit: how many are ranked so; the others follow by score.

    Returns:
        float32 (B, S): above 1 for the sentences ranked so, highest first; the score for the others.

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
    width = (
        tf.minimum(tf.shape(p)[1], CANDIDATES - 1) + 1
    )  # one column more, so that there is always one
    best, index = tf.math.top_k(
        tf.pad(tf.where(present, p, -1.0), [[0, 0], [0, 1]], constant_values=-1.0), width
    )
    where = tf.where(best >= 0.0)
    row, probability = where[:, 0], tf.gather_nd(best, where)
    sentence = tf.cast(tf.gather_nd(index, where), tf.int64)
    grams = _count(
        tf.gather(pieces.values, tf.gather(pieces.row_splits, row) + sentence), row, words
    )
    rows = tf.shape(p, tf.int64)[0]
    mass = tf.math.unsorted_segment_sum(probability, row, rows)
    times = tf.cast(tf.maximum(most, 0), tf.float32) / tf.where(mass > 0.0, mass, 1.0)
    rank = _choose(
        grams, where, tf.shape(best, tf.int64), probability * tf.gather(times, row), limit
    )
    picked = tf.scatter_nd(tf.stack([row, sentence], 1), rank, tf.shape(p, tf.int64))
    return tf.where(picked > 0.0, 1.0 + picked, p)


def _count(sentences: tf.RaggedTensor, row: tf.Tensor, words: tf.Tensor | np.ndarray) -> _Grams:
    """Counts the n-grams of candidates (K, P) of the documents `row` (K,)."""
    owner, ids = row_ids(sentences), tf.cast(sentences.flat_values, tf.int64)
    counts = tf.gather(words, ids)
    owner, ids = tf.boolean_mask(owner, counts), tf.boolean_mask(ids, counts)
    inside = owner[:-1] == owner[1:]
    pairs = tf.boolean_mask(ids[:-1], inside), tf.boolean_mask(ids[1:], inside)
    base = tf.size(words, tf.int64)
    span = base * (base + 1)  # of a document's keys: unigrams below `base`, then bigrams
    key = tf.concat([ids, base + pairs[0] * base + pairs[1]], 0)
    owner = tf.concat([owner, tf.boolean_mask(owner[1:], inside)], 0)
    different, gram = tf.unique(key + span * tf.gather(row, owner), tf.int64)
    grams = tf.maximum(tf.size(different, tf.int64), 1)
    entry, place = tf.unique(owner * grams + gram, tf.int64)
    count = tf.math.unsorted_segment_sum(tf.ones_like(place, tf.float32), place, tf.size(entry))
    candidate, gram = entry // grams, entry % grams
    order = tf.cast(tf.gather(different, gram) % span >= base, tf.int64)
    return _Grams(candidate, gram, count, candidate * ORDERS + order, grams)


def _choose(
    grams: _Grams, where: tf.Tensor, shape: tf.Tensor, share: tf.Tensor, limit: int
) -> tf.Tensor:
    """Ranks the chosen of K candidates, (K,): `limit` for the first of each document, then less, 0 for the others.

    Args:
        grams: of the candidates.
        where: (K, 2), the document of each, and its column among that document's.
        shape: (2,), documents and columns.
        share: (K,), how often each is expected in its document's summary.
        limit: how many are chosen.
    """
    row, candidates = where[:, 0], tf.size(share, tf.int64)

    def per_candidate(values: tf.Tensor) -> tf.Tensor:
        return tf.reshape(
            tf.math.unsorted_segment_sum(values, grams.cell, candidates * ORDERS), [-1, ORDERS]
        )

    size = per_candidate(grams.count)
    expected = tf.math.unsorted_segment_sum(
        grams.count * tf.gather(share, grams.candidate), grams.gram, grams.grams
    )
    expected_size = tf.math.unsorted_segment_sum(size * share[:, tf.newaxis], row, shape[0])

    def one_more(step: tf.Tensor, now: _Summaries) -> tuple[tf.Tensor, _Summaries]:
        with_it = tf.gather(now.covered, grams.gram), tf.gather(expected, grams.gram)
        gain = per_candidate(
            tf.minimum(with_it[0] + grams.count, with_it[1]) - tf.minimum(*with_it)
        )
        both = tf.gather(now.size + expected_size, row) + size
        rouge = 2.0 * (tf.gather(now.overlap, row) + gain) / tf.where(both > 0.0, both, 1.0)
        # A sentence without a word would cost nothing: it comes after all that have one.
        value = tf.where(size[:, 0] > 0.0, tf.reduce_mean(rouge, 1), -1.0)
        table = tf.tensor_scatter_nd_update(
            tf.fill(shape, -2.0), where, tf.where(now.rank > 0.0, -2.0, value)
        )
        column = tf.argmax(table, 1)  # the first of equals, which is the better by score
        new = (tf.gather(column, row) == where[:, 1]) & (now.rank == 0.0)
        chosen = tf.cast(new, tf.float32)
        return step + 1, _Summaries(
            rank=tf.where(new, tf.cast(limit - step, tf.float32), now.rank),
            covered=now.covered
            + tf.math.unsorted_segment_sum(
                grams.count * tf.gather(chosen, grams.candidate), grams.gram, grams.grams
            ),
            size=now.size
            + tf.math.unsorted_segment_sum(size * chosen[:, tf.newaxis], row, shape[0]),
            overlap=now.overlap
            + tf.math.unsorted_segment_sum(gain * chosen[:, tf.newaxis], row, shape[0]),
        )

    nothing = tf.zeros_like(expected_size)
    begin = _Summaries(tf.zeros_like(share), tf.zeros_like(expected), nothing, nothing)
    return tf.while_loop(lambda step, _: step < limit, one_more, [0, begin], parallel_iterations=1)[
        1
    ].rank
