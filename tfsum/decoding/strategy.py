"""What all decoding strategies share: the model's interface, the result, the rules and the rows of hypotheses."""

import dataclasses
import math
import numbers
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tfsum.errors import Error
from tfsum.tensor import Tensor

PADDING = 0
FORBIDDEN = float("-inf")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Strategy:
    """Base class of the decoding strategies: from a model and a batch of sources to sequences of tokens.

    A strategy runs inside a graph and uses four attributes of a model:

    - `model.start(source, max_length, num_beams)` returns the state of `num_beams` hypotheses per source: a
      (nested) dict of tensors. The tensors under "hypotheses" have one row per hypothesis, R = B * num_beams with
      the hypotheses of a source next to each other, and a strategy reorders these rows; all other tensors are
      passed on unchanged.
    - `model.step(token_ids (R,) int32, position scalar int32, state)` reads the token at `position` (the start
      token at 0) and returns the finite logits (R, V) of the next token and the state, with the same shapes.
    - `model.start_id` and `model.end_id`.

    Args:
        min_length: minimum number of tokens of a sequence, including the end token.
        no_repeat_ngram: n; no n-gram occurs twice in a sequence. 0 disables the rule. It takes precedence over
            `min_length`: if only the end token is left, the sequence ends early.

    Raises:
        Error: if an argument is out of range.

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

    min_length: int = 0
    no_repeat_ngram: int = 0

    def __post_init__(self):
        self._check_whole("min_length", 0)
        self._check_whole("no_repeat_ngram", 0)

    def __call__(self, model: Any, source: Any, max_length: int) -> tuple[Tensor, Tensor, Tensor]:
        """Decodes a batch of sources.

        Padding is never generated, and the answer for a source does not depend on the rest of the batch. A
        sequence that has not ended after `max_length` tokens is returned without an end token.

        Args:
            model: an object with `start`, `step`, `start_id` and `end_id`, see the class.
            source: (B, Ts) int32, padded with 0; or, for a model that needs more than the ids, a dict of `source_ids`
                and other such tensors.
            max_length: L, maximum number of tokens of a sequence, including the end token.

        Returns:
            ids (B, N, L) int32, without the start token, with the end token, padded with 0 after it;
            log-probabilities (B, N) float32, the model's own (not renormalized over the allowed tokens), summed over
            the tokens including the end token; lengths (B, N) int32, including the end token. Best first.

        Raises:
            Error: if `max_length` is not an integer, or is below 1 or `min_length`.
        """
        name = type(self).__name__
        if not is_number(max_length, numbers.Integral) or max_length < max(1, self.min_length):
            raise Error(
                f"{name}: max_length is {max_length!r}; expected a whole number, at least 1 and at least "
                f"min_length ({self.min_length})"
            )

        def tensor(ids):
            return ops.convert_to_tensor(ids, dtype="int32")

        source = (
            {name: tensor(ids) for name, ids in source.items()}
            if isinstance(source, dict)
            else tensor(source)
        )
        return self.search(model, source, int(max_length))

    def search(self, model: Any, source: Any, max_length: int) -> tuple[Tensor, Tensor, Tensor]:
        """Implements the strategy; arguments and results are those of `__call__`, already validated."""
        raise NotImplementedError

    def follow(
        self,
        model: Any,
        state: dict,
        rows: Tensor,
        max_length: int,
        pick: Callable[[Tensor, Tensor], Tensor],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Generates one sequence per row, token by token, until all sequences have ended.

        Args:
            model: as in `__call__`.
            state: the state of R hypotheses.
            rows: R, an int or an int scalar tensor.
            max_length: L, maximum number of tokens of a sequence.
            pick: function of log-probabilities (R, V), -inf where forbidden, and the position, an int32 scalar;
                returns the tokens (R,) int32.

        Returns:
            ids (R, L) int32, padded with 0 after the end token; log-probabilities (R,) float32; lengths (R,) int32.
        """
        columns = ops.arange(max_length, dtype="int32")

        def unfinished(position, token, ended, ids, log_probability, state):
            return (position < max_length) & ops.any(~ended)

        def one_token(position, token, ended, ids, log_probability, state):
            logits, state = model.step(token, position, state)
            candidates = self.next_token(logits, ids, position, model.end_id)
            token = pick(candidates, position)
            gain = choose(candidates, ops.expand_dims(token, 1))[:, 0]
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
            logits: (R, V) float.
            ids: (R, L) int32, the tokens generated so far in columns 0..position-1, then 0.
            position: scalar int32, the number of tokens generated so far.
            end_id: the id of the end token.

        Returns:
            (R, V) float32. At least one token of each row is allowed.
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
            too_early = ops.any(others > FORBIDDEN, axis=-1, keepdims=True) & (
                position + 1 < self.min_length
            )
            log_probabilities = ops.where(too_early, others, log_probabilities)
        return log_probabilities

    def _check_whole(self, name: str, least: int, most: int | None = None) -> None:
        value = getattr(self, name)
        if (
            not is_number(value, numbers.Integral)
            or value < least
            or (most is not None and value > most)
        ):
            wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise Error(
                f"{type(self).__name__}: {name} is {value!r}; expected a whole number {wanted}"
            )


def ids_of(source: Any) -> Any:
    """The ids (B, Ts) of a source, which may be a dict with more.

    Example:
        >>> ids_of({"source_ids": [[2, 3]], "segment_ids": [[0, 0]]})
        [[2, 3]]
    """
    return source["source_ids"] if isinstance(source, dict) else source


def is_number(value: Any, kind: type[Any] = numbers.Real) -> bool:
    """Whether a value is a finite number of a kind (`numbers.Real` or `numbers.Integral`), and not a bool.

    Example:
        >>> is_number(0.5), is_number(True), is_number(float("nan"))
        (True, False, False)
    """
    return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)


def forbid_repeated_ngrams(
    log_probabilities: Tensor, ids: Tensor, position: Tensor, n: int
) -> Tensor:
    """Masks each token that would complete an n-gram for the second time in its row.

    Source: Paulus et al. 2017, "A Deep Reinforced Model for Abstractive Summarization", section 2.5 (trigrams).
    PreSumm's `Translator._fast_translate_batch` blocks one step later, on words, and not at the last step; here
    the completing token itself is blocked, on tokens, at every step.

    Args:
        log_probabilities: (R, V) float; column 0, padding, is already -inf.
        ids: (R, L) int32, the tokens generated so far in columns 0..position-1.
        position: scalar int32, the number of tokens generated so far.
        n: tokens in an n-gram, at least 1.

    Returns:
        (R, V) float, -inf at the blocked tokens.

    Example: after 4, 5, 4 the bigram 4, 5 must not occur again.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> allowed = np.array([[-np.inf, 0, 0, 0, 0, 0]], "float32")
        >>> found = forbid_repeated_ngrams(allowed, np.array([[4, 5, 4, 0]], "int32"), 3, 2)
        >>> ops.convert_to_numpy(found).tolist()
        [[-inf, 0.0, 0.0, 0.0, 0.0, -inf]]
    """
    windows = ids.shape[1] - n + 1  # window w is the n-gram of columns w..w+n-1
    if windows < 1:
        return log_probabilities
    # A window counts once all its tokens are generated; then there are also n-1 tokens before the next one.
    repeats = ops.arange(windows, dtype="int32") + n <= position
    for j in range(n - 1):
        newest = ops.take(ids, ops.maximum(position - (n - 1) + j, 0), axis=1)
        repeats = repeats & (ids[:, j : j + windows] == ops.expand_dims(newest, 1))
    # Padding is masked already: where nothing repeats, the update changes nothing.
    blocked = ops.where(repeats, ids[:, n - 1 :], 0)
    rows = ops.broadcast_to(
        ops.expand_dims(ops.arange(ops.shape(ids)[0], dtype="int32"), 1), ops.shape(blocked)
    )
    places = ops.reshape(ops.stack([rows, blocked], axis=-1), (-1, 2))
    hidden = ops.full((ops.shape(places)[0],), float("-inf"), dtype=log_probabilities.dtype)
    return ops.scatter_update(log_probabilities, places, hidden)


def reorder_rows(state: dict, rows: Tensor) -> dict:
    """Reorders the hypotheses of a state, within each source.

    Args:
        state: the state of a model, see `Strategy`; the tensors under "hypotheses" are reordered.
        rows: (R,) int32, the old row of each new row.

    Returns:
        the state with reordered hypotheses.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> state = reorder_rows({"hypotheses": {"score": np.array([7, 8])}}, np.array([1, 1]))
        >>> ops.convert_to_numpy(state["hypotheses"]["score"]).tolist()
        [8, 8]
    """
    moved = keras.tree.map_structure(
        lambda tensor: ops.take(tensor, rows, axis=0), state["hypotheses"]
    )
    return {**state, "hypotheses": moved}


def row_numbers(choice: Tensor, among: int) -> Tensor:
    """Converts indices (B, N) int32 within the `among` rows of each source to row numbers (B * N,) int32.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> ops.convert_to_numpy(row_numbers(np.array([[1, 0], [2, 2]], "int32"), 3)).tolist()
        [1, 0, 5, 5]
    """
    first = ops.arange(ops.shape(choice)[0], dtype="int32") * among
    return ops.reshape(ops.expand_dims(first, 1) + choice, (-1,))


def choose(values: Tensor, choice: Tensor) -> Tensor:
    """Gathers the elements at indices (B, N) int32 from (B, M, ...), for each source separately.

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
    return ops.reshape(
        ops.take(rows, row_numbers(choice, values.shape[1]), axis=0), (-1, choice.shape[1], *shape)
    )


def count_tokens(ids: Tensor) -> Tensor:
    """Lengths (...) int32 of sequences (..., L) padded with 0, including the end token.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> ops.convert_to_numpy(count_tokens(np.array([[4, 3, 0], [3, 0, 0]]))).tolist()
        [2, 1]
    """
    return ops.sum(ops.cast(ids != PADDING, "int32"), axis=-1)
