"""Attention masks: bool, and True means *real, may be attended to*."""

from keras import ops

from tfsum.errors import Error
from tfsum.tensor import Tensor

# added to a float32 score: its softmax is exactly 0, and a row of nothing else stays finite
HIDDEN = -1e9


def padding_mask(ids: Tensor) -> Tensor:
    """Returns the mask of the tokens that are not padding; pass it to a layer as `key_mask`.

    Args:
        ids: Int tensor (B, T); 0 is padding.

    Returns:
        Bool tensor (B, T), True at real tokens.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> from tfsum.layers import padding_mask
        >>> ops.convert_to_numpy(padding_mask(np.array([[7, 8, 0]]))).tolist()
        [[True, True, False]]
    """
    return ops.not_equal(ids, 0)


def look_ahead_mask(length: Tensor) -> Tensor:
    """Returns the causal mask: each position sees itself and earlier positions.

    Args:
        length: Number of positions T, a Python int or an int scalar tensor.

    Returns:
        Bool tensor (1, T, T); row i is True at columns 0..i.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3.

    Example:
        >>> from keras import ops
        >>> from tfsum.layers import look_ahead_mask
        >>> ops.convert_to_numpy(look_ahead_mask(3)).astype(int).tolist()
        [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    """
    positions = ops.arange(length)

    return (positions[:, None] >= positions)[None]


def combine_masks(attention_mask: Tensor | None, key_mask: Tensor | None) -> Tensor | None:
    """Combines the two masks of an attention into one.

    A mask of rank 2 has one meaning alone, (B, Tk): as (Tq, Tk) it would be wrong without an error
    where B equals Tq.

    Args:
        attention_mask: Bool tensor (B, Tq, Tk) or (B, H, Tq, Tk): which keys each query may see.
            Axes of size 1 are broadcast.
        key_mask: Bool tensor (B, Tk): which keys all queries of a row may see.

    Returns:
        Bool tensor that broadcasts to (B, H, Tq, Tk), or None if both are None.

    Raises:
        Error: A mask has another rank.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> real = np.array([[True, True, False]])
        >>> mask = combine_masks(look_ahead_mask(3), real)
        >>> ops.convert_to_numpy(mask).astype(int).tolist()
        [[[[1, 0, 0], [1, 1, 0], [1, 1, 0]]]]
    """
    if attention_mask is not None:
        attention_mask = ops.cast(attention_mask, "bool")
        rank = len(attention_mask.shape)
        if rank not in (3, 4):
            raise Error(
                f"attention_mask has shape {tuple(attention_mask.shape)}; expected (batch, queries,"
                " keys) or (batch, heads, queries, keys). A mask (batch, keys), such as"
                " padding_mask(ids), is the argument key_mask; write a mask (queries, keys) as"
                " mask[None]"
            )
        if rank == 3:
            attention_mask = attention_mask[:, None]

    if key_mask is None:
        return attention_mask

    key_mask = ops.cast(key_mask, "bool")
    if len(key_mask.shape) != 2:
        raise Error(
            f"key_mask (source_mask in a decoder) has shape {tuple(key_mask.shape)}; expected"
            " (batch, keys), such as padding_mask(ids). A mask with an axis of queries is the"
            " argument attention_mask"
        )
    key_mask = key_mask[:, None, None, :]

    if attention_mask is None:
        return key_mask
    return ops.logical_and(attention_mask, key_mask)


def additive_mask(mask: Tensor) -> Tensor:
    """Converts a mask to a term that is added to attention scores.

    Args:
        mask: Bool tensor that broadcasts to (B, H, Tq, Tk), True is visible.

    Returns:
        Float32 tensor of the same shape: 0 where visible, -1e9 where hidden.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> ops.convert_to_numpy(additive_mask(np.array([True, False]))).tolist()
        [0.0, -1000000000.0]
    """
    return ops.where(mask, ops.cast(0.0, "float32"), ops.cast(HIDDEN, "float32"))
