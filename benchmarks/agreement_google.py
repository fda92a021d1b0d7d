"""Outputs of google-research/bert for its tiny model and of tfsum: pairs of arrays to compare.

The fixture's README describes its folder. One batch, b7, cannot occur in practice: it masks a token
in the middle, and one of its rows is fully masked. Models in tfsum build their masks from ids, so
b7 is passed to the layers with its own mask.
"""

import pathlib

import keras
import numpy as np
import tensorflow as tf
from agreement_arrays import FLOAT32, Comparisons, gradients_by_name, named_arrays

from tfsum.formats.google import google_name, write_google
from tfsum.models import Bert, BertClassifier, BertForPretraining
from tfsum.training.optimizer import NOT_DECAYED, Adam, BertWarmUp

NAMES = {
    "input_ids": "token_ids",
    "segment_ids": "segment_ids",
    "masked_lm_positions": "masked_lm_positions",
    "masked_lm_ids": "masked_lm_ids",
    "masked_lm_weights": "masked_lm_weights",
    "next_sentence_labels": "next_sentence_labels",
}
BATCHES = (0, 1, 2, 3, 4, 5, 6, 8)
# The fixture's own bounds.
NOTHING_TO_SEE, GRADIENTS, FIVE_STEPS = 5e-4, 1e-6, 3e-6


class GoogleFixture:
    """A model folder written by Google's program, batches, and the outputs of that program for
    them.

    Attributes:
        model: without dropout, as the fixture was made.
        batches: by our names of the inputs.
    """

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.outputs = dict(np.load(folder / "outputs.npz"))
        arrays = np.load(folder / "batches.npz")
        self.batches = [
            {ours: arrays[f"b{i}_{theirs}"] for theirs, ours in NAMES.items()} for i in range(9)
        ]
        self.class_labels = [arrays[f"b{i}_class_labels"] for i in range(9)]
        self.mask_of_b7 = arrays["b7_input_mask"] != 0
        self.model = self.read_model()

    def read_model(self) -> BertForPretraining:
        return BertForPretraining.from_pretrained(
            self.folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )

    def encoder(self, i: int) -> Comparisons:
        """Includes padding: the original computes it like any other position."""
        x = self.batches[i]
        found = Bert.from_pretrained(self.folder)(x["token_ids"], x["segment_ids"], return_all=True)
        embedded, *layers = found["hidden_states"]
        arrays = {"embedding_output": embedded} | {
            f"encoder_layer_{j}": layer for j, layer in enumerate(layers)
        }
        arrays |= {name: found[name] for name in ("sequence_output", "pooled_output")}
        yield from self._beside_outputs(i, arrays)

    def heads(self, i: int) -> Comparisons:
        x, found = self.batches[i], self.model(self.batches[i])
        masked = _log_softmax(found["masked_lm_logits"])
        masked = masked.reshape(-1, masked.shape[-1])
        pairs = _log_softmax(found["next_sentence_logits"])
        ids, labels = x["masked_lm_ids"].ravel(), x["next_sentence_labels"].ravel()
        yield from self._beside_outputs(
            i,
            {
                "masked_lm_log_probs": masked,
                "next_sentence_log_probs": pairs,
                "masked_lm_example_loss": -masked[np.arange(len(ids)), ids],
                "next_sentence_example_loss": -pairs[np.arange(len(labels)), labels],
            },
        )

    def losses(self, i: int) -> Comparisons:
        x = self.batches[i]
        scale = self.model.loss_scale(self.model.loss_weight(x, None))
        masked, pairs = np.asarray(self.model.summed_loss(x, None, training=False) * scale)
        yield from self._beside_outputs(
            i,
            {
                "masked_lm_loss": masked,
                "next_sentence_loss": pairs,
                "total_loss": self.model.compute_loss(x, training=False),
            },
        )

    def hole_in_the_mask(self) -> Comparisons:
        """b7. In a fully masked row the original adds -10000 to all scores, so it attends to
        everything, rounded."""
        mask = self.mask_of_b7 | ~self.mask_of_b7.any(axis=1, keepdims=True)
        model, bert, x = self.model, self.model.bert, self.batches[7]
        embedded = bert.embed(x["token_ids"], x["segment_ids"], training=False)
        sequence, states, _ = bert.encoder(embedded, key_mask=mask, training=False, return_all=True)
        pooled = bert.pooler(sequence[:, 0])
        vectors = np.take_along_axis(
            np.asarray(sequence), x["masked_lm_positions"][..., None], axis=1
        )
        found = {f"encoder_layer_{j}": state for j, state in enumerate(states[1:])} | {
            "embedding_output": states[0],
            "sequence_output": sequence,
            "pooled_output": pooled,
            "masked_lm_log_probs": _log_softmax(
                model.masked_lm(vectors, bert.word_embeddings.embeddings)
            ),
            "next_sentence_log_probs": _log_softmax(model.next_sentence(pooled)),
        }
        for name, value in found.items():
            value = np.asarray(value)
            expected = self.outputs[f"b7_{name}"].reshape(value.shape)
            yield f"b7_{name}", value[:2], expected[:2], FLOAT32
            yield f"b7_{name}, the row with nothing to see", value[2], expected[2], NOTHING_TO_SEE

    def classifier(self) -> Comparisons:
        """run_classifier.py on the same encoder: outputs and losses, and the gradients of the
        layers above it on b0."""
        expected = dict(np.load(self.folder / "classifier.npz"))
        model = BertClassifier(
            Bert.from_pretrained(
                self.folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
            ),
            ["0", "1", "2"],
        )
        model.build()
        model.classifier.kernel.assign(expected["output_weights"].T)
        model.classifier.bias.assign(expected["output_bias"])
        for i in BATCHES:
            x = {**self.batches[i], "labels": self.class_labels[i]}
            logits = model(x)
            found = {
                "logits": logits,
                "probabilities": model.predict_step(x),
                "per_example_loss": -_log_softmax(logits)[np.arange(len(logits)), x["labels"]],
                "loss": model.compute_loss(x, training=False),
            }
            for name, value in found.items():
                yield f"b{i}_{name}", np.asarray(value), expected[f"b{i}_{name}"], FLOAT32
        with tf.GradientTape() as tape:
            loss = model.compute_loss(
                {**self.batches[0], "labels": self.class_labels[0]}, training=False
            )
        *above, norm = _gradients_above(model, tape, loss)
        names = (
            "bert/pooler/dense/kernel",
            "bert/pooler/dense/bias",
            "output_weights",
            "output_bias",
        )
        for name, value in zip(names, above, strict=True):
            yield f"b0_grad/{name}", value, expected[f"b0_grad/{name}"], GRADIENTS
        yield "norm of all gradients", norm, expected["b0_global_norm_of_summed_gradients"], FLOAT32

    def gradients(self) -> Comparisons:
        """Gradients of the loss on b0 with respect to every variable."""
        yield from _same_names(
            gradients_by_name(self.model, self.batches[0], google_name),
            dict(np.load(self.folder / "gradients.npz")),
            GRADIENTS,
        )

    def five_steps(self, micro_batches: int = 1) -> Comparisons:
        """Through `fit`: clipping at 1.0, no bias correction, weight decay except on biases and
        normalizations."""
        model = self.read_model()
        model.micro_batches = micro_batches
        optimizer = Adam(
            BertWarmUp(1e-3, 3, 20),
            epsilon=1e-6,
            weight_decay=0.01,
            global_clipnorm=1.0,
            bias_correction=False,
        )
        optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
        model.compile(optimizer=optimizer, jit_compile=False)
        rows = {
            name: np.concatenate([batch[name] for batch in self.batches[:5]])
            for name in self.batches[0]
        }
        losses = []
        keep = keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: losses.append(logs["loss"])
        )
        data = tf.data.Dataset.from_tensor_slices(rows).batch(len(self.batches[0]["token_ids"]))
        for step in range(5):
            model.fit(data.skip(step).take(1), shuffle=False, verbose=0, callbacks=[keep])
        expected = dict(np.load(self.folder / "adamw_5_steps.npz"))
        yield "log/total_loss", np.array(losses), expected["log/total_loss"], FLOAT32
        slots = {
            "": model.trainable_variables,
            "/adam_m": optimizer._momentums,
            "/adam_v": optimizer._velocities,
        }
        found = {
            name + ending: value
            for ending, values in slots.items()
            for name, value in named_arrays(model, values, google_name).items()
        }
        kept = {name: value for name, value in expected.items() if not name.startswith("log/")}
        yield from _same_names(found, kept, FIVE_STEPS)

    def written_again(self, folder: pathlib.Path) -> Comparisons:
        """The checkpoint that tfsum writes to `folder`: Google's names, shapes, types and bits."""
        model = BertForPretraining.from_pretrained(self.folder)  # with the config's dropout
        write_google(folder, model.bert.config, model.tensors(), {})
        ours, theirs = (
            google_variables(place / "bert_model.ckpt") for place in (folder, self.folder)
        )
        yield from _same_names(ours, theirs, 0.0)
        strange = [
            name for name in ours.keys() & theirs.keys() if ours[name].dtype != theirs[name].dtype
        ]
        yield f"of another type: {', '.join(strange)}", np.array(len(strange)), np.array(0), 0.0

    def _beside_outputs(self, i: int, found: dict) -> Comparisons:
        for name, value in found.items():
            yield f"b{i}_{name}", np.asarray(value), self.outputs[f"b{i}_{name}"], FLOAT32


def google_variables(prefix: pathlib.Path) -> dict[str, np.ndarray]:
    """All arrays in a TensorFlow 1 checkpoint."""
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def _same_names(found: dict, expected: dict, tolerance: float) -> Comparisons:
    strange = sorted(found.keys() ^ expected.keys())
    yield f"names on one side alone: {', '.join(strange)}", np.array(len(strange)), np.array(0), 0.0
    for name in found.keys() & expected.keys():
        yield name, found[name], expected[name], tolerance


def _gradients_above(model: BertClassifier, tape: tf.GradientTape, loss) -> list[np.ndarray]:
    """Gradients of the pooler and the classifier as Google stores them, and the norm of all
    variables' gradients."""
    head = [
        model.bert.pooler.kernel,
        model.bert.pooler.bias,
        model.classifier.kernel,
        model.classifier.bias,
    ]
    values = tape.gradient(loss, [v.value for v in model.trainable_variables])
    values = [tf.convert_to_tensor(value) for value in values]
    of_variable = {
        id(v): value.numpy() for v, value in zip(model.trainable_variables, values, strict=True)
    }
    pooler, pooler_bias, kernel, bias = (of_variable[id(variable)] for variable in head)
    return [pooler, pooler_bias, kernel.T, bias, tf.linalg.global_norm(values).numpy()]


def _log_softmax(logits) -> np.ndarray:
    return np.asarray(keras.ops.log_softmax(logits))
