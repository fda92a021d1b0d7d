"""Runs a tiny recipe under MirroredStrategy on two logical CPUs, and on one device with each two batches as one.

python mirrored_run.py MATERIAL FOLDER (the folders that test_extractive.py makes)
"""

import pathlib
import sys

import numpy as np
import tensorflow as tf

# Before the first op, and so before tfsum's layers.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)

from tfsum.training.environment import strategy_of
from tfsum.training.extractive import ExtractiveRun, build_model

PADDING = {"sentence_starts": -1}  # of all else it is 0


class OneDevice:
    """Makes a run work through the batches of two replicas as one batch."""

    def batches(self, done):
        dataset, until = super().batches(2 * done)
        parts = dataset.as_numpy_iterator()
        pairs = [join(next(parts), next(parts)) for _ in range(self.steps)]
        signature = {k: tf.TensorSpec((None, None), v.dtype) for k, v in pairs[0].items()}
        return tf.data.Dataset.from_generator(lambda: iter(pairs), output_signature=signature), until


def join(one, other):
    joined = {}
    for key in one:
        width = max(one[key].shape[1], other[key].shape[1])
        joined[key] = np.concatenate([
            np.pad(batch[key], [(0, 0), (0, width - batch[key].shape[1])], constant_values=PADDING.get(key, 0))
            for batch in (one, other)])
    return joined


class OneDeviceExtractive(OneDevice, ExtractiveRun):
    pass


def train(kind, name, material, folder):
    with strategy_of(name).scope():
        model, encoder = build_model(str(material / "encoder"), head_layers=1, head_num_heads=2, head_dropout=0.0,
                                     head_feed_forward_width=12, seed=3, hidden_dropout_prob=0.0,
                                     attention_probs_dropout_prob=0.0)
    run = kind(model, material / "train", material / "validation", encoder, {"text": {}},
               folder=str(folder / name), steps=4, tokens_per_batch=64, validate_every=2, warmup_steps=1,
               learning_rate=1e-3, encoder_learning_rate=1e-3, average_decay=0.9)
    run.fit()
    np.savez(folder / f"{name}.npz", **{v.path.replace("/", "."): v.numpy() for v in model.trainable_variables})


if __name__ == "__main__":
    material, folder = map(pathlib.Path, sys.argv[1:])
    train(ExtractiveRun, "mirrored", material, folder)
    train(OneDeviceExtractive, "one", material, folder)
