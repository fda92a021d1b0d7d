"""Sinusoidal positions (Vaswani et al. 2017, "Attention Is All You Need", section 3.5)."""

import numpy as np
from keras import ops, saving

from tfsum.errors import require
from tfsum.layers.dropout import Dropout
from tfsum.layers.layer import Layer
from tfsum.tensor import Tensor


def positional_encoding(length: Tensor, d_model: int) -> Tensor:
    """Encodes the positions 0..length-1 as interleaved sines and cosines.

    Column i of position p is sin(p / 10000^(2(i//2)/D)) where i is even and the cosine of the same
    angle where i is odd. Angles and values are float32 whatever the dtype policy: in bfloat16 the
    angle at position 5000 would be off by whole turns.

    Args:
        length: Number of positions T, a Python int or an int scalar tensor.
        d_model: Number of columns D.

    Returns:
        Float32 tensor (T, D).

    Raises:
        Error: `d_model` is not a positive number.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import positional_encoding
        >>> [
        ...     [round(float(x), 2) for x in row]
        ...     for row in ops.convert_to_numpy(positional_encoding(2, 4))
        ... ]
        [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0]]
    """
    return encode_positions(ops.arange(length, dtype="int32"), d_model)


def encode_positions(positions: Tensor, d_model: int) -> Tensor:
    """Encodes the given positions, see `positional_encoding`.

    Args:
        positions: Int tensor of any shape (...).
        d_model: Number of columns D.

    Returns:
        Float32 tensor (..., D).

    Example:
        >>> import numpy as np
        >>> tuple(encode_positions(np.array([[0, 5000]]), 8).shape)
        (1, 2, 8)
    """
    require(d_model >= 1, f"positional_encoding: d_model is {d_model}; it must be at least 1")
    pairs = np.arange((d_model + 1) // 2, dtype=np.float64)
    frequencies = np.power(10000.0, -2.0 * pairs / d_model).astype(np.float32)
    angles = ops.expand_dims(ops.cast(positions, "float32"), -1) * frequencies  # (..., D/2)
    interleaved = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)  # (..., D/2, 2)
    flat = ops.reshape(interleaved, (*ops.shape(angles)[:-1], 2 * len(frequencies)))
    return flat[..., :d_model]


@saving.register_keras_serializable("tfsum")
class PositionalEncoding(Layer):
    """Adds sinusoidal positions to vectors: (B, T, D) -> (B, T, D).

    Args:
        scale: Multiply the vectors by sqrt(D) first, as the Transformer does with its embeddings
            (section 3.4); BertSum's inter-sentence encoder does not.
        dropout: Fraction of the sums set to 0 in training (section 5.4).

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import PositionalEncoding
        >>> ops.convert_to_numpy(PositionalEncoding()(ops.zeros((1, 1, 4)))).tolist()
        [[[0.0, 1.0, 0.0, 1.0]]]
    """

    def __init__(self, scale: bool = False, dropout: float = 0.0, **kwargs: object):
        super().__init__(**kwargs)
        self.scale = scale
        self.drop = Dropout(dropout, name="dropout", dtype=self.dtype_policy)
        self.built = True  # there are no weights

    def call(
        self, x: Tensor, first_position: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Adds the positions.

        Args:
            x: Float tensor (B, T, D).
            first_position: Int tensor (B,), the position of each row's first vector, or (1,) if it
                is the same for all; 0 by default.

        Returns:
            Float tensor (B, T, D) of the compute dtype.
        """
        self.check_ranks(x=x)
        d_model = x.shape[-1]
        positions = ops.expand_dims(ops.arange(ops.shape(x)[1], dtype="int32"), 0)  # (1, T)
        if first_position is not None:
            positions = positions + ops.expand_dims(ops.cast(first_position, "int32"), 1)  # (B, T)
        if self.scale:
            x = x * ops.cast(d_model**0.5, x.dtype)
        # The sum is computed in float32: 8 bits of bfloat16 cannot distinguish position 100 from
        # 101.
        total = ops.cast(x, "float32") + encode_positions(positions, d_model)
        return self.drop(ops.cast(total, self.compute_dtype), training=training)
