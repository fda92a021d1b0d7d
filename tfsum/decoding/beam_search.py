"""Beam search: extends the most probable prefixes together and keeps finished ones in a pool."""

from typing import NamedTuple

from keras import ops

from tfsum.decoding.strategy import (
    FORBIDDEN,
    PADDING,
    Decodable,
    Greedy,
    Source,
    Strategy,
    choose,
    count_tokens,
    ids_of,
    reorder_rows,
    row_numbers,
)
from tfsum.decoding_settings import BeamSearchSettings
from tfsum.tensor import Tensor


def gnmt(length: Tensor, alpha: float) -> Tensor:
    """Length normalization ((5 + length) / 6) ** alpha.

    Source: Wu et al. 2016, "Google's Neural Machine Translation System", section 7, equation 14,
        without the coverage penalty; Vaswani et al. 2017 (section 6.1) use alpha 0.6. PreSumm's is
        the same.

    Example:
        >>> float(gnmt(7, alpha=1.0))
        2.0
    """
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


def division_by_length(length: Tensor, alpha: float) -> Tensor:
    """Length normalization length ** alpha: alpha 1 scores by the mean log-probability per token.

    Source: Jean et al. 2015, "Montreal Neural Machine Translation Systems for WMT'15" (alpha 1);
        with alpha, fairseq's `--lenpen` and Hugging Face's `length_penalty`.

    Example:
        >>> float(division_by_length(7, alpha=1.0))
        7.0
    """
    return ops.power(ops.cast(length, "float32"), alpha)


NORMALIZATIONS = {"gnmt": gnmt, "length": division_by_length}


class _Live(NamedTuple):
    """The unfinished hypotheses, most probable first: K for each of B sources."""

    ids: Tensor  # (B, K, L) int32
    log_probability: Tensor  # (B, K) float32, -inf: no hypothesis


class _Pool(NamedTuple):
    """The finished hypotheses, best first: N for each of B sources."""

    ids: Tensor  # (B, N, L) int32
    log_probability: Tensor  # (B, N) float32, -inf: no hypothesis
    score: Tensor  # (B, N) float32, the log-probability normalized for length


class BeamSearch(BeamSearchSettings, Strategy):
    """Extends the `width` most probable prefixes and returns the `n_best` finished ones by score.

    The score is log-probability / normalization(length), both including the end token. A hypothesis
    is finished when it ends and is among the `width` best of its step; it moves to a pool, and the
    next best takes its place, so that `width` prefixes stay alive. After `max_length` tokens the
    live hypotheses are finished as they are. The search of a source stops when no live hypothesis
    can still enter its pool. Width 1 is greedy decoding, which stops at the first end token,
    whatever the penalty.

    If there are fewer than `n_best` hypotheses, the remaining places have ids 0, length 0 and
    log-probability -inf.

    Args:
        width: K, number of beams: prefixes extended together.
        n_best: N, number of hypotheses returned, at most `width`.
        length_penalty: Alpha of the normalization, 0 to 10; 0 compares plain log-probabilities,
            higher values favor longer answers.
        normalization: "gnmt", ((5 + length) / 6) ** alpha, or "length", length ** alpha; see `gnmt`
            and `division_by_length`.
        min_length: Minimum number of tokens, including the end token.
        no_repeat_ngram: Length of the n-grams that occur at most once; 0 for no such rule.

    Raises:
        Error: An argument is out of range.

    Source: Wu et al. 2016, section 7; Vaswani et al. 2017, section 6.1 (width 4, alpha 0.6).

    Example:
        >>> import tfsum
        >>> from tfsum.decoding import BeamSearch
        >>> model = tfsum.Transformer(9, 9, 1, 1, d_model=8, num_heads=2, feed_forward_width=8)
        >>> ids, log_probabilities, lengths = BeamSearch(width=3, n_best=2)(
        ...     model, [[4, 5, 6]], max_length=5
        ... )
        >>> tuple(ids.shape), tuple(log_probabilities.shape), tuple(lengths.shape)
        ((1, 2, 5), (1, 2), (1, 2))
    """

    def search(
        self, model: Decodable, source: Source, max_length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        if self.width == 1:
            greedy = Greedy(min_length=self.min_length, no_repeat_ngram=self.no_repeat_ngram)
            return greedy.search(model, source, max_length)

        def unfinished(position, token, live, pool, state):
            # Log-probabilities only decrease and normalizations only increase with the length: the
            # score at `max_length` is an upper bound for all continuations of a prefix.
            bound = self._score(live.log_probability[:, 0], max_length)  # (B,)
            return (position < max_length) & ops.any(bound > pool.score[:, -1])

        def one_token(position, token, live, pool, state):
            logits, state = model.step(token, position, state)  # (B * K, V)
            candidates, origin = self._extend(live, logits, position, model.end_id)

            # Those of the K best that ended go to the pool; the K best others live on.
            ended = _last_token(candidates, position) == model.end_id  # (B, 2K)
            finished = ended | (position + 1 == max_length)
            pool = self._finish(pool, candidates, finished, position + 1)
            alive = ops.where(ended, FORBIDDEN, candidates.log_probability)
            log_probability, kept = ops.top_k(alive, self.width)
            live = _Live(choose(candidates.ids, kept), log_probability)

            state = reorder_rows(state, row_numbers(choose(origin, kept), self.width))
            token = ops.reshape(_last_token(live, position), (-1,))
            return position + 1, token, live, pool, state

        start = self._start(model, source, max_length)
        _, _, _, pool, _ = ops.while_loop(unfinished, one_token, start)
        return pool.ids, pool.log_probability, count_tokens(pool.ids)

    def _start(self, model, source, max_length):
        """The loop variables before the first token: one empty prefix for each source."""
        batch = ops.shape(ids_of(source))[0]
        state = model.start(source, max_length, self.width)
        token = ops.full((batch * self.width,), model.start_id, dtype="int32")

        # Only the first of a source's K rows is a hypothesis.
        only_first = ops.where(ops.arange(self.width) == 0, 0.0, FORBIDDEN)
        live = _Live(
            ops.full((batch, self.width, max_length), PADDING, dtype="int32"),
            ops.zeros((batch, self.width), dtype="float32") + only_first,
        )
        nothing = ops.full((batch, self.n_best), FORBIDDEN, dtype="float32")
        pool = _Pool(
            ops.full((batch, self.n_best, max_length), PADDING, dtype="int32"), nothing, nothing
        )
        return ops.convert_to_tensor(0, dtype="int32"), token, live, pool, state

    def _extend(self, live, logits, position, end_id):
        """The 2K most probable prefixes of one more token, and the beams (B, 2K) that they extend.

        At most K of them end, one per beam, so that at least K are unfinished.
        """
        # Log-probabilities of all K * V continuations of a source: (B, K, V)
        vocabulary, max_length = logits.shape[-1], live.ids.shape[-1]
        ids = ops.reshape(live.ids, (-1, max_length))
        tokens = self.next_token(logits, ids, position, end_id)
        tokens = ops.reshape(tokens, (-1, self.width, vocabulary))
        prefixes = tokens + ops.expand_dims(live.log_probability, -1)

        # The best 2K of them, and where each comes from: (B, 2K)
        log_probability, best = ops.top_k(
            ops.reshape(prefixes, (-1, self.width * vocabulary)), 2 * self.width
        )
        origin, token = best // vocabulary, ops.expand_dims(best % vocabulary, -1)

        # Their ids with the new token at this position: (B, 2K, L)
        columns = ops.arange(max_length, dtype="int32")
        ids = ops.where(columns == position, token, choose(live.ids, origin))
        return _Live(ids, log_probability), origin

    def _finish(self, pool, candidates, finished, length):
        """The pool after adding the finished ones of the K best candidates, sorted by score."""
        K = self.width
        log_probability = ops.where(finished[:, :K], candidates.log_probability[:, :K], FORBIDDEN)

        # The N of the pool and the K candidates: (B, N + K)
        both = _Pool(
            ops.concatenate([pool.ids, candidates.ids[:, :K]], axis=1),
            ops.concatenate([pool.log_probability, log_probability], axis=1),
            ops.concatenate([pool.score, self._score(log_probability, length)], axis=1),
        )
        score, best = ops.top_k(both.score, self.n_best)  # ties: the one that ended first
        return _Pool(choose(both.ids, best), choose(both.log_probability, best), score)

    def _score(self, log_probability, length):
        return log_probability / NORMALIZATIONS[self.normalization](length, self.length_penalty)


def _last_token(hypotheses, position):
    """The newest token of each hypothesis: int32 (B, K)."""
    return ops.take(hypotheses.ids, position, axis=2)
