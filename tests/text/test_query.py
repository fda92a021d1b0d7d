"""Shared words beside BM25 as its formula says, in Python's numbers, and meaning beside numpy's."""

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
    SharedWords,
    of_best,
    plurals_of,
    with_meaning,
)
from tfsum.text.rows import Rows

VOCABULARY = [".", "cost", "costs", "##er", "##s", "!"]
IN_WORDS = {1: 2, 2: 2, 3: 4, 4: 0}  # what a piece adds to a word: costs as cost, ##s nothing
LISTS = st.lists(st.integers(0, 5), max_size=6)
BM25 = st.just(0.0) | st.floats(0.125, 9, width=32)
COSINES = st.floats(-1, 1, width=32)
DOCUMENTS = st.lists(st.tuples(st.lists(LISTS, max_size=5), LISTS), min_size=1, max_size=3)


def _counted(pieces):
    return [str(piece) for piece in pieces if piece in IN_WORDS]


def _words(pieces):
    """Each word as what its pieces add to it, without what adds nothing at its end; one counts
    where a part does that adds something."""
    words, counted = [], []
    for i, piece in enumerate(pieces):
        if not i or not VOCABULARY[piece].startswith("##"):
            words.append([])
            counted.append(False)
        counted[-1] |= IN_WORDS.get(piece, 0) > 0
        words[-1].append(IN_WORDS.get(piece, piece + 1))
    ends = (max((i for i, part in enumerate(word, 1) if part), default=0) for word in words)
    parts = [str(word[:end]) for word, end in zip(words, ends)]
    return [word for word, is_counted in zip(parts, counted) if is_counted]


def _share(sentences, query):
    """The share of a query's tokens that are in sentences, by their rarity."""
    rarity = {}
    for token in query:
        holding = sum(token in sentence for sentence in sentences)
        rarity[token] = math.log(1 + (len(sentences) - holding + 0.5) / (holding + 0.5))
    found = sum(rarity[token] for token in rarity if any(token in each for each in sentences))
    return found / (sum(rarity.values()) or 1.0)


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
    expected, shares = [], []
    for sentences, query in documents:
        both = [
            ([tokens(sentence) for sentence in sentences], tokens(query))
            for tokens in (_counted, _words)
        ]
        if sentences:
            expected += np.mean([_bm25(*each) for each in both], 0).tolist()
        few = min(max(len(sentences), 1) / SENTENCES, 1)
        shares.append(min(np.mean([_share(*each) for each in both]) / few, 1))
    found, share = SharedWords(VOCABULARY)(queries, pieces)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(share, shares, rtol=1e-5)


def test_long_words_that_share_their_beginning_are_told_apart():
    """Of a hundred pieces, whose keys overflow."""
    words = [[1] + [3] * 99, [1] + [3] * 98 + [4, 3], [1] + [4] + [3] * 98]
    shared = SharedWords(VOCABULARY)
    found, _ = shared(tf.ragged.constant([words[0]]), tf.ragged.constant([words]))
    pieces = _bm25(words, words[0])
    expected = [(a + b) / 2 for a, b in zip(pieces, _bm25([["a"], ["b"], ["c"]], ["a"]))]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_plurals():
    words = (
        "gas gases buses bus boss bos series serie years year 1990s 1990 ##years AS A s ##s Ás Á"
    )
    vocabulary = words.split()
    found = {vocabulary[a]: vocabulary[b - 1] for a, b in plurals_of(vocabulary).tolist() if b}
    assert found == {"series": "serie", "years": "year"}
    assert [vocabulary[a] for a, b in plurals_of(vocabulary).tolist() if not b] == ["##s"]
    assert plurals_of(["[PAD]", "rain"]).shape == (0, 2)


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
