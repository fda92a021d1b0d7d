"""From the vectors of tokens to one vector for each sentence."""

from keras import ops

from tfsum.tensor import Tensor


def first_tokens(sequence: Tensor, real: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Takes the vector of each sentence's first token, its [CLS], as the papers do.

    Args:
        sequence: Float tensor (B, T, D), a vector for each token.
        real: Bool tensor (B, T), False for padding.
        starts: Int32 tensor (B, S), the position of each sentence's first token; -1 for none.

    Returns:
        Float tensor (B, S, D), and the number of each sentence's tokens, float32 (B, S, 1), at
        least 1.

    Example:
        >>> import numpy as np
        >>> sequence, real = np.array([[[1.0], [3.0], [5.0]]]), np.array([[True, True, True]])
        >>> vectors, count = first_tokens(sequence, real, np.array([[0, 2]], "int32"))
        >>> vectors.numpy().tolist(), count.numpy().tolist()
        ([[[1.0], [5.0]]], [[[2.0], [1.0]]])
    """
    vectors = ops.take_along_axis(sequence, ops.maximum(starts, 0)[..., None], axis=1)
    return vectors, _count(_inside(real, starts))


def mean_tokens(sequence: Tensor, real: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Takes the mean of each sentence's tokens, from its [CLS] to its [SEP].

    Args:
        sequence, real, starts: As for `first_tokens`.

    Returns:
        As `first_tokens`.

    Example:
        >>> import numpy as np
        >>> sequence, real = np.array([[[1.0], [3.0], [5.0]]]), np.array([[True, True, True]])
        >>> mean_tokens(sequence, real, np.array([[0, 2]], "int32"))[0].numpy().tolist()
        [[[2.0], [5.0]]]
    """
    inside = _inside(real, starts)
    count = _count(inside)
    total = ops.matmul(ops.cast(inside, sequence.dtype), sequence)
    return ops.cast(ops.cast(total, "float32") / count, sequence.dtype), count


def _inside(real, starts):
    """Which tokens belong to which sentence: bool (B, T), int32 starts (B, S) -> bool (B, S, T)."""
    length = ops.shape(real)[1]

    # A sentence ends where the next begins; the last one where the row does. Padding between
    # windows is not real.
    later = ops.where(starts >= 0, starts, length)
    ends = ops.concatenate([later[:, 1:], ops.full_like(later[:, :1], length)], axis=1)

    position = ops.arange(length)[None, None, :]
    return (position >= starts[..., None]) & (position < ends[..., None]) & real[:, None, :]


def _count(inside):
    return ops.maximum(ops.sum(ops.cast(inside, "float32"), axis=-1, keepdims=True), 1.0)


# Value of `pooling` in `BertSumExt` and in recipes -> function.
POOLINGS = {"cls": first_tokens, "mean": mean_tokens}
