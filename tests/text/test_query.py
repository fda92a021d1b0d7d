"""`relevance` beside BM25 as its formula says, in Python's numbers."""

import math

import hypothesis.strategies as st
import numpy as np
import tensorflow as tf
from hypothesis import given

from tfsum.text.query import K1, B, relevance

WORDS = np.array([False, True, True, True, True, False])  # pieces 0 and 5 are punctuation
PIECES = st.lists(st.integers(0, 5), max_size=6)
DOCUMENTS = st.lists(st.tuples(st.lists(PIECES, max_size=5), PIECES), min_size=1, max_size=3)


def _bm25(sentences, query):
    """Robertson and Zaragoza 2009, section 3.4, divided by the largest."""
    sentences = [[i for i in sentence if WORDS[i]] for sentence in sentences]
    mean = sum(map(len, sentences)) / len(sentences)
    scores = []
    for sentence in sentences:
        score = 0.0
        for i in query:
            holding = sum(i in other for other in sentences)
            often = sentence.count(i)
            if WORDS[i] and often:
                rarity = math.log(1 + (len(sentences) - holding + 0.5) / (holding + 0.5))
                length = 1 - B + B * len(sentence) / mean
                score += rarity * often * (K1 + 1) / (often + K1 * length)
        scores.append(score)
    return [score / (max(scores) or 1.0) for score in scores]


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
