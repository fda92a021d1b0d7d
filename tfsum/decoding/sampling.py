"""Sampling: tokens are drawn from the model's distribution, fixed by the seed and the source."""

import numpy as np
from keras import ops

from tfsum.decoding.strategy import Decodable, Source, Strategy, choose, ids_of
from tfsum.decoding_settings import SamplingSettings
from tfsum.tensor import Tensor

HASH = 46337  # a prime whose square fits int32
BELOW_ONE = 1 - 2**-22  # times a float32 sum, the product is below the sum


class Sampling(SamplingSettings, Strategy):
    """Draws `n_samples` sequences per source (N), returned with the most probable first.

    A token is drawn with probability proportional to p ** (1 / temperature), where p is the model's
    probability, from the tokens kept by `top_k` and `top_p`. The returned log-probabilities are the
    model's own, before temperature and truncation, as for the other strategies.

    The same seed gives the same sequences, eagerly and in a graph. The sequences of a source do not
    depend on its position in the batch or on the other sources; equal sources give equal sequences:
    for several samples of one source use `n_samples` or another seed. The graph contains no random
    operation.

    Args:
        temperature: Number from 0.0001 to 1000; 1 is the model's distribution, lower values are
            closer to greedy decoding.
        top_k: Number of most probable tokens to draw from; 0 for all.
        top_p: Total probability, above 0 and up to 1, of the smallest set of most probable tokens
            to draw from; 1 for all.
        seed: Whole number from 0 to 2**32 - 1.
        n_samples: N, number of sequences per source, at least 1.
        min_length: Minimum number of tokens, including the end token.
        no_repeat_ngram: Length of the n-grams that occur at most once; 0 for no such rule.

    Raises:
        Error: An argument is out of range.

    Example:
        >>> import tfsum
        >>> from tfsum.decoding import Sampling
        >>> model = tfsum.Transformer(9, 9, 1, 1, d_model=8, num_heads=2, feed_forward_width=8)
        >>> ids, log_probabilities, lengths = Sampling(top_k=5, seed=1, n_samples=3)(
        ...     model, [[4, 5, 6]], max_length=5
        ... )
        >>> tuple(ids.shape), tuple(log_probabilities.shape), tuple(lengths.shape)
        ((1, 3, 5), (1, 3), (1, 3))
    """

    def search(
        self, model: Decodable, source: Source, max_length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        uniform = self._uniform_numbers(ids_of(source), max_length)

        def draw(log_probabilities, position):
            kept = truncate(log_probabilities / self.temperature, self.top_k, self.top_p)
            return draw_tokens(kept, ops.take(uniform, position, axis=1))

        state = model.start(source, max_length, self.n_samples)
        rows = ops.shape(ids_of(source))[0] * self.n_samples
        ids, log_probability, length = self.follow(model, state, rows, max_length, draw)

        # The N samples of a source, best first: (B * N, ...) -> (B, N, ...)
        N = self.n_samples
        log_probability, best = ops.top_k(ops.reshape(log_probability, (-1, N)), N)
        ids = choose(ops.reshape(ids, (-1, N, max_length)), best)
        return ids, log_probability, choose(ops.reshape(length, (-1, N)), best)

    def _uniform_numbers(self, source_ids, max_length):
        """Random numbers in [0, 1) for each sample and position: float32 (B * N, L).

        The seed's numbers are rotated by the source's hash times a factor of the seed. A rotated
        uniform number is uniform; without the rotation all sources of a batch would draw improbable
        tokens at the same steps.
        """
        # The stream of RandomState never changes; positions come first, so that a longer L only
        # adds numbers.
        random = np.random.RandomState(self.seed).random_sample((max_length, self.n_samples, 2))
        numbers = random[..., 0].T.astype("float32")  # (N, L)
        factors = (1 + random[..., 1].T * (HASH - 1)).astype("int32")

        # The hash of each source's ids and their order, whatever its padding: int32 (B,) below HASH
        weights = (ops.arange(ops.shape(source_ids)[1], dtype="int32") * 7919 + 1) % 8191 + 1
        hashes = ops.sum((source_ids % 2**18) * weights % HASH, axis=1) % HASH

        turns = ops.reshape(hashes, (-1, 1, 1)) * factors % HASH  # (B, N, L)
        rotated = ops.mod(ops.cast(turns, "float32") / HASH + numbers, 1.0)
        return ops.reshape(rotated, (-1, max_length))


def draw_tokens(log_probabilities: Tensor, uniform: Tensor) -> Tensor:
    """Draws one token per row by inverting the cumulative distribution.

    Args:
        log_probabilities: (R, V) float32, -inf for a forbidden token; they need not sum to 1.
        uniform: (R,) float32 in [0, 1).

    Returns:
        (R,) int32; never a token of probability 0.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> halves = np.log(np.array([[0.5, 0.5], [0.5, 0.5]], "float32"))
        >>> ops.convert_to_numpy(draw_tokens(halves, np.array([0.3, 0.7], "float32"))).tolist()
        [0, 1]
    """
    probabilities = ops.softmax(log_probabilities, axis=-1)
    cumulative = ops.cumsum(probabilities, axis=-1)
    share = ops.expand_dims(ops.minimum(uniform, BELOW_ONE), 1) * cumulative[:, -1:]  # (R, 1)

    # 1 where the sum exceeds the share, 0 before, -1 for a forbidden token: argmax is the first of
    # the ones.
    passed = ops.where(probabilities > 0, ops.cast(cumulative > share, "int32"), -1)
    return ops.cast(ops.argmax(passed, axis=-1), "int32")


def truncate(log_probabilities: Tensor, top_k: int, top_p: float) -> Tensor:
    """Masks all tokens but the `top_k` most probable, then those outside the nucleus `top_p`.

    Of the tokens kept by top-k, renormalized to sum to 1, top-p keeps the smallest set of most
    probable tokens whose total probability is at least `top_p`. Tokens as probable as the last one
    kept are kept too.

    Args:
        log_probabilities: (R, V) float32, -inf where forbidden; they need not sum to 1.
        top_k: Number of tokens kept; 0 for all.
        top_p: Total probability of the tokens kept, above 0 and up to 1; 1 for all.

    Returns:
        (R, V) float32, -inf at the masked tokens.

    Source: Fan et al. 2018, "Hierarchical Neural Story Generation", section 5.1 (top-k); Holtzman
        et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1 (top-p). The order
        is Hugging Face's.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> kept = truncate(np.log(np.array([[0.5, 0.3, 0.2]], "float32")), top_k=0, top_p=0.7)
        >>> np.isfinite(ops.convert_to_numpy(kept)).tolist()
        [[True, True, False]]
    """
    vocabulary = log_probabilities.shape[-1]
    if not 0 < top_k < vocabulary and top_p == 1:
        return log_probabilities

    # The tokens kept by top-k, most probable first: (R, k)
    highest, _ = ops.top_k(log_probabilities, min(top_k or vocabulary, vocabulary))
    probabilities = ops.softmax(highest, axis=-1)
    before = ops.cumsum(probabilities, axis=-1) - probabilities

    # Nothing precedes the most probable token, which is therefore always kept.
    least = ops.min(ops.where(before < top_p, highest, float("inf")), axis=-1, keepdims=True)
    return ops.where(log_probabilities < least, float("-inf"), log_probabilities)
