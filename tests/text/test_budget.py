"""Budgets of summaries beside Python's own counting, and what is chosen within them."""

import operator
import re
import unicodedata

import hypothesis.strategies as st
import pytest
import tensorflow as tf
from hypothesis import given

from tfsum.text.budget import (
    UNLIMITED,
    Budget,
    budget_of,
    costs_of,
    most_that_fit,
    with_room_for_one,
)
from tfsum.text.rows import Rows
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


def _budget(texts, words=0, characters=0, share=0.0, in_bytes=0):
    """The budget of texts of one document each, with a number for each text or one for all."""
    rows = [texts.nrows()]
    numbers = (tf.broadcast_to(each, rows) for each in (words, characters, in_bytes, share))
    costs, of_texts = costs_of(texts.flat_values), Rows.of(texts)
    return budget_of(costs, of_texts, *numbers, of_texts, tf.zeros(rows, tf.int32))


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
    found = _budget(_ragged(simple))
    expected = [[_count(s), len(s) + 1, len(s.encode()) + 1] for t in simple for s in t]
    assert found.costs.numpy().tolist() == expected
    assert set(found.limits.numpy().ravel()) == {UNLIMITED}

    lengths = _budget(_ragged(texts)).costs[:, 1]
    assert lengths.numpy().tolist() == [len(s) + 1 for t in texts for s in t]


def test_limits():
    texts = _ragged([["a b c d e", "f g h i j"]] * 5)
    found = _budget(
        texts,
        [7, 0, 2, 0, 2**31 - 1],
        [0, 30, 0, 0, 2**31 - 1],
        [0.0, 0.0, 0.5, 0.01, 0.0],
        [0, 0, 12, 0, 2**31 - 1],
    )
    none = UNLIMITED
    # of a share at least one word; and the narrower of a share and a number
    assert found.limits.numpy().tolist() == [
        [7, none, none],
        [none, 31, none],
        [2, none, 13],
        [1, none, none],
        [none, none, none],
    ]


COSTS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40), st.integers(1, 80)), max_size=8)
LIMITS = st.tuples(st.integers(0, 20), st.integers(0, 90), st.integers(0, 180))
MOST = st.sampled_from([1, 2, UNLIMITED])  # sentences of a document


@given(st.lists(st.tuples(COSTS, LIMITS, MOST), min_size=1, max_size=3), st.randoms())
def test_chosen_within_the_limits_as_long_as_there_is_room(texts, random):
    """A sentence that says what another does, or of whose document there are enough, is skipped."""
    said = [[random.choice(["a b c", f"w{i}"]) for i in range(len(t[0]))] for t in texts]
    document = [sorted(random.randrange(3) for _ in row) for row in said]
    owner = [3 * i + number for i, row in enumerate(document) for number in row]
    flat = [cost for costs, *_ in texts for cost in costs]
    budget = Budget(
        tf.reshape(tf.constant(flat, tf.int32), [-1, 3]),
        tf.constant([limit for _, limit, _ in texts]),
        Rows(tf.constant(owner, tf.int64), 3 * len(texts)),
        tf.constant([most for costs, _, most in texts for _ in costs], tf.int32),
    )
    scores = [[random.randrange(64) / 64 for _ in row] for row in said]
    present = [[random.random() < 0.8 for _ in row] for row in said]
    is_present = tf.constant([p for row in present for p in row], tf.bool)
    budget, may_be = with_room_for_one(budget, _ragged(said), is_present)
    limits = most_that_fit(budget, _ragged(said))
    found, count = select(
        tf.constant([score for row in scores for score in row], tf.float32),
        may_be,
        _ragged(said),
        limits,
        [True] * len(texts),
        tf.reduce_max(limits),
        budget,
    )
    for i, (costs, limit, most) in enumerate(texts):
        chosen = found[i, : count[i]].numpy().tolist()
        candidates = [j for j in range(len(costs)) if present[i][j]]
        room = [j for j in candidates if all(map(operator.le, costs[j], limit))]
        if candidates and not room:  # the shortest in words alone
            assert chosen == [min(candidates, key=lambda j: costs[j][:2])]
            continue

        # from the best down, what has room
        expected, left = [], limit
        for j in sorted(candidates, key=lambda j: -scores[i][j]):
            is_new = said[i][j] not in [said[i][k] for k in expected]
            others = sum(document[i][k] == document[i][j] for k in expected)
            has_room = all(cost <= rest for cost, rest in zip(costs[j], left))
            if is_new and others < most and has_room:
                expected.append(j)
                left = tuple(rest - cost for cost, rest in zip(costs[j], left))
        assert chosen == sorted(expected)


@pytest.mark.parametrize("present", [[], [False, False]])
def test_no_sentence_needs_no_room(present):
    texts = _ragged([["a"] * len(present)])
    budget = _budget(texts, words=1)
    room, _ = with_room_for_one(budget, texts, tf.constant(present, tf.bool))
    assert room.limits.numpy().tolist() == budget.limits.numpy().tolist()
