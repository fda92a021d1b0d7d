"""Greedy decoding: the most probable token at each step."""

import dataclasses
from typing import Any

from keras import ops

from tfsum.decoding.strategy import Strategy, ids_of
from tfsum.tensor import Tensor


@dataclasses.dataclass(frozen=True)
class Greedy(Strategy):
    """Selects the most probable token at each step (ties: the lower id). N is 1.

    The arguments are those of `Strategy`.

    Example:
        >>> import tfsum
        >>> from tfsum.decoding import Greedy
        >>> model = tfsum.Transformer(9, 9, 1, 1, d_model=8, num_heads=2, feed_forward_width=8)
        >>> ids, log_probabilities, lengths = Greedy(min_length=2)(
        ...     model, [[4, 5, 6], [7, 0, 0]], max_length=5
        ... )
        >>> tuple(ids.shape), tuple(log_probabilities.shape), tuple(lengths.shape)
        ((2, 1, 5), (2, 1), (2, 1))
    """

    def search(self, model: Any, source: Any, max_length: int) -> tuple[Tensor, Tensor, Tensor]:
        state = model.start(source, max_length, 1)
        found = self.follow(model, state, ops.shape(ids_of(source))[0], max_length, _most_probable)
        return tuple(ops.expand_dims(part, 1) for part in found)


def _most_probable(log_probabilities, position):
    # Not ops.argmax, which spends operations on telling -0.0 from 0.0.
    return ops.squeeze(ops.top_k(log_probabilities, 1)[1], axis=1)
