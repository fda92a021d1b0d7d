"""Decoding in which numbers and names are written only as the source has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from tfsum.decoding.strategy import PADDING, ids_of
from tfsum.tensor import Tensor

UNLIKELY = -1e9  # the logarithm of a probability of 0 that strategies can add up


class SourceNames:
    """What a strategy needs of a model (see `Strategy`), which writes names and numbers of the source alone.

    Names and numbers are given as word pieces, `restricted`. A word that begins with one of them must begin as a word
    of the source does, go on as the source goes on after this piece, and end where it ends there. So a word of two
    pieces is one of the source; of longer ones each two neighbors are. All other words are free.

    The log-probabilities remain the model's own: that of the forbidden tokens goes to padding, which no strategy
    writes.

    Args:
        model: an object with `start`, `step`, `start_id` and `end_id`.
        restricted: bool (V,), the pieces of names and numbers.
        continues: bool (V,), the pieces that continue a word ("##").

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
        model: Any,
        restricted: Sequence[bool] | np.ndarray,
        continues: Sequence[bool] | np.ndarray,
    ) -> None:
        self._model, self.start_id, self.end_id = model, model.start_id, model.end_id
        self._restricted, self._continues = (
            np.asarray(restricted, bool),
            np.asarray(continues, bool),
        )

    def start(self, source: Any, max_length: int, num_beams: int) -> dict[str, Any]:
        """See `Strategy`."""
        ids = ops.cast(ids_of(source), "int32")
        following = ops.pad(ids[:, 1:], ((0, 0), (0, 1)))
        begins = ops.where(
            ops.take(ops.convert_to_tensor(self._continues), ids, axis=0), PADDING, ids
        )
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
        """See `Strategy`; the logits are logarithms of probabilities."""
        logits, inner = self._model.step(
            token_ids, position, {**state["model"], "hypotheses": state["hypotheses"]}
        )
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
        """Which tokens (B, K, V) may follow the last ones of the hypotheses, (B * K,); padding never does."""
        ids, following = state["ids"], state["following"]
        restricted, continues = (
            ops.convert_to_tensor(self._restricted),
            ops.convert_to_tensor(self._continues),
        )
        last = ops.reshape(token_ids, (ops.shape(ids)[0], -1))  # (B, K)
        same = ops.logical_and(ids[:, None, :] == last[:, :, None], (ids != PADDING)[:, None, :])
        next_ids = ops.where(same, following[:, None, :], PADDING)
        follows = _marked(next_ids, restricted.shape[0])
        ends = ops.any(
            ops.logical_and(same, ~ops.take(continues, following, axis=0)[:, None, :]), axis=-1
        )
        name = ops.take(restricted, last, axis=0)
        begins = ops.logical_and(
            ops.logical_or(~restricted, state["begins"][:, None, :]),
            ops.logical_or(~name, ends)[:, :, None],
        )
        goes_on = ops.logical_or(ops.logical_and(~restricted, ~name[:, :, None]), follows)
        return ops.logical_and(
            ops.where(continues, goes_on, begins), ops.arange(restricted.shape[0]) != PADDING
        )


def _marked(ids: Tensor, size: int) -> Tensor:
    """Which of `size` tokens are among ids (B, K, T): bool (B, K, size)."""
    rows = ops.shape(ids)[0] * ops.shape(ids)[1]
    places = ops.arange(rows, dtype="int32")[:, None] * size + ops.reshape(ids, (rows, -1))
    ones = ops.ones_like(ops.reshape(places, (-1,)))
    found = ops.segment_sum(ones, ops.reshape(places, (-1,)), num_segments=rows * size)
    return ops.reshape(found > 0, (ops.shape(ids)[0], ops.shape(ids)[1], size))
