"""`relevance` beside BM25 as its formula says, in Python's numbers, and meaning beside numpy's."""

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import tensorflow as tf
from hypothesis import given

from tfsum.text.query import (
    K1,
    MEANING,
    PAIRS,
    PIECES,
    RARE,
    SENTENCES,
    B,
    of_best,
    relevance,
    with_meaning,
)
from tfsum.text.rows import Rows

WORDS = np.array([False, True, True, True, True, False])  # pieces 0 and 5 are punctuation
CONTINUES = np.array([False, False, False, True, True, False])
LISTS = st.lists(st.integers(0, 5), max_size=6)
BM25 = st.just(0.0) | st.floats(0.125, 9, width=32)
COSINES = st.floats(-1, 1, width=32)
DOCUMENTS = st.lists(st.tuples(st.lists(LISTS, max_size=5), LISTS), min_size=1, max_size=3)


def _counted(pieces):
    return [piece for piece in pieces if WORDS[piece]]


def _words(pieces):
    """Each word as the string of its pieces' numbers."""
    words = []
    for i, piece in enumerate(pieces):
        if i and CONTINUES[piece]:
            words[-1] += str(piece)
        else:
            words.append(str(piece))
    return [word for word in words if any(WORDS[int(piece)] for piece in word)]


def _bm25(sentences, query):
    """Robertson and Zaragoza 2009, section 3.4, of tokens and pairs of neighbours."""
    grams = [[*sentence, *itertools.pairwise(sentence)] for sentence in sentences]
    mean = sum(map(len, sentences)) / len(sentences)
    scores = []
    for sentence, held in zip(sentences, grams):
        score = 0.0
        for gram in [*query, *itertools.pairwise(query)]:
            holding = sum(gram in other for other in grams)
            often = held.count(gram)
            if often:
                rarity = math.log(1 + (len(sentences) - holding + 0.5) / (holding + 0.5))
                length = 1 - B + B * len(sentence) / mean
                rarity *= PAIRS if isinstance(gram, tuple) else math.sqrt(rarity / RARE)
                score += rarity * often * (K1 + 1) / (often + K1 * length)
        scores.append(score)
    return scores


@given(DOCUMENTS)
def test_bm25(documents):
    ragged = tf.RaggedTensor.from_row_lengths
    pieces = ragged(
        ragged(
            tf.constant([i for d, _ in documents for s in d for i in s], tf.int32),
            tf.constant([len(s) for d, _ in documents for s in d], tf.int64),
        ),
        tf.constant([len(d) for d, _ in documents], tf.int64),
    )
    queries = ragged(
        tf.constant([i for _, q in documents for i in q], tf.int32),
        tf.constant([len(q) for _, q in documents], tf.int64),
    )
    expected = []
    for sentences, query in ((d, q) for d, q in documents if d):
        both = [
            _bm25([tokens(sentence) for sentence in sentences], tokens(query))
            for tokens in (_counted, _words)
        ]
        expected += np.mean(both, 0).tolist()
    found = relevance(queries, pieces, WORDS, CONTINUES)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_long_words_that_share_their_beginning_are_told_apart():
    """Of a hundred pieces, whose keys overflow."""
    words = [[1] + [3] * 99, [1] + [3] * 98 + [4], [1] + [4] + [3] * 98]
    found = relevance(tf.ragged.constant([words[0]]), tf.ragged.constant([words]), WORDS, CONTINUES)
    pieces = _bm25(words, words[0])
    expected = [(a + b) / 2 for a, b in zip(pieces, _bm25([["a"], ["b"], ["c"]], ["a"]))]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


ASKED = st.integers(0, 12)


@given(st.lists(st.tuples(st.lists(st.tuples(BM25, COSINES), max_size=25), ASKED), max_size=3))
def test_meaning_counts_above_the_mean_of_its_own_text(texts):
    documents, asked = [d for d, _ in texts], [number for _, number in texts]
    values = np.array([pair for d in documents for pair in d], np.float32).reshape(-1, 2)
    owner = [i for i, d in enumerate(documents) for _ in d]
    expected, shares = [], []
    for d, number in ((d, number) for d, number in texts if d):
        words, cosines = np.array(d).T
        weight = MEANING * min(number / PIECES, 1) * min(len(d) / SENTENCES, 1)
        expected += (words + weight * np.maximum(cosines - cosines.mean(), 0)).tolist()
        shares += (words / (words.max() or 1.0)).tolist()

    rows = Rows(tf.constant(owner, tf.int64), tf.constant(len(documents), tf.int64))
    found = with_meaning(values[:, 0], values[:, 1], rows, tf.constant(asked, tf.float32))
    np.testing.assert_allclose(found, expected, atol=1e-3)  # 130 times float32's 1e-7, and sums
    np.testing.assert_allclose(of_best(values[:, 0], rows), shares, rtol=1e-5)
