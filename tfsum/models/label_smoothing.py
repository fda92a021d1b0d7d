"""Label smoothing (Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4)."""

import math

from keras import ops


def label_smoothing_loss(logits, labels, smoothing: float):
    """The divergence of the predictions from the smoothed labels, of each token.

    A label has probability 1 - s; the others share s alike, but for padding (id 0), which has none. The entropy
    of these targets is taken off, so that a perfect prediction costs 0; with s = 0 this is the cross-entropy.

    Args:
        logits: float tensor (..., V).
        labels: int tensor (...); 0 is padding.
        smoothing: s, at least 0 and below 1.

    Returns:
        float32 tensor (...), 0 at padding.

    Source: harvardnlp/annotated-transformer, `LabelSmoothing`.

    Example:
        >>> import numpy as np
        >>> loss = label_smoothing_loss(np.zeros((1, 2, 4), "float32"), np.array([[2, 0]]), smoothing=0.0)
        >>> [round(float(value), 3) for value in loss[0]]
        [1.386, 0.0]
    """
    logits, labels = ops.cast(logits, "float32"), ops.cast(labels, "int32")
    share = smoothing / max(1, logits.shape[-1] - 2)
    entropy = -(1.0 - smoothing) * math.log1p(-smoothing) - (smoothing * math.log(share) if smoothing else 0.0)
    cross_entropy = _cross_entropy(logits, labels, smoothing, share)
    return ops.where(ops.not_equal(labels, 0), cross_entropy - entropy, 0.0)


def _cross_entropy(logits, labels, smoothing, share):
    """The cross-entropy of each token and, written out, its gradient: the softmax less the smoothed labels.

    A framework's own gradient of these few lines goes over all logits a dozen times more.
    """
    @ops.custom_gradient
    def cross_entropy(logits):
        highest = ops.max(logits, axis=-1, keepdims=True)
        powers = ops.exp(logits - highest)
        total = ops.sum(powers, axis=-1, keepdims=True)
        of_label = ops.take_along_axis(logits, labels[..., None], axis=-1)
        of_others = ops.sum(logits, axis=-1, keepdims=True) - of_label - logits[..., :1]
        # Targets sum to 1: log-softmax is the logit less one number, which can be taken out of the sum.
        value = ops.log(total) + highest - (1.0 - smoothing) * of_label - share * of_others

        def gradient(*arguments, upstream=None):
            scale = (arguments[0] if upstream is None else upstream)[..., None]
            chance = scale / total  # times `powers` it is the softmax
            at_label = ops.take_along_axis(powers, labels[..., None], axis=-1) * chance - (1.0 - smoothing) * scale
            at_padding = powers[..., :1] * chance
            vocabulary = logits.shape[-1]
            flat = ops.reshape(powers * chance - share * scale, (-1, vocabulary))
            rows = ops.arange(ops.shape(flat)[0], dtype="int32")
            columns = ops.concatenate([ops.zeros_like(rows), ops.reshape(labels, (-1,))])
            places = ops.stack([ops.tile(rows, (2,)), columns], axis=1)
            values = ops.concatenate([ops.reshape(at_padding, (-1,)), ops.reshape(at_label, (-1,))])
            return ops.reshape(ops.scatter_update(flat, places, values), ops.shape(logits))

        return value[..., 0], gradient

    return cross_entropy(logits)
