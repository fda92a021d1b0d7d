"""Follows metrics of Keras in `fit` and `evaluate` on one and on two logical CPUs, and stores what they report.

python metrics_of_devices.py FOLDER
"""

import json
import sys

import empty_replica
import keras
import numpy as np
import tensorflow as tf
import two_processors  # noqa: F401 - before tfsum

METRICS = {
    "classifier": lambda: ["accuracy", keras.metrics.SparseCategoricalCrossentropy(name="entropy")],
    "extractive": lambda: [keras.metrics.AUC(name="auc"), keras.metrics.Precision(name="precision")],
}


def report(strategy, name):
    """Logs of the epochs, and of an evaluation; batches of 5, 5 and 2 rows."""
    make, batch = empty_replica.CASES[name]
    with strategy.scope():
        keras.utils.set_random_seed(3)
        model = make()
        model.build()
        model.compile(keras.optimizers.SGD(0.5, momentum=0.9), metrics=METRICS[name](), jit_compile=False)
    rows = {key: np.concatenate([np.roll(value, i, 0) for i in range(4)]) for key, value in batch.items()}
    data = tf.data.Dataset.from_tensor_slices(rows).batch(5)
    history = model.fit(data, epochs=2, verbose=0, shuffle=False).history
    found = model.evaluate(data, verbose=0, return_dict=True)
    return {"fit": history, "evaluate": {key: float(value) for key, value in found.items()}}


if __name__ == "__main__":
    both = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    reports = {name: [report(strategy, name) for strategy in (tf.distribute.get_strategy(), both)] for name in METRICS}
    with open(f"{sys.argv[1]}/metrics.json", "w", encoding="utf-8") as file:
        json.dump(reports, file)
