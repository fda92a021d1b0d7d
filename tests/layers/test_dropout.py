"""Dropout under numbered steps: which masks are equal and which are not."""

import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.layers import Dropout, dropout_step

ONES = np.ones((40, 50), np.float32)


def mask(layer, number=None):
    if number is None:
        return np.asarray(layer(ONES, training=True)) > 0
    with dropout_step(number):
        return np.asarray(layer(ONES, training=True)) > 0


def test_share_and_scale():
    found = np.asarray(Dropout(0.25, seed=0)(np.ones((400, 500), np.float32), training=True))
    np.testing.assert_allclose(np.unique(found), [0.0, 1 / 0.75], rtol=1e-6)
    assert abs((found == 0).mean() - 0.25) < 0.005  # 5 standard deviations


def test_the_same_number_gives_the_same_mask():
    layer = Dropout(0.5, seed=1)
    first = mask(layer, 7)
    mask(layer), mask(layer, 8)  # whatever is drawn between
    np.testing.assert_array_equal(mask(layer, 7), first)
    np.testing.assert_array_equal(mask(layer, tf.constant(7, tf.int64)), first)
    np.testing.assert_array_equal(mask(Dropout(0.5, seed=1), 7), first)


def test_other_numbers_layers_and_seeds_give_other_masks():
    layer, other = Dropout(0.5, seed=1), Dropout(0.5, seed=2)
    drawn = [mask(layer, n) for n in (0, 1, 2, 10**6)] + [mask(other, n) for n in (0, 1)]
    for i, first in enumerate(drawn):
        for second in drawn[:i]:
            assert 0.4 < (first == second).mean() < 0.6  # independent: half of them agree


def test_layers_without_a_seed_differ_and_come_back_with_keras_own():
    keras.utils.set_random_seed(5)
    first, second = Dropout(0.5), Dropout(0.5)
    assert not np.array_equal(mask(first, 0), mask(second, 0))
    keras.utils.set_random_seed(5)
    np.testing.assert_array_equal(mask(Dropout(0.5), 0), mask(first, 0))


def test_outside_a_numbered_step_each_call_draws_again():
    layer = Dropout(0.5, seed=1)
    assert not np.array_equal(mask(layer), mask(layer))


def test_nested_steps_give_the_outer_one_back():
    layer = Dropout(0.5, seed=1)
    with dropout_step(3):
        with dropout_step(4):
            pass
        np.testing.assert_array_equal(np.asarray(layer(ONES, training=True)) > 0, mask(layer, 3))


def test_a_number_known_only_in_the_graph():
    layer = Dropout(0.5, seed=1)

    @tf.function
    def drawn(number):
        with dropout_step(number):
            return layer(ONES, training=True) > 0

    for number in (7, 8):
        np.testing.assert_array_equal(drawn(tf.constant(number)), mask(layer, number))


@pytest.fixture(scope="module")
def drawn_on_two(tmp_path_factory):
    """(replica, mask) of 3 steps with 2 micro-batches on 2 logical CPUs."""
    file = tmp_path_factory.mktemp("masks") / "masks.txt"
    script = pathlib.Path(__file__).with_name("two_replicas.py")
    done = subprocess.run(
        [sys.executable, script, file], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [tuple(line.split()[1:]) for line in file.read_text().splitlines()]


@pytest.mark.slow
def test_replicas_micro_batches_and_steps_draw_different_masks(drawn_on_two):
    assert len(drawn_on_two) == 3 * 2 * 2
    assert sorted(r for r, _ in drawn_on_two) == ["0"] * 6 + ["1"] * 6
    assert len({mask for _, mask in drawn_on_two}) == len(drawn_on_two)
