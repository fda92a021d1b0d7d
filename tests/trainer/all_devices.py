"""fit, evaluate, predict and export of each model over all GPUs, or over two logical CPUs where
there is none.

python all_devices.py FOLDER PRECISION JIT MODEL...
"""

import json
import sys

import empty_replica
import keras
import numpy as np
import tensorflow as tf

from tfsum.training.train import set_precision_and_seed
from tfsum.training.workers import strategy_of


def build(strategy, name, jit):
    make, _ = empty_replica.CASES[name]
    with strategy.scope():
        keras.utils.set_random_seed(3)
        model = make()
        model.build()
        optimizer = keras.optimizers.SGD(0.1, momentum=0.9, global_clipnorm=1.0)
        # a scale at which no part of the sum overflows
        if keras.config.dtype_policy().name == "mixed_float16":
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=256.0)
        model.compile(optimizer, jit_compile=jit)
    model.micro_batches = 2
    return model


def run(strategy, name, folder, jit, parts):
    """What each of the four calls of a model gives; the parts of a global batch have other words,
    of 25 there are."""
    _, batch = empty_replica.CASES[name]
    model = build(strategy, name, jit)
    rows = {
        key: np.concatenate(
            [
                (value + 3 * i) % 25 + 5 if key in ("token_ids", "source_ids") else value
                for i in range(2 * parts)
            ]
        )
        for key, value in batch.items()
    }
    data = tf.data.Dataset.from_tensor_slices(rows).batch(3 * parts)
    losses = model.fit(data, epochs=2, verbose=0, shuffle=False).history["loss"]
    evaluated = model.evaluate(data, verbose=0, return_dict=True)["loss"]
    inputs = {
        key: batch[key]
        for key in (
            "token_ids",
            "segment_ids",
            "sentence_starts",
            "source_ids",
            "target_ids",
            "masked_lm_positions",
        )
        if key in batch and key in model.input_names_of_call
    }
    called = tf.nest.flatten(model(inputs))
    model.export(f"{folder}/{name}", verbose=False)
    loaded = tf.saved_model.load(f"{folder}/{name}")  # held, or its variables are gone
    exported = tf.nest.flatten(loaded.serve(inputs))
    predicted = tf.nest.flatten(
        model.predict(
            tf.data.Dataset.from_tensors(batch["source_ids"] if name == "transformer" else inputs),
            verbose=0,
        )
    )
    weights = [np.asarray(v, "float64") for v in model.trainable_variables]
    return {
        "losses": [float(loss) for loss in losses],
        "evaluated": float(evaluated),
        "weights": [[weight.sum(), np.square(weight).sum()] for weight in weights],
        "exported": max(
            float(np.abs(np.asarray(a, "float64") - np.asarray(b, "float64")).max())
            for a, b in zip(exported, called)
        ),
        "predicted": all(np.isfinite(np.asarray(found, "float64")).all() for found in predicted),
    }


if __name__ == "__main__":
    folder, precision, jit = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
    set_precision_and_seed(precision, 0)
    found = {}
    strategy = strategy_of("mirrored")
    for name in sys.argv[4:]:
        parts = strategy.num_replicas_in_sync
        found[name] = {
            "all": run(strategy, name, f"{folder}/all", jit, parts),
            "one": run(tf.distribute.get_strategy(), name, f"{folder}/one", jit, parts),
        }
    found["devices"] = strategy.num_replicas_in_sync
    with open(f"{folder}/found.json", "w", encoding="utf-8") as file:
        json.dump(found, file)
