"""Attention masks: bool, and True means *real, may be attended to*."""

from keras import ops

from tfsum.tensor import Tensor

HIDDEN = (
    -1e9
)  # added to a float32 score: its softmax is exactly 0, and a row of nothing else stays finite


def padding_mask(ids: Tensor) -> Tensor:
    """Returns the mask of the tokens that are not padding.

    Args:
        ids: int tensor (B, T); 0 is padding.

    Returns:
        bool tensor (B, T), True at real tokens.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> from tfsum.layers import padding_mask
        >>> ops.convert_to_numpy(padding_mask(np.array([[7, 8, 0]]))).tolist()
        [[True, True, False]]
    """
    return ops.not_equal(ids, 0)


def look_ahead_mask(length: Tensor) -> Tensor:
    """Returns the causal mask: each position sees itself and earlier positions (Vaswani et al. 2017, section 3.2.3).

    Args:
        length: number of positions T, a Python int or an int scalar tensor.

    Returns:
        bool tensor (T, T); row i is True at columns 0..i.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import look_ahead_mask
        >>> ops.convert_to_numpy(look_ahead_mask(3)).astype(int).tolist()
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    positions = ops.arange(length)
    return ops.expand_dims(positions, 1) >= ops.expand_dims(positions, 0)


def additive_mask(mask: Tensor) -> Tensor:
    """Converts a mask to a term that is added to attention scores.

    Args:
        mask: bool tensor that broadcasts to (B, H, Tq, Tk), True is visible.

    Returns:
        float32 tensor of the same shape: 0 where visible, -1e9 where hidden.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> ops.convert_to_numpy(additive_mask(np.array([True, False]))).tolist()
        [0.0, -1000000000.0]
    """
    return ops.where(mask, ops.cast(0.0, "float32"), ops.cast(HIDDEN, "float32"))
