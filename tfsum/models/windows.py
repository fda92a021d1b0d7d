"""Rows longer than an encoder's window: each window is encoded by itself."""

from keras import ops

from tfsum.models.bert import Bert
from tfsum.tensor import Tensor


def encode_windows(
    bert: Bert,
    token_ids: Tensor,
    segment_ids: Tensor,
    window_length: int,
    training: bool | None = None,
) -> Tensor:
    """Encodes the full windows of each row, then the last partial one.

    Args:
        bert: the encoder.
        token_ids, segment_ids: int tensors (B, T); each window is padded to its length except the last.
        window_length: tokens in a window.
        training: whether dropout is applied.

    Returns:
        float tensor (B, T, D).

    Example:
        >>> import numpy as np
        >>> bert = Bert(10, 8, 1, 2, 16, max_position_embeddings=3)
        >>> ids = np.array([[2, 7, 3, 2, 8]])
        >>> tuple(encode_windows(bert, ids, np.zeros_like(ids), 3).shape)
        (1, 5, 8)
    """
    total = ops.shape(token_ids)[1]
    whole = (
        total // window_length * window_length
    )  # a Python int if T is known; then an empty part is omitted
    parts = []
    if not (isinstance(whole, int) and whole == 0):
        ids, segments = (
            ops.reshape(t[:, :whole], (-1, window_length)) for t in (token_ids, segment_ids)
        )
        encoded = bert.encode(ids, segments, training)[0]
        shape = (
            ops.shape(token_ids)[0],
            whole,
            bert.config["hidden_size"],
        )  # -1 fails if whole is 0
        parts.append(ops.reshape(encoded, shape))
    if not (isinstance(whole, int) and whole == total):
        parts.append(bert.encode(token_ids[:, whole:], segment_ids[:, whole:], training)[0])
    return ops.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
