"""Label smoothing (Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4)."""

import math

from keras import ops

from tfsum.tensor import Tensor


def label_smoothing_loss(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """The Kullback-Leibler divergence of the predictions from the smoothed labels, per token.

    The label has probability 1 - s; s is distributed evenly over the other tokens except padding
    (id 0). The entropy of these targets is subtracted, so that a perfect prediction has loss 0;
    with s = 0 this is the cross-entropy.

    Args:
        logits: Float tensor (..., V).
        labels: Int tensor (...); 0 is padding.
        smoothing: S, at least 0 and below 1.

    Returns:
        Float32 tensor (...), 0 at padding.

    Source: harvardnlp/annotated-transformer, `LabelSmoothing`.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> logits = np.log(np.array([[[0.1, 0.2, 0.5, 0.2], [0.1, 0.2, 0.5, 0.2]]], "float32"))
        >>> loss = ops.convert_to_numpy(
        ...     label_smoothing_loss(logits, np.array([[2, 0]]), smoothing=0.0)
        ... )
        >>> round(float(loss[0, 0]), 4), float(loss[0, 1])  # -ln 0.5, and padding
        (0.6931, 0.0)
    """
    logits, labels = ops.cast(logits, "float32"), ops.cast(labels, "int32")
    share = smoothing / max(1, logits.shape[-1] - 2)
    entropy = -(1.0 - smoothing) * math.log1p(-smoothing) - smoothing * math.log(share or 1.0)
    loss = _cross_entropy(logits, labels, smoothing, share) - entropy
    return ops.where(ops.not_equal(labels, 0), loss, 0.0)


def _cross_entropy(logits, labels, smoothing, share):
    """The cross-entropy of each token with an explicit gradient: the softmax minus the smoothed
    labels.

    The automatic gradient of these lines passes over all logits a dozen more times.
    """

    @ops.custom_gradient
    def cross_entropy(logits):
        highest = ops.max(logits, axis=-1, keepdims=True)
        powers = ops.exp(logits - highest)
        total = ops.sum(powers, axis=-1, keepdims=True)
        of_label = ops.take_along_axis(logits, labels[..., None], axis=-1)
        of_others = ops.sum(logits, axis=-1, keepdims=True) - of_label - logits[..., :1]
        # Targets sum to 1: log-softmax is the logit minus one number, which can be factored out of
        # the sum.
        value = ops.log(total) + highest - (1.0 - smoothing) * of_label - share * of_others

        def gradient(*arguments, upstream=None):
            scale = (arguments[0] if upstream is None else upstream)[..., None]
            chance = scale / total  # times `powers` it is the softmax
            at_label = (
                ops.take_along_axis(powers, labels[..., None], axis=-1) * chance
                - (1.0 - smoothing) * scale
            )
            at_padding = powers[..., :1] * chance
            flat = ops.reshape(powers * chance - share * scale, (-1, logits.shape[-1]))
            rows = ops.arange(ops.shape(flat)[0], dtype="int32")
            columns = ops.concatenate([ops.zeros_like(rows), ops.reshape(labels, (-1,))])
            places = ops.stack([ops.tile(rows, (2,)), columns], axis=1)
            values = ops.concatenate([ops.reshape(at_padding, (-1,)), ops.reshape(at_label, (-1,))])
            return ops.reshape(ops.scatter_update(flat, places, values), ops.shape(logits))

        return value[..., 0], gradient

    return cross_entropy(logits)
