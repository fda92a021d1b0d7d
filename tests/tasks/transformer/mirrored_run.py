"""Trains a tiny Transformer under MirroredStrategy on two logical CPUs, and on one device.

python mirrored_run.py MATERIAL FOLDER (the folders that test_train.py makes)
"""

from mirrored import train_both
from test_train import data_of, tiny_recipe

from tfsum.tasks.transformer.train import PairRun, build_model


def recipe_of(material, folder):
    return tiny_recipe(
        folder,
        {"dropout": 0.0},
        steps=4,
        tokens_per_batch=64,
        validate_every=2,
        warmup_steps=1,
        learning_rate=1e-3,
        average_decay=0.9,
    )


if __name__ == "__main__":
    train_both(recipe_of, data_of, build_model, PairRun)
