"""The copy attention against the equations of See et al. 2017, section 2.2, computed in numpy a
token at a time."""

import json

import numpy as np
import pytest
from keras import ops

import tfsum.layers
from tfsum.layers import CopyAttention
from tfsum.layers.copy_attention import last_two

B, T, TS, D, V = 2, 3, 5, 8, 11
SOURCE_IDS = np.array([[4, 9, 4, 7, 0], [5, 5, 2, 0, 0]])
TARGET_IDS = np.array([[1, 9, 4], [5, 5, 3]])


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.fixture
def given():
    random = np.random.default_rng(0)
    logits, x, source = (
        random.normal(size=size).astype("float32") for size in ((B, T, V), (B, T, D), (B, TS, D))
    )
    return {
        "logits": logits,
        "x": x,
        "source": source,
        "source_ids": SOURCE_IDS,
        "source_mask": SOURCE_IDS != 0,
        "written": last_two(TARGET_IDS),
    }


def call(layer, given):
    return layer(**given, keys=layer.keys(given["source"]))


def by_the_paper(layer, given):
    """Equation 9 in float64: P(w) = p_gen P_vocab(w) + (1 - p_gen) sum of a_i where w_i = w; and
    our two additions."""
    weights = {w.path.split("/", 1)[1]: np.asarray(w, "float64") for w in layer.weights}
    found = np.zeros((B, T, V))
    for b in range(B):
        keys = given["source"][b] @ weights["key/kernel"] + weights["key/bias"]
        for t in range(T):
            x = given["x"][b, t]
            query = x @ weights["query/kernel"] + weights["query/bias"]
            scores = keys @ query / np.sqrt(D)
            target, ids = TARGET_IDS[b, : t + 1].tolist(), SOURCE_IDS[b].tolist()
            after = np.array(
                [
                    [
                        i > 0 and ids[i - 1] == target[-1],
                        i > 1 and t > 0 and ids[i - 2 : i] == target[-2:],
                    ]
                    for i in range(TS)
                ],
                float,
            ).T
            scores += weights["following"] @ after
            attention = softmax(np.where(given["source_mask"][b], scores, -np.inf))
            seen = np.concatenate([x, attention @ given["source"][b], after @ attention])
            gate = seen @ weights["gate/kernel"] + weights["gate/bias"]
            copied = 1 / (1 + np.exp(-gate[0]))
            found[b, t] = (1 - copied) * softmax(given["logits"][b, t])
            for i, token in enumerate(given["source_ids"][b]):
                found[b, t, token] += copied * attention[i]
    return np.log(found)


def test_it_is_the_papers_mixture(given):
    layer = CopyAttention(D)
    np.testing.assert_allclose(call(layer, given), by_the_paper(layer, given), atol=1e-5)


def test_its_loss_is_the_cross_entropy_of_the_mixture(given):
    layer = CopyAttention(D)
    mixed = call(layer, given)
    labels = np.array([[4, 3, 9], [5, 2, 8]])
    own = -np.take_along_axis(np.log(softmax(given["logits"])), labels[..., None], -1)[..., 0]
    others = {name: given[name] for name in given if name != "logits"}
    found = layer.loss(own, labels, **others, keys=layer.keys(given["source"]))
    np.testing.assert_allclose(
        found, -np.take_along_axis(np.asarray(mixed), labels[..., None], -1)[..., 0], atol=1e-5
    )


def test_padding_changes_nothing(given):
    layer = CopyAttention(D)
    alone = np.asarray(call(layer, given))
    wide = {
        "source": ((0, 0), (0, 4), (0, 0)),
        "source_ids": ((0, 0), (0, 4)),
        "source_mask": ((0, 0), (0, 4)),
    }
    longer = {
        name: np.pad(value, wide[name]) if name in wide else value for name, value in given.items()
    }
    np.testing.assert_allclose(call(layer, longer), alone, atol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_probabilities_stay_in_float32(given, policy):
    exact, layer = CopyAttention(D), CopyAttention(D, dtype=policy)
    call(exact, given), layer.build()
    layer.set_weights(exact.get_weights())
    narrow = {
        name: ops.cast(given[name], policy.removeprefix("mixed_")) for name in ("x", "source")
    }
    found = np.asarray(call(layer, {**given, **narrow}))
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.exp(found).sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(found, call(exact, given), atol=0.1)


def test_a_source_with_nothing_to_see_stays_finite(given):
    layer = CopyAttention(D)
    assert np.isfinite(call(layer, {**given, "source_mask": np.zeros((B, TS), bool)})).all()


def test_configuration_comes_back(given):
    layer = CopyAttention(D, name="copying", dtype="mixed_bfloat16")
    again = tfsum.layers.CopyAttention.from_config(json.loads(json.dumps(layer.get_config())))
    assert (again.name, again.d_model, again.dtype_policy.name) == ("copying", D, "mixed_bfloat16")
