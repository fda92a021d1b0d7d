"""Prints the masks that dropout draws on two logical CPUs: run as a process of its own by
test_dropout.py."""

import json
import sys

import keras
import tensorflow as tf

# Before the first op, and so before tfsum's layers.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
from tfsum.layers import Dropout
from tfsum.models.model import Model

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


class Recorder(Model):
    """Writes the masks of its dropout to a file, a line each: "mask REPLICA 0110..."."""

    def __init__(self):
        super().__init__()
        self.weight = self.add_weight(shape=(1,), name="weight")
        self.drop = Dropout(0.5, seed=1)
        self.built = True

    def summed_loss(self, x, y, training):
        kept = self.drop(tf.ones((64,)), training=training) > 0
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        tf.print(
            "mask",
            replica,
            tf.strings.reduce_join(tf.strings.as_string(tf.cast(kept, tf.int32))),
            output_stream="file://" + FILE,
        )
        return tf.reduce_sum(x["token_ids"]) * self.weight[0]

    def loss_weight(self, x, y):
        return tf.cast(tf.shape(x["token_ids"])[0], tf.float32)


if __name__ == "__main__":
    FILE = sys.argv[1]
    with strategy.scope():
        model = Recorder()
        model.compile(optimizer=keras.optimizers.SGD(0.1), jit_compile=False)
    model.micro_batches = 2
    data = tf.data.Dataset.from_tensors({"token_ids": tf.ones((8, 3))}).repeat(3)
    model.fit(data, epochs=1, verbose=0, shuffle=False)
    print(json.dumps({"steps": int(model.optimizer.iterations.numpy())}))
