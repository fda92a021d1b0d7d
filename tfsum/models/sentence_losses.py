"""The losses of BertSumExt: of the sentences' labels and embeddings, and of the summary's words."""

from keras import ops

from tfsum.tensor import Tensor


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Computes the binary cross-entropy of labels from 0 to 1.

    Args:
        logits: Float tensor (B, S).
        labels: Float32 tensor (B, S).

    Returns:
        Float32 tensor (B, S).

    Example:
        >>> import numpy as np
        >>> label_loss(np.array([0.0, -900.0]), np.array([1.0, 0.0])).numpy().round(4).tolist()
        [0.6930999755859375, 0.0]
    """
    logits = ops.cast(logits, "float32")
    # -(y ln p + (1-y) ln(1-p)) with p = sigmoid(logit), in the form that never overflows
    return ops.maximum(logits, 0.0) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))


def embedding_loss(embeddings: Tensor, wanted: Tensor) -> Tensor:
    """Computes one less the cosine of embeddings and the wanted ones.

    Args:
        embeddings: Float32 tensor (..., W) of unit length.
        wanted: Tensor (..., W) of any length.

    Returns:
        Float32 tensor (...).

    Example:
        >>> import numpy as np
        >>> round(float(embedding_loss(np.array([0.6, 0.8], "float32"), np.array([0, 5]))), 3)
        0.2
    """
    direction = ops.normalize(ops.cast(wanted, "float32"), axis=-1)
    return 1.0 - ops.sum(embeddings * direction, axis=-1)


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
