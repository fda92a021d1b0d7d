"""Budgets of summaries beside Python's own counting, and what is chosen within them."""

import re
import unicodedata

import hypothesis.strategies as st
import pytest
import tensorflow as tf
from hypothesis import given

from tfsum.text.budget import UNLIMITED, Budget, budget_of, most_that_fit, with_room_for_one
from tfsum.text.selection import select

SENTENCE = st.text(
    st.sampled_from("ab. é\u00a0\u3000\u2028\x1f\x85\n東ひカ한ก\u200b")
    | st.characters(codec="utf-8"),
    max_size=12,
)
TEXTS = st.lists(st.lists(SENTENCE, max_size=4), min_size=1, max_size=3)


def _ragged(texts):
    flat = tf.constant([sentence for text in texts for sentence in text], tf.string)
    return tf.RaggedTensor.from_row_lengths(flat, tf.constant([len(t) for t in texts], tf.int64))


def _count(sentence):
    """Words by `str.split`, characters of scripts without spaces one by one."""
    apart = "".join(f" {c} " if _is_unspaced(c) else c for c in sentence)
    return len(apart.split())


def _is_unspaced(character):
    name = unicodedata.name(character, "")
    return name.startswith(
        ("CJK UNIFIED", "CJK COMPAT", "HIRAGANA LETTER", "KATAKANA LETTER", "THAI CHARACTER")
    )


@given(TEXTS.filter(lambda texts: all("\0" not in s for t in texts for s in t)))
def test_words_and_characters_are_those_of_python(texts):
    simple = [
        [re.sub(r"[^ab. é\u00a0\u3000\u2028\x1f\x85\n東ひカ한ก]", "", s) for s in t] for t in texts
    ]
    zeros = tf.zeros([len(texts)], tf.int32)
    found = budget_of(_ragged(simple), zeros, zeros, tf.zeros([len(texts)]))
    expected = [[_count(s), len(s) + 1] for t in simple for s in t]
    assert found.costs.numpy().tolist() == expected
    assert set(found.limits.numpy().ravel()) == {UNLIMITED}

    lengths = budget_of(_ragged(texts), zeros, zeros, tf.zeros([len(texts)])).costs[:, 1]
    assert lengths.numpy().tolist() == [len(s) + 1 for t in texts for s in t]


def test_limits():
    texts = _ragged([["a b c d e", "f g h i j"]] * 5)
    found = budget_of(
        texts,
        tf.constant([7, 0, 2, 0, 2**31 - 1]),
        tf.constant([0, 30, 0, 0, 2**31 - 1]),
        tf.constant([0.0, 0.0, 0.5, 0.01, 0.0]),
    )
    none = UNLIMITED
    # of a share at least one word; and the narrower of a share and a number
    assert found.limits.numpy().tolist() == [
        [7, none],
        [none, 31],
        [2, none],
        [1, none],
        [none, none],
    ]


COSTS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40)), max_size=8)
LIMITS = st.tuples(st.integers(0, 20), st.integers(0, 90))


@given(st.lists(st.tuples(COSTS, LIMITS), min_size=1, max_size=3), st.randoms())
def test_chosen_within_the_limits_as_long_as_there_is_room(documents, random):
    texts = _ragged([[f"w{i}" for i in range(len(costs))] for costs, _ in documents])
    flat = [cost for costs, _ in documents for cost in costs]
    budget = Budget(
        tf.reshape(tf.constant(flat, tf.int32), [-1, 2]),
        tf.constant([limit for _, limit in documents]),
    )
    scores = [[random.randrange(64) / 64 for _ in costs] for costs, _ in documents]
    present = [[random.random() < 0.8 for _ in costs] for costs, _ in documents]
    is_present = tf.constant([p for row in present for p in row], tf.bool)
    budget, may_be = with_room_for_one(budget, texts, is_present)
    limits = most_that_fit(budget, texts)
    found, count = select(
        tf.constant([score for row in scores for score in row], tf.float32),
        may_be,
        texts,
        limits,
        [False] * len(documents),
        tf.reduce_max(limits),
        budget,
    )
    for i, (costs, limit) in enumerate(documents):
        chosen = found[i, : count[i]].numpy().tolist()
        candidates = [j for j in range(len(costs)) if present[i][j]]
        room = [j for j in candidates if costs[j][0] <= limit[0] and costs[j][1] <= limit[1]]
        if candidates and not room:  # the shortest in words alone
            assert chosen == [min(candidates, key=lambda j: costs[j])]
            continue

        # from the best down, what has room
        expected, left = [], limit
        for j in sorted(candidates, key=lambda j: -scores[i][j]):
            if all(cost <= rest for cost, rest in zip(costs[j], left)):
                expected.append(j)
                left = tuple(rest - cost for cost, rest in zip(costs[j], left))
        assert chosen == sorted(expected)


@pytest.mark.parametrize("present", [[], [False, False]])
def test_no_sentence_needs_no_room(present):
    texts = _ragged([["a"] * len(present)])
    budget = budget_of(texts, tf.constant([1]), tf.constant([0]), tf.constant([0.0]))
    room, _ = with_room_for_one(budget, texts, tf.constant(present, tf.bool))
    assert room.limits.numpy().tolist() == budget.limits.numpy().tolist()
