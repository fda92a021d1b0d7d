"""Rows: the hypotheses of a source stand together, and each has its row in the model's state."""

import keras
from keras import ops


def repeat_rows(state, times: int):
    """Gives each row of a state `times` times, one after the other: (B, ...) to (B * times, ...)."""
    return keras.tree.map_structure(lambda rows: ops.repeat(rows, times, axis=0), state)


def reorder_rows(before, after, rows):
    """Moves the state of the hypotheses that go on to their new rows, which lie within their source's.

    What `step` handed back as it was is the same in all rows of a source: only what it made anew is gathered.

    Args:
        before: the state that was given to `step`.
        after: the state that came back.
        rows: (R,) int32, which row of `after` each row shall hold.
    """
    return keras.tree.map_structure(
        lambda old, new: new if new is old else ops.take(new, rows, axis=0), before, after)


def row_numbers(choice, among: int):
    """The row (B * N,) int32 of each place (B, N) chosen among the `among` rows of its source."""
    first = ops.arange(ops.shape(choice)[0], dtype="int32") * among
    return ops.reshape(ops.expand_dims(first, 1) + choice, (-1,))


def choose(values, choice):
    """Takes the chosen places (B, N) int32 out of (B, M, ...), for each source apart."""
    shape = values.shape[2:]
    rows = ops.reshape(values, (-1, *shape))
    return ops.reshape(ops.take(rows, row_numbers(choice, values.shape[1]), axis=0), (-1, choice.shape[1], *shape))
