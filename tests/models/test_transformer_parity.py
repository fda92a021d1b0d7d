"""The Transformer against the Annotated Transformer's own numbers: outputs, loss, gradients, five
steps, greedy ids."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file

from tfsum.decoding import Greedy
from tfsum.formats.weight_names import variables_by_path
from tfsum.models import Transformer
from tfsum.models.label_smoothing import label_smoothing_loss
from tfsum.training.optimizer import Adam, WarmUp

pytestmark = pytest.mark.reference

D, LAYERS = 32, 2
SHRINK = np.float32(((D - 1) / D) ** 0.5)
EPSILON = 2e-6 * (D - 1) / D
"""The original's normalization divides by s + 1e-6, s the standard deviation over D - 1. Keras's
divides by sqrt(v + epsilon), v the variance over D; with a gamma smaller by SHRINK that is sqrt(s^2
+ epsilon D / (D - 1)).

No epsilon makes both the same: the squares are s^2 + 2e-6 s + 1e-12 and s^2 + 2e-6 with this one,
equal where s is 1 and else apart by 1e-6 |1/s - 1/s^2| of a value, 2e-6 at s = 0.5 and below 0.3e-6
above s = 1. That is less than what the original's float32 differs from its float64 (5e-6, the
fixture's tolerances.json), whence the fixture's own
tolerances: 1e-5 for outputs, 1e-6 for gradients, 5e-5 after five steps."""
# zero but for rounding, which Adam turns into steps of any direction
NO_GRADIENT = "attention/key/bias"


def names():
    """(its name, our path, transposed, factor) of every weight."""
    dense = (("weight", "kernel", True, 1), ("bias", "bias", False, 1))
    norm = (("a_2", "gamma", False, SHRINK), ("b_2", "beta", False, 1))
    sides = {
        "encoder": {"self_attn": "attention"},
        "decoder": {"self_attn": "self_attention", "src_attn": "cross_attention"},
    }
    parts = [(f"{side}.norm", f"{side}/final_norm", norm) for side in sides]
    for side, attentions in sides.items():
        for i in range(LAYERS):
            theirs, ours = f"{side}.layers.{i}.", f"{side}/layer_{i}/"
            parts += [
                (f"{theirs}{a}.linears.{j}", f"{ours}{b}/{part}", dense)
                for a, b in attentions.items()
                for j, part in enumerate(("query", "key", "value", "output"))
            ]
            parts += [
                (f"{theirs}feed_forward.w_{j}", f"{ours}feed_forward/{part}", dense)
                for j, part in ((1, "inner"), (2, "outer"))
            ]
            parts += [
                (f"{theirs}sublayer.{j}.norm", f"{ours}{part}_norm", norm)
                for j, part in enumerate((*attentions.values(), "feed_forward"))
            ]
    found = [(f"{a}.{x}", f"{b}/{y}", *more) for a, b, kinds in parts for x, y, *more in kinds]
    return [
        *found,
        ("src_embed.0.lut.weight", "source_embedding/embeddings", False, 1),
        ("tgt_embed.0.lut.weight", "target_embedding/embeddings", False, 1),
        ("generator.proj.weight", "output_kernel", False, 1),
        ("generator.proj.bias", "output_bias", False, 1),
    ]


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "parity" / "annotated_transformer_tiny"


@pytest.fixture(scope="module")
def model(folder):
    """The original's model, for tests that change no weight."""
    return read(folder)


def read(folder):
    model = Transformer(
        50,
        60,
        LAYERS,
        LAYERS,
        D,
        4,
        64,
        norm="pre",
        dropout=0.0,
        epsilon=EPSILON,
        start_id=1,
        end_id=59,
        shared_embeddings=False,
        tied_output=False,
        max_length=11,
    )
    model.build()
    weights, variables = load_file(folder / "weights.safetensors"), variables_by_path(model)
    assert {path for _, path, _, _ in names()} == variables.keys()
    assert {name for name, _, _, _ in names()} == weights.keys()
    for name, path, transposed, factor in names():
        variables[path].assign((weights[name].T if transposed else weights[name]) * factor)
    return model


def batch(folder, i):
    stored = np.load(folder / "batches.npz")
    target = stored[f"b{i}_target_ids"]
    return {
        "source_ids": stored[f"b{i}_source_ids"],
        "target_ids": target[:, :-1],
        "target_labels": target[:, 1:],
    }


def as_the_original_masks(model, inputs):
    """The encoder's output and the logits under plain masks.

    Of a source of padding alone the original reads all positions alike, so that its answer depends
    on how many there are. The model reads one of them; the layers, under the original's mask, do
    what the original does.
    """
    source_mask, mask = (inputs[k] != 0 for k in ("source_ids", "target_ids"))
    source = model.source_positions(model.source_embedding(inputs["source_ids"]))
    source = model.encoder(source, key_mask=source_mask)
    x = model.target_positions(model.target_embedding(inputs["target_ids"]))
    x = model.decoder(x, source, key_mask=mask, source_mask=source_mask)
    return source, keras.ops.matmul(x, keras.ops.transpose(model.output_kernel)) + model.output_bias


@pytest.mark.parametrize("i", [0, 1, 2, 3])
def test_outputs(folder, model, i):
    """Padding inside of a target and a source of padding alone (batch 3) among them."""
    expected, inputs = np.load(folder / "outputs.npz"), batch(folder, i)
    source, logits = as_the_original_masks(model, inputs)
    np.testing.assert_allclose(source, expected[f"b{i}_encoder_output"], atol=1e-5)
    np.testing.assert_allclose(
        keras.ops.log_softmax(logits), expected[f"b{i}_log_probs"], atol=1e-5
    )
    real = (inputs["source_ids"] != 0).any(axis=1)
    assert real.all() == (i != 3)
    np.testing.assert_allclose(model.encode(inputs["source_ids"])[real], source[real], atol=1e-6)
    np.testing.assert_allclose(model(inputs)[real], logits[real], atol=1e-6)


def test_each_layer_and_its_attention(folder, model):
    expected, inputs = np.load(folder / "outputs.npz"), batch(folder, 0)
    x = model.source_positions(model.source_embedding(inputs["source_ids"]))
    np.testing.assert_allclose(x, expected["b0_source_embedding"], atol=1e-5)
    source_mask, mask = (inputs[k] != 0 for k in ("source_ids", "target_ids"))
    source, outputs, attentions = model.encoder(x, key_mask=source_mask, return_all=True)
    x = model.target_positions(model.target_embedding(inputs["target_ids"]))
    last, decoded, own, cross = model.decoder(
        x, source, key_mask=mask, source_mask=source_mask, return_all=True
    )
    np.testing.assert_allclose(last, expected["b0_decoder_output"], atol=1e-5)
    for j in range(LAYERS):
        np.testing.assert_allclose(outputs[j + 1], expected[f"b0_encoder_layer_{j}"], atol=2e-5)
        np.testing.assert_allclose(attentions[j], expected[f"b0_encoder_{j}_self_attn"], atol=1e-5)
        np.testing.assert_allclose(decoded[j + 1], expected[f"b0_decoder_layer_{j}"], atol=2e-5)
        np.testing.assert_allclose(own[j], expected[f"b0_decoder_{j}_self_attn"], atol=1e-5)
        np.testing.assert_allclose(cross[j], expected[f"b0_decoder_{j}_src_attn"], atol=1e-5)


@pytest.mark.parametrize("i", range(8))
def test_loss(folder, model, i):
    expected, inputs = np.load(folder / "outputs.npz"), batch(folder, i)
    tokens = float(model.loss_weight(inputs, None))
    assert tokens == expected[f"b{i}_ntokens"]
    if i == 3:  # it has a source of padding alone, see above
        losses = label_smoothing_loss(
            as_the_original_masks(model, inputs)[1], inputs["target_labels"], 0.1
        )
        found = np.sum(losses), np.sum(losses) / tokens
    else:
        found = model.summed_loss(inputs, None, False), model.compute_loss(inputs)
    for loss, name in zip(found, ("sum", "per_token"), strict=True):
        assert float(loss) == pytest.approx(float(expected[f"b{i}_loss_{name}"]), rel=1e-5)


@pytest.mark.parametrize("case", ["no_padding", "some_padding", "one_padding", "all_padding"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_label_smoothing(folder, case, smoothing):
    """The loss and its gradient; the original's is by log-probabilities, ours by logits through the
    softmax."""
    stored = np.load(folder / "label_smoothing.npz")
    logits = tf.constant(stored["log_probs"])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.reduce_sum(label_smoothing_loss(logits, stored[f"{case}_targets"], smoothing))
    np.testing.assert_allclose(loss, stored[f"{case}_s{smoothing}_loss"], atol=1e-5, rtol=1e-6)
    by_log_probability = stored[f"{case}_s{smoothing}_grad_log_probs"].astype(np.float64)
    chance = np.exp(stored["log_probs"].astype(np.float64))
    expected = by_log_probability - chance * by_log_probability.sum(-1, keepdims=True)
    np.testing.assert_allclose(tape.gradient(loss, logits), expected, atol=1e-6)


def test_gradients(folder, model):
    expected, inputs = np.load(folder / "gradients.npz"), batch(folder, 0)
    variables = variables_by_path(model)
    with tf.GradientTape() as tape:
        loss = model.compute_loss(inputs, training=True)
    found = tape.gradient(loss, {path: v.value for path, v in variables.items()})
    for name, path, transposed, factor in names():
        gradient = tf.convert_to_tensor(found[path]).numpy() * factor
        theirs = expected[name].T if transposed else expected[name]
        np.testing.assert_allclose(
            gradient, theirs, atol=1e-6 + 1e-5 * np.abs(theirs).max(), err_msg=name
        )


@keras.saving.register_keras_serializable("tests")
class Lookup(keras.optimizers.schedules.LearningRateSchedule):
    """The rates that the original took; it is a step behind the paper."""

    def __init__(self, rates):
        self.rates = rates

    def __call__(self, step):
        return tf.gather(tf.constant(self.rates, tf.float32), step)


def test_five_steps(folder):
    model = read(folder)
    expected = np.load(folder / "adam_5_steps.npz")
    # Gamma is its gamma times SHRINK, and so is each of Adam's steps.
    optimizer = Adam(Lookup(expected["log/learning_rate"]), {"gamma": float(SHRINK)}, beta_2=0.98)
    model.compile(optimizer=optimizer, run_eagerly=True)  # each size would have its graph
    losses = [
        model.fit(tf.data.Dataset.from_tensors(batch(folder, i)), verbose=0, shuffle=False).history[
            "loss"
        ][0]
        for i in (0, 4, 5, 6, 7)
    ]
    np.testing.assert_allclose(losses, expected["log/loss_per_token"], rtol=1e-5)
    variables = variables_by_path(model)
    for name, path, transposed, factor in names():
        if not path.endswith(NO_GRADIENT):
            found = np.asarray(variables[path]) / factor
            np.testing.assert_allclose(
                found.T if transposed else found, expected[name], atol=5e-5, err_msg=name
            )


def test_rates(folder):
    """The paper's schedule is the original's `rate`, from step 1 on."""
    for setting, rates in json.loads((folder / "noam_rate.json").read_text()).items():
        size, factor, warmup = (float(part.split("=")[1]) for part in setting.split())
        schedule = WarmUp(factor * (size * warmup) ** -0.5, int(warmup))
        for step, rate in rates.items():
            assert step == "0" or float(schedule(int(step) - 1)) == pytest.approx(rate, rel=2e-6), (
                setting,
                step,
            )


def test_greedy(folder, model):
    """The original decodes one source at a time and never stops; ours all at once, none of which
    ends."""
    cases = json.loads((folder / "greedy.json").read_text())
    longest = max(len(case["source_ids"]) for case in cases)
    sources = np.array(
        [case["source_ids"] + [0] * (longest - len(case["source_ids"])) for case in cases], np.int32
    )
    expected = np.array([case["ids"] for case in cases])
    np.testing.assert_array_equal(model.predict(sources, verbose=0), expected[:, 1:])
    ids, log_probability, lengths = model.generate(sources, Greedy())
    np.testing.assert_array_equal(ids[:, 0], expected[:, 1:])
    np.testing.assert_allclose(
        log_probability[:, 0], [sum(case["log_probs_of_ids"]) for case in cases], atol=5e-5
    )
    assert (lengths == 11).all()
