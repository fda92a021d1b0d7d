"""Sentences ranked by the ROUGE that they can be expected to reach together.

The best sentences by score often say one thing twice, and are short where ROUGE's F would reward
more. Here a model tells how often each n-gram of the document can be expected in the summary, and
the sentences are chosen that make ROUGE's expected F against it largest, as the mean of ROUGE-1 and
ROUGE-2. That is the choice of least expected loss (minimum Bayes risk: Kumar and Byrne, NAACL
2004), with the expectation taken inside ROUGE. It is made greedily, and then each place is filled
again beside the others, which gives what the best of all sets would give (docs/quality.md).

The expected numbers come from the scores of the sentences, by which an n-gram counts as often as
its sentences are likely to be in the summary, and where the model has a word head they are the mean
of these and of what that expects, which is raised to `LEAST_WORDS` of them where it is less.
"""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfsum.text.budget import Budget
from tfsum.text.readability import ALONE, PENALTY
from tfsum.text.rows import Rows

SELECTIONS = ("score", "expected_rouge")  # what a recipe or an export may name
CANDIDATES = 64  # the best of each document by score: more than most documents have sentences
ORDERS = 2  # unigrams and bigrams
AUTOMATIC = -1  # a number of sentences: as many as are expected to score best
FEWEST, USUAL, MOST = 2, 3, 4  # of these; a summary is expected to have the usual number
# The word head expects at least so many n-grams, as a share of those that the scores expect: where
# it expects a title, a summary of three sentences would be filled with the shortest ones.
LEAST_WORDS = 0.5


class _Candidates(NamedTuple):
    """The K candidates, the best of each document by score, document by document."""

    documents: Rows  # the document of each
    place: tf.Tensor  # (K,) int64, its place among all sentences
    follows: tf.Tensor  # (K,) bool, whether its document has a sentence before it
    probability: tf.Tensor  # (K,) float32

    @property
    def mass(self) -> tf.Tensor:
        """Sum of the probabilities of each document, (B,), 1 where it is 0."""
        mass = self.documents.sum(self.probability)
        return tf.where(mass > 0.0, mass, 1.0)

    def copied(self, times: tf.Tensor) -> "_Candidates":
        """So many copies of the candidates, one behind another, each of documents of its own."""
        values = (tf.tile(value, [times]) for value in self[1:])
        return _Candidates(self.documents.copied(times), *values)


class _Grams(NamedTuple):
    """The n-grams of candidates: E entries, one for each different n-gram of each candidate."""

    candidate: tf.Tensor  # (E,) int64
    count: tf.Tensor  # (E,) float32, how often the candidate has the n-gram
    candidates: Rows  # candidate * ORDERS + order of each entry
    grams: Rows  # which of the U different n-grams of the documents each entry is
    documents: Rows  # document * ORDERS + order of each n-gram (U,)
    rate: tf.Tensor | None  # (U,) float32, how often the word head expects each n-gram

    def of_candidates(self, values: tf.Tensor) -> tf.Tensor:
        """Sums of values (E,) for each candidate and order, (K, ORDERS)."""
        return tf.reshape(self.candidates.sum(values), [-1, ORDERS])

    def of_documents(self, values: tf.Tensor) -> tf.Tensor:
        """Sums of values (U,) for each document and order, (B, ORDERS)."""
        return tf.reshape(self.documents.sum(values), [-1, ORDERS])

    def counts(self, weight: tf.Tensor) -> tf.Tensor:
        """Counts of the n-grams (U,), those of each candidate weighted (K,)."""
        return self.grams.sum(self.count * tf.gather(weight, self.candidate))

    def of_chosen(self, ranks: tf.Tensor) -> tf.Tensor:
        """Counts of the n-grams (U,) of the candidates with a rank (K,)."""
        return self.counts(tf.cast(ranks > 0.0, tf.float32))


class _Faults(NamedTuple):
    """How copies of K candidates read; the places of sentences among K + 1 of each copy, of which
    the last stands for those that are no candidates."""

    copies: tf.Tensor
    flaws: tf.Tensor  # (copies * K,) float32
    needing: Rows  # the candidate of each of E pairs
    needed: tf.Tensor  # (E,) int64, the place of the sentence that it needs
    before: tf.Tensor  # (copies * K,) int64, the place of the sentence before each


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
    lead_bias: float = 0.0,
) -> tf.Tensor:
    """Ranks sentences so that the first `most` have together the largest expected ROUGE.

    Args:
        probabilities: Scores of the sentences of all documents, end to end, from 0 to 1, (N,)
            float32; NaN counts as 0.
        present: Sentences that may be chosen, (N,) bool.
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
        lead_bias: How much more than its score says the first sentence of a document counts whose
            scores lean to its beginning, as a story's do; the others half as much every two
            sentences.

    Returns:
        float32 (N,): above 1 for the chosen sentences, highest for the first that was chosen;
        the score, from 0 to 1, for the others.

    In the example the second sentence repeats the first, so the third one is ranked before it.

    Example:
        >>> pieces = tf.ragged.constant([[[1, 2], [1, 2], [3, 4]]])
        >>> words = np.array([False, True, True, True, True])
        >>> ranks = expected_rouge_ranks(
        ...     tf.constant([0.75, 0.5, 0.5]),
        ...     tf.constant([True, True, True]),
        ...     pieces,
        ...     words,
        ...     tf.constant([2]),
        ...     limit=2,
        ... )
        >>> ranks.numpy().tolist()
        [3.0, 0.5, 2.0]
    """
    p = tf.where(present & ~tf.math.is_nan(probabilities), probabilities, 0.0)
    candidates = _candidates(p, present, most, pieces)
    documents = candidates.documents
    automatic = most == AUTOMATIC
    most = tf.clip_by_value(tf.where(automatic, USUAL, most), 0, limit)

    # (K,) how often each candidate is expected in its document's summary
    weight = _weight_of_place(candidates, pieces, lead_bias)
    times = tf.cast(most, tf.float32) / candidates.mass
    share = weight * candidates.probability * documents.to_values(times)
    room = (budget or Budget.free(pieces)).at(candidates.place)

    # The numbers of an automatic choice are tried at once, each with copies of all documents.
    first = tf.where(tf.reduce_any(automatic), FEWEST, MOST)  # once, if no number is automatic
    numbers = tf.range(first, MOST + 1)  # (C,)
    copies = tf.size(numbers)
    faults = None
    if flaws is not None and needs is not None:
        faults = _faults(candidates, flaws, needs, copies)
    copied = candidates.copied(copies)
    grams = _count(copied, pieces, words, rates, tf.tile(weight, [copies]))
    shares = tf.tile(share, [copies])  # (C * K,)
    search = _Search(copied, grams, shares, limit, faults, room.copied(copies))
    most = tf.where(automatic, tf.minimum(numbers, limit)[:, tf.newaxis], most)
    ranks, rouge = search.summaries(tf.reshape(most, [-1]))  # (C * K,), (C * B,)

    # (B,) the best of the numbers, of equals the fewest, and (K,) the ranks by it
    best = tf.argmax(tf.reshape(rouge, [copies, -1]))
    place = documents.places() + tf.size(share, tf.int64) * documents.to_values(best)
    best = tf.gather(ranks, place)
    ranked = tf.scatter_nd(candidates.place[:, tf.newaxis], best, tf.shape(p, tf.int64))
    return tf.where(ranked > 0.0, 1.0 + ranked, p)


def _candidates(
    probabilities: tf.Tensor, present: tf.Tensor, most: tf.Tensor, pieces: tf.RaggedTensor
) -> _Candidates:
    """The best sentences of each document by score (N,), of equals the earlier."""
    # (N,) the places of all sentences, document by document the best first
    documents = Rows.of(pieces)
    scores = tf.where(present, probabilities, -1.0)
    best, number = documents.best_first(scores)

    # (K,)
    enough = tf.cast(tf.maximum(CANDIDATES, 2 * most), tf.int64)
    is_candidate = tf.gather(present, best) & (number < documents.to_values(enough))
    place = tf.cast(tf.boolean_mask(best, is_candidate), tf.int64)
    follows = tf.gather(documents.continues(), place)
    return _Candidates(documents.at(place), place, follows, tf.gather(probabilities, place))


def _weight_of_place(
    candidates: _Candidates, pieces: tf.RaggedTensor, lead_bias: float
) -> tf.Tensor:
    """How many times its score each candidate counts, (K,); the probabilities of a document keep
    their sum."""
    p, documents, mass = candidates.probability, candidates.documents, candidates.mass
    number = candidates.place - documents.to_values(pieces.row_starts())
    lean = documents.sum(tf.where(number < USUAL, p, 0.0)) / mass
    more = lead_bias * tf.minimum(1.0, 2.0 * lean)  # all of it from half of the mass on
    weight = 1.0 + documents.to_values(more) * tf.pow(0.5, tf.cast(number, tf.float32) / 2.0)
    weighted = documents.sum(p * weight)
    return weight * documents.to_values(tf.where(weighted > 0.0, mass / weighted, 1.0))


def _count(
    candidates: _Candidates,
    pieces: tf.RaggedTensor,
    words: tf.Tensor | np.ndarray,
    rates: tf.Tensor | None,
    weight: tf.Tensor,
) -> _Grams:
    """Counts the n-grams of candidates, and sums their rates (of all pieces, (P, ORDERS)), those of
    each candidate weighted (K,)."""
    # (M,) the words of all candidates; pairs of neighbours stand where `inside` (M - 1,) is true
    sentences = tf.gather(pieces.values, candidates.place)
    owner, ids = Rows.of(sentences).owner, tf.cast(sentences.flat_values, tf.int64)
    counts = tf.gather(words, ids)
    owner, ids = tf.boolean_mask(owner, counts), tf.boolean_mask(ids, counts)
    inside = owner[:-1] == owner[1:]
    first, second = tf.boolean_mask(ids[:-1], inside), tf.boolean_mask(ids[1:], inside)

    # The keys of a document: unigrams below `base`, bigrams from there below `span`.
    base = tf.size(words, tf.int64)
    span = base * (base + 1)
    key = tf.concat([ids, base + first * base + second], 0)
    of_words, owner = owner, tf.concat([owner, tf.boolean_mask(owner[1:], inside)], 0)

    # (U,) different n-grams of all documents, (E,) different ones of each candidate
    keys, same = Rows.of_equal(key + span * tf.gather(candidates.documents.owner, owner))
    size = tf.maximum(same.count, 1)
    entries, occurrences = Rows.of_equal(owner * size + same.owner)
    candidate, gram = entries // size, entries % size
    order = tf.cast(keys % span >= base, tf.int64)

    rate = None
    if rates is not None:
        at_piece = tf.gather(pieces.values.with_flat_values(rates), candidates.place).flat_values
        at_word = tf.boolean_mask(at_piece, counts) * tf.gather(weight, of_words)[:, tf.newaxis]
        of_pairs = tf.boolean_mask(at_word[:-1, 1], inside)
        rate = same.sum(tf.concat([at_word[:, 0], of_pairs], 0))
    return _Grams(
        candidate,
        occurrences.sizes(),
        Rows(
            candidate * ORDERS + tf.gather(order, gram),
            ORDERS * tf.size(candidates.place, tf.int64),
        ),
        Rows(gram, same.count),
        Rows(keys // span * ORDERS + order, ORDERS * candidates.documents.count),
        rate,
    )


class _Search:
    """Chooses among candidates those whose expected ROUGE is largest.

    Args:
        candidates: K candidates.
        grams: Their n-grams.
        share: How often each candidate is expected in its document's summary, (K,).
        limit: Rank of the first sentence of a summary; those after it have less.
        faults: How the candidates read; None asks nothing of it.
        budget: What the summaries may cost, with the costs of the candidates.
    """

    def __init__(
        self,
        candidates: _Candidates,
        grams: _Grams,
        share: tf.Tensor,
        limit: int | tf.Tensor,
        faults: _Faults | None,
        budget: Budget,
    ) -> None:
        self._candidates, self._documents, self._grams = candidates, candidates.documents, grams
        self._limit, self._faults, self._budget = limit, faults, budget

        # (U,) the expected number of each n-gram in the reference, (B, ORDERS) its size
        expected = grams.counts(share)
        if grams.rate is not None:
            size, said = grams.documents.sum(expected), grams.documents.sum(grams.rate)
            more = tf.maximum(1.0, LEAST_WORDS * size / tf.where(said > 0.0, said, 1.0))
            expected = (expected + grams.rate * grams.documents.to_values(more)) / 2.0
        self._expected, self._expected_size = expected, grams.of_documents(expected)
        # (E,) that number for each entry, (K, ORDERS) the size of each candidate
        self._wanted, self._size = grams.grams.to_values(expected), grams.of_candidates(grams.count)
        self._has_words = self._size[:, 0] > 0.0

    def summaries(self, most: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Chooses `most` (B,) candidates of each document.

        Returns:
            The ranks of the candidates (K,), 0 for those that are not chosen, and the expected
            ROUGE (B,).
        """
        # Each place is filled, and then again beside the others, which may make room for more.
        longest = tf.reduce_max(tf.concat([most, [1]], 0))
        *_, ranks = tf.while_loop(
            lambda step, grown, grows, _: (step < 2 * grown) | grows,
            functools.partial(self._fill, most),
            (0, longest, False, tf.zeros_like(self._candidates.probability)),
            parallel_iterations=1,
        )
        overlap, sizes = self._overlap_and_sizes(self._grams.of_chosen(ranks))
        return ranks, tf.reduce_mean(_f_measure(overlap, sizes), 1)

    def _fill(
        self, most: tf.Tensor, step: tf.Tensor, grown: tf.Tensor, grows: tf.Tensor, ranks: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Puts the best candidate of each document at one place of its summary: the first free
        one, or, from step `grown` to twice that, the place of a sentence that goes."""
        count = self._documents.sum(tf.cast(ranks > 0.0, tf.int32))
        again = (step >= grown) & (step < 2 * grown)
        place = tf.where(again, step - grown, count)
        is_open = (place < most) & (~again | (place < count))
        rank = tf.where(is_open, tf.cast(self._limit - place, tf.float32), -1.0)  # -1 for none
        rank = self._documents.to_values(rank)
        chosen = tf.where(ranks == rank, 0.0, ranks)

        # The first of equals is the better by score. A sentence without a word would cost nothing:
        # it comes after all that have one.
        value = tf.reduce_mean(self._rouge_with_each(chosen), 1) - self._penalties(chosen)
        value = tf.where(self._has_words, value, -1.0)
        free = (rank > 0.0) & (chosen == 0.0) & self._budget.holds(chosen > 0.0, self._documents)
        is_new = free & self._documents.is_best(tf.where(free, value, -2.0))

        grows = tf.reduce_any(is_new)
        full = (step < grown) & ~grows  # nothing has room any more: the places are filled again
        return (
            tf.where(full, step, step + 1),
            tf.where(full, step, grown),
            grows,
            tf.where(is_new, rank, chosen),
        )

    def _overlap_and_sizes(self, counts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """What summaries with n-grams (U,) share with the reference, and the sizes of both."""
        overlap = self._grams.of_documents(tf.minimum(counts, self._expected))
        return overlap, self._grams.of_documents(counts) + self._expected_size

    def _rouge_with_each(self, chosen: tf.Tensor) -> tf.Tensor:
        """ROUGE's F (K, ORDERS) of those with a rank (K,) and one candidate more."""
        grams, counts = self._grams, self._grams.of_chosen(chosen)
        before = grams.grams.to_values(counts)
        gain = tf.minimum(before + grams.count, self._wanted) - tf.minimum(before, self._wanted)
        overlap, sizes = self._overlap_and_sizes(counts)
        return _f_measure(
            self._documents.to_values(overlap) + grams.of_candidates(gain),
            self._documents.to_values(sizes) + self._size,
        )

    def _penalties(self, chosen: tf.Tensor) -> tf.Tensor:
        """What the candidates (K,) must bring more, beside those with a rank (K,)."""
        if self._faults is None:
            return tf.zeros_like(chosen)
        # (copies * (K + 1),) 1 for those that are not chosen, as all that are no candidates
        missing = tf.reshape(tf.cast(chosen <= 0.0, tf.float32), [self._faults.copies, -1])
        missing = tf.reshape(tf.pad(missing, [[0, 0], [0, 1]], constant_values=1.0), [-1])
        lacks = self._faults.needing.sum(tf.gather(missing, self._faults.needed))
        before = tf.gather(missing, self._faults.before)
        alone = tf.where(self._candidates.follows, before, 0.0)
        return PENALTY * (self._faults.flaws + tf.minimum(lacks, 1.0)) + ALONE * alone


def _faults(
    candidates: _Candidates, flaws: tf.Tensor, needs: tf.Tensor, copies: tf.Tensor
) -> _Faults:
    """The faults of copies of candidates, from those of all sentences."""
    # (N,) the number of each sentence among the candidates
    place, size = candidates.place, tf.size(candidates.place, tf.int64)
    numbers = tf.range(1, size + 1)
    number = tf.scatter_nd(place[:, tf.newaxis], numbers, tf.shape(flaws, tf.int64)) - 1
    number = tf.where(number < 0, size, number)

    needing, needed = tf.unstack(tf.gather(number, needs), axis=1)
    is_candidate = needing < size
    return _Faults(
        copies,
        tf.tile(tf.gather(flaws, place), [copies]),
        Rows(tf.boolean_mask(needing, is_candidate), size).copied(copies),
        Rows(tf.boolean_mask(needed, is_candidate), size + 1).copied(copies).owner,
        Rows(tf.gather(number, tf.maximum(place - 1, 0)), size + 1).copied(copies).owner,
    )


def _f_measure(overlap: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
    """ROUGE's F of two texts that share so many n-grams, and whose sizes are together `sizes`."""
    return 2.0 * overlap / tf.where(sizes > 0.0, sizes, 1.0)
