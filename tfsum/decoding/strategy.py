"""What every decoding strategy has in common: how it sees a model, what it returns, what it forbids."""

import dataclasses
import math
import numbers

from keras import ops

from tfsum.decoding.ngram_blocking import forbid_repeated_ngrams
from tfsum.errors import Error

PADDING = 0
FORBIDDEN = float("-inf")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Strategy:
    """A way from a model and its sources to sequences of tokens, all of it in the graph.

    A strategy knows a model by four names only:

    - `model.start(source_ids, max_length, width)` gives the state of `width` hypotheses a source: a (nested) dict
      of tensors. Those under "hypotheses" have a row for each, R = B * width with a source's together, and a
      strategy gathers them when hypotheses change places; all others it carries as they are.
    - `model.step(token_ids (R,) int32, position scalar int32, state)` reads the token at `position` (the start
      token at 0) and gives the finite logits (R, V) of the next one and the state, in the shapes it had.
    - `model.start_id` and `model.end_id`.

    Args:
        min_length: tokens that a sequence has at least, the end token counted.
        no_repeat_ngram: n, so that no n tokens in a row come twice in a sequence; 0 for no such rule. It is the
            stronger rule: where it leaves nothing but the end token, a sequence ends before `min_length`.

    Raises:
        Error: if an argument is out of its range.
    """

    min_length: int = 0
    no_repeat_ngram: int = 0

    def __post_init__(self):
        self._check_whole("min_length", 0)
        self._check_whole("no_repeat_ngram", 0)

    def __call__(self, model, source_ids, max_length: int):
        """Decodes a batch of sources.

        Padding is never generated, and what a batch holds beside a source changes nothing in its answer. A
        sequence that has not ended after `max_length` tokens is returned as it is, without an end token.

        Args:
            model: an object with `start`, `step`, `start_id` and `end_id`, as above.
            source_ids: (B, Ts) int32, padded with 0.
            max_length: L, the most tokens of a sequence, the end token counted.

        Returns:
            ids (B, N, L) int32, without the start token, with the end token, padded with 0 after it;
            log-probabilities (B, N) float32, the model's own (nothing is renormalized over what the rules
            leave), summed over the tokens, the end token counted; lengths (B, N) int32, the end token counted.
            The best comes first.

        Raises:
            Error: if `max_length` is not a whole number, or below 1 or `min_length`.
        """
        name = type(self).__name__
        if not is_number(max_length, numbers.Integral) or max_length < max(1, self.min_length):
            raise Error(f"{name}: max_length is {max_length!r}; expected a whole number, at least 1 and at least "
                        f"min_length ({self.min_length})")
        return self.search(model, ops.convert_to_tensor(source_ids, dtype="int32"), int(max_length))

    def search(self, model, source_ids, max_length: int):
        """Decodes; what a strategy is. Arguments and results are those of the call, checked."""
        raise NotImplementedError

    def next_token(self, logits, ids, position, end_id: int):
        """Turns logits into log-probabilities, -inf for each token that may not come next.

        Args:
            logits: (R, V) float.
            ids: (R, L) int32, the tokens generated so far in columns 0..position-1, then 0.
            position: scalar int32, how many there are.
            end_id: the id of the end token.

        Returns:
            (R, V) float32. At least one token of each row is allowed.
        """
        log_probabilities = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        tokens = ops.arange(logits.shape[-1], dtype="int32")
        log_probabilities = ops.where(tokens == PADDING, FORBIDDEN, log_probabilities)
        if self.no_repeat_ngram:
            log_probabilities = forbid_repeated_ngrams(log_probabilities, ids, position, self.no_repeat_ngram)
        if self.min_length:
            others = ops.where(tokens == end_id, FORBIDDEN, log_probabilities)
            too_early = ops.any(others > FORBIDDEN, axis=-1, keepdims=True) & (position + 1 < self.min_length)
            log_probabilities = ops.where(too_early, others, log_probabilities)
        return log_probabilities

    def _check_whole(self, name: str, least: int, most: int | None = None) -> None:
        value = getattr(self, name)
        if not is_number(value, numbers.Integral) or value < least or (most is not None and value > most):
            wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise Error(f"{type(self).__name__}: {name} is {value!r}; expected a whole number {wanted}")


def is_number(value, kind=numbers.Real) -> bool:
    """Whether a value is a finite number of a kind (`numbers.Real` or `numbers.Integral`); a bool is none."""
    return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)
