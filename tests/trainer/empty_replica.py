"""Trains each model on two logical CPUs, of which the second gets no row, and on one; stores the
weights.

python empty_replica.py FOLDER
"""

import sys

import keras
import numpy as np
import tensorflow as tf
import two_processors  # noqa: F401 - before tfsum

from tfsum.data.batcher import without_autotune
from tfsum.models import BertClassifier, BertForPretraining, BertSumExt, Transformer

BERT = {
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 16,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
IDS = np.random.default_rng(0).integers(5, 30, (3, 6)).astype("int32")
ZEROS, PLACES = np.zeros_like(IDS), np.tile(np.array([[1, 2]], np.int32), (3, 1))
STARTS = np.array([[0, 3], [0, -1], [0, 2]], np.int32)
CASES = {
    "extractive": (
        lambda: BertSumExt(dict(BERT), "classifier"),
        {
            "token_ids": IDS,
            "segment_ids": ZEROS,
            "sentence_starts": STARTS,
            "labels": np.array([[1, 0], [0, 0], [1, 1]], np.float32),
        },
    ),
    "word head": (
        lambda: BertSumExt(dict(BERT), "classifier", word_head=True),
        {
            "token_ids": IDS,
            "segment_ids": ZEROS,
            "sentence_starts": STARTS,
            "labels": np.array([[1, 0], [0, 0], [1, 1]], np.float32),
            "grams": np.random.default_rng(1).integers(-1, 4, (3, 6, 2)).astype("int32"),
            "gram_counts": np.array([[1, 0, 0, 2], [0, 0, 1, 0], [0, 1, 0, 0]], np.float32),
        },
    ),
    "classifier": (
        lambda: BertClassifier(dict(BERT), ["a", "b"]),
        {"token_ids": IDS, "segment_ids": ZEROS, "labels": np.array([0, 1, 1], np.int32)},
    ),
    "transformer": (
        lambda: Transformer(30, 30, 1, 1, 8, 2, 8, start_id=2, end_id=3, dropout=0.0),
        {"source_ids": IDS, "target_ids": IDS, "target_labels": IDS},
    ),
    "pretraining": (
        lambda: BertForPretraining(dict(BERT)),
        {
            "token_ids": IDS,
            "segment_ids": ZEROS,
            "masked_lm_positions": PLACES,
            "masked_lm_ids": IDS[:, 1:3],
            "masked_lm_weights": np.ones((3, 2), np.float32),
            "next_sentence_labels": np.zeros(3, np.int32),
        },
    ),
}


def train(strategy, name, parts):
    make, batch = CASES[name]
    with strategy.scope():
        keras.utils.set_random_seed(3)
        model = make()
        model.build()
        model.compile(keras.optimizers.SGD(0.5, momentum=0.9), jit_compile=False)
    model.micro_batches = 2
    empty = {key: value[:0] for key, value in batch.items()}
    signature = {
        key: tf.TensorSpec((None, *[None] * (value.ndim - 1)), value.dtype)
        for key, value in batch.items()
    }

    def data(_=None):
        return tf.data.Dataset.from_generator(
            lambda: iter([batch, *[empty] * (parts - 1)] * 3), output_signature=signature
        ).with_options(without_autotune())

    given = data() if parts == 1 else strategy.distribute_datasets_from_function(data)
    history = model.fit(given, steps_per_epoch=3, verbose=0, shuffle=False).history
    weights = {v.path.replace("/", "."): v.numpy() for v in model.trainable_variables}
    return {**weights, "loss": np.array(history["loss"])}


if __name__ == "__main__":
    both = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    for name in CASES:
        np.savez(f"{sys.argv[1]}/{name}_1.npz", **train(tf.distribute.get_strategy(), name, 1))
        np.savez(f"{sys.argv[1]}/{name}_2.npz", **train(both, name, 2))
