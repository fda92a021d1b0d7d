"""Sentences ranked by the ROUGE that they can be expected to reach together.

The best sentences by score often say one thing twice, and are short where ROUGE's F would reward
more. Here a model tells how often each n-gram of the document can be expected in the summary, and
the sentences are chosen that make ROUGE's expected F against it largest, as the mean of ROUGE-1 and
ROUGE-2. That is the choice of least expected loss (minimum Bayes risk: Kumar and Byrne, NAACL
2004), with the expectation taken inside ROUGE. It is made greedily, and then each place is filled
again beside the others, which gives what the best of all sets would give (docs/quality.md).

The expected numbers come from the scores of the sentences, by which an n-gram counts as often as
its sentences are likely to be in the summary, and where the model has a word head they are the mean
of these and of what that expects.
"""

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfsum.text.budget import Budget
from tfsum.text.readability import ALONE, PENALTY
from tfsum.text.repeat import row_ids

SELECTIONS = ("score", "expected_rouge")  # what a recipe or an export may name
CANDIDATES = 64  # the best of each document by score: more than most documents have sentences
ORDERS = 2  # unigrams and bigrams
AUTOMATIC = -1  # a number of sentences: as many as are expected to score best
FEWEST, USUAL, MOST = 2, 3, 4  # of these; a summary is expected to have the usual number


class _Grams(NamedTuple):
    """The n-grams of K candidates: an entry for each candidate and n-gram of it."""

    candidate: tf.Tensor  # (E,) int64, the candidate
    gram: tf.Tensor  # (E,) int64, the n-gram's number among all U of the documents
    count: tf.Tensor  # (E,) float32, how often the candidate holds it
    cell: tf.Tensor  # (E,) int64, candidate * ORDERS + order
    document: tf.Tensor  # (U,) int64, document * ORDERS + order of each n-gram
    rate: tf.Tensor | None  # (U,) float32, how often the word head expects it


class _Summaries(NamedTuple):
    """The summaries so far."""

    rank: tf.Tensor  # (K,) float32, 0 for candidates that are not chosen
    held: tf.Tensor  # (U,) float32, how often each n-gram occurs in its document's summary


class _Best(NamedTuple):
    """The best summaries of the numbers of sentences that were tried."""

    rank: tf.Tensor  # (K,) float32, as above
    value: tf.Tensor  # (B,) float32, the ROUGE expected of them


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
    limit: int | tf.Tensor,
    rates: tf.Tensor | None = None,
    flaws: tf.Tensor | None = None,
    needs: tf.Tensor | None = None,
    budget: Budget | None = None,
) -> tf.Tensor:
    """Ranks sentences so that the first `most` have together the largest expected ROUGE.

    Args:
        probabilities: Scores of the sentences from 0 to 1, (B, S) float; NaN counts as 0.
        present: Sentences that may be chosen, (B, S) bool.
        pieces: Word pieces of the sentences, (B, S, P) int32.
        words: Pieces that ROUGE counts, (V,) bool, see `is_word`.
        most: Sentences that each summary is to have, (B,) int32; `AUTOMATIC` for from `FEWEST` to
            `MOST`, as many as have the largest expected ROUGE.
        limit: Largest number of them; above it counts as it.
        rates: How often the summary is expected to hold the word and the pair of words at each
            piece, float32 (P, ORDERS) for all pieces of all sentences; by default the probabilities
            alone tell.
        flaws: Number of flaws of the sentences, each of which must bring `PENALTY` more, float32,
            for all sentences of all documents, end to end; with it, all must bring `ALONE` more
            where the one before is not chosen. By default nothing is asked of how they read.
        needs: Pairs of a sentence and one that must be chosen too, or the first must bring
            `PENALTY` more, int64 (E, 2), numbered likewise.
        budget: What the summaries may cost; by default anything. A sentence is chosen only where
            there is room for it, and as long as there is any.

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
    enough = tf.maximum(CANDIDATES, 2 * most)
    width = tf.minimum(tf.shape(p)[1], tf.reduce_max(tf.concat([enough, [1]], 0)) - 1) + 1
    scores = tf.pad(tf.where(present, p, -1.0), [[0, 0], [0, 1]], constant_values=-1.0)
    best, index = tf.math.top_k(scores, width)
    where = tf.where((best >= 0.0) & (tf.range(width) < enough[:, tf.newaxis]))
    row, probability = where[:, 0], tf.gather_nd(best, where)
    sentence = tf.cast(tf.gather_nd(index, where), tf.int64)
    which = tf.gather(pieces.row_splits, row) + sentence
    at_piece = None
    if rates is not None:
        at_piece = tf.gather(pieces.values.with_flat_values(rates), which).flat_values
    grams = _count(tf.gather(pieces.values, which), row, words, at_piece)
    room = None if budget is None else Budget(tf.gather(budget.costs, which), budget.limits)

    # (K,) how often each is expected in its document's summary
    automatic = most == AUTOMATIC
    most = tf.clip_by_value(tf.where(automatic, USUAL, most), 0, limit)
    mass = tf.math.unsorted_segment_sum(probability, row, shape[0])
    times = tf.cast(most, tf.float32) / tf.where(mass > 0.0, mass, 1.0)
    share = probability * tf.gather(times, row)

    def penalties(rank: tf.Tensor) -> tf.Tensor:
        """What the candidates (K,) must bring more, beside those with a rank."""
        if flaws is None or needs is None:
            return tf.zeros_like(rank)
        every = tf.size(flaws, tf.int64)
        chosen = tf.cast(rank > 0.0, tf.float32)
        missing = 1.0 - tf.scatter_nd(which[:, tf.newaxis], chosen, every[tf.newaxis])
        first, second = needs[:, 0], needs[:, 1]
        lacks = tf.math.unsorted_segment_sum(tf.gather(missing, second), first, every)
        faults = tf.gather(flaws, which) + tf.minimum(tf.gather(lacks, which), 1.0)
        before = tf.gather(missing, tf.maximum(which - 1, 0))
        return PENALTY * faults + ALONE * tf.where(sentence > 0, before, 0.0)

    def choose(number: tf.Tensor, before: _Best) -> tuple[tf.Tensor, _Best]:
        """Chooses so many sentences where the number is automatic, and keeps what is better."""
        wanted = tf.where(automatic, tf.minimum(number, limit), most)
        new = _choose(grams, where, tf.shape(best, tf.int64), share, wanted, limit, penalties, room)
        is_better = new.value > before.value
        return number + 1, _Best(
            tf.where(tf.gather(is_better, row), new.rank, before.rank),
            tf.where(is_better, new.value, before.value),
        )

    # once, if no number is automatic
    nothing = _Best(tf.zeros_like(share), tf.fill(shape[:1], -float("inf")))
    first = tf.where(tf.reduce_any(automatic), FEWEST, MOST)
    _, summaries = tf.while_loop(
        lambda number, _: number <= MOST, choose, (first, nothing), parallel_iterations=1
    )
    rank = summaries.rank
    ranked = tf.scatter_nd(tf.stack([row, sentence], 1), rank, shape)
    return tf.where(ranked > 0.0, 1.0 + ranked, p)


def _count(
    sentences: tf.RaggedTensor,
    row: tf.Tensor,
    words: tf.Tensor | np.ndarray,
    rates: tf.Tensor | None,
) -> _Grams:
    """Counts the n-grams of candidates (K, P) of the documents `row` (K,), and sums their rates
    (of all pieces, (., ORDERS))."""
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
    candidate, number = entry // grams, entry % grams
    order = tf.cast(keys % span >= base, tf.int64)
    cell = candidate * ORDERS + tf.gather(order, number)

    rate = None
    if rates is not None:
        at_word = tf.boolean_mask(rates, counts)
        every = tf.concat([at_word[:, 0], tf.boolean_mask(at_word[:-1, 1], inside)], 0)
        rate = tf.math.unsorted_segment_sum(every, gram, tf.size(keys))
    return _Grams(candidate, number, count, cell, keys // span * ORDERS + order, rate)


def _choose(
    grams: _Grams,
    where: tf.Tensor,
    shape: tf.Tensor,
    share: tf.Tensor,
    most: tf.Tensor,
    limit: int | tf.Tensor,
    penalties: Callable[[tf.Tensor], tf.Tensor],
    budget: Budget | None,
) -> _Best:
    """Ranks the chosen of K candidates: `limit` for the first of each document, then less.

    Args:
        grams: N-grams of the candidates.
        where: Document of each candidate and its column among that document's, (K, 2).
        shape: Number of documents and columns, (2,).
        share: How often each candidate is expected in its document's summary, (K,).
        most: Number of sentences chosen, (B,), at most `limit`.
        limit: Width of a result.
        penalties: Function from the ranks of the candidates to what they must bring more, (K,).
        budget: What the summaries may cost, with the costs of the candidates.

    Returns:
        The ranks of the candidates, and what the summaries are worth.
    """
    row, column = where[:, 0], where[:, 1]
    cells, documents = tf.size(share, tf.int64) * ORDERS, shape[0] * ORDERS
    segment_sum = tf.math.unsorted_segment_sum

    def per_candidate(values: tf.Tensor) -> tf.Tensor:
        """Sums of (E,) values for each candidate and order, (K, ORDERS)."""
        return tf.reshape(segment_sum(values, grams.cell, cells), [-1, ORDERS])

    def per_gram(weight: tf.Tensor) -> tf.Tensor:
        """Counts of the n-grams (U,), those of each candidate weighted (K,)."""
        weighted = grams.count * tf.gather(weight, grams.candidate)
        return segment_sum(weighted, grams.gram, tf.size(grams.document))

    def per_document(values: tf.Tensor) -> tf.Tensor:
        """Sums of (U,) values for each document and order, (B, ORDERS)."""
        return tf.reshape(segment_sum(values, grams.document, documents), [-1, ORDERS])

    # (U,) the expected number of each n-gram in the reference, (B, ORDERS) the reference's size
    expected = per_gram(share)
    if grams.rate is not None:
        expected = (expected + grams.rate) / 2.0
    expected_size, size = per_document(expected), per_candidate(grams.count)
    wanted = tf.gather(expected, grams.gram)

    def room_for(chosen: tf.Tensor) -> tf.Tensor:
        """Which candidates (K,) have room beside the chosen ones."""
        if budget is None:
            return tf.ones_like(row, tf.bool)
        taken = tf.where((chosen > 0.0)[:, tf.newaxis], budget.costs, 0)
        left = budget.limits - segment_sum(taken, row, shape[0])
        return tf.reduce_all(budget.costs <= tf.gather(left, row), 1)

    def fill(
        step: tf.Tensor, grown: tf.Tensor, grows: tf.Tensor, now: _Summaries
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, _Summaries]:
        """Puts the best candidate of each document at one place of its summary: the first free
        one, or, from step `grown` to twice that, the place of a sentence that goes."""
        count = segment_sum(tf.cast(now.rank > 0.0, tf.int32), row, shape[0])
        again = (step >= grown) & (step < 2 * grown)
        place = tf.where(again, step - grown, count)
        rank = tf.gather(tf.cast(limit - place, tf.float32), row)
        here = tf.gather((place < most) & (~again | (place < count)), row)
        old = here & (now.rank == rank)
        chosen = tf.where(old, 0.0, now.rank)
        held = now.held - per_gram(tf.cast(old, tf.float32))

        # (K, ORDERS) ROUGE's F of each summary with each of its candidates
        before = tf.gather(held, grams.gram)
        gain = tf.minimum(before + grams.count, wanted) - tf.minimum(before, wanted)
        overlap = per_document(tf.minimum(held, expected))
        sizes = tf.gather(per_document(held) + expected_size, row) + size
        shared = tf.gather(overlap, row) + per_candidate(gain)
        rouge = 2.0 * shared / tf.where(sizes > 0.0, sizes, 1.0)

        # The best candidate of each document; the first of equals, which is the better by score.
        # A sentence without a word would cost nothing: it comes after all that have one.
        value = tf.reduce_mean(rouge, 1) - penalties(chosen)
        value = tf.where(size[:, 0] > 0.0, value, -1.0)
        free = here & (chosen == 0.0) & room_for(chosen)
        value = tf.where(free, value, -2.0)
        table = tf.tensor_scatter_nd_update(tf.fill(shape, -2.0), where, value)
        is_new = free & (tf.gather(tf.argmax(table, 1), row) == column)

        held += per_gram(tf.cast(is_new, tf.float32))
        grows = tf.reduce_any(is_new)
        full = (step < grown) & ~grows  # nothing has room any more: the places are filled again
        return (
            tf.where(full, step, step + 1),
            tf.where(full, step, grown),
            grows,
            _Summaries(tf.where(is_new, rank, chosen), held),
        )

    # Each place is filled, and then filled again beside the others, which may make room for more.
    longest = tf.reduce_max(tf.concat([most, [1]], 0))
    *_, summaries = tf.while_loop(
        lambda step, grown, grows, _: (step < 2 * grown) | grows,
        fill,
        [0, longest, False, _Summaries(tf.zeros_like(share), tf.zeros_like(expected))],
        parallel_iterations=1,
    )
    overlap = per_document(tf.minimum(summaries.held, expected))
    sizes = per_document(summaries.held) + expected_size
    rouge = tf.reduce_mean(2.0 * overlap / tf.where(sizes > 0.0, sizes, 1.0), 1)
    return _Best(summaries.rank, rouge)
