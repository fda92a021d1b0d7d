"""`repeats` against the same rule with Python's counters, and what is chosen of texts that say a
thing twice, in every way of choosing."""

import functools
import itertools
import random
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

from tfsum.text.budget import budget_of, costs_of
from tfsum.text.expected_rouge import AUTOMATIC
from tfsum.text.repeats import COMPARED, repeats
from tfsum.text.rows import Rows
from tfsum.text.selection import select_sentences

WORD = st.sampled_from(["a", "A", "the", "더", "é", "x1", "2", "no"])
SENTENCE = st.lists(WORD, max_size=COMPARED)
# sentences beside some that differ from them by a few words
LIKE = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20), WORD), max_size=3)
TEXT = st.tuples(st.lists(SENTENCE, max_size=5), st.lists(LIKE, max_size=5))
SCORE = st.sampled_from([0.0, 0.25, 0.5, 0.75])


@functools.cache
def _graph():
    shapes = [
        tf.RaggedTensorSpec([None, None], tf.string),
        tf.TensorSpec([None]),
        tf.TensorSpec([None], tf.bool),
    ]
    return tf.function(repeats, input_signature=shapes, autograph=False)


def _ragged(texts):
    flat = tf.constant([one for text in texts for one in text], tf.string)
    return tf.RaggedTensor.from_row_lengths(flat, tf.constant([len(t) for t in texts], tf.int64))


def _repeats(texts, scores, candidates):
    flags = _graph()(
        _ragged(texts), tf.constant(scores, tf.float32), tf.constant(candidates, tf.bool)
    )
    return flags.numpy().tolist()


def _loses(words, others):
    """Whether a sentence may lose the words that another lacks."""
    most = min(2, len(words) // 5)
    lost = [*(Counter(words) - Counter(others)).elements()]
    numbers = any(c.isdigit() for word in lost for c in word)
    return len(lost) <= most and not (numbers and len(words) < 10)


def nearly_the_same(one, other):
    """The rule, for sentences of words."""
    one, other = (sentence.upper().split() for sentence in (one, other))
    return _loses(one, other) and _loses(other, one)


def _marked(text, scores, candidates):
    """Which sentences of a text have a better one that is nearly the same."""
    order = sorted(
        (i for i, may_be in enumerate(candidates) if may_be), key=lambda i: (-scores[i], i)
    )
    return [
        candidates[i] and any(nearly_the_same(text[i], text[j]) for j in order[: order.index(i)])
        for i in range(len(text))
    ]


def _changed(sentence, changes):
    for kind, place, word in changes:
        place %= len(sentence) + 1
        sentence = [*sentence[:place], *[word] * (kind > 1), *sentence[place + (kind % 2) :]]
    return sentence[:COMPARED]


def _text(drawn):
    sentences, changes = drawn
    like = [_changed(sentence, each) for sentence, each in zip(sentences, changes)]
    return [" ".join(words) for words in sentences + like]


@given(st.lists(TEXT.map(_text), min_size=1, max_size=3), st.data())
def test_the_rule(texts, data):
    size = sum(map(len, texts))
    scores = data.draw(st.lists(SCORE, min_size=size, max_size=size))
    candidates = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    expected, start = [], 0
    for text in texts:
        part = slice(start, start + len(text))
        expected += _marked(text, scores[part], candidates[part])
        start += len(text)
    assert _repeats(texts, scores, candidates) == expected


def test_of_two_long_sentences_that_differ_in_two_words_one_is_left():
    chance = random.Random(0)
    for _ in range(60):
        words = [f"{chance.choice('ab1')}{chance.randrange(60)}" for _ in range(40)]
        one = words[: chance.randrange(COMPARED - 1, 40)]
        other = one.copy()
        for _ in range(2):
            place = chance.randrange(len(other))
            other[place : place + chance.randrange(2)] = ["new"][: chance.randrange(2)]
        chance.shuffle(other)
        noise = [chance.sample(words, 12) for _ in range(4)]
        text = [" ".join(sentence) for sentence in (one, *noise, other)]
        assert _repeats([text], [0.5] + [0.9] * 4 + [0.7], [True] * 6)[0], text

    # those that share half of their words stay
    texts = [[" ".join(chance.sample(words, 20)) for _ in range(9)]]
    assert not any(_repeats(texts, [0.5] * 9, [True] * 9))


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("Why?", "WHY!", True),
        ("It cost 5 million.", "It cost 9 million.", False),
        ("It cost them all 5 million.", "It cost them all 9 million.", False),
        ("It cost them all 5 million.", "It has cost them all 5 million.", True),
        ("The ferry is late today.", "The ferry is late again.", True),
        ("The old ferry is late again today.", "The new ferry is late again tomorrow.", False),
        (
            "The ferry to Skerrin is cancelled today because of the storm.",
            "The ferry to Skerrin was cancelled today because of that storm.",
            True,
        ),
        ("渡し船は今日欠航です。", "渡し船は明日欠航です。", True),
        ("渡し船は今日欠航です。", "学校は今日休みです。", False),
        ("เรือข้ามฟากหยุดวันนี้", "เรือข้ามฟากหยุด", False),
        (
            "연락선은 오늘 폭풍 때문에 운항하지 않는다.",
            "연락선은 내일 폭풍 때문에 운항하지 않는다.",
            True,
        ),
        ("😀", "🎉", False),
        (b"caf\xe9 \x80 one two three", b"caf\xe9 \x80 one two four", True),
    ],
)
def test_sentences_that_are_nearly_the_same(one, other, same):
    assert _repeats([[one, other], [other]], [0.5, 0.5, 0.9], [True] * 3) == [False, same, False]


SAID = [
    "The ferry to Skerrin is cancelled today because of the storm.",
    "The ferry to Skerrin is cancelled tomorrow because of the wind.",
    "Why?",
    "Nobody knows.",
    "The council will pay for a boat until the end of the summer.",
    "The council will pay for boats until the end of the summer.",
    "渡し船は今日欠航です。",
]


NUMBERS = {word: i for i, word in enumerate(sorted(set(" ".join(SAID).split())))}


@functools.cache
def _chosen(has_pieces):
    """`select_sentences` within a budget of words, in a graph."""

    def chosen(scores, texts, pieces, most, blocked, words, by_score):
        rows, nothing = Rows.of(texts), tf.zeros([2], tf.int32)
        return select_sentences(
            scores,
            texts,
            tf.fill([2], most),
            tf.fill([2], blocked),
            50,
            pieces if has_pieces else None,
            np.full(len(NUMBERS), True),
            budget=budget_of(
                costs_of(texts.flat_values),
                rows,
                *(tf.fill([2], words), nothing, nothing, tf.zeros([2]), rows, nothing),
            ),
            by_score=tf.fill([2], by_score),
        )

    shapes = [
        tf.TensorSpec([None]),
        tf.RaggedTensorSpec([2, None], tf.string),
        tf.RaggedTensorSpec([2, None, None], tf.int32),
        *(tf.TensorSpec([], kind) for kind in (tf.int32, tf.bool, tf.int32, tf.bool)),
    ]
    return tf.function(chosen, input_signature=shapes, autograph=False)


@pytest.mark.parametrize("way", ["score", "expected_rouge", "query"])
@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("words, most", [(0, 3), (0, 50), (40, 50), (80, 50), (0, AUTOMATIC)])
def test_nothing_is_said_twice(way, blocked, words, most):
    if most == AUTOMATIC and way == "score":
        pytest.skip("a number of sentences is expected there")
    chance, texts = random.Random(words + most), [SAID * 5, SAID * 3]
    for text in texts:
        chance.shuffle(text)
    pieces = tf.ragged.constant(
        [[[NUMBERS[word] for word in said.split()] for said in text] for text in texts],
        tf.int32,
    )
    scores = [chance.random() for text in texts for _ in text]
    chosen, count = _chosen(way != "score")(
        scores, _ragged(texts), pieces, most, blocked, words, way == "query"
    )
    for text, row, number in zip(texts, chosen.numpy(), count.numpy()):
        found = [text[i] for i in row[:number]]
        assert found
        for one, other in itertools.combinations(found, 2):
            assert not nearly_the_same(one.strip("?."), other.strip("?.")), found
        if most == 50 and not words and not blocked:  # as many as say different things
            assert number == 5


@pytest.mark.parametrize("rows", [0, 3])
def test_no_sentence(rows):
    assert _repeats([[]] * rows, [], []) == []


def test_a_hundred_thousand_sentences():
    size = 100_000
    same = [f"Row {i} of the very long table costs {i % 7}." for i in range(size)]
    flags = _repeats([same], np.linspace(0, 1, size), [True] * size)
    assert flags.count(False) >= 1 and not flags[-1]
    long = [" ".join(["word"] * size), "word " * 17]
    assert _repeats([long], [0.5, 0.4], [True] * 2) == [False, True]
