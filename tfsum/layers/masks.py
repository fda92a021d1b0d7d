"""Attention masks: bool, and True means *real, may be attended to*."""

from keras import backend, ops

from tfsum.errors import Error
from tfsum.layers.known_values import known_values
from tfsum.tensor import Tensor

# added to a float32 score: its softmax is exactly 0, and a row of nothing else stays finite
HIDDEN = -1e9
# of attention scores
AXES = ("rows", "heads", "queries", "keys")


def padding_mask(ids: Tensor) -> Tensor:
    """Returns the mask of the tokens that are not padding; pass it to a layer as `key_mask`.

    Args:
        ids: Int tensor (B, T); 0 is padding.

    Returns:
        Bool tensor (B, T), True at real tokens.

    Raises:
        Error: The ids are no whole numbers, or of another rank.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> from tfsum.layers import padding_mask
        >>> ops.convert_to_numpy(padding_mask(np.array([[7, 8, 0]]))).tolist()
        [[True, True, False]]
    """
    if not hasattr(ids, "dtype"):
        ids = ops.convert_to_tensor(ids)
    shape, dtype = tuple(ids.shape), backend.standardize_dtype(ids.dtype)
    if len(shape) != 2 or "int" not in dtype:
        raise Error(
            f"the ids have shape {shape} and dtype {dtype}; expected whole numbers (batch, tokens),"
            " such as int32. Write a single row as ids[None]"
        )
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


def combine_masks(
    attention_mask: Tensor | None, key_mask: Tensor | None, scores: tuple[int | None, ...]
) -> Tensor | None:
    """Combines the two masks of an attention into one.

    A mask of rank 2 has one meaning alone, (B, Tk): as (Tq, Tk) it would be wrong without an error
    where B equals Tq.

    Args:
        attention_mask: Bool tensor (B, Tq, Tk) or (B, H, Tq, Tk): which keys each query may see.
            Axes of size 1 are broadcast.
        key_mask: Bool tensor (B, Tk): which keys all queries of a row may see.
        scores: Shape (B, H, Tq, Tk) of what the masks are for, None where a size is not known.

    Returns:
        Bool tensor that broadcasts to (B, H, Tq, Tk), or None if both are None.

    Raises:
        Error: A mask has another rank or length, or other values than 0 and 1.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> real = np.array([[True, True, False]])
        >>> mask = combine_masks(look_ahead_mask(3), real, (1, 2, 3, 3))
        >>> ops.convert_to_numpy(mask).astype(int).tolist()
        [[[[1, 0, 0], [1, 1, 0], [1, 1, 0]]]]
    """
    if attention_mask is not None:
        attention_mask = _as_bool("attention_mask", attention_mask)
        rank = len(attention_mask.shape)
        if rank not in (3, 4):
            raise Error(
                f"attention_mask has shape {tuple(attention_mask.shape)}; expected (batch, queries,"
                " keys) or (batch, heads, queries, keys). A mask (batch, keys), such as"
                " padding_mask(ids), is the argument key_mask; write a mask (queries, keys) as"
                " mask[None]"
            )
        sizes = dict(zip(AXES, scores, strict=True))
        if rank == 3:
            del sizes["heads"]
        _check_sizes("attention_mask", attention_mask, sizes, broadcast=True)
        if rank == 3:
            attention_mask = attention_mask[:, None]

    if key_mask is None:
        return attention_mask

    name = "key_mask (source_mask in a decoder)"
    key_mask = _as_bool(name, key_mask)
    if len(key_mask.shape) != 2:
        raise Error(
            f"{name} has shape {tuple(key_mask.shape)}; expected"
            " (batch, keys), such as padding_mask(ids). A mask with an axis of queries is the"
            " argument attention_mask"
        )
    _check_sizes(name, key_mask, {"rows": scores[0], "keys": scores[3]}, broadcast=False)
    key_mask = key_mask[:, None, None, :]

    if attention_mask is None:
        return key_mask
    return ops.logical_and(attention_mask, key_mask)


def _as_bool(name: str, mask: Tensor) -> Tensor:
    """A mask of bools or of 0 and 1, and of nothing else, as bools.

    The values of a tensor in a graph are not known: there a mask of floats is refused.
    """
    mask = ops.convert_to_tensor(mask)
    dtype = backend.standardize_dtype(mask.dtype)
    if dtype == "bool":
        return mask

    values = known_values(mask)
    if values is None:
        others = ["values that are not known yet"] if "float" in dtype else []
    else:
        others = values[(values != 0) & (values != 1)].tolist()
    if others:
        raise Error(
            f"{name} is {dtype} with {others[0]}; expected bool, or 0 and 1, where True and 1 are"
            " visible. Convert a mask that is added to scores, 0 where visible, by mask == 0, and"
            " floats 0 and 1 by mask > 0"
        )
    return ops.cast(mask, "bool")


def _check_sizes(name: str, mask: Tensor, sizes: dict[str, int | None], broadcast: bool) -> None:
    """Checks the sizes of a mask, by the names of its axes, where they are known.

    With `broadcast`, an axis of size 1 stands for all.
    """
    shape = tuple(mask.shape)
    for (axis, expected), found in zip(sizes.items(), shape, strict=True):
        one_for_all = broadcast and found == 1
        if None not in (found, expected) and found != expected and not one_for_all:
            raise Error(
                f"{name} has {found} {axis}, its shape as ({', '.join(sizes)}) is {shape};"
                f" expected {expected} {axis}, as the inputs have"
            )


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
