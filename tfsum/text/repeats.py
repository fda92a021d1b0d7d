"""Sentences that say again, to a word or two, what a better one of their text says.

No two sentences are compared. The hashes of a sentence's words are added up, less those of any two
of them: two sentences that are the same but for two words have one of these sums in common
(deletion neighbourhoods: Mor and Fraenkel, Communications of the ACM 1982).
"""

import numpy as np
import tensorflow as tf

from tfsum.text.rows import Rows, rows_and_places
from tfsum.text.white_space import IN_CLASS, UNSPACED

COMPARED = 16  # words of a sentence, those with the lowest hashes
MOST = 2  # words that may differ ...
ONE_IN = 5  # ... and the share of a sentence's words
_BETWEEN = rf"[{IN_CLASS}\p{{P}}\p{{C}}]+"
_NUMBER = r".*\p{N}.*"


def repeats(texts: tf.RaggedTensor, scores: tf.Tensor, candidates: tf.Tensor) -> tf.Tensor:
    """Marks the sentences of which a better candidate of their text is nearly the same.

    Two sentences are nearly the same if, in any order, they have the same words but for one in five
    of each, and for at most two: none of a sentence under five words, one under ten. In a sentence
    under ten words no number may differ. Letter case and punctuation do not count; a character of a
    script without spaces is a word, as for ROUGE. Of a sentence over sixteen words sixteen are
    compared, of which two may differ.

    Args:
        texts: Sentences, (B, S) strings.
        scores: Scores of the sentences of all texts, (N,) float32; of equal ones the earlier is
            better.
        candidates: Sentences that may be chosen, (N,) bool.

    Returns:
        bool (N,). No two of the candidates that are not marked are nearly the same.

    Example:
        >>> texts = tf.ragged.constant(
        ...     [["The ferry is late today.", "A dog ran.", "The ferry is late again."]]
        ... )
        >>> repeats(texts, tf.constant([0.2, 0.5, 0.9]), tf.fill([3], True)).numpy().tolist()
        [True, False, False]
    """
    # (C,) the candidates
    candidate = tf.where(candidates)[:, 0]
    sentences = tf.gather(texts.flat_values, candidate)
    apart = tf.strings.regex_replace(sentences, f"[{UNSPACED}]", r" \0 ")
    upper = tf.strings.upper(apart, "utf-8")
    words = tf.strings.split(tf.strings.regex_replace(upper, _BETWEEN, " "))
    of_words = Rows.of(words)

    # the text is part of the key, so that texts never meet
    code = tf.strings.to_hash_bucket_fast(words.flat_values, 2**63 - 1)
    text = Rows.of(texts).at(candidate).owner * 0x1E3779B97F4A7C15
    _, equal = Rows.of_equal(code + of_words.to_values(text))
    alone = of_words.count_of(equal.to_values(equal.sizes()) < 2.0)
    # (M,) all that can be nearly the same as another
    places = tf.where(alone <= MOST)[:, 0]

    # (Q,) the keys of these, those of a sentence together
    code = tf.where(tf.strings.regex_full_match(words.flat_values, _NUMBER), -1 - code, code)
    sentence, key = _keys(tf.gather(words.with_flat_values(code), places))
    place = tf.gather(places, sentence)
    _, same = Rows.of_equal(key + tf.gather(text, place))
    worth = tf.gather(tf.gather(scores, candidate), place)
    best = tf.gather(place, same.first(worth == same.to_values(same.max(worth))))
    every = tf.size(candidates, tf.int64)
    return Rows(tf.gather(candidate, place), every).any(same.to_values(best) != place)


def _keys(codes: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The keys (Q,) of sentences of words (M, L), which numbers stand for, those below 0 for
    numbers in them; and the sentence of each key."""
    # (M, COMPARED) the lowest, 0 for none
    rows = Rows.of(codes)
    order = tf.argsort(codes.flat_values, stable=True)
    order = tf.gather(order, tf.argsort(rows.at(order).owner, stable=True))
    _, place = rows_and_places(codes.row_lengths())
    lowest = tf.gather(codes.flat_values, tf.boolean_mask(order, place < COMPARED))
    lengths = tf.minimum(codes.row_lengths(), COMPARED)
    compared = tf.RaggedTensor.from_row_lengths(lowest, lengths, validate=False)
    compared = compared.to_tensor(0, shape=[None, COMPARED])

    # each key lacks two of these, of which those that are none cost nothing
    most = tf.minimum(codes.row_lengths() // ONE_IN, MOST)[:, tf.newaxis]
    cost = tf.cast(compared != 0, tf.int64) + tf.cast((compared < 0) & (most < MOST), tf.int64)
    first, second = np.triu_indices(COMPARED, 1)
    lost = tf.gather(cost, first, axis=1) + tf.gather(cost, second, axis=1)
    kept = tf.reduce_sum(compared, 1, keepdims=True)
    keys = kept - tf.gather(compared, first, axis=1) - tf.gather(compared, second, axis=1)
    is_key = lost <= most
    return tf.where(is_key)[:, 0], tf.boolean_mask(keys, is_key)
