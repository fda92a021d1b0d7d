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
    """
    logits = ops.cast(logits, "float32")
    share = smoothing / max(1, logits.shape[-1] - 2)
    of_label = ops.take_along_axis(logits, ops.cast(labels, "int32")[..., None], axis=-1)[..., 0]
    of_others = ops.sum(logits, axis=-1) - of_label - logits[..., 0]
    # Targets sum to 1: log-softmax is the logit less one number, which can be taken out of the sum.
    cross_entropy = ops.logsumexp(logits, axis=-1) - (1.0 - smoothing) * of_label - share * of_others
    entropy = -(1.0 - smoothing) * math.log1p(-smoothing) - (smoothing * math.log(share) if smoothing else 0.0)
    return ops.where(ops.not_equal(labels, 0), cross_entropy - entropy, 0.0)
