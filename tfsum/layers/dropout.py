"""Dropout whose masks differ between replicas and micro-batches, and come back on resume.

Keras's own dropout draws from a counter that is the same on all replicas of a MirroredStrategy, so
that all replicas drop the same units, and that is not part of its checkpoints. Here the training
step can set its number (`dropout_step`); the mask then depends only on the layer's seed and this
number.
"""

import contextlib
import contextvars
from collections.abc import Iterator

from keras import ops, random, saving

from tfsum.errors import require
from tfsum.layers.layer import Layer
from tfsum.tensor import Tensor

# Each replica traces its step in its own thread, which has a context of its own.
_step: contextvars.ContextVar[Tensor | None] = contextvars.ContextVar("step", default=None)


@contextlib.contextmanager
def dropout_step(number: Tensor) -> Iterator[None]:
    """Context manager in which every `Dropout` draws its mask from its own seed and `number`.

    Args:
        number: Int scalar tensor, different for each optimizer step, replica and micro-batch.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> from tfsum.layers import Dropout, dropout_step
        >>> dropout, masks = Dropout(0.5, seed=1), []
        >>> for number in (7, 7, 8):
        ...     with dropout_step(number):
        ...         masks.append(
        ...             ops.convert_to_numpy(dropout(np.ones((1, 100), "float32"), training=True))
        ...         )
        >>> bool((masks[0] == masks[1]).all()), bool((masks[0] == masks[2]).all())
        (True, False)
    """
    before = _step.set(number)
    try:
        yield
    finally:
        _step.reset(before)


class StepSeedGenerator(random.SeedGenerator):
    """A seed generator of Keras whose counter is the number of the step under `dropout_step`.

    Keras makes its name of the class's; with one that begins with "_", `model.export` fails.

    Example:
        >>> with dropout_step(7):
        ...     print(StepSeedGenerator(3).next().numpy().tolist())
        [3, 7]
    """

    def next(self, ordered=True):
        """The next seed, int (2,)."""
        number = _step.get()
        if number is None:
            return super().next(ordered=ordered)
        state = ops.convert_to_tensor(self.state)
        return ops.stack([state[0], ops.cast(number, state.dtype)])


@saving.register_keras_serializable("tfsum")
class Dropout(Layer):
    """Sets a fraction of the values to 0 in training and scales the others up.

    Args:
        rate: Fraction of the values set to 0, from 0 to below 1.
        seed: Int; drawn from Python's generator (`keras.utils.set_random_seed`) by default.

    Raises:
        Error: The rate is out of range.

    Source: Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from
        Overfitting".

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import Dropout
        >>> x = ops.ones((1, 4))
        >>> ops.convert_to_numpy(Dropout(0.5)(x)).tolist()
        [[1.0, 1.0, 1.0, 1.0]]
        >>> set(
        ...     ops.convert_to_numpy(Dropout(0.5)(ops.ones((1, 99)), training=True))
        ...     .ravel()
        ...     .tolist()
        ... ) == {0.0, 2.0}
        True
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: object):
        super().__init__(**kwargs)
        require(0 <= rate < 1, f"Dropout: rate is {rate}; it must be at least 0 and below 1")
        self.rate = rate
        if rate:
            self.seed_generator = StepSeedGenerator(seed)
        self.built = True  # there are no weights

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        """(...) -> (...), the identity unless `training`."""
        if not training or not self.rate:
            return x
        return random.dropout(x, self.rate, seed=self.seed_generator)
