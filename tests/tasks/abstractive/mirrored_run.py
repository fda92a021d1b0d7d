"""Trains a tiny Transformer under MirroredStrategy on two logical CPUs, and on one device.

python mirrored_run.py MATERIAL FOLDER (the folders that test_train.py makes)
"""

import pathlib
import sys

import numpy as np
import two_processors  # noqa: F401 - before tfsum
from test_train import WORDS, tiny_model

from tfsum.tasks.abstractive.train import EvaluateSettings, PairRun, TrainSettings
from tfsum.training.environment import strategy_of


def train(name, material, folder):
    with strategy_of(name).scope():
        model = tiny_model(seed=3, dropout=0.0)
    settings = TrainSettings(
        folder=str(folder / name),
        steps=4,
        tokens_per_batch=64,
        validate_every=2,
        warmup_steps=1,
        learning_rate=1e-3,
        average_decay=0.9,
    )
    run = PairRun(
        model,
        material / "train",
        material / "validation",
        [WORDS, WORDS],
        {"text": {}},
        settings,
        EvaluateSettings(),
    )
    run.fit()
    np.savez(
        folder / f"{name}.npz",
        **{v.path.replace("/", "."): v.numpy() for v in model.trainable_variables},
    )


if __name__ == "__main__":
    material, folder = map(pathlib.Path, sys.argv[1:])
    train("mirrored", material, folder)
    train("one", material, folder)
