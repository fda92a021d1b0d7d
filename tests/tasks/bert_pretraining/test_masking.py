"""Masks against closed binomial bounds on large samples, and as a pure function of seed, epoch and
record."""

import math

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfsum.errors import Error
from tfsum.tasks.bert_pretraining.masking import Masking, mix, stream

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[unused0]",
    "[",
    *(f"w{i}" for i in range(60)),
    *(f"##i{i}" for i in range(33)),
]
CLS, SEP, MASK, FIRST = 2, 3, 4, 7
ROWS, LENGTH = 6000, 64


def near(found, number, chance):
    """Whether counts are within 5 standard deviations of a binomial's mean."""
    return np.all(np.abs(found - number * chance) <= 5 * np.sqrt(number * chance * (1 - chance)))


def rows_of(rng, number=ROWS, length=LENGTH, shortest=None):
    """Random rows `[CLS] first [SEP] second [SEP]`, padded where they are shorter."""
    ids = rng.integers(FIRST, len(WORDS), (number, length)).astype(np.int32)
    lengths = (
        np.full(number, length) if shortest is None else rng.integers(shortest, length + 1, number)
    )
    ids[:, 0] = CLS
    ids[np.arange(number), rng.integers(2, lengths - 2)] = SEP
    ids[np.arange(number), lengths - 1] = SEP
    ids[np.arange(length) >= lengths[:, None]] = 0
    return ids


def masked(ids, epoch=0, record=None, **options):
    record = np.arange(len(ids)) if record is None else record
    return {
        name: value.numpy()
        for name, value in Masking(WORDS, **options)(tf.constant(ids), epoch, record).items()
    }


def chosen_of(ids, found):
    """Which positions are predicted, from the lists: bool (B, T)."""
    chosen = np.zeros(ids.shape, bool)
    row, slot = np.nonzero(found["masked_lm_weights"])
    chosen[row, found["masked_lm_positions"][row, slot]] = True
    return chosen


@pytest.fixture(scope="module")
def sample():
    ids = rows_of(np.random.default_rng(0))
    return ids, masked(ids, seed=1)


def test_lists_say_what_was_hidden(sample):
    ids, found = sample
    chosen = chosen_of(ids, found)
    assert not chosen[ids <= SEP].any()  # no [PAD], [CLS], [SEP]
    np.testing.assert_array_equal(found["token_ids"][~chosen], ids[~chosen])
    whole = found["token_ids"].copy()
    row, slot = np.nonzero(found["masked_lm_weights"])
    whole[row, found["masked_lm_positions"][row, slot]] = found["masked_lm_ids"][row, slot]
    np.testing.assert_array_equal(whole, ids)
    positions = np.where(found["masked_lm_weights"] > 0, found["masked_lm_positions"], LENGTH)
    assert (np.diff(positions, axis=1) >= 0).all()
    assert chosen.sum() == len(row)  # none twice


def test_how_many_are_chosen():
    """n = round(0.15 T), to even, of the tokens that are no padding, 1 at least and
    `max_predictions` at most."""
    ids = rows_of(np.random.default_rng(1), 500, 90, shortest=5)
    for most in (20, 7):
        found = masked(ids, max_predictions=most)
        expected = [min(most, max(1, round(0.15 * n))) for n in (ids != 0).sum(1).tolist()]
        assert found["masked_lm_weights"].sum(1).tolist() == expected
        assert found["masked_lm_ids"].shape[1] == max(expected)


def test_every_place_is_chosen_as_often(sample):
    ids, found = sample
    chosen, words = chosen_of(ids, found), ids > SEP
    chance = round(0.15 * LENGTH) / (LENGTH - 3)
    assert near((chosen & words).sum(0)[1:-1], words.sum(0)[1:-1], chance)
    for piece in range(FIRST, len(WORDS)):
        assert near(chosen[ids == piece].sum(), (ids == piece).sum(), chance)


def test_what_becomes_of_the_chosen(sample):
    ids, found = sample
    chosen = chosen_of(ids, found)
    seen, true, number = found["token_ids"][chosen], ids[chosen], int(chosen.sum())
    ordinary = len(WORDS) - 6  # no special piece and none in brackets
    assert near((seen == MASK).sum(), number, 0.8)
    assert near((seen == true).sum(), number, 0.1 + 0.1 / ordinary)
    others = np.bincount(seen[(seen != MASK) & (seen != true)], minlength=len(WORDS))
    assert not others[:6].any() and near(others[6:], number, 0.1 / ordinary * (1 - 1 / ordinary))


def test_epochs_records_and_seeds_are_independent(sample):
    """Two masks share as many places as chance gives: n * n / N of N words."""
    ids, found = sample
    n, words = round(0.15 * LENGTH), LENGTH - 3
    # variance of a hypergeometric number
    spread = n * (n / words) * (1 - n / words) * (words - n) / (words - 1)
    chosen = chosen_of(ids, found)
    others = [
        masked(ids, epoch=1, seed=1),
        masked(ids, epoch=0, seed=2),
        masked(ids, record=np.arange(ROWS) + 1, seed=1),
    ]
    for other in others:
        shared = (chosen & chosen_of(ids, other)).sum()
        assert abs(shared - ROWS * n * n / words) <= 5 * math.sqrt(ROWS * spread)
    fates = [np.where(chosen_of(ids, m), m["token_ids"] == MASK, -1) for m in (found, others[0])]
    both = (fates[0] >= 0) & (fates[1] >= 0)
    assert near(((fates[0] == 1) & (fates[1] == 1) & both).sum(), both.sum(), 0.64)


def test_a_mask_depends_on_the_record_alone():
    ids = rows_of(np.random.default_rng(3), 40, 50, shortest=10)
    record = np.arange(40) * 7 + 2**33
    whole = masked(ids, 5, record, whole_words=True, seed=-3)
    some = np.array([31, 4, 20])
    part = masked(np.pad(ids[some], ((0, 0), (0, 13))), 5, record[some], whole_words=True, seed=-3)
    width = part["masked_lm_ids"].shape[1]
    np.testing.assert_array_equal(part["token_ids"][:, :50], whole["token_ids"][some])
    for name in ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"):
        np.testing.assert_array_equal(part[name], whole[name][some][:, :width])
    in_graph = tf.function(Masking(WORDS, whole_words=True, seed=-3).__call__)(
        tf.constant(ids), tf.constant(5), record
    )
    for name, value in in_graph.items():
        np.testing.assert_array_equal(value, whole[name])


def words_of(row):
    """The words of a row as lists of positions; a [SEP] parts them."""
    words = []
    for place, piece in enumerate(row):
        if piece > SEP and WORDS[piece].startswith("##") and row[place - 1] > SEP:
            words[-1].append(place)
        elif piece > SEP:
            words.append([place])
    return words


@given(seed=st.integers(0, 2**40), share=st.floats(0.05, 1.0), most=st.integers(1, 30))
def test_whole_words_are_chosen_whole_and_no_room_is_left(seed, share, most):
    ids = rows_of(np.random.default_rng(seed), 8, 40, shortest=6)
    found = masked(ids, whole_words=True, seed=seed, share=share, max_predictions=most)
    chosen = chosen_of(ids, found)
    for row, places in zip(ids, chosen, strict=True):
        number = min(most, max(1, round(int((row != 0).sum()) * share)))
        words = words_of(row.tolist())
        taken = [places[word].all() for word in words]
        assert taken == [places[word].any() for word in words] and places.sum() <= number
        left = number - places.sum()
        assert all(len(word) > left for word, takes in zip(words, taken, strict=True) if not takes)


def test_whole_words_are_drawn_evenly():
    """Rows of equal words of two pieces: each word is as likely; what becomes of its pieces is
    drawn apart."""
    ids = np.tile(np.array([CLS, *[FIRST, len(WORDS) - 1] * 10, SEP], np.int32), (8000, 1))
    found = masked(ids, whole_words=True, share=0.2)
    chosen = chosen_of(ids, found)  # round(0.2 * 22) = 4 pieces, 2 words of 10
    assert near(chosen[:, 1:-1].sum(0), 8000, 0.2)
    hidden = found["token_ids"][:, 1:-1].reshape(8000, 10, 2)[chosen[:, 1:-1:2]] == MASK
    assert near(hidden.all(1).sum(), len(hidden), 0.64)


def test_numbers_are_splitmix64s():
    """The first numbers of Vigna's splitmix64.c for two seeds."""
    for seed, expected in (
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]),
        (1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423]),
    ):
        assert stream(tf.constant(seed, tf.uint64), tf.range(3)).numpy().tolist() == expected
    flips = [
        bin(
            int(mix(tf.constant(5, tf.uint64))) ^ int(mix(tf.constant(5 ^ (1 << b), tf.uint64)))
        ).count("1")
        for b in range(64)
    ]
    assert 24 < np.mean(flips) < 40


def test_a_vocabulary_without_the_mask_is_named():
    with pytest.raises(Error, match=r"the vocabulary has no \[MASK\]"):
        Masking([word for word in WORDS if word != "[MASK]"])
