"""The moving average of a model's weights."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf


class WeightAverage(keras.callbacks.Callback):
    """Keeps avg = d * avg + (1 - d) * weight after each step, with d = min(decay, (1 + t) / (10 + t)).

    Keras's own (`use_ema`) overwrites the weights at the end of every `fit`, so a resumed run would differ.

    Args:
        model: the built model; its trainable weights are averaged.
        optimizer: its built optimizer, whose `iterations` count t.
        decay: largest d, at least 0 and below 1; at 0 the average is the weights themselves.

    Source: the decay is that of `tf.train.ExponentialMovingAverage` with `num_updates`.

    Example:
        >>> model = keras.Sequential([keras.layers.Dense(1)])
        >>> model.build((None, 2))
        >>> optimizer = keras.optimizers.SGD()
        >>> optimizer.build(model.trainable_variables)
        >>> average = WeightAverage(model, optimizer, decay=0.99)
        >>> with average.applied():
        ...     pass  # the model has the averaged weights here
    """

    def __init__(
        self, model: keras.Model, optimizer: keras.optimizers.Optimizer, decay: float
    ) -> None:
        super().__init__()
        self._weights = list(model.trainable_variables)
        self._optimizer = optimizer
        self._decay = decay
        self.variables = [
            keras.Variable(v, trainable=False, name="average_" + v.path.replace("/", "."))
            for v in self._weights
        ]
        self._update = tf.function(self._move, autograph=False)

    def _move(self) -> None:
        t = tf.cast(self._optimizer.iterations.value, tf.float32)
        d = tf.minimum(self._decay, (1.0 + t) / (10.0 + t))
        for average, weight in zip(self.variables, self._weights):
            average.value.assign_add((weight.value - average.value) * (1.0 - d))

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Updates the average after a step."""
        self._update()

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Assigns the averaged weights inside a `with` block, and restores the model's own after it."""
        own = [v.numpy() for v in self._weights]
        for weight, average in zip(self._weights, self.variables):
            weight.assign(average)
        try:
            yield
        finally:
            for weight, value in zip(self._weights, own):
                weight.assign(value)
