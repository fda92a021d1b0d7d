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
LISTS = st.lists(st.integers(0, 5), max_size=6)
BM25 = st.just(0.0) | st.floats(0.125, 9, width=32)
COSINES = st.floats(-1, 1, width=32)
DOCUMENTS = st.lists(st.tuples(st.lists(LISTS, max_size=5), LISTS), min_size=1, max_size=3)


def _bm25(sentences, query):
    """Robertson and Zaragoza 2009, section 3.4, of pieces and pairs of neighbours."""
    sentences = [[i for i in sentence if WORDS[i]] for sentence in sentences]
    grams = [[*sentence, *itertools.pairwise(sentence)] for sentence in sentences]
    query = [i for i in query if WORDS[i]]
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
    expected = [value for d, q in documents if d for value in _bm25(d, q)]
    np.testing.assert_allclose(relevance(queries, pieces, WORDS), expected, rtol=1e-5, atol=1e-6)


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
    np.testing.assert_allclose(found, expected, atol=1e-3)  # 160 times float32's 1e-7, and sums
    np.testing.assert_allclose(of_best(values[:, 0], rows), shares, rtol=1e-5)
