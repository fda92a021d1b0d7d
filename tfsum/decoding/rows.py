"""Rows: the hypotheses of a source stand together, and each has its row in the model's state."""

import keras
from keras import ops


def reorder_rows(state, rows):
    """Moves the hypotheses that go on to their new rows, which lie within their source's.

    Args:
        state: the model's, as `Strategy` says: what stands under "hypotheses" moves.
        rows: (R,) int32, which row each row shall hold.
    """
    moved = keras.tree.map_structure(lambda tensor: ops.take(tensor, rows, axis=0), state["hypotheses"])
    return {**state, "hypotheses": moved}


def row_numbers(choice, among: int):
    """The row (B * N,) int32 of each place (B, N) chosen among the `among` rows of its source."""
    first = ops.arange(ops.shape(choice)[0], dtype="int32") * among
    return ops.reshape(ops.expand_dims(first, 1) + choice, (-1,))


def choose(values, choice):
    """Takes the chosen places (B, N) int32 out of (B, M, ...), for each source apart."""
    shape = values.shape[2:]
    rows = ops.reshape(values, (-1, *shape))
    return ops.reshape(ops.take(rows, row_numbers(choice, values.shape[1]), axis=0), (-1, choice.shape[1], *shape))
