"""Attention against its formula in numpy's float64 and against Keras's own layer with the same
weights."""

import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from tfsum.errors import Error
from tfsum.layers import MultiHeadAttention, look_ahead_mask

B, TQ, TK, D, H = 2, 4, 6, 12, 3


def formula(layer, query, value, mask):
    """softmax(Q K^T / sqrt(D/H)) V, head by head, in float64; the output and the weights."""

    def project(dense, x):
        kernel, bias = (np.asarray(w, np.float64) for w in dense.weights)
        return x @ kernel + bias

    q, k, v = project(layer.query, query), project(layer.key, value), project(layer.value, value)
    contexts, weights = [], []
    for h in range(H):
        part = slice(h * D // H, (h + 1) * D // H)
        scores = q[..., part] @ k[..., part].swapaxes(1, 2) / np.sqrt(D / H)
        if mask is not None:
            wide = mask if mask.ndim == 4 else mask[:, None]
            wide = np.broadcast_to(wide, (B, H, *scores.shape[1:]))
            scores = np.where(wide[:, h], scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        weights.append(e / e.sum(-1, keepdims=True))
        contexts.append(weights[-1] @ v[..., part])
    return project(layer.output_projection, np.concatenate(contexts, -1)), np.stack(weights, 1)


def keras_layer(layer, query, value):
    """Keras's attention with copies of our weights: its kernels are (D, H, D/H)."""
    other = keras.layers.MultiHeadAttention(H, D // H)
    other.build(query.shape, value.shape)
    copies = [
        w.numpy()
        for dense in (layer.query, layer.key, layer.value, layer.output_projection)
        for w in dense.weights
    ]
    other.set_weights(
        [c.reshape(w.shape) for c, w in zip(copies, other.get_weights(), strict=True)]
    )
    return other


@pytest.fixture
def arrays():
    random = np.random.default_rng(1)
    query, value = random.normal(size=(B, TQ, D)), random.normal(size=(B, TK, D))
    return query.astype(np.float32), value.astype(np.float32)


@pytest.fixture
def layer():
    layer = MultiHeadAttention(H, D)
    layer.build()
    for weight in layer.trainable_weights:  # biases too, which begin at 0
        weight.assign(
            np.random.default_rng(weight.shape[0] + len(weight.path)).normal(size=weight.shape)
            * 0.4
        )
    return layer


def masks(tq, tk):
    padding = np.array([[1] * tk, [1] * (tk - 2) + [0, 0]], bool)
    random = np.random.default_rng(3).random((B, H, tq, tk)) < 0.7
    random[..., 0] = True
    return {
        "none": None,
        "padding": padding[:, None, None, :],
        "of each head": random,
        "look ahead": np.tri(tq, tk, dtype=bool)[None],
        "of each row": random[:, 0],
    }


MASKS = ["none", "padding", "of each head", "look ahead", "of each row"]


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("cross", [False, True])
def test_formula_and_keras(layer, arrays, name, cross):
    query, value = arrays
    value = value if cross else query
    mask = masks(TQ, value.shape[1])[name]
    found, weights = layer(
        query, value if cross else None, attention_mask=mask, return_attention_weights=True
    )
    expected, expected_weights = formula(
        layer, query.astype(np.float64), value.astype(np.float64), mask
    )
    np.testing.assert_allclose(found, expected, atol=2e-6)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-6)
    if mask is None or mask.ndim == 4:
        other = keras_layer(layer, query, value)
        wide = None if mask is None else np.broadcast_to(mask, (B, H, TQ, value.shape[1]))
        theirs = other(query, value, attention_mask=wide)
        np.testing.assert_allclose(found, theirs, atol=5e-6)


def test_the_future_changes_no_earlier_answer(layer, arrays):
    query = arrays[1]
    found = layer(query, attention_mask=look_ahead_mask(TK))
    changed = query.copy()
    changed[:, 4:] = 9.0
    np.testing.assert_allclose(
        layer(changed, attention_mask=look_ahead_mask(TK))[:, :4], found[:, :4], atol=1e-6
    )


def test_a_query_that_sees_nothing_gets_the_mean_of_all_values(layer, arrays):
    query, value = arrays
    mask = np.ones((B, 1, TQ, TK), bool)
    mask[0, :, 1] = False
    found, weights = layer(query, value, attention_mask=mask, return_attention_weights=True)
    np.testing.assert_allclose(weights[0, :, 1], np.full((H, TK), 1 / TK), atol=1e-6)
    mean = layer.output_projection(layer.value(value).numpy().mean(1))
    np.testing.assert_allclose(found[0, 1], mean[0], atol=1e-5)


def test_without_asking_for_weights_the_answer_is_the_same(layer, arrays):
    np.testing.assert_array_equal(
        layer(arrays[0]), layer(arrays[0], return_attention_weights=True)[0]
    )


def test_a_key_mask_hides_the_values_of_a_row():
    """As the four-dimensional mask does, with another mask beside it too, and as the row alone
    without them."""
    layer = MultiHeadAttention(2, 8)
    x = np.random.default_rng(0).normal(size=(2, 4, 8)).astype("float32")
    mask = np.array([[True, True, True, True], [True, True, False, False]])
    found = np.asarray(layer(x, key_mask=mask))
    np.testing.assert_array_equal(found, layer(x, attention_mask=mask[:, None, None, :]))
    np.testing.assert_allclose(found[1, :2], layer(x[1:, :2])[0], atol=1e-6)
    ahead = np.tril(np.ones((1, 4, 4), bool))
    both = layer(x, attention_mask=ahead, key_mask=mask)
    np.testing.assert_array_equal(both, layer(x, attention_mask=ahead & mask[:, None, None, :]))


def test_a_mask_of_rank_2_is_never_taken_for_queries_and_keys():
    """With as many rows as positions, (B, Tk) would broadcast as (Tq, Tk), and be wrong."""
    layer = MultiHeadAttention(2, 8)
    x, mask = np.ones((3, 3, 8), "float32"), np.tri(3, dtype=bool)
    with pytest.raises(Error, match=r"attention_mask has shape \(3, 3\).* key_mask"):
        layer(x, attention_mask=mask)
    with pytest.raises(Error, match=r"key_mask .* shape \(1, 3, 3\).* attention_mask"):
        layer(x, key_mask=mask[None])


@pytest.fixture
def kernel_used(monkeypatch):
    """As on a GPU of JAX: a list that grows with each use of Keras's fused attention."""
    used, fused = [], keras.ops.dot_product_attention
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    monkeypatch.setattr(keras.distribution, "list_devices", lambda: ["gpu:0"])
    monkeypatch.setattr(
        keras.ops, "dot_product_attention", lambda *a, **k: used.append(1) or fused(*a, **k)
    )
    return used


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("cross", [False, True])
def test_the_kernel_of_a_gpu_gets_what_the_formula_does(layer, arrays, monkeypatch, name, cross):
    """Keras computes it with its own formula where there is no kernel."""
    monkeypatch.setattr(layer, "_kernel_takes", lambda *_: True)
    query, value = arrays
    value = value if cross else query
    mask = masks(TQ, value.shape[1])[name]
    found = layer(query, value if cross else None, attention_mask=mask)
    expected, _ = formula(layer, query.astype(np.float64), value.astype(np.float64), mask)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_in_the_kernel_too_a_query_that_sees_nothing_gets_the_mean(layer, arrays, monkeypatch):
    monkeypatch.setattr(layer, "_kernel_takes", lambda *_: True)
    query, value = arrays
    mask = np.ones((B, 1, TQ, TK), bool)
    mask[0, :, 1] = False
    mean = layer.output_projection(layer.value(value).numpy().mean(1))
    found = layer(query, value, attention_mask=mask)
    np.testing.assert_allclose(found[0, 1], mean[0], atol=1e-5)


@pytest.mark.parametrize(
    ("options", "call", "uses"),
    [
        ({}, {}, True),
        ({}, {"training": True}, True),
        ({"dropout": 0.5}, {}, True),
        ({"dropout": 0.5}, {"training": True}, False),
        ({}, {"return_attention_weights": True}, False),
        ({"dtype": "float32"}, {}, False),
        ({"dtype": "mixed_float16"}, {}, False),
    ],
)
def test_the_kernel_is_used_in_bfloat16_without_weights(kernel_used, options, call, uses):
    layer = MultiHeadAttention(2, 8, **{"dtype": "mixed_bfloat16", **options})
    layer(np.ones((1, 4, 8), "float32"), **call)
    assert bool(kernel_used) == uses


def test_the_kernel_has_no_gradient_for_odd_lengths(kernel_used):
    layer = MultiHeadAttention(2, 8, dtype="mixed_bfloat16")
    even, odd = np.ones((1, 4, 8), "float32"), np.ones((1, 5, 8), "float32")
    layer(even, odd, training=True)
    layer(odd, even, training=True)
    assert not kernel_used
    layer(odd)
    assert kernel_used


def test_the_kernel_is_not_asked_for_without_a_gpu(kernel_used, monkeypatch):
    monkeypatch.setattr(keras.distribution, "list_devices", lambda: ["cpu:0"])
    MultiHeadAttention(2, 8, dtype="mixed_bfloat16")(np.ones((1, 4, 8), "float32"))
    assert not kernel_used


@pytest.mark.gpu
def test_on_a_gpu_of_jax_the_kernel_agrees_with_the_formula():
    script = pathlib.Path(__file__).with_name("attention_kernel.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "Failed to apply" not in done.stderr
    lines = [line.split(", ") for line in done.stdout.splitlines()]
    assert [way for way, *_ in lines] == ["kernel"] * 5 + ["formula"] * 5
    for way, _, name, output, gradient in lines:
        assert float(output) < 0.02
        if way == "kernel" and name in ("a query that sees nothing", "a row of padding"):
            # The mean of all values does not depend on queries and keys. The kernel's gradient
            # says so, the formula's is that of the scores that their mask has rounded away.
            assert np.isfinite(float(gradient))
        else:
            assert float(gradient) < 0.02
