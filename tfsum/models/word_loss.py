"""The loss of the word head of a `BertSumExt`."""

from keras import ops

from tfsum.tensor import Tensor


def word_loss(rates: Tensor, grams: Tensor, gram_counts: Tensor) -> Tensor:
    """Computes the loss of the n-grams of documents: how unlikely are their numbers in the summary?

    Args:
        rates: Float32 tensor (B, T, 2), `BertSumExt.word_rates`.
        grams: Int tensor (B, T, 2), the numbers of these n-grams in the document; -1 for none.
        gram_counts: Float tensor (B, U), how often the summary holds each n-gram; -1 for padding.

    Returns:
        Float32 tensor (B, U): -ln p of the count under a Poisson distribution whose mean is the sum
        of the n-gram's rates, but for the part that depends on the count alone; 0 for padding.

    Example:
        >>> import numpy as np
        >>> rates, grams = np.array([[[0.5, 0.0], [1.5, 0.0]]]), np.array([[[0, -1], [0, -1]]])
        >>> loss = word_loss(rates.astype("float32"), grams, np.array([[1.0, -1.0]]))
        >>> round(float(loss[0, 0]), 3), float(loss[0, 1])  # 2 - ln 2, and the padding
        (1.307, 0.0)
    """
    rows, number = ops.shape(gram_counts)
    # (B, U + 1) sums; what is no n-gram goes to the last column
    column = ops.where(grams < 0, number, ops.cast(grams, "int32"))
    cells = ops.arange(rows, dtype="int32")[:, None, None] * (number + 1) + column
    mean = ops.segment_sum(
        ops.reshape(rates, (-1,)), ops.reshape(cells, (-1,)), rows * (number + 1)
    )
    mean = ops.reshape(mean, (rows, number + 1))[:, :-1]

    counts = ops.cast(gram_counts, "float32")
    loss = mean - counts * ops.log(mean + 1e-6)
    return ops.where(counts >= 0.0, loss, 0.0)
