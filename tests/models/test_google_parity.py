"""google-research/bert: every output, loss and gradient of its tiny model, and five steps of its optimizer.

The fixture's README says what lies in it. One batch, b7, is not of this world: it hides a token in the middle, and
has a row with nothing to see. Models here make their masks of ids, so b7 goes through the layers with its own mask.
"""

import json

import keras
import numpy as np
import pytest

from tfsum.models import Bert, model_folder
from tfsum.models.bert_for_pretraining import BertForPretraining
from tfsum.training.optimizer import NOT_DECAYED, Adam, BertWarmUp

NAMES = {"input_ids": "token_ids", "segment_ids": "segment_ids", "masked_lm_positions": "masked_lm_positions",
         "masked_lm_ids": "masked_lm_ids", "masked_lm_weights": "masked_lm_weights",
         "next_sentence_labels": "next_sentence_labels"}
BATCHES = [0, 1, 2, 3, 4, 5, 6, 8]
FLOAT32 = 2e-5


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "parity" / "google_bert_tiny"


@pytest.fixture(scope="module")
def outputs(folder):
    return dict(np.load(folder / "outputs.npz"))


@pytest.fixture(scope="module")
def batches(folder):
    arrays = np.load(folder / "batches.npz")
    return [{ours: arrays[f"b{i}_{theirs}"] for theirs, ours in NAMES.items()} for i in range(9)]


@pytest.fixture(scope="module")
def model(folder):
    """Without dropout, as the fixture was made."""
    return BertForPretraining.from_pretrained(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def close(found, expected, atol=FLOAT32, **options):
    np.testing.assert_allclose(np.asarray(found), expected, atol=atol, rtol=0, **options)


def log_softmax(logits):
    return np.asarray(keras.ops.log_softmax(logits))


@pytest.mark.parametrize("i", BATCHES)
def test_the_encoder(folder, batches, outputs, i):
    """At padding too: the original computes it like any other place."""
    found = Bert.from_pretrained(folder)(batches[i]["token_ids"], batches[i]["segment_ids"], return_all=True)
    close(found["hidden_states"][0], outputs[f"b{i}_embedding_output"])
    for layer in range(3):
        close(found["hidden_states"][layer + 1], outputs[f"b{i}_encoder_layer_{layer}"])
    close(found["sequence_output"], outputs[f"b{i}_sequence_output"])
    close(found["pooled_output"], outputs[f"b{i}_pooled_output"])


@pytest.mark.parametrize("i", BATCHES)
def test_the_heads(model, batches, outputs, i):
    found = model(batches[i])
    masked = log_softmax(found["masked_lm_logits"]).reshape(-1, 120)
    pairs = log_softmax(found["next_sentence_logits"])
    close(masked, outputs[f"b{i}_masked_lm_log_probs"])
    close(pairs, outputs[f"b{i}_next_sentence_log_probs"])
    ids, labels = batches[i]["masked_lm_ids"].ravel(), batches[i]["next_sentence_labels"].ravel()
    close(-masked[np.arange(len(ids)), ids], outputs[f"b{i}_masked_lm_example_loss"])
    close(-pairs[np.arange(len(labels)), labels], outputs[f"b{i}_next_sentence_example_loss"])


@pytest.mark.parametrize("i", BATCHES)
def test_the_losses(model, batches, outputs, i):
    terms = model.summed_loss(batches[i], None, training=False) * model.loss_scale(
        model.loss_weight(batches[i], None))
    close(terms, [outputs[f"b{i}_masked_lm_loss"], outputs[f"b{i}_next_sentence_loss"]])
    close(model.compute_loss(batches[i], training=False), outputs[f"b{i}_total_loss"])


def test_a_hole_in_the_mask_and_a_row_with_nothing_to_see(folder, model, batches, outputs):
    """In that row the original shifts all scores alike by -10000, which is to see everything, rounded."""
    mask = np.load(folder / "batches.npz")["b7_input_mask"] != 0
    mask |= ~mask.any(axis=1, keepdims=True)
    bert, x = model.bert, batches[7]
    embedded = bert.embed(x["token_ids"], x["segment_ids"], training=False)
    sequence, states, _ = bert.encoder(embedded, attention_mask=mask[:, None, None], training=False, return_all=True)
    pooled = bert.pooler(sequence[:, 0])
    vectors = np.take_along_axis(np.asarray(sequence), x["masked_lm_positions"][..., None], axis=1)
    found = {f"encoder_layer_{i}": states[i + 1] for i in range(3)} | {
        "embedding_output": states[0], "sequence_output": sequence, "pooled_output": pooled,
        "masked_lm_log_probs": log_softmax(model.masked_lm(vectors, bert.word_embeddings.embeddings)),
        "next_sentence_log_probs": log_softmax(model.next_sentence(pooled))}
    for name, value in found.items():
        expected = outputs[f"b7_{name}"].reshape(value.shape)
        close(value[:2], expected[:2], err_msg=name)
        close(value[2], expected[2], atol=5e-4, err_msg=name)  # the fixture's own bound for the rounded scores


def google_arrays(model, values):
    """Arrays of the model's trainable variables by Google's names, as Google stores them."""
    from tfsum.conversion.google import google_name

    names = {path: (name, transposed) for name, path, transposed in model_folder.bert_names(3, "bert.")}
    heads = {path: (name, transposed) for rows in model.head_names().values() for name, path, transposed in rows}
    rooms = [(model_folder.variables_by_path(model.bert), names), (model.head_variables(), heads)]
    found = {}
    of_variable = {id(v): value for v, value in zip(model.trainable_variables, values, strict=True)}
    for variables, table in rooms:
        for path, variable in variables.items():
            name, transposed = google_name(*table[path])
            value = np.asarray(of_variable[id(variable)])
            found[name] = value.T if transposed else value
    return found


def test_the_gradients(folder, model, batches):
    tf = pytest.importorskip("tensorflow")
    with tf.GradientTape() as tape:
        loss = model.compute_loss(batches[0], training=True)
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    found = google_arrays(model, [tf.convert_to_tensor(g) for g in gradients])
    expected = np.load(folder / "gradients.npz")
    assert sorted(found) == sorted(expected.files) and len(found) == 62
    for name in expected.files:
        close(found[name], expected[name], atol=1e-6, err_msg=name)


def test_the_learning_rates(folder):
    for setting, rates in json.loads((folder / "learning_rates.json").read_text()).items():
        peak, total, warmup = (float(part.split("=")[1]) for part in setting.split())
        schedule = BertWarmUp(peak, int(warmup), int(total))
        close([schedule(step) for step in range(len(rates))], rates, atol=peak * 3e-6, err_msg=setting)


@pytest.mark.parametrize("micro_batches", [1, 3])
def test_five_steps_of_the_optimizer(folder, batches, micro_batches):
    """Through `fit`: clipping at 1.0, no bias correction, decay but on biases and normalizations."""
    tf = pytest.importorskip("tensorflow")
    model = BertForPretraining.from_pretrained(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model.micro_batches = micro_batches
    optimizer = Adam(BertWarmUp(1e-3, 3, 20), epsilon=1e-6, weight_decay=0.01, global_clipnorm=1.0,
                     bias_correction=False)
    optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
    model.compile(optimizer=optimizer, jit_compile=False)
    rows = {name: np.concatenate([batch[name] for batch in batches[:5]]) for name in batches[0]}
    losses = []
    keep = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: losses.append(logs["loss"]))
    data = tf.data.Dataset.from_tensor_slices(rows).batch(4)
    for step in range(5):
        model.fit(data.skip(step).take(1), verbose=0, callbacks=[keep])
    expected = np.load(folder / "adamw_5_steps.npz")
    close(losses, expected["log/total_loss"])
    slots = {"": model.trainable_variables, "/adam_m": optimizer._momentums, "/adam_v": optimizer._velocities}
    for ending, values in slots.items():
        for name, value in google_arrays(model, values).items():
            close(value, expected[name + ending], atol=3e-6, err_msg=name + ending)
