"""The label-smoothed loss and its gradient, which is written out, against their definitions in
numpy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfsum.models.label_smoothing import label_smoothing_loss


def definition(logits, labels, smoothing):
    """KL(targets || softmax) of each token, and the gradient of their sum weighed by 1, 2, 3..."""
    logits = logits.astype(np.float64)
    softmax = np.exp(logits - logits.max(-1, keepdims=True))
    softmax /= softmax.sum(-1, keepdims=True)
    size = logits.shape[-1]
    targets = np.full(logits.shape, smoothing / (size - 2))
    targets[..., 0] = 0.0
    np.put_along_axis(targets, labels[..., None], 1.0 - smoothing, -1)
    targets *= (labels != 0)[..., None]
    terms = np.where(
        targets > 0, targets * (np.log(np.where(targets > 0, targets, 1)) - np.log(softmax)), 0.0
    )
    weights = np.arange(1, labels.size + 1).reshape(labels.shape)[..., None]
    return terms.sum(-1), weights * np.where((labels != 0)[..., None], softmax - targets, 0.0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_value_and_gradient(smoothing, scale):
    random = np.random.default_rng(1)
    logits = (scale * random.standard_normal((3, 4, 7))).astype(np.float32)
    labels = random.integers(0, 7, (3, 4)).astype(np.int32)
    labels[0] = [0, 1, 6, 0]
    losses, gradient = definition(logits, labels, smoothing)

    @tf.function
    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = label_smoothing_loss(x, labels, smoothing)
            weighed = tf.reduce_sum(found * tf.reshape(tf.range(1.0, 13.0), (3, 4)))
        return found, tape.gradient(weighed, x)

    found, slope = both(tf.constant(logits))
    np.testing.assert_allclose(found, losses, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(slope, gradient, rtol=1e-5, atol=1e-5)


def test_half_precision_logits_have_their_gradient_in_half_precision():
    x = tf.Variable(tf.zeros((2, 5), tf.bfloat16))
    with tf.GradientTape() as tape:
        loss = keras.ops.sum(label_smoothing_loss(x, np.array([1, 0]), 0.1))
    gradient = tape.gradient(loss, x)
    assert loss.dtype == tf.float32 and gradient.dtype == tf.bfloat16
    np.testing.assert_allclose(
        tf.cast(gradient, tf.float32)[0], [0.2, -0.7, 0.1667, 0.1667, 0.1667], atol=2e-3
    )
    np.testing.assert_array_equal(tf.cast(gradient, tf.float32)[1], np.zeros(5))
