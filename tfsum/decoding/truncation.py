"""Truncation of a distribution before sampling: the k likeliest tokens, or as few as hold a share p of it."""

from keras import ops


def truncate(log_probabilities, top_k: int, top_p: float):
    """Hides the unlikely tokens: first all but the `top_k` likeliest, then those beyond the share `top_p`.

    Of what top-k leaves, made to sum to 1, top-p keeps the fewest likeliest tokens whose probabilities sum to
    `top_p` at least. Tokens as likely as the last one kept are kept too.

    Args:
        log_probabilities: (R, V) float32, -inf where forbidden; they need not sum to 1.
        top_k: 0 for all.
        top_p: above 0 and up to 1; 1 for all.

    Returns:
        (R, V) float32, -inf at the hidden tokens.

    Source: Fan et al. 2018, "Hierarchical Neural Story Generation", section 5.1 (top-k); Holtzman et al. 2020,
    "The Curious Case of Neural Text Degeneration", section 3.1 (top-p). The order is Hugging Face's.
    """
    vocabulary = log_probabilities.shape[-1]
    if not 0 < top_k < vocabulary and top_p == 1:
        return log_probabilities
    likeliest, _ = ops.top_k(log_probabilities, min(top_k or vocabulary, vocabulary))
    probabilities = ops.softmax(likeliest, axis=-1)
    before = ops.cumsum(probabilities, axis=-1) - probabilities
    # the likeliest token has nothing before it, so that one is always kept
    least = ops.min(ops.where(before < top_p, likeliest, float("inf")), axis=-1, keepdims=True)
    return ops.where(log_probabilities < least, float("-inf"), log_probabilities)
