"""BertSumExt against what the original BertSum and PreSumm computed: scores, losses, gradients and
steps."""

import functools
import json

import numpy as np
import pytest
import tensorflow as tf

from tfsum.formats import weight_names
from tfsum.models.bert_sum_ext import BertSumExt
from tfsum.papers.checkpoint_names import bertsum_names, bertsum_tensors
from tfsum.papers.checkpoint_reader import read_bertsum
from tfsum.training.optimizer import Adam, WarmUp

pytestmark = pytest.mark.reference

BERTSUM = ["bertsum_ext_classifier", "bertsum_ext_transformer"]
LSTM = ["bertsum_ext_rnn"]
PRESUMM = ["presumm_ext_transformer", "presumm_ext_baseline"]
NO_GRADIENT = "key.bias", "linear_keys.bias"
"""Their gradient is zero but for rounding, which Adam blows up to steps of any direction."""


@pytest.fixture
def parity(shared):
    return shared / "parity"


def read(parity, name):
    """The model of a fixture, without dropout and with the original's summed loss."""
    bert = {
        "num_attention_heads": 4,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    if "baseline" not in name:
        bert = json.loads((parity / "bert_config_tiny48.json").read_text())
    return read_bertsum(
        parity / f"{name}_step0.pt", bert, loss_reduction="sum", legacy=name in LSTM
    )[0]


read_once = functools.cache(read)  # for tests that change no weight


def prefix(name):
    return "encoder." if name.startswith("bertsum") else "ext_layer."


def batches(parity, name):
    """The three batches of a repository as inputs of BertSumExt."""
    stored = np.load(parity / f"{name.split('_')[0]}_batches.npz")
    labels = "labels" if name.startswith("bertsum") else "src_sent_labels"
    return [
        {
            "token_ids": stored[f"b{i}_src"],
            "segment_ids": stored[f"b{i}_segs"],
            "sentence_starts": (
                np.where(stored[f"b{i}_mask_cls"], stored[f"b{i}_clss"], -1).astype(np.int32)
            ),
            "labels": stored[f"b{i}_{labels}"].astype(np.float32),
        }
        for i in range(3)
    ]


def probabilities(model, batch):
    return np.asarray(model.predict_step(batch))


@pytest.mark.parametrize("name", BERTSUM + PRESUMM + LSTM)
def test_scores(parity, name):
    expected, model = np.load(parity / f"{name}_ref.npz"), read_once(parity, name)
    for i, batch in enumerate(batches(parity, name)):
        np.testing.assert_allclose(
            probabilities(model, batch), expected[f"b{i}_scores"], atol=1e-5, rtol=0
        )


@pytest.mark.parametrize("name", BERTSUM + PRESUMM + LSTM)
def test_token_vectors(parity, name):
    expected, model = np.load(parity / f"{name}_ref.npz"), read_once(parity, name)
    batch = batches(parity, name)[0]
    found = model.bert(batch["token_ids"], batch["segment_ids"])["sequence_output"]
    np.testing.assert_allclose(found, expected["b0_top_vec"], atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", BERTSUM)
def test_scores_of_documents_alone(parity, name):
    """The original without padding, one document at a time; ours in one batch."""
    expected, model = np.load(parity / f"{name}_ref.npz"), read_once(parity, name)
    found = probabilities(model, batches(parity, name)[0])
    np.testing.assert_allclose(
        found, np.nan_to_num(expected["b0_scores_each_alone"]), atol=1e-5, rtol=0
    )


def test_scores_of_the_repaired_lstm(parity):
    """The original with the state lists apart, one document at a time without padding; ours in one
    batch."""
    config = json.loads((parity / "bert_config_tiny48.json").read_text())
    model = read_bertsum(parity / "bertsum_ext_rnn_step0.pt", config)[0]
    expected = np.load(parity / "bertsum_ext_rnn_ref.npz")
    found = probabilities(model, batches(parity, "bertsum_ext_rnn")[0])
    np.testing.assert_allclose(
        found, np.nan_to_num(expected["b0_scores_alias_fixed_each_alone"]), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("name", BERTSUM + PRESUMM + LSTM)
def test_losses(parity, name):
    expected, model = np.load(parity / f"{name}_ref.npz"), read_once(parity, name)
    for i, batch in enumerate(batches(parity, name)):
        found = model.summed_loss(batch, None, training=False)
        np.testing.assert_allclose(found, expected[f"b{i}_loss"], atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("name", BERTSUM + PRESUMM + LSTM)
def test_gradients(parity, name):
    (path,) = parity.glob(f"{name}_grads*.npz")
    expected, every = np.load(path), 4 if "every4" in path.name else 1
    model = read_once(parity, name)
    found = gradients(model, batches(parity, name)[0], prefix(name))
    assert sorted(key for key, gradient in found.items() if gradient is not None) == sorted(
        expected.files
    )
    for key in expected.files:
        right = expected[key].ravel()
        wrong = np.abs(found[key].ravel()[::every] - right).max()
        assert wrong <= 1e-4 * np.abs(right).max() + 1e-5, key


def gradients(model, batch, prefix):
    """Gradients of the summed loss under the original's names, None where there is none."""
    with tf.GradientTape() as tape:
        loss = model.summed_loss(batch, None, training=True)
    values = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    by_path = dict(zip((path_in(model, v) for v in model.trainable_variables), values, strict=True))
    found = {}
    for name, path, transposed in bertsum_names(model, prefix):
        value = (
            by_path[path] if by_path[path] is None else tf.convert_to_tensor(by_path[path]).numpy()
        )
        found[name] = value.T if transposed and value is not None else value
    return found


def path_in(model, variable):
    for room, part in (("bert", model.bert), ("head", model.head)):
        for path, known in weight_names.variables_by_path(part).items():
            if known is variable:
                return f"{room}/{path}"
    raise AssertionError(f"{variable.path} is in no part of the model")


def train(model, inputs, optimizer, eager=False):
    """One epoch of `fit`, a step for each batch; gives the mean of the steps' losses."""
    batch = {
        name: tf.TensorSpec((None, None), tf.as_dtype(array.dtype))
        for name, array in inputs[0].items()
    }
    data = tf.data.Dataset.from_generator(lambda: iter(inputs), output_signature=batch)
    model.compile(optimizer=optimizer, run_eagerly=eager)
    return model.fit(data, epochs=1, shuffle=False, verbose=0).history["loss"][0]


def assert_weights(model, prefix, path, every, share=0.998):
    """At least `share` of all elements within 2e-5: Adam may move those of tiny gradients
    otherwise."""
    expected, found = np.load(path), bertsum_tensors(model, prefix)
    keys = [key for key in expected.files if not key.endswith(NO_GRADIENT) and "pos_emb" not in key]
    keys = [key for key in keys if "transformer_inter.0.layer_norm" not in key]
    assert len(keys) > 30
    wrong = np.concatenate(
        [np.abs(found[key].ravel()[::every] - expected[key].ravel()) for key in keys]
    )
    assert np.mean(wrong <= 2e-5) >= share
    assert wrong.max() <= 1e-3


@pytest.mark.parametrize(
    "name",
    [
        "bertsum_ext_transformer",
        # the same encoder and optimizer under another head
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "presumm_ext_transformer",
                "bertsum_ext_classifier",
                "presumm_ext_baseline",
                "bertsum_ext_rnn",
            )
        ),
    ],
)
def test_three_optimizer_steps(parity, name):
    (path,) = parity.glob(f"{name}_step3*.npz")
    model = read(parity, name)
    optimizer = Adam(WarmUp(0.02 / 2**0.5, 2), epsilon=1e-9)
    # For speed; the micro-batches below are in a graph.
    loss = train(model, batches(parity, name), optimizer, eager=True)
    np.testing.assert_allclose(
        loss, np.load(parity / f"{name}_ref.npz")["step_losses"].mean(), rtol=1e-5
    )
    assert_weights(model, prefix(name), path, 4 if "every4" in path.name else 1)


@pytest.mark.slow
def test_two_steps_of_two_micro_batches_with_clipping(parity):
    """The original adds up two batches before it clips and steps: for us one batch of all their
    documents."""
    name = "bertsum_ext_transformer"
    one, two, three = batches(parity, name)
    model = read(parity, name)
    model.micro_batches = 2
    optimizer = Adam(WarmUp(0.02 / 2**0.5, 2), epsilon=1e-9, global_clipnorm=1.0)
    loss = train(model, [joined(one, two), joined(three, one)], optimizer)
    np.testing.assert_allclose(
        loss, np.load(parity / f"{name}_ref.npz")["accum_losses"].mean(), rtol=1e-5
    )
    assert_weights(model, "encoder.", parity / f"{name}_accum2clip1_step2_every4.npz", 4)


def joined(first, second):
    """Two batches as one, padded to the longer."""
    whole = {}
    for name in first:
        columns = max(first[name].shape[1], second[name].shape[1])
        empty = -1 if name == "sentence_starts" else 0
        more = [((0, 0), (0, columns - batch[name].shape[1])) for batch in (first, second)]
        rows = [
            np.pad(b[name], m, constant_values=empty)
            for b, m in zip((first, second), more, strict=True)
        ]
        whole[name] = np.concatenate(rows)
    return whole


def test_a_model_folder_of_a_checkpoint_scores_the_same(parity, tmp_path):
    model = read(parity, "bertsum_ext_transformer")
    vocabulary = (parity / "vocab_tiny48.txt").read_text().splitlines()
    model.save_pretrained(tmp_path, vocabulary)
    batch = batches(parity, "bertsum_ext_transformer")[1]
    again = BertSumExt.from_pretrained(tmp_path)
    np.testing.assert_array_equal(probabilities(again, batch), probabilities(model, batch))
