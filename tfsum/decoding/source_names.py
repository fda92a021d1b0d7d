"""Decoding in which numbers and names are written only as the source has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from tfsum.decoding.strategy import PADDING, Decodable, Source, ids_of
from tfsum.tensor import Tensor

UNLIKELY = -1e9  # the logarithm of a probability of 0 that strategies can add up


class SourceNames:
    """Wraps a model for a strategy: names and numbers are written only as the source has them.

    A word that begins with a piece of `restricted` must begin as a word of the source does, go on
    as the source goes on after this piece, and end where it ends there. So a word of two pieces is
    one of the source; of longer ones each two neighbors are. All other words are free.

    The log-probabilities remain the model's own: that of the forbidden tokens goes to padding,
    which no strategy writes.

    Args:
        model: Object with `start`, `step`, `start_id` and `end_id` (`Strategy`).
        restricted: Bool (V,), True for the pieces of names and numbers.
        continues: Bool (V,), True for the pieces that continue a word ("##").

    Example:
        >>> import numpy as np
        >>> import tfsum
        >>> from tfsum.decoding import Greedy
        >>> model = tfsum.Transformer(9, 9, 1, 1, d_model=8, num_heads=2, feed_forward_width=8)
        >>> names = np.arange(9) >= 6
        >>> ids, _, _ = Greedy()(
        ...     SourceNames(model, names, np.zeros(9, bool)), np.array([[4, 7, 5]]), 4
        ... )
        >>> bool(np.isin(ids, [6, 8]).any())
        False
    """

    def __init__(
        self,
        model: Decodable,
        restricted: Sequence[bool] | np.ndarray,
        continues: Sequence[bool] | np.ndarray,
    ) -> None:
        self._model, self.start_id, self.end_id = model, model.start_id, model.end_id
        self._restricted = np.asarray(restricted, bool)
        self._continues = np.asarray(continues, bool)

    def start(self, source: Source, max_length: int, num_beams: int) -> dict[str, Any]:
        """Implements `Strategy`'s interface; the state also holds what the rules need."""
        ids = ops.cast(ids_of(source), "int32")  # (B, Ts)
        following = ops.pad(ids[:, 1:], ((0, 0), (0, 1)))
        begins = ops.where(ops.take(self._continues, ids, axis=0), PADDING, ids)

        inner = dict(self._model.start(source, max_length, num_beams))
        return {
            "hypotheses": inner.pop("hypotheses"),
            "model": inner,
            "ids": ids,
            "following": following,
            "begins": _marked(begins[:, None, :], len(self._restricted))[:, 0],
        }

    def step(
        self, token_ids: Tensor, position: Tensor, state: dict[str, Any]
    ) -> tuple[Tensor, dict[str, Any]]:
        """Implements `Strategy`'s interface; the logits are logarithms of probabilities."""
        inner = {**state["model"], "hypotheses": state["hypotheses"]}
        logits, inner = self._model.step(token_ids, position, inner)

        # What the forbidden tokens have goes to padding: (B * K, V)
        logits = ops.cast(logits, "float32")
        log_probability = ops.log_softmax(logits)
        allowed = ops.reshape(self._allowed(token_ids, state), ops.shape(log_probability))
        lost = ops.sum(ops.where(allowed, 0.0, ops.softmax(logits)), axis=-1, keepdims=True)
        kept = ops.where(allowed, log_probability, UNLIKELY)
        is_padding = ops.arange(kept.shape[-1]) == PADDING
        kept = ops.where(is_padding, ops.log(ops.maximum(lost, 1e-30)), kept)

        return kept, {
            **state,
            "hypotheses": inner["hypotheses"],
            "model": {name: inner[name] for name in state["model"]},
        }

    def _allowed(self, token_ids: Tensor, state: dict[str, Any]) -> Tensor:
        """Which tokens may follow the last ones (B * K,) of the hypotheses: bool (B, K, V).

        Padding never does.
        """
        ids, following = state["ids"], state["following"]  # (B, Ts)
        free, vocabulary = ~self._restricted, len(self._restricted)  # (V,)

        # Where the last token stands in the source: (B, K, Ts)
        last = ops.reshape(token_ids, (ops.shape(ids)[0], -1))  # (B, K)
        is_name = ops.take(self._restricted, last, axis=0)
        same = ops.logical_and(ids[:, None, :] == last[:, :, None], (ids != PADDING)[:, None, :])

        # What goes on there, (B, K, V), and whether a word ends there, (B, K)
        follows = _marked(ops.where(same, following[:, None, :], PADDING), vocabulary)
        next_continues = ops.take(self._continues, following, axis=0)[:, None, :]
        ends = ops.any(ops.logical_and(same, ~next_continues), axis=-1)

        # A piece that begins a word, and one that continues the last one: (B, K, V)
        begins = ops.logical_and(
            ops.logical_or(free, state["begins"][:, None, :]),
            ops.logical_or(~is_name, ends)[:, :, None],
        )
        goes_on = ops.logical_or(ops.logical_and(free, ~is_name[:, :, None]), follows)
        allowed = ops.where(self._continues, goes_on, begins)
        return ops.logical_and(allowed, ops.arange(vocabulary) != PADDING)


def _marked(ids: Tensor, size: int) -> Tensor:
    """Which of `size` tokens are among ids (B, K, T): bool (B, K, size)."""
    batch, beams, _ = ops.shape(ids)
    rows = batch * beams

    # Each id counts in its own row of one long vector (B * K * size).
    places = ops.arange(rows, dtype="int32")[:, None] * size + ops.reshape(ids, (rows, -1))
    places = ops.reshape(places, (-1,))
    counts = ops.segment_sum(ops.ones_like(places), places, num_segments=rows * size)
    return ops.reshape(counts > 0, (batch, beams, size))
