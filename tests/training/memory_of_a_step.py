"""Prints the estimate of a step's activations, and by how much the step raises the memory of this
process, in bytes.

python memory_of_a_step.py MODEL

The same graph has taken steps with a small batch before, so that what TensorFlow itself takes is
not counted.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

from tfsum.models import BertClassifier, BertForPretraining, BertSumExt, Transformer
from tfsum.training.train import activation_bytes

BERT = {
    "vocab_size": 3000,
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "max_position_embeddings": 256,
}
MODELS = {
    "extractive": lambda: BertSumExt(dict(BERT), "transformer", head_layers=1, head_num_heads=4),
    "classifier": lambda: BertClassifier(dict(BERT), ["a", "b"]),
    "transformer": lambda: Transformer(3000, 3000, 2, 2, 128, 4, 512, start_id=2, end_id=3),
    "pretraining": lambda: BertForPretraining(dict(BERT)),
}


def batch(name, rows, length):
    """Rows without padding."""
    ids = np.random.default_rng(0).integers(5, 3000, (rows, length)).astype("int32")
    places = np.tile(np.arange(0, length, 16, dtype=np.int32), (rows, 1))
    texts, zeros = {"token_ids": ids, "segment_ids": 0 * ids}, np.zeros(rows, np.int32)
    return {
        "extractive": {
            **texts,
            "sentence_starts": places,
            "labels": np.zeros(places.shape, np.float32),
        },
        "classifier": {**texts, "labels": zeros},
        "transformer": {"source_ids": ids, "target_ids": ids, "target_labels": ids},
        "pretraining": {
            **texts,
            "masked_lm_positions": places,
            "masked_lm_ids": ids[:, ::16],
            "masked_lm_weights": np.ones(places.shape, np.float32),
            "next_sentence_labels": zeros,
        },
    }[name]


def peak():
    """Of this program: `ru_maxrss` would begin with that of the process that started it."""
    with open("/proc/self/status") as file:
        (line,) = (line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    name = sys.argv[1]
    model = MODELS[name]()
    model.build()
    model.compile(keras.optimizers.SGD(0.1), jit_compile=False)
    large = batch(name, 32, 256)
    estimate = activation_bytes(model, large)
    signature = {
        key: tf.TensorSpec([None] * value.ndim, value.dtype) for key, value in large.items()
    }

    def fit(given):
        data = tf.data.Dataset.from_generator(lambda: iter([given] * 2), output_signature=signature)
        model.fit(data, steps_per_epoch=2, verbose=0, shuffle=False)

    fit(batch(name, 1, 64))
    before = peak()
    fit(large)
    print(json.dumps([estimate, peak() - before]))
