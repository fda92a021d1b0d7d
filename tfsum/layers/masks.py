"""Masks of attention: bool, and True means *real, may be seen*."""

from keras import ops

HIDDEN = -1e9  # added to a float32 score: its softmax is exactly 0, and a row of nothing else stays finite


def padding_mask(ids):
    """Tells real tokens from padding.

    Args:
        ids: int tensor (B, T); 0 is padding.

    Returns:
        bool tensor (B, T), True at real tokens.
    """
    return ops.not_equal(ids, 0)


def look_ahead_mask(length):
    """Lets each position see itself and what came before it (Vaswani et al. 2017, section 3.2.3).

    Args:
        length: number of positions T, a Python int or an int scalar tensor.

    Returns:
        bool tensor (T, T); row i is True at columns 0..i.
    """
    positions = ops.arange(length)
    return ops.expand_dims(positions, 1) >= ops.expand_dims(positions, 0)


def additive_mask(mask):
    """Turns a mask into what is added to attention scores.

    Args:
        mask: bool tensor that broadcasts to (B, H, Tq, Tk), True is visible.

    Returns:
        float32 tensor of the same shape: 0 where visible, -1e9 where hidden.
    """
    return ops.where(mask, ops.cast(0.0, "float32"), ops.cast(HIDDEN, "float32"))
