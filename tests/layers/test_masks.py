"""Masks against literal tables."""

import numpy as np
import tensorflow as tf

from tfsum.layers import look_ahead_mask, padding_mask
from tfsum.layers.masks import additive_mask


def test_padding_is_zero():
    ids = np.array([[7, 3, 0, 0], [0, 0, 0, 0], [5, 0, 6, 0]], np.int32)
    expected = [[True, True, False, False], [False] * 4, [True, False, True, False]]
    assert np.asarray(padding_mask(ids)).tolist() == expected


def test_each_position_sees_itself_and_what_came_before():
    expected = [[True, False, False], [True, True, False], [True, True, True]]
    assert np.asarray(look_ahead_mask(3)).tolist() == expected


def test_a_length_known_only_in_the_graph():
    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def mask(ids):
        return look_ahead_mask(tf.shape(ids)[1])

    assert mask(np.zeros((1, 4), np.int32)).numpy().tolist() == np.tri(4, dtype=bool).tolist()


def test_hidden_scores_vanish_whatever_they_were():
    scores = np.array([[3.0, 1e4, -2.0]], np.float32)
    weights = tf.nn.softmax(scores + np.asarray(additive_mask(np.array([[True, False, True]]))))
    np.testing.assert_allclose(
        weights, [[1 / (1 + np.exp(-5.0)), 0.0, 1 / (1 + np.exp(5.0))]], rtol=1e-6
    )


def test_masks_are_bool_and_their_sums_float32():
    assert padding_mask(np.ones((1, 2), np.int32)).dtype == tf.bool
    assert look_ahead_mask(2).dtype == tf.bool
    assert additive_mask(np.array([True])).dtype == tf.float32
