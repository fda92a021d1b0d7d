"""The loop of the strategies that follow one path a row: choose a token, go on from it, until all have ended."""

from keras import ops

from tfsum.decoding.rows import choose
from tfsum.decoding.strategy import PADDING, Strategy


def follow(strategy: Strategy, model, state, rows, max_length: int, pick):
    """Generates one sequence a row.

    Args:
        strategy: gives the log-probabilities of the tokens that may come next.
        model: as in `Strategy`.
        state: the model's, of R hypotheses.
        rows: R, an int or an int scalar tensor.
        max_length: L, the most tokens of a sequence.
        pick: function of log-probabilities (R, V), -inf where forbidden, and the position, a scalar int32;
            gives the tokens (R,) int32.

    Returns:
        ids (R, L) int32, padded with 0 after the end token; log-probabilities (R,) float32; lengths (R,) int32.
    """
    columns = ops.arange(max_length, dtype="int32")

    def unfinished(position, token, ended, ids, log_probability, state):
        return (position < max_length) & ops.any(~ended)

    def one_token(position, token, ended, ids, log_probability, state):
        logits, state = model.step(token, position, state)
        candidates = strategy.next_token(logits, ids, position, model.end_id)
        token = pick(candidates, position)
        chance = choose(candidates, ops.expand_dims(token, 1))[:, 0]
        token = ops.where(ended, PADDING, token)
        log_probability = log_probability + ops.where(ended, 0.0, chance)
        ids = ops.where(columns == position, ops.expand_dims(token, 1), ids)
        return position + 1, token, ended | (token == model.end_id), ids, log_probability, state

    first = (
        ops.convert_to_tensor(0, dtype="int32"),
        ops.full((rows,), model.start_id, dtype="int32"),
        ops.zeros((rows,), dtype="bool"),
        ops.full((rows, max_length), PADDING, dtype="int32"),
        ops.zeros((rows,), dtype="float32"),
        state,
    )
    _, _, _, ids, log_probability, _ = ops.while_loop(unfinished, one_token, first)
    return ids, log_probability, count_tokens(ids)


def count_tokens(ids):
    """Lengths (...) int32 of sequences (..., L) padded with 0, the end token counted."""
    return ops.sum(ops.cast(ids != PADDING, "int32"), axis=-1)
