"""Trains a tiny Transformer under MirroredStrategy on two logical CPUs, and on one device.

python mirrored_run.py MATERIAL FOLDER (the folders that test_train.py makes)
"""

import pathlib
import sys

import numpy as np
import two_processors  # noqa: F401 - before tfsum
from test_train import data_of, tiny_recipe

from tfsum.tasks.transformer.train import PairRun, build_model
from tfsum.training.environment import set_precision_and_seed, strategy_of


def train(name, material, folder):
    recipe = tiny_recipe(
        folder / name,
        {"dropout": 0.0},
        steps=4,
        tokens_per_batch=64,
        validate_every=2,
        warmup_steps=1,
        learning_rate=1e-3,
        average_decay=0.9,
    )
    set_precision_and_seed("float32", 3)
    with strategy_of(name).scope():
        model = build_model(recipe, data_of(material))
    run = PairRun(recipe, data_of(material), model)
    run.fit()
    np.savez(
        folder / f"{name}.npz",
        **{v.path.replace("/", "."): v.numpy() for v in model.trainable_variables},
    )


if __name__ == "__main__":
    material, folder = map(pathlib.Path, sys.argv[1:])
    train("mirrored", material, folder)
    train("one", material, folder)
