"""Rows and repeating in memory that grows with the result alone."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfsum.text.rows import Rows, repeat


@pytest.mark.parametrize("counts", [[], [0], [3], [0, 2, 0, 0, 1, 4, 0]])
def test_the_same_as_numpy(counts):
    values = np.arange(len(counts), dtype=np.int32) * 7
    given = repeat(tf.constant(values), tf.constant(counts, tf.int64))
    assert given.numpy().tolist() == np.repeat(values, counts).tolist()
    ragged = tf.RaggedTensor.from_row_lengths(
        tf.zeros([sum(counts)]), tf.constant(counts, tf.int64)
    )
    assert (
        Rows.of(ragged).owner.numpy().tolist() == np.repeat(np.arange(len(counts)), counts).tolist()
    )


def test_one_long_row_among_many_short_ones():
    # a mask of them would take 100 GB
    counts = tf.concat([tf.ones([100_000], tf.int64), [1_000_000]], 0)
    assert repeat(tf.range(100_001), counts)[-1] == 100_000
