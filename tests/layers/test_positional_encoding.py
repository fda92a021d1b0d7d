"""Sinusoidal positions against a literal table and the closed formula in float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.layers import PositionalEncoding, positional_encoding
from tfsum.layers.positional_encoding import encode_positions

# sin and cos of p and of p / 100, for p = 0, 1, 2, to six places
TABLE = [
    [0.0, 1.0, 0.0, 1.0],
    [0.841471, 0.540302, 0.010000, 0.999950],
    [0.909297, -0.416147, 0.019999, 0.999800],
]


def closed_formula(positions, width):
    i = np.arange(width)
    angles = np.asarray(positions, np.float64)[:, None] / 10000.0 ** (2 * (i // 2) / width)
    return np.where(i % 2 == 0, np.sin(angles), np.cos(angles))


def test_literal_table():
    np.testing.assert_allclose(positional_encoding(3, 4), TABLE, atol=1e-6)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 64, 65, 384])
def test_closed_formula(width):
    np.testing.assert_allclose(
        positional_encoding(50, width), closed_formula(range(50), width), atol=1e-5
    )


@pytest.fixture(params=["float32", "mixed_bfloat16", "mixed_float16"])
def policy(request):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy(before)


def test_position_5000_under_every_policy(policy):
    found = positional_encoding(5001, 384)
    assert found.dtype == tf.float32
    # float32 knows the angle 5000 to 2.4e-4 (half of its last place), bfloat16 only to 16 radians.
    np.testing.assert_allclose(found[5000], closed_formula([5000], 384)[0], atol=1e-3)


def test_the_layer_at_position_5000_under_every_policy(policy):
    layer = PositionalEncoding()
    found = layer(np.zeros((1, 2, 16), np.float32), first_position=np.array([5000]))
    tolerance = {"float32": 1e-3, "mixed_float16": 2e-3, "mixed_bfloat16": 5e-3}[policy]
    np.testing.assert_allclose(
        tf.cast(found[0], tf.float32), closed_formula([5000, 5001], 16), atol=tolerance
    )


def test_first_position_of_each_row():
    x = np.random.default_rng(0).normal(size=(2, 6, 5)).astype(np.float32)
    layer = PositionalEncoding()
    whole = np.asarray(layer(x))
    later = layer(x[:, 2:5], first_position=np.array([2, 2]))
    np.testing.assert_allclose(later, whole[:, 2:5], atol=1e-6)
    mixed = layer(x[:, :3], first_position=np.array([0, 7]))
    np.testing.assert_allclose(
        mixed, x[:, :3] + [closed_formula(range(3), 5), closed_formula(range(7, 10), 5)], atol=1e-5
    )


def test_scale_is_the_root_of_the_width():
    x = np.ones((1, 3, 16), np.float32)
    np.testing.assert_allclose(
        PositionalEncoding(scale=True)(x)[0], 4 + closed_formula(range(3), 16), atol=1e-5
    )


def test_positions_of_any_shape_and_lengths_of_the_graph():
    np.testing.assert_allclose(
        np.asarray(encode_positions(np.array([[1, 2], [0, 1]]), 4))[0], TABLE[1:], atol=1e-6
    )
    length = tf.function(
        lambda n: positional_encoding(n, 4), input_signature=[tf.TensorSpec((), tf.int32)]
    )
    np.testing.assert_allclose(length(3), TABLE, atol=1e-6)
