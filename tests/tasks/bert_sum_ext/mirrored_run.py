"""Runs a tiny recipe under MirroredStrategy on two logical CPUs, and on one device.

python mirrored_run.py MATERIAL FOLDER (the folders that test_train.py makes)
"""

from mirrored import train_both
from test_train import data_of, make_recipe

from tfsum.tasks.bert_sum_ext.train import ExtractiveRun, build_model


def recipe_of(material, folder):
    sizes = {"head_layers": 1, "head_num_heads": 2, "head_feed_forward_width": 12}
    rates = ("head_dropout", "hidden_dropout_prob", "attention_probs_dropout_prob")
    return make_recipe(
        material,
        sizes | dict.fromkeys(rates, 0.0),
        folder=str(folder),
        steps=4,
        tokens_per_batch=128,
        validate_every=2,
        warmup_steps=1,
        learning_rate=1e-3,
        encoder_learning_rate=1e-3,
        average_decay=0.9,
    )


if __name__ == "__main__":
    train_both(recipe_of, data_of, build_model, ExtractiveRun)
