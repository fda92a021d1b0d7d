"""Blocking of repeated n-grams: a token that would complete an n-gram for the second time may not come."""

from keras import ops


def forbid_repeated_ngrams(log_probabilities, ids, position, n: int):
    """Hides each token that would repeat an n-gram of its row.

    Source: Paulus et al. 2017, "A Deep Reinforced Model for Abstractive Summarization", section 2.5 (trigrams).
    PreSumm's `Translator._fast_translate_batch` blocks a step late, on words, and not at the last step; here
    the completing token itself is blocked, on tokens, at every step.

    Args:
        log_probabilities: (R, V) float; column 0, padding, is hidden already.
        ids: (R, L) int32, the tokens generated so far in columns 0..position-1.
        position: scalar int32, how many there are.
        n: tokens in an n-gram, at least 1.

    Returns:
        (R, V) float, -inf at the tokens that may not come.
    """
    windows = ids.shape[1] - n + 1  # window w is the n-gram of columns w..w+n-1
    if windows < 1:
        return log_probabilities
    # a window counts once it is written in full, which also means that n-1 tokens lead up to the next one
    repeats = ops.arange(windows, dtype="int32") + n <= position
    for j in range(n - 1):
        newest = ops.take(ids, ops.maximum(position - (n - 1) + j, 0), axis=1)
        repeats = repeats & (ids[:, j:j + windows] == ops.expand_dims(newest, 1))
    # hiding padding once more is the update that changes nothing
    blocked = ops.where(repeats, ids[:, n - 1:], 0)
    rows = ops.broadcast_to(ops.expand_dims(ops.arange(ops.shape(ids)[0], dtype="int32"), 1), ops.shape(blocked))
    places = ops.reshape(ops.stack([rows, blocked], axis=-1), (-1, 2))
    hidden = ops.full((ops.shape(places)[0],), float("-inf"), dtype=log_probabilities.dtype)
    return ops.scatter_update(log_probabilities, places, hidden)
