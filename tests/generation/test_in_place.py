"""Caches written in place: the same as copies with the new row, and nothing that is still needed is
touched."""

import numpy as np
import pytest
import tensorflow as tf
from cases import first_by_default

from tfsum.decoding import BeamSearch, Greedy
from tfsum.generation.module import InPlace, InPlaceCache
from tfsum.layers import Cache
from tfsum.models import Transformer


@pytest.fixture(scope="module")
def model():
    model = Transformer(
        20,
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_model=16,
        num_heads=2,
        feed_forward_width=24,
    )
    model.build()
    random = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(np.asarray(weight) + random.normal(size=weight.shape) * 0.3)
    return model


@pytest.mark.parametrize("position", [0, 3, 6])
def test_one_position_is_set(position):
    random = np.random.default_rng(0)
    cache, values = (
        tf.constant(random.normal(size=s), tf.float32) for s in ((2, 3, 7, 4, 5), (2, 3, 4, 5))
    )
    before, wanted = cache.numpy(), cache.numpy()
    wanted[:, :, position] = values
    for kind in (Cache, InPlaceCache):
        written = kind(cache).write(tf.constant(position), values)
        assert type(written) is kind
        np.testing.assert_array_equal(written.tensor, wanted)
        np.testing.assert_array_equal(cache, before)


@pytest.mark.parametrize(
    "strategy",
    first_by_default([Greedy(), BeamSearch(4, n_best=2)]),
    ids=lambda strategy: type(strategy).__name__,
)
def test_strategies_write_the_same(model, strategy):
    source_ids = tf.constant([[5, 9, 17, 4, 11], [6, 3, 8, 0, 0], [0, 0, 0, 0, 0]])
    found = tf.function(lambda ids: strategy(InPlace(model), ids, 9))(source_ids)
    for part, wanted in zip(found, tf.function(lambda ids: strategy(model, ids, 9))(source_ids)):
        np.testing.assert_array_equal(part, wanted)


def test_a_state_may_be_gone_on_from_twice(model):
    stepping, source_ids = InPlace(model), tf.constant([[5, 9, 17]])

    @tf.function
    def two_ways():
        state = stepping.start(source_ids, 4, 1)
        _, state = stepping.step(tf.constant([2]), 0, state)
        return [stepping.step(tf.constant([token]), 1, state)[0] for token in (7, 12)]

    for found, token in zip(two_ways(), (7, 12)):
        target_ids = tf.constant([[2, token]])
        wanted = model({"source_ids": source_ids, "target_ids": target_ids})[:, 1]
        np.testing.assert_allclose(found, wanted, atol=1e-5)
