"""The base class of tfsum's layers, which records the arguments of each."""

import inspect

import keras

from tfsum.errors import Error
from tfsum.tensor import Tensor


class Layer(keras.layers.Layer):
    """A `keras.layers.Layer` whose `get_config` has the arguments that it was made with.

    Keras does so for plain values alone. An initializer takes the form in which it is saved when
    the configuration is asked for: Keras loads TensorFlow to make that form, on every backend.

    Example:
        >>> from tfsum.layers import MultiHeadAttention
        >>> initializer = keras.initializers.TruncatedNormal(stddev=0.02)
        >>> config = MultiHeadAttention(2, 8, kernel_initializer=initializer).get_config()
        >>> config["num_heads"], config["kernel_initializer"]["config"]["stddev"]
        (2, 0.02)
    """

    def __new__(cls, *args: object, **kwargs: object) -> "Layer":
        layer = super().__new__(cls, *args, **kwargs)
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        positional = dict(zip([p.name for p in parameters], args))
        layer.arguments = defaults | positional | kwargs
        return layer

    def check_ranks(self, **vectors: Tensor) -> None:
        """Refuses inputs that are not (B, T, D).

        Args:
            **vectors: Inputs by name.

        Raises:
            Error: An input has another rank.
        """
        for name, value in vectors.items():
            if len(value.shape) != 3:
                raise Error(
                    f"{type(self).__name__}: {name} has shape {tuple(value.shape)}; expected"
                    f" (batch, tokens, width). Write a single row as {name}[None]"
                )

    def get_config(self) -> dict:
        return {**keras.saving.serialize_keras_object(self.arguments), **super().get_config()}
