"""Greedy decoding: the likeliest token at each step."""

import dataclasses

from keras import ops

from tfsum.decoding.single_path import follow
from tfsum.decoding.strategy import Strategy


@dataclasses.dataclass(frozen=True)
class Greedy(Strategy):
    """Takes the likeliest token at each step (ties to the lower id): N is 1."""

    def search(self, model, source_ids, max_length: int):
        state = model.start(source_ids, max_length, 1)
        found = follow(self, model, state, ops.shape(source_ids)[0], max_length, _likeliest)
        return tuple(ops.expand_dims(part, 1) for part in found)


def _likeliest(log_probabilities, position):
    return ops.squeeze(ops.top_k(log_probabilities, 1)[1], axis=1)  # ops.argmax would fiddle with bits for -0.0
