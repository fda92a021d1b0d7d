"""A model small enough to be searched in full: its distributions are rows of a random table."""

import numpy as np
import pytest
from keras import ops

ROWS = 1009


class ToyModel:
    """Gives the row of a random table at a hash of the source and the whole prefix.

    The hash of the prefix is state that must follow its hypothesis; the source is state that stays
    where it is. `candidates` says the same in plain Python, for searches written without tfsum.

    Args:
        vocabulary: V; 0 is padding, 1 start, 2 end.
        seed: of the table.
        end_bias: added to the end token's logit at each position (the last value goes on).
        spread: standard deviation of the logits.
    """

    start_id, end_id = 1, 2

    def __init__(self, vocabulary=5, seed=0, end_bias=(0.0,), spread=2.0):
        self.table = (np.random.RandomState(seed).randn(ROWS, vocabulary) * spread).astype(
            "float32"
        )
        self.end_bias = np.array(end_bias, "float32")
        self.is_end = np.eye(vocabulary, dtype="float32")[self.end_id]
        self.steps = 0  # calls of `step`: tokens generated where nothing is traced

    def start(self, source_ids, max_length, width):
        ids = ops.repeat(source_ids, width, axis=0)
        return {
            "hypotheses": {"prefix": ops.zeros_like(ops.sum(ids, axis=1))},
            "source": {"ids": ids},
        }

    def step(self, token_ids, position, state):
        self.steps += 1
        ids = state["source"]["ids"]
        prefix = (state["hypotheses"]["prefix"] * 31 + token_ids * 17 + 7) % ROWS
        weights = ops.arange(ops.shape(ids)[1], dtype="int32") + 3
        logits = ops.take(
            ops.convert_to_tensor(self.table),
            (prefix + ops.sum(ids * weights, axis=1)) % ROWS,
            axis=0,
        )
        bias = ops.take(
            ops.convert_to_tensor(self.end_bias), ops.minimum(position, len(self.end_bias) - 1)
        )
        return logits + bias * self.is_end, {**state, "hypotheses": {"prefix": prefix}}

    def log_probabilities(self, source, ids):
        """(V,) float64 after the tokens `ids` of one source."""
        prefix = 0
        for token in (self.start_id, *ids):
            prefix = (prefix * 31 + token * 17 + 7) % ROWS
        row = (prefix + sum(token * (i + 3) for i, token in enumerate(source))) % ROWS
        bias = np.float64(self.end_bias[min(len(ids), len(self.end_bias) - 1)])
        logits = self.table[row].astype("float64") + bias * self.is_end
        return logits - np.log(np.sum(np.exp(logits)))

    def candidates(self, source, ids, min_length=0, no_repeat_ngram=0):
        """{token: log-probability} of the tokens that may come after `ids`."""
        logs, n = self.log_probabilities(source, ids), no_repeat_ngram
        grams = {tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)} if n else set()
        allowed = {
            token: value
            for token, value in enumerate(logs)
            if token != 0 and tuple([*ids, token][-n:]) not in grams
        }
        if len(ids) + 1 < min_length and set(allowed) != {self.end_id}:
            allowed.pop(self.end_id)
        return allowed


@pytest.fixture(scope="session")
def toy_model():
    """The class `ToyModel`."""
    return ToyModel


def make_end_biases(length: int) -> dict[str, tuple]:
    """When hypotheses end: as the table has it, at once, never, at the last step, all together on
    the way."""
    never = [-40.0] * length
    together = never.copy()
    together[length // 2] = 40.0
    return {
        "anywhere": (0.0,),
        "rarely": (-2.0,),
        "at once": (40.0,),
        "never": (-40.0,),
        "at the last step": (*never[:-1], 40.0),
        "all together": tuple(together),
    }


@pytest.fixture(scope="session")
def end_biases():
    """`make_end_biases`, a function of the length."""
    return make_end_biases
