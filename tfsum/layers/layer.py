"""The base class of tfsum's layers, which records the arguments of each."""

import keras


class Layer(keras.layers.Layer):
    """A `keras.layers.Layer` whose `get_config` has the arguments that it was made with.

    Keras records arguments that are plain values; initializers and dtype policies it is given here
    in the form in which they are saved.

    Example:
        >>> from tfsum.layers import MultiHeadAttention
        >>> initializer = keras.initializers.TruncatedNormal(stddev=0.02)
        >>> config = MultiHeadAttention(2, 8, kernel_initializer=initializer).get_config()
        >>> config["num_heads"], config["kernel_initializer"]["config"]["stddev"]
        (2, 0.02)
    """

    def __new__(cls, *args: object, **kwargs: object) -> "Layer":
        return super().__new__(
            cls, *map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()}
        )


def _plain(argument: object) -> object:
    """The argument as a configuration holds it."""
    if isinstance(argument, keras.initializers.Initializer):
        return keras.initializers.serialize(argument)
    if isinstance(argument, keras.DTypePolicy):
        return keras.dtype_policies.serialize(argument)
    return argument
