"""Masks against literal tables."""

import numpy as np
import pytest
import tensorflow as tf

from tfsum.errors import Error
from tfsum.layers import look_ahead_mask, padding_mask
from tfsum.layers.masks import additive_mask, combine_masks


def test_padding_is_zero():
    ids = np.array([[7, 3, 0, 0], [0, 0, 0, 0], [5, 0, 6, 0]], np.int32)
    expected = [[True, True, False, False], [False] * 4, [True, False, True, False]]
    assert np.asarray(padding_mask(ids)).tolist() == expected


def test_each_position_sees_itself_and_what_came_before():
    expected = [[[True, False, False], [True, True, False], [True, True, True]]]
    assert np.asarray(look_ahead_mask(3)).tolist() == expected


def test_a_length_known_only_in_the_graph():
    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def mask(ids):
        return look_ahead_mask(tf.shape(ids)[1])

    assert mask(np.zeros((1, 4), np.int32)).numpy().tolist() == [np.tri(4, dtype=bool).tolist()]


def test_hidden_scores_vanish_whatever_they_were():
    scores = np.array([[3.0, 1e4, -2.0]], np.float32)
    weights = tf.nn.softmax(scores + np.asarray(additive_mask(np.array([[True, False, True]]))))
    np.testing.assert_allclose(
        weights, [[1 / (1 + np.exp(-5.0)), 0.0, 1 / (1 + np.exp(5.0))]], rtol=1e-6
    )


ROWS = np.array([[True, True, False], [True, False, False]])  # (B, Tk)
LOOK_AHEAD = np.tri(3, dtype=bool)[None]  # (1, Tq, Tk)
SCORES = (2, 4, 3, 3)  # (B, H, Tq, Tk)
OF_HEADS = np.random.default_rng(0).random((2, 4, 3, 3)) < 0.5  # (B, H, Tq, Tk)


@pytest.mark.parametrize(
    ("attention_mask", "key_mask", "expected"),
    [
        (LOOK_AHEAD, None, LOOK_AHEAD[:, None]),
        (None, ROWS, ROWS[:, None, None, :]),
        (None, ROWS.astype(int), ROWS[:, None, None, :]),
        (LOOK_AHEAD, ROWS, np.tri(3, dtype=bool) & ROWS[:, None, None, :]),
        (OF_HEADS, ROWS, OF_HEADS & ROWS[:, None, None, :]),
    ],
)
def test_two_masks_become_one(attention_mask, key_mask, expected):
    np.testing.assert_array_equal(combine_masks(attention_mask, key_mask, SCORES), expected)


def test_no_mask_stays_none():
    assert combine_masks(None, None, SCORES) is None


@pytest.mark.parametrize(
    ("masks", "says"),
    [
        ((ROWS, None), r"attention_mask has shape \(2, 3\).*is the argument key_mask"),
        ((ROWS[0], None), r"attention_mask has shape \(3,\)"),
        ((None, ROWS[:, None]), r"key_mask .*shape \(2, 1, 3\).*argument attention_mask"),
        ((None, ROWS[0]), r"key_mask .*shape \(3,\)"),
    ],
)
def test_a_mask_of_another_rank_names_the_argument(masks, says):
    with pytest.raises(Error, match=says):
        combine_masks(*masks, SCORES)


@pytest.mark.parametrize(
    ("masks", "says"),
    [
        (
            (None, [[0, 0, -1e9], [0, -1e9, -1e9]]),
            r"key_mask .*float32 with -1000000000.0.* by mask == 0",
        ),
        ((None, [0, 0, -1e9]), r"key_mask .*float32 with -1000000000.0"),
        ((np.where(LOOK_AHEAD, 0, -10000), None), "attention_mask is int.* with -10000;"),
        ((None, ROWS * 2), "key_mask .*int.* with 2;"),
        ((None, ROWS[:, :2]), r"key_mask .*has 2 keys, its shape .* is \(2, 2\); expected 3 keys"),
        ((None, ROWS[:1]), "key_mask .*has 1 rows, .*; expected 2 rows"),
        ((None, np.ones((3, 3), bool)), "key_mask .*has 3 rows, .*; expected 2 rows"),
        ((LOOK_AHEAD[:, :2], None), "attention_mask has 2 queries, .*; expected 3 queries"),
        ((OF_HEADS[:, :3], None), "attention_mask has 3 heads, .*; expected 4 heads"),
    ],
)
def test_another_mask_says_what_was_found_and_how_to_convert_it(masks, says):
    with pytest.raises(Error, match=says):
        combine_masks(*masks, SCORES)


def test_a_mask_of_a_graph_is_refused_by_its_type_alone():
    @tf.function
    def mask(values):
        return combine_masks(None, values, (None, 4, None, None))

    np.testing.assert_array_equal(mask(ROWS.astype(np.int32)), ROWS[:, None, None, :])
    with pytest.raises(Error, match="key_mask .*float32 with values that are not known yet"):
        mask(ROWS.astype(np.float32))


def test_zeros_and_ones_may_be_floats():
    mask = combine_masks(None, ROWS.astype(np.float32), SCORES)
    np.testing.assert_array_equal(mask, ROWS[:, None, None, :])


@pytest.mark.parametrize("ids", [np.array([[7.0, 0.0]]), np.array([7, 0])])
def test_ids_of_a_mask_are_rows_of_whole_numbers(ids):
    with pytest.raises(Error, match="the ids have shape .* expected whole numbers"):
        padding_mask(ids)


def test_masks_are_bool_and_their_sums_float32():
    assert padding_mask(np.ones((1, 2), np.int32)).dtype == tf.bool
    assert look_ahead_mask(2).dtype == tf.bool
    assert additive_mask(np.array([True])).dtype == tf.float32
