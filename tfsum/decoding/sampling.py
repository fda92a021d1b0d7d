"""Sampling: each token is drawn from the model's distribution, by numbers that the seed and the source fix."""

import dataclasses

import numpy as np
from keras import ops

from tfsum.decoding.rows import choose
from tfsum.decoding.single_path import follow
from tfsum.decoding.strategy import Strategy, is_number
from tfsum.decoding.truncation import truncate
from tfsum.errors import Error

HASH = 46337  # a prime whose square fits int32
BELOW_ONE = 1 - 2**-22  # a share of a float32 sum that stays below the sum


@dataclasses.dataclass(frozen=True)
class Sampling(Strategy):
    """Draws `n_samples` sequences a source (the N of the result), returned with the likeliest first.

    A token's chance is proportional to p ** (1 / temperature), p being the model's probability, among the
    tokens that `top_k` and `top_p` leave. The log-probabilities returned are the model's own, untempered and
    untruncated, as those of the other strategies.

    The same seed gives the same sequences, in a graph or not, and a source gives the same ones wherever it
    stands and whatever else is in its batch; so equal sources give equal sequences: for several of one source
    ask for `n_samples`, or take another seed. No random operation enters the graph.

    Args:
        temperature: 0.0001 to 1000; 1 is the model's distribution, lower is more like greedy decoding.
        top_k: keeps the k likeliest tokens; 0 for all.
        top_p: above 0 and up to 1: keeps the fewest likeliest tokens that hold this share; 1 for all.
        seed: 0 to 2**32 - 1.
        n_samples: N, at least 1.

    Raises:
        Error: if an argument is out of its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    n_samples: int = 1

    def __post_init__(self):
        super().__post_init__()
        self._check_whole("top_k", 0)
        self._check_whole("seed", 0, 2**32 - 1)
        self._check_whole("n_samples", 1)
        if not is_number(self.temperature) or not 1e-4 <= self.temperature <= 1e3:
            raise Error(f"Sampling: temperature is {self.temperature!r}; expected a number from 0.0001 to 1000 (for "
                        f"the likeliest token each time take Greedy)")
        if not is_number(self.top_p) or not 0 < self.top_p <= 1:
            raise Error(f"Sampling: top_p is {self.top_p!r}; expected a number above 0 and up to 1 (all tokens)")

    def search(self, model, source_ids, max_length: int):
        uniform = self._uniform_numbers(source_ids, max_length)

        def draw(log_probabilities, position):
            kept = truncate(log_probabilities / self.temperature, self.top_k, self.top_p)
            return draw_tokens(kept, ops.take(uniform, position, axis=1))

        state = model.start(source_ids, max_length, self.n_samples)
        rows = ops.shape(source_ids)[0] * self.n_samples
        ids, log_probability, length = follow(self, model, state, rows, max_length, draw)
        log_probability, best = ops.top_k(ops.reshape(log_probability, (-1, self.n_samples)), self.n_samples)
        return (choose(ops.reshape(ids, (-1, self.n_samples, max_length)), best), log_probability,
                choose(ops.reshape(length, (-1, self.n_samples)), best))

    def _uniform_numbers(self, source_ids, max_length):
        """(B * N, L) float32 in [0, 1): the seed's numbers, each rotated by the source's hash times the seed's factor.

        A rotated uniform number is uniform; without the rotation all sources of a batch would get their
        unlikely tokens together.
        """
        # RandomState's stream never changes; position by position, so that a longer L only adds numbers
        random = np.random.RandomState(self.seed).random_sample((max_length, self.n_samples, 2))
        numbers = random[..., 0].T.astype("float32")
        factors = (1 + random[..., 1].T * (HASH - 1)).astype("int32")
        turns = ops.reshape(_hash(source_ids), (-1, 1, 1)) * factors % HASH
        return ops.reshape(ops.mod(ops.cast(turns, "float32") / HASH + numbers, 1.0), (-1, max_length))


def draw_tokens(log_probabilities, uniform):
    """Draws a token a row by inverting the cumulative distribution.

    Args:
        log_probabilities: (R, V) float32, -inf for a token that may not come; they need not sum to 1.
        uniform: (R,) float32 in [0, 1).

    Returns:
        (R,) int32; never a token of probability 0.
    """
    probabilities = ops.softmax(log_probabilities, axis=-1)
    cumulative = ops.cumsum(probabilities, axis=-1)
    share = ops.expand_dims(ops.minimum(uniform, BELOW_ONE), 1) * cumulative[:, -1:]
    # 1 where the sum has passed the share, 0 before, -1 where no token is: the first of the greatest is drawn
    passed = ops.where(probabilities > 0, ops.cast(cumulative > share, "int32"), -1)
    return ops.cast(ops.argmax(passed, axis=-1), "int32")


def _hash(source_ids):
    """(B,) int32 in [0, HASH): one number of a source's ids in their order, which padding leaves as it is."""
    places = ops.arange(ops.shape(source_ids)[1], dtype="int32")
    weights = (places * 7919 + 1) % 8191 + 1
    return ops.sum((source_ids % 2**18) * weights % HASH, axis=1) % HASH
