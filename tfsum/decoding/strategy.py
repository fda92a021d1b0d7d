"""What all decoding strategies share: the interface of a model, the result and the rules; and the
simplest one, greedy decoding."""

import numbers
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from keras import ops, tree

from tfsum.decoding_settings import StrategySettings
from tfsum.errors import require
from tfsum.tensor import Tensor

PADDING = 0
FORBIDDEN = float("-inf")
# The ids (B, Ts), or a dict of `source_ids` and other such tensors.
Source: TypeAlias = Tensor | dict[str, Tensor]


class Decodable(Protocol):
    """What a strategy needs of a model, see `Strategy`."""

    start_id: int
    end_id: int

    def start(self, source: Source, max_length: int, num_beams: int) -> dict:
        """Returns the state of `num_beams` hypotheses per source."""

    def step(self, token_ids: Tensor, position: Tensor, state: dict) -> tuple[Tensor, dict]:
        """Returns the logits (R, V) of the next token, and the state."""


class Strategy(StrategySettings):
    """Base class of decoding strategies: from a model and sources to sequences of tokens.

    A strategy runs inside a graph and uses four attributes of a model:

    - `model.start(source, max_length, num_beams)` returns the state of `num_beams` hypotheses per
      source: a (nested) dict of tensors. The tensors under "hypotheses" have one row per
      hypothesis, R = B * num_beams with the hypotheses of a source next to each other, and a
      strategy reorders these rows; all other tensors are passed on unchanged.
    - `model.step(token_ids (R,) int32, position scalar int32, state)` reads the token at `position`
      (the start token at 0) and returns the finite logits (R, V) of the next token and the state,
      with the same shapes.
    - `model.start_id` and `model.end_id`.

    Args:
        min_length: Minimum number of tokens of a sequence, including the end token.
        no_repeat_ngram: N; no n-gram occurs twice in a sequence. 0 disables the rule. It takes
            precedence over `min_length`: if only the end token is left, the sequence ends early.

    Raises:
        Error: An argument is out of range.

    Example:
        >>> from keras import ops
        >>> from tfsum.decoding import Greedy
        >>> class Counting:
        ...     start_id, end_id = 1, 5
        ...
        ...     def start(self, source, max_length, num_beams):
        ...         return {"hypotheses": {}}
        ...
        ...     def step(self, token_ids, position, state):
        ...         return 9 * ops.one_hot(token_ids + 1, 8), state
        >>> ids, log_probabilities, lengths = Greedy()(Counting(), [[7]], max_length=6)
        >>> ops.convert_to_numpy(ids).tolist(), ops.convert_to_numpy(lengths).tolist()
        ([[[2, 3, 4, 5, 0, 0]]], [[4]])
    """

    def __call__(
        self, model: Decodable, source: Source, max_length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Decodes a batch of sources.

        Padding is never generated, and the answer for a source does not depend on the rest of the
        batch. A sequence that has not ended after `max_length` tokens is returned without an end
        token.

        Args:
            model: Object with `start`, `step`, `start_id` and `end_id` as the class describes.
            source: Int (B, Ts), padded with 0; or, for a model that needs more than the ids, a
                dict of `source_ids` and other such tensors.
            max_length: L, maximum number of tokens of a sequence, including the end token.

        Returns:
            Ids (B, N, L) int32, without the start token, with the end token, padded with 0 after
            it; log-probabilities (B, N) float32, the model's own (not renormalized over the allowed
            tokens), summed over the tokens including the end token; lengths (B, N) int32, including
            the end token. Best first.

        Raises:
            Error: `max_length` is not an integer, or is below 1 or `min_length`.
        """
        is_whole = isinstance(max_length, numbers.Integral) and not isinstance(max_length, bool)
        require(
            is_whole and max_length >= max(1, self.min_length),
            f"{type(self).__name__}: max_length is {max_length!r}; expected a whole number, at"
            f" least 1 and at least min_length ({self.min_length})",
        )

        if not isinstance(source, dict):
            return self.search(model, ops.convert_to_tensor(source, "int32"), int(max_length))
        tensors = {name: ops.convert_to_tensor(ids, "int32") for name, ids in source.items()}
        return self.search(model, tensors, int(max_length))

    def with_vocabulary(self, words: Sequence[str]) -> "Strategy":
        """Returns the strategy for a target vocabulary, where it needs to know the words.

        Args:
            words: The word pieces by id.
        """
        return self

    def search(
        self, model: Decodable, source: Source, max_length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Implements `__call__`, whose arguments are checked."""
        raise NotImplementedError

    def follow(
        self,
        model: Decodable,
        state: dict,
        rows: Tensor,
        max_length: int,
        pick: Callable[[Tensor, Tensor], Tensor],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Generates one sequence per row, token by token, until all sequences have ended.

        Args:
            model: Object with `step`, `start_id` and `end_id`.
            state: State of R hypotheses.
            rows: R, an int or an int scalar tensor.
            max_length: L, maximum number of tokens of a sequence.
            pick: Function of log-probabilities (R, V), -inf where forbidden, and the position, an
                int32 scalar; returns the tokens (R,) int32.

        Returns:
            Ids (R, L) int32, padded with 0 after the end token; log-probabilities (R,) float32;
            lengths (R,) int32.
        """
        columns = ops.arange(max_length, dtype="int32")

        def unfinished(position, token, ended, ids, log_probability, state):
            return (position < max_length) & ops.any(~ended)

        def one_token(position, token, ended, ids, log_probability, state):
            logits, state = model.step(token, position, state)
            candidates = self.next_token(logits, ids, position, model.end_id)  # (R, V)
            token = pick(candidates, position)  # (R,)
            gain = choose(candidates, ops.expand_dims(token, 1))[:, 0]

            # A sequence that has ended gets padding, which costs nothing.
            token = ops.where(ended, PADDING, token)
            log_probability = log_probability + ops.where(ended, 0.0, gain)
            ids = ops.where(columns == position, ops.expand_dims(token, 1), ids)
            return position + 1, token, ended | (token == model.end_id), ids, log_probability, state

        first = (
            ops.convert_to_tensor(0, dtype="int32"),
            ops.full((rows,), model.start_id, dtype="int32"),
            ops.zeros((rows,), dtype="bool"),
            ops.full((rows, max_length), PADDING, dtype="int32"),
            ops.zeros((rows,), dtype="float32"),
            state,
        )
        _, _, _, ids, log_probability, _ = ops.while_loop(unfinished, one_token, first)
        return ids, log_probability, count_tokens(ids)

    def next_token(self, logits: Tensor, ids: Tensor, position: Tensor, end_id: int) -> Tensor:
        """Converts logits to log-probabilities, -inf for each token that is not allowed next.

        Args:
            logits: Float (R, V).
            ids: Int32 (R, L), the tokens generated so far in columns 0..position-1, then 0.
            position: Scalar int32, the number of tokens generated so far.
            end_id: Id of the end token.

        Returns:
            Float32 (R, V). At least one token of each row is allowed.
        """
        log_probabilities = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        tokens = ops.arange(logits.shape[-1], dtype="int32")
        log_probabilities = ops.where(tokens == PADDING, FORBIDDEN, log_probabilities)

        if self.no_repeat_ngram:
            log_probabilities = forbid_repeated_ngrams(
                log_probabilities, ids, position, self.no_repeat_ngram
            )

        if self.min_length:
            others = ops.where(tokens == end_id, FORBIDDEN, log_probabilities)
            any_other = ops.any(others > FORBIDDEN, axis=-1, keepdims=True)
            too_early = any_other & (position + 1 < self.min_length)
            log_probabilities = ops.where(too_early, others, log_probabilities)

        return log_probabilities


class Greedy(Strategy):
    """Selects the most probable token at each step (ties: the lower id). N is 1.

    Args:
        min_length: Minimum number of tokens, including the end token.
        no_repeat_ngram: Length of the n-grams that occur at most once; 0 for no such rule.

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

    def search(
        self, model: Decodable, source: Source, max_length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        parts = self.follow(
            model,
            model.start(source, max_length, 1),
            ops.shape(ids_of(source))[0],
            max_length,
            # Not ops.argmax, which spends operations on telling -0.0 from 0.0.
            lambda log_probabilities, _: ops.squeeze(ops.top_k(log_probabilities, 1)[1], axis=1),
        )
        return tuple(ops.expand_dims(part, 1) for part in parts)  # (B, ...) -> (B, 1, ...)


def ids_of(source: Source) -> Tensor:
    """The ids (B, Ts) of a source, which may be a dict with more.

    Example:
        >>> ids_of({"source_ids": [[2, 3]], "segment_ids": [[0, 0]]})
        [[2, 3]]
    """
    if isinstance(source, dict):
        return source["source_ids"]
    return source


def forbid_repeated_ngrams(
    log_probabilities: Tensor, ids: Tensor, position: Tensor, n: int
) -> Tensor:
    """Masks each token that would complete an n-gram for the second time in its row.

    PreSumm's `Translator._fast_translate_batch` blocks one step later, on words, and not at the
    last step; here the completing token itself is blocked, on tokens, at every step.

    Source: Paulus et al. 2017, "A Deep Reinforced Model for Abstractive Summarization", section 2.5
        (trigrams).

    Args:
        log_probabilities: Float (R, V); column 0, padding, is already -inf.
        ids: Int32 (R, L), the tokens generated so far in columns 0..position-1.
        position: Scalar int32, the number of tokens generated so far.
        n: Tokens in an n-gram, at least 1.

    Returns:
        Float (R, V), -inf at the blocked tokens.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> allowed = np.array([[-np.inf, 0, 0, 0, 0, 0]], "float32")
        >>> masked = forbid_repeated_ngrams(allowed, np.array([[4, 5, 4, 0]], "int32"), 3, 2)
        >>> ops.convert_to_numpy(masked).tolist()  # the bigram 4, 5 must not occur again
        [[-inf, 0.0, 0.0, 0.0, 0.0, -inf]]
    """
    windows = ids.shape[1] - n + 1  # window w is the n-gram of columns w..w+n-1
    if windows < 1:
        return log_probabilities

    # A window counts once all its tokens are generated; then there are also n-1 tokens before the
    # next one.
    repeats = ops.arange(windows, dtype="int32") + n <= position
    for j in range(n - 1):
        newest = ops.take(ids, ops.maximum(position - (n - 1) + j, 0), axis=1)
        repeats = repeats & (ids[:, j : j + windows] == ops.expand_dims(newest, 1))

    # Padding is masked already: where nothing repeats, the update changes nothing.
    blocked = ops.where(repeats, ids[:, n - 1 :], 0)
    rows = ops.arange(ops.shape(ids)[0], dtype="int32")[:, None]
    rows = ops.broadcast_to(rows, ops.shape(blocked))
    places = ops.reshape(ops.stack([rows, blocked], axis=-1), (-1, 2))
    hidden = ops.full((ops.shape(places)[0],), float("-inf"), dtype=log_probabilities.dtype)
    return ops.scatter_update(log_probabilities, places, hidden)


def reorder_rows(state: dict, rows: Tensor) -> dict:
    """Reorders the hypotheses of a state, within each source.

    Args:
        state: State of a model (`Strategy`); the tensors under "hypotheses" are reordered.
        rows: Int32 (R,), the old row of each new row.

    Returns:
        The state with reordered hypotheses.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> state = reorder_rows({"hypotheses": {"score": np.array([7, 8])}}, np.array([1, 1]))
        >>> ops.convert_to_numpy(state["hypotheses"]["score"]).tolist()
        [8, 8]
    """
    moved = tree.map_structure(lambda tensor: ops.take(tensor, rows, axis=0), state["hypotheses"])
    return {**state, "hypotheses": moved}


def row_numbers(choice: Tensor, among: int) -> Tensor:
    """Converts indices within the rows of each source to row numbers: int32 (B, N) -> (B * N,).

    Args:
        choice: Int32 (B, N), indices below `among`.
        among: Number of rows of a source.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> ops.convert_to_numpy(row_numbers(np.array([[1, 0], [2, 2]], "int32"), 3)).tolist()
        [1, 0, 5, 5]
    """
    first = ops.arange(ops.shape(choice)[0], dtype="int32") * among
    return ops.reshape(ops.expand_dims(first, 1) + choice, (-1,))


def choose(values: Tensor, choice: Tensor) -> Tensor:
    """Gathers elements of each source: (B, M, ...) at indices int32 (B, N) -> (B, N, ...).

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> ops.convert_to_numpy(
        ...     choose(np.array([[7, 8], [5, 6]]), np.array([[1, 0], [1, 1]], "int32"))
        ... ).tolist()
        [[8, 7], [6, 6]]
    """
    shape = values.shape[2:]
    rows = ops.reshape(values, (-1, *shape))
    rows = ops.take(rows, row_numbers(choice, values.shape[1]), axis=0)
    return ops.reshape(rows, (-1, choice.shape[1], *shape))


def count_tokens(ids: Tensor) -> Tensor:
    """Counts the tokens of sequences padded with 0, the end token included: (..., L) -> (...).

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> ops.convert_to_numpy(count_tokens(np.array([[4, 3, 0], [3, 0, 0]]))).tolist()
        [2, 1]
    """
    return ops.sum(ops.cast(ids != PADDING, "int32"), axis=-1)
