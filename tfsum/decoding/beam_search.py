"""Beam search: the likeliest prefixes are followed together, and what has ended waits in a pool of its own."""

import dataclasses
from typing import Any, NamedTuple

from keras import ops

from tfsum.decoding.greedy import Greedy
from tfsum.decoding.length_normalization import NORMALIZATIONS
from tfsum.decoding.rows import choose, reorder_rows, row_numbers
from tfsum.decoding.single_path import count_tokens
from tfsum.decoding.strategy import FORBIDDEN, PADDING, Strategy, is_number
from tfsum.errors import Error


class _Live(NamedTuple):
    """The hypotheses that go on, the likeliest first: K for each of B sources."""

    ids: Any  # (B, K, L) int32
    log_probability: Any  # (B, K) float32, -inf: no hypothesis


class _Pool(NamedTuple):
    """The finished hypotheses, the best first: N for each of B sources."""

    ids: Any  # (B, N, L) int32
    log_probability: Any  # (B, N) float32, -inf: no hypothesis
    score: Any  # (B, N) float32, the log-probability normalized for length


@dataclasses.dataclass(frozen=True)
class BeamSearch(Strategy):
    """Follows the `width` likeliest prefixes and returns the `n_best` finished hypotheses of the best score.

    The score is log-probability / normalization(length), the end token counted in both. A hypothesis is
    finished when it is among the `width` best of its step and ends; it moves to a pool, and the next best takes
    its place, so that `width` prefixes stay alive. After `max_length` tokens the live ones are finished as they
    are. A source is done when no live hypothesis can get into its pool any more, however it went on. Width 1 is
    greedy decoding, which stops at the first end token, whatever the penalty.

    Where there are fewer than `n_best` hypotheses in all, the places left over have ids 0, length 0 and
    log-probability -inf.

    Args:
        width: K, prefixes followed together.
        n_best: N, hypotheses returned, at most `width`.
        length_penalty: alpha of the normalization, 0 to 10; 0 compares plain log-probabilities, and the higher
            it is, the longer the answers.
        normalization: "gnmt", ((5 + length) / 6) ** alpha, or "length", length ** alpha: see
            `tfsum/decoding/length_normalization.py`.

    Raises:
        Error: if an argument is out of its range.

    Source: Wu et al. 2016, section 7; Vaswani et al. 2017, section 6.1 (width 4, alpha 0.6).
    """

    width: int = 4
    n_best: int = 1
    length_penalty: float = 0.6
    normalization: str = "gnmt"

    def __post_init__(self):
        super().__post_init__()
        self._check_whole("width", 1)
        self._check_whole("n_best", 1)
        if self.n_best > self.width:
            raise Error(f"BeamSearch: n_best is {self.n_best} and width is {self.width}; a search returns at most as "
                        f"many hypotheses as it follows: lower n_best or raise width")
        alpha = self.length_penalty
        if not is_number(alpha) or not 0 <= alpha <= 10:
            raise Error(f"BeamSearch: length_penalty is {alpha!r}; expected a number from 0 (none) to 10")
        if self.normalization not in NORMALIZATIONS:
            raise Error(f"BeamSearch: normalization is {self.normalization!r}; known are {', '.join(NORMALIZATIONS)}")

    def search(self, model, source_ids, max_length: int):
        if self.width == 1:
            greedy = Greedy(min_length=self.min_length, no_repeat_ngram=self.no_repeat_ngram)
            return greedy.search(model, source_ids, max_length)
        return self._follow_beams(model, source_ids, max_length)

    def _follow_beams(self, model, source_ids, max_length: int):
        def unfinished(position, token, live, pool, state):
            return (position < max_length) & ops.any(self._may_improve(live, pool, max_length))

        def one_token(position, token, live, pool, state):
            logits, state = model.step(token, position, state)
            candidates, origin = self._extend(live, logits, position, model.end_id)
            ended = _last_token(candidates, position) == model.end_id
            pool = self._finish(pool, candidates, ended | (position + 1 == max_length), position + 1)
            live, kept = self._go_on(candidates, ended)
            state = reorder_rows(state, row_numbers(choose(origin, kept), self.width))
            return position + 1, ops.reshape(_last_token(live, position), (-1,)), live, pool, state

        start = self._start(model, source_ids, max_length)
        _, _, _, pool, _ = ops.while_loop(unfinished, one_token, start)
        return pool.ids, pool.log_probability, count_tokens(pool.ids)

    def _start(self, model, source_ids, max_length):
        """The loop's variables before the first token: one empty prefix a source, in the first of its K rows."""
        batch = ops.shape(source_ids)[0]
        state = model.start(source_ids, max_length, self.width)
        only_first = ops.where(ops.arange(self.width) == 0, 0.0, FORBIDDEN)
        live = _Live(ops.full((batch, self.width, max_length), PADDING, dtype="int32"),
                     ops.zeros((batch, self.width), dtype="float32") + only_first)
        nothing = ops.full((batch, self.n_best), FORBIDDEN, dtype="float32")
        pool = _Pool(ops.full((batch, self.n_best, max_length), PADDING, dtype="int32"), nothing, nothing)
        token = ops.full((batch * self.width,), model.start_id, dtype="int32")
        return ops.convert_to_tensor(0, dtype="int32"), token, live, pool, state

    def _extend(self, live, logits, position, end_id):
        """The 2K likeliest prefixes with one more token, and the beams (B, 2K) that they come from.

        At most K of them end, one a beam, so that K remain to go on.
        """
        vocabulary = logits.shape[-1]
        ids = ops.reshape(live.ids, (-1, live.ids.shape[-1]))
        tokens = ops.reshape(self.next_token(logits, ids, position, end_id), (-1, self.width, vocabulary))
        prefixes = tokens + ops.expand_dims(live.log_probability, -1)
        log_probability, best = ops.top_k(
            ops.reshape(prefixes, (-1, self.width * vocabulary)), 2 * self.width)
        origin, token = best // vocabulary, ops.expand_dims(best % vocabulary, -1)
        columns = ops.arange(live.ids.shape[-1], dtype="int32")
        return _Live(ops.where(columns == position, token, choose(live.ids, origin)), log_probability), origin

    def _finish(self, pool, candidates, finished, length):
        """The pool with those of the K best candidates that are finished, in the order of their scores."""
        K = self.width
        log_probability = ops.where(finished[:, :K], candidates.log_probability[:, :K], FORBIDDEN)
        both = _Pool(ops.concatenate([pool.ids, candidates.ids[:, :K]], axis=1),
                     ops.concatenate([pool.log_probability, log_probability], axis=1),
                     ops.concatenate([pool.score, self._score(log_probability, length)], axis=1))
        score, best = ops.top_k(both.score, self.n_best)  # ties to the one that ended first
        return _Pool(choose(both.ids, best), choose(both.log_probability, best), score)

    def _go_on(self, candidates, ended):
        """The K likeliest candidates that have not ended, and their places (B, K) among the candidates."""
        log_probability, kept = ops.top_k(ops.where(ended, FORBIDDEN, candidates.log_probability), self.width)
        return _Live(choose(candidates.ids, kept), log_probability), kept

    def _may_improve(self, live, pool, max_length):
        """(B,) bool: whether the likeliest prefix could still beat the pool's last, at no further loss.

        A log-probability only falls, and a normalization only rises with the length, so that the score at
        `max_length` bounds all that can come of a prefix.
        """
        return self._score(live.log_probability[:, 0], max_length) > pool.score[:, -1]  # the likeliest comes first

    def _score(self, log_probability, length):
        return log_probability / NORMALIZATIONS[self.normalization](length, self.length_penalty)


def _last_token(hypotheses, position):
    """(B, K) int32: the newest token of each hypothesis."""
    return ops.take(hypotheses.ids, position, axis=2)

