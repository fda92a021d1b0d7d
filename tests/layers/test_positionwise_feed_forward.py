"""The two forms of GELU and their derivatives against their formulas in double precision."""

import math
import statistics

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfsum.layers.positionwise_feed_forward import ACTIVATIONS

X = np.linspace(-12.0, 12.0, 961)
NORMAL = statistics.NormalDist()


def tanh_form(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * x * (1 + np.tanh(inner)), 0.5 * (1 + np.tanh(inner)) + 0.5 * x * slope / np.cosh(
        inner
    ) ** 2


def exact_form(x):
    phi, density = (np.array([f(float(value)) for value in x]) for f in (NORMAL.cdf, NORMAL.pdf))
    return x * phi, phi + x * density


@pytest.mark.parametrize(("name", "formula"), [("gelu", exact_form), ("gelu_tanh", tanh_form)])
def test_value_and_derivative(name, formula):
    x = tf.constant(X, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = ACTIVATIONS[name](x)
    value, derivative = formula(X)
    np.testing.assert_allclose(y, value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tape.gradient(y, x), derivative, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        ACTIVATIONS[name](tf.constant(X, tf.float32)), value, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_keeps_its_type_and_is_finite(dtype):
    y = ACTIVATIONS["gelu"](tf.constant(X, dtype))
    assert y.dtype == dtype
    # Three roundings of numbers up to |x|, each by half of the distance between neighbours.
    unit = {"bfloat16": 2**-8, "float16": 2**-11}[dtype]
    np.testing.assert_allclose(tf.cast(y, tf.float64), exact_form(X)[0], atol=12 * 3 * unit / 2)
