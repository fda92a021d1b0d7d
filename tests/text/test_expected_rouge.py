"""`expected_rouge_ranks` against the same rule with Python's counters, and what must change
nothing."""

from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

from tfsum.text.expected_rouge import CANDIDATES, expected_rouge_ranks, is_word
from tfsum.text.selection import select

WORDS = np.array([False, True, True, True, True, False])  # pieces 0 and 5 are punctuation
SENTENCE = st.tuples(
    st.lists(st.integers(0, 5), max_size=7), st.integers(0, 64).map(lambda i: i / 64)
)
DOCUMENT = st.tuples(st.lists(SENTENCE, max_size=7), st.integers(0, 4))


@tf.function(
    input_signature=[
        tf.TensorSpec([None, None]),
        tf.TensorSpec([None, None], tf.bool),
        tf.RaggedTensorSpec([None, None, None], tf.int32),
        tf.TensorSpec([None], tf.int32),
    ],
    autograph=False,
)
def _three_in_graph(p, present, pieces, most):
    return expected_rouge_ranks(p, present, pieces, WORDS, most, 3)


def _eagerly(limit):
    return lambda p, present, pieces, most: expected_rouge_ranks(
        p, present, pieces, WORDS, most, limit
    )


def _ranks(documents, limit, more=0, rank=None):
    """Pads documents of ([(pieces, probability)], most) into one batch; the ranks of each one's
    sentences."""
    width = max([len(d) for d, _ in documents], default=0) + more
    pieces = tf.RaggedTensor.from_row_lengths(
        tf.RaggedTensor.from_row_lengths(
            tf.constant([i for d, _ in documents for s, _ in d for i in s], tf.int32),
            tf.constant([len(s) for d, _ in documents for s, _ in d], tf.int64),
        ),
        tf.constant([len(d) for d, _ in documents], tf.int64),
    )
    p = np.full((len(documents), width), 0.7, np.float32)
    for i, (document, _) in enumerate(documents):
        p[i, : len(document)] = [s[1] for s in document]
    present = tf.sequence_mask([len(d) for d, _ in documents], width)
    ranks = (rank or _eagerly(limit))(
        tf.constant(p), present, pieces, tf.constant([m for _, m in documents], tf.int32)
    )
    return [row[: len(d)] for row, (d, _) in zip(ranks.numpy(), documents)]


def _expected_rouge(chosen: Counter, expected: Counter) -> float:
    both = chosen.total() + expected.total()
    return 2 * sum(min(n, expected[gram]) for gram, n in chosen.items()) / both if both else 0.0


def _bags(pieces):
    words = [i for i in pieces if WORDS[i]]
    return Counter(words), Counter(zip(words, words[1:]))


def _expected(document, most):
    mass = sum(p for _, p in document)
    expected = Counter(), Counter()
    for pieces, p in document:
        for total, bag in zip(expected, _bags(pieces)):
            for gram, n in bag.items():
                total[gram] += n * p * most / mass if mass else 0.0
    return expected


def _value(document, expected, indices):
    bags = [_bags(document[i][0]) for i in indices]
    return np.mean(
        [_expected_rouge(sum((b[n] for b in bags), Counter()), expected[n]) for n in range(2)]
    )


@given(st.lists(DOCUMENT, min_size=1, max_size=3), st.integers(1, 4))
def test_each_one_chosen_is_the_best_by_the_rule(documents, limit):
    for (document, most), ranks in zip(documents, _ranks(documents, limit)):
        expected, chosen = _expected(document, most), []
        for place in range(min(limit, len(document))):
            (index,) = np.flatnonzero(ranks == 1 + limit - place)
            left = [i for i in range(len(document)) if i not in chosen]
            worded = [i for i in left if _bags(document[i][0])[0]]
            values = {i: _value(document, expected, [*chosen, i]) for i in worded}
            if worded:
                assert values[index] >= max(values.values()) - 1e-6
            chosen.append(int(index))
        for i in set(range(len(document))) - set(chosen):
            assert ranks[i] == np.float32(document[i][1])


@given(st.lists(DOCUMENT, min_size=1, max_size=4), st.integers(0, 80))
def test_other_documents_and_padding_change_nothing(documents, more):
    alone = [_ranks([d], 3, rank=_three_in_graph)[0] for d in documents]
    for one, among in zip(alone, _ranks(documents, 3, more, _three_in_graph)):
        np.testing.assert_array_equal(one, among)


def test_says_a_thing_once():
    """By score the second sentence would be chosen, which repeats the first."""
    document = [([1, 2, 1], 0.9), ([1, 2, 1], 0.8), ([3, 4, 3], 0.6), ([5], 1.0)]
    ranks = _ranks([(document, 2)], 4)[0]
    # the one without a word last, however good its score
    assert ranks.tolist() == [5.0, 3.0, 4.0, 2.0]


def test_ties_go_to_the_better_score_then_to_the_earlier():
    assert _ranks([([([1], 0.5), ([1], 0.5), ([1], 0.75)], 1)], 3)[0].tolist() == [3.0, 2.0, 4.0]


def test_nothing_to_rank():
    assert [r.tolist() for r in _ranks([([], 3), ([], 0)], 2)] == [[], []]
    assert _ranks([([([1], float("nan"))], 2)], 2)[0].tolist() == [3.0]


def test_more_sentences_than_candidates_and_then_the_selection():
    size = 1000
    document = [([1 + i % 4], i / size) for i in range(size)]
    ranks = _ranks([(document, 3)], 3)[0]
    assert set(np.flatnonzero(ranks > 1)) <= set(range(size - CANDIDATES, size))
    texts = tf.RaggedTensor.from_tensor(tf.fill([1, size], "a"))
    chosen, count = select(ranks[None], np.ones((1, size), bool), texts, [3], [False], 3)
    assert count.numpy() == 3 and sorted(np.argsort(-ranks)[:3]) == chosen.numpy()[0].tolist()


@pytest.mark.parametrize(
    "piece, counts",
    [
        ("the", True),
        ("##s", True),
        ("7", True),
        ("한", True),
        ("中", True),
        (",", False),
        ("##!", False),
        ("[CLS]", False),
        ("[unused7]", False),
    ],
)
def test_words_are_pieces_with_a_letter_or_a_digit(piece, counts):
    assert is_word([piece]).tolist() == [counts]
