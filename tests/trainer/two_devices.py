"""Trains tiny models on one and on two logical CPUs and stores their weights;
tests/fixtures/run_scripts.py runs it.

python two_devices.py FOLDER CASE...
"""

import sys

import keras
import numpy as np
import tensorflow as tf
import two_processors  # noqa: F401 - before tfsum

from tfsum.data.batcher import without_autotune
from tfsum.models import BertSumExt
from tfsum.training.optimizer import Adam

BERT = {
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
# Learning rates are small, so that Adam does not blow up what float32 rounds off.
CASES = {
    "plain": {"head": "transformer", "optimizer": lambda: Adam(1e-3, {"bert": 0.1}, epsilon=1e-4)},
    "clipped": {"optimizer": lambda: keras.optimizers.SGD(0.5, momentum=0.9, global_clipnorm=0.1)},
    "micro": {
        "optimizer": lambda: keras.optimizers.SGD(0.5, momentum=0.9, global_clipnorm=0.1),
        "micro_batches": 3,
        "evaluate": True,
    },
    "sum": {"optimizer": lambda: keras.optimizers.SGD(0.05), "loss_reduction": "sum"},
    "user": {"optimizer": lambda: "adam"},
}


def batches():
    """Four batches of 8, 8, 8 and 5 rows; the first rows of each have one sentence, the last ones
    four."""
    random = np.random.default_rng(2)
    for rows in (8, 8, 8, 5):
        ids = random.integers(1, 30, (rows, 16)).astype(np.int32)
        starts = np.tile(np.array([0, 4, 8, 12], np.int32), (rows, 1))
        starts[: rows // 2, 1:] = -1
        ids[: rows // 2, 4:] = 0
        yield {
            "token_ids": ids,
            "segment_ids": (np.arange(16) // 4 % 2 * (ids > 0)).astype(np.int32),
            "sentence_starts": starts,
            "labels": (random.random((rows, 4)) < 0.4).astype(np.float32),
        }


def dataset():
    whole = list(batches())
    signature = {k: tf.TensorSpec((None, None), v.dtype) for k, v in whole[0].items()}
    data = tf.data.Dataset.from_generator(lambda: iter(whole), output_signature=signature)
    return data.with_options(without_autotune())


def train(strategy, case, micro_batches):
    """The weights after 4 steps, the losses, and how far the weights moved."""
    with strategy.scope():
        keras.utils.set_random_seed(3)
        model = BertSumExt(
            BERT,
            head=case.get("head", "classifier"),
            head_layers=1,
            head_num_heads=2,
            head_feed_forward_width=12,
            head_dropout=0.0,
            pooling="mean",
            loss_reduction=case.get("loss_reduction", "mean"),
        )
        model.build()
        model.bert.pooler.trainable = False
        model.compile(optimizer=case["optimizer"](), jit_compile=False)
    model.micro_batches = micro_batches
    before = {v.path: v.numpy() for v in model.trainable_variables}
    history = model.fit(dataset(), verbose=0, shuffle=False)
    # another graph takes its seconds
    loss = model.evaluate(dataset(), verbose=0) if case.get("evaluate") else 0.0
    arrays = {v.path: v.numpy() for v in model.trainable_variables}
    moved = max(np.abs(arrays[k] - before[k]).max() for k in before)
    return {
        **{k.replace("/", "."): v for k, v in arrays.items()},
        "losses": history.history["loss"],
        "evaluated": loss,
        "moved": moved,
    }


if __name__ == "__main__":
    both = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    for name in sys.argv[2:]:
        parts = CASES[name].get("micro_batches", 1)
        np.savez(
            f"{sys.argv[1]}/{name}_1.npz", **train(tf.distribute.get_strategy(), CASES[name], 1)
        )
        np.savez(f"{sys.argv[1]}/{name}_2.npz", **train(both, CASES[name], parts))
