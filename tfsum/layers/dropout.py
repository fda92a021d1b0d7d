"""Dropout whose masks differ between replicas and micro-batches and come back when a run is resumed.

Keras's own dropout draws from a counter that every replica of a MirroredStrategy advances alike, so that all
replicas drop the same units, and that its checkpoints leave out. Here the training step may say where it is
(`dropout_step`); the mask is then a function of the layer's seed and of that number alone.
"""

import contextlib
import threading

import keras
from keras import ops

from tfsum.errors import Error

_step = threading.local()  # each replica traces its step in a thread of its own


@contextlib.contextmanager
def dropout_step(number):
    """Makes every `Dropout` called inside draw its mask from its own seed and `number`.

    Args:
        number: int scalar tensor, different for each optimizer step, replica and micro-batch.
    """
    previous = getattr(_step, "number", None)
    _step.number = number
    try:
        yield
    finally:
        _step.number = previous


class _StepSeedGenerator(keras.random.SeedGenerator):
    """Keras's seed generator, but under `dropout_step` the counter is the step's number."""

    def next(self, ordered=True):
        number = getattr(_step, "number", None)
        if number is None:
            return super().next(ordered=ordered)
        state = ops.convert_to_tensor(self.state)
        return ops.stack([state[0], ops.cast(number, state.dtype)])


@keras.saving.register_keras_serializable("tfsum")
class Dropout(keras.layers.Layer):
    """Sets a share of the values to 0 in training and scales the others up (Srivastava et al. 2014).

    Args:
        rate: share of the values set to 0, from 0 to below 1.
        seed: int; drawn from Python's generator (`keras.utils.set_random_seed`) by default.

    Raises:
        Error: a rate out of range.
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise Error(f"Dropout: rate is {rate}; it must be at least 0 and below 1")
        self.rate = rate
        self.seed = seed
        if rate:
            self.seed_generator = _StepSeedGenerator(seed)
        self.built = True  # there are no weights

    def call(self, x, training=None):
        """(...) -> (...), unchanged unless `training`."""
        if not training or not self.rate:
            return x
        return keras.random.dropout(x, self.rate, seed=self.seed_generator)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
