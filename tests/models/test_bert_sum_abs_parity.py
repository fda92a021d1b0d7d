"""BertSumAbs against what the original PreSumm computed: log-probabilities, losses, gradients and
steps."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tfsum.papers.checkpoint_names import bertsum_names, bertsum_tensors, named_variables
from tfsum.papers.checkpoint_reader import read_bertsum
from tfsum.training.optimizer import Adam, WarmUp

pytestmark = pytest.mark.reference
NO_GRADIENT = "key.bias", "linear_keys.bias"
"""Their gradient is zero but for rounding, which Adam blows up to steps of any direction."""


@pytest.fixture
def parity(shared):
    return shared / "parity"


@pytest.fixture
def model(parity):
    """The model of the fixture, which has no dropout."""
    return read_bertsum(
        parity / "presumm_abs_step0.pt",
        json.loads((parity / "bert_config_tiny48.json").read_text()),
    )[0]


@pytest.fixture
def expected(parity):
    return np.load(parity / "presumm_abs_ref.npz")


@pytest.fixture
def batches(parity):
    stored = np.load(parity / "presumm_batches.npz")
    return [
        {
            "source_ids": stored[f"b{i}_src"],
            "segment_ids": stored[f"b{i}_segs"],
            "target_ids": stored[f"b{i}_tgt"][:, :-1],
            "target_labels": stored[f"b{i}_tgt"][:, 1:],
        }
        for i in range(3)
    ]


def test_log_probabilities(model, batches, expected):
    found = tf.nn.log_softmax(model(batches[0]))
    np.testing.assert_allclose(found, expected["b0_log_probs"], atol=5e-5, rtol=0)


def test_encoder(model, batches, expected):
    np.testing.assert_allclose(model.read(batches[0])[0], expected["b0_top_vec"], atol=1e-5, rtol=0)


def test_losses(model, batches, expected):
    for i, batch in enumerate(batches):
        np.testing.assert_allclose(
            model.summed_loss(batch, None, training=True),
            expected[f"b{i}_kl_smooth"],
            rtol=1e-6,
            atol=2e-5,
        )
        np.testing.assert_allclose(
            model.loss_weight(batch, None), expected[f"b{i}_kl_smooth_nwords"]
        )


def test_losses_without_smoothing(parity, batches, expected):
    config = json.loads((parity / "bert_config_tiny48.json").read_text())
    model = read_bertsum(parity / "presumm_abs_step0.pt", config, label_smoothing=0.0)[0]
    for i, batch in enumerate(batches):
        np.testing.assert_allclose(
            model.summed_loss(batch, None, training=False),
            expected[f"b{i}_nll"],
            rtol=1e-6,
            atol=2e-5,
        )


def test_gradients(model, batches, parity):
    right = np.load(parity / "presumm_abs_grads.npz")
    with tf.GradientTape() as tape:
        loss = model.summed_loss(batches[0], None, training=True) / model.loss_weight(
            batches[0], None
        )
    names = bertsum_names(model)
    variables = named_variables(model)
    values = tape.gradient(loss, [variables[path].value for _, path, _ in names])
    found = {
        name: (
            tf.convert_to_tensor(value).numpy().T
            if transposed
            else tf.convert_to_tensor(value).numpy()
        )
        for (name, _, transposed), value in zip(names, values, strict=True)
        if value is not None
    }
    assert sorted(found) == sorted(right.files)
    for name in right.files:
        assert np.abs(found[name] - right[name]).max() <= 1e-4 * np.abs(right[name]).max() + 1e-5, (
            name
        )


def test_three_steps_of_two_optimizers(model, batches, parity, expected):
    """lr_bert 0.02 with a warm-up of 3 steps, lr_dec 0.05 with 2 (noam)."""
    optimizer = Adam(
        WarmUp(0.05 / 2**0.5, 2), groups={"bert": WarmUp(0.02 / 3**0.5, 3)}, epsilon=1e-9
    )
    model.compile(optimizer=optimizer, run_eagerly=True)  # the graph of a step takes longer
    losses = []
    for batch in batches:
        losses.append(model.train_on_batch(batch, return_dict=True)["loss"])
        model.reset_metrics()
    np.testing.assert_allclose(
        np.mean(losses),
        np.mean(expected["step_losses"][:, 0] / expected["step_losses"][:, 1]),
        rtol=1e-5,
    )
    right, tensors = np.load(parity / "presumm_abs_step3_every4.npz"), bertsum_tensors(model)
    names = [name for name in right.files if not name.endswith((*NO_GRADIENT, "pos_emb.pe"))]
    assert len(names) > 80
    wrong = np.concatenate(
        [np.abs(tensors[name].ravel()[::4] - right[name].ravel()) for name in names]
    )
    assert np.mean(wrong <= 2e-5) >= 0.998
    assert wrong.max() <= 1e-3
