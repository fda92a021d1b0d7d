"""An encoder that leaves out padding gives the outputs and gradients of the same encoder with it,
which `layers/test_encoder.py` compares with torch's."""

import functools

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from hypothesis import given
from hypothesis import strategies as st

from tfsum.export.packed_rows import MULTIPLE, PackedRows
from tfsum.layers import Encoder

D = 8


@functools.cache
def an_encoder(**changes):
    encoder = Encoder(2, d_model=D, num_heads=2, feed_forward_width=16, **changes)
    encoder.build(None)
    return encoder


def a_batch(lengths, length):
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(len(lengths), length, D)), tf.float32)
    return x, tf.sequence_mask(lengths, length)


def real_outputs(encoder, x, mask, packing):
    """The outputs of the real positions, computed in a graph."""
    encoder.packing = packing
    return tf.function(lambda: tf.boolean_mask(encoder(x, key_mask=mask), mask))()


def outputs_and_gradients(encoder, x, mask, packing):
    encoder.packing = packing
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.boolean_mask(encoder(x, key_mask=mask), mask)
        loss = tf.reduce_sum(tf.cast(y, tf.float32) ** 3)
    return y, *tape.gradient(loss, [x, *(v.value for v in encoder.trainable_variables)])


@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    more=st.integers(0, 20),
    norm=st.sampled_from(["post", "pre"]),
)
def test_outputs_and_gradients_are_those_with_padding(lengths, more, norm):
    encoder = an_encoder(norm=norm)
    x, mask = a_batch(lengths, max(lengths) + more)
    both = (outputs_and_gradients(encoder, x, mask, packing) for packing in (PackedRows, None))
    for packed, padded in zip(*both, strict=True):
        np.testing.assert_allclose(packed, padded, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_what_is_hidden_between_real_positions_is_not_seen(policy):
    encoder = an_encoder(dtype=policy)
    x, mask = a_batch([40, 30], 50)
    mask = mask & (tf.range(50) % 7 != 3)
    packed, padded = (real_outputs(encoder, x, mask, packing) for packing in (PackedRows, None))
    np.testing.assert_allclose(
        tf.cast(packed, tf.float32),
        tf.cast(padded, tf.float32),
        atol=1e-5 if policy == "float32" else 0.05,
    )


def test_only_a_multiple_of_positions_is_computed():
    x, mask = a_batch([1, 17, 50], 50)
    rows = PackedRows(mask)
    packed = rows.pack(x)
    assert len(packed) == MULTIPLE + 2 * MULTIPLE + 50
    np.testing.assert_array_equal(rows.unpack(packed)[0, :MULTIPLE], x[0, :MULTIPLE])
    assert not np.any(rows.unpack(packed)[0, MULTIPLE:])


@pytest.mark.parametrize("options", [{"training": True}, {"return_all": True}])
def test_what_needs_padding_has_it(options):
    encoder = an_encoder(dropout=0.0)
    x, mask = a_batch([3, 20], 20)
    encoder.packing = None
    expected = encoder(x, key_mask=mask, **options)
    encoder.packing = PackedRows
    given = encoder(x, key_mask=mask, **options)
    tf.nest.map_structure(np.testing.assert_array_equal, given, expected)
