"""Beam search as nlpyang/PreSumm computes it, slips included."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from keras import ops
from pydantic import Field

from tfsum.decoding import STRATEGIES
from tfsum.decoding.strategy import (
    FORBIDDEN,
    Decodable,
    Source,
    Strategy,
    choose,
    ids_of,
    reorder_rows,
    row_numbers,
)
from tfsum.errors import Error, require
from tfsum.tensor import Tensor

# Finite in the original: a blocked beam may still be the best there is.
BLOCKED, TOO_EARLY = -1e21, -1e20
FACTORS = (1_000_003, 92_821)  # Of two hashes of 32 bits, which overflow on purpose.
CONTINUES = "##"


class WordHashes(NamedTuple):
    """What each piece of a vocabulary adds to the two hashes of its word.

    Attributes:
        piece: Hashes of each piece's characters, (V, 2) int32.
        factor: Factors for the hashes before the piece, (V, 2) int32.
        continues: Whether the piece continues a word, (V,) bool.

    Example:
        >>> hashes = word_hashes(["play", "##ing", "playing"])
        >>> bool((hashes.piece[0] * hashes.factor[1] + hashes.piece[1] == hashes.piece[2]).all())
        True
    """

    piece: np.ndarray
    factor: np.ndarray
    continues: np.ndarray


def word_hashes(vocabulary: Sequence[str]) -> WordHashes:
    """Hashes word pieces so that a word's hash does not depend on its pieces.

    Args:
        vocabulary: Word pieces by id.

    Example:
        >>> word_hashes(["play", "##ing"]).continues.tolist()
        [False, True]
    """
    continues = np.array([piece.startswith(CONTINUES) for piece in vocabulary])
    piece = np.zeros((len(vocabulary), len(FACTORS)), np.int64)
    factor = np.ones_like(piece)
    for i, text in enumerate(vocabulary):
        for character in text.removeprefix(CONTINUES).encode():
            piece[i] = (piece[i] * FACTORS + character + 1) % 2**32
            factor[i] = factor[i] * FACTORS % 2**32

    return WordHashes(
        piece.astype(np.uint32).view(np.int32), factor.astype(np.uint32).view(np.int32), continues
    )


class _WrittenWords(NamedTuple):
    """The words of each sequence so far, the start token among them."""

    hashes: Tensor  # (B, K, L + 1, 2) int32, 0 after the last
    count: Tensor  # (B, K) int32

    def with_piece(self, token: Tensor, hashes: WordHashes) -> "_WrittenWords":
        """After one more piece (B, K) of each sequence."""
        piece = ops.take(hashes.piece, token, axis=0)  # (B, K, 2)
        factor = ops.take(hashes.factor, token, axis=0)
        count = self.count + ops.cast(~ops.take(hashes.continues, token, axis=0), "int32")

        is_last = (ops.arange(self.hashes.shape[2]) == (count - 1)[..., None])[..., None]
        # The place of a new word holds 0, so that both cases are one sum.
        longer = self.hashes * factor[:, :, None] + piece[:, :, None]

        return _WrittenWords(ops.where(is_last, longer, self.hashes), count)

    def repeated(self) -> Tensor:
        """Whether the last three words of a sequence (B, K) occurred in it before."""
        places = self.hashes.shape[2]
        last = [
            ops.take_along_axis(
                self.hashes, ops.maximum(self.count - n, 0)[:, :, None, None], axis=2
            )
            for n in (3, 2, 1)
        ]  # (B, K, 1, 2) each
        same = [
            ops.all(self.hashes[:, :, i : places - 2 + i] == word, axis=-1)
            for i, word in enumerate(last)
        ]
        earlier = ops.arange(places - 2) < (self.count - 3)[..., None]

        return ops.any(same[0] & same[1] & same[2] & earlier, axis=-1)


@dataclasses.dataclass(frozen=True)
class PreSummBeamSearch(Strategy):
    """Searches as nlpyang/PreSumm does, slips included, to compare with its summaries.

    What differs from `BeamSearch`: [PAD] and the start token may be written; the hypotheses that
    ended stay in the beam and go on after their end token; a search ends when the best prefix ends;
    a trigram of words is punished a step after it was completed for the second time, by cutting off
    all that its prefix continues with.

    The best hypothesis alone is returned, N = 1. Its ids may go on after an end token, and its
    log-probability is the one that the original's score stands for.

    Args:
        width: K, number of beams.
        length_penalty: Exponent alpha of the normalization `gnmt`, 0 to 10.
        min_length: Minimum number of tokens, one more than the original's, which does not count the
            end token.
        no_repeat_ngram: 3 to block trigrams of words, or 0.
        vocabulary: Word pieces by id, which blocking needs; `tfsum.export_model` fills them in.

    Raises:
        Error: An argument is out of range.

    Source: nlpyang/PreSumm, models/predictor.py, `Translator._fast_translate_batch`.

    Example:
        >>> import numpy as np
        >>> import tfsum
        >>> model = tfsum.Transformer(9, 9, 1, 1, d_model=8, num_heads=2, feed_forward_width=8)
        >>> ids, _, _ = PreSummBeamSearch(width=2)(model, np.array([[4, 5, 6]]), max_length=5)
        >>> tuple(ids.shape)
        (1, 1, 5)
    """

    width: Annotated[int, Field(ge=1)] = 4
    length_penalty: Annotated[float, Field(ge=0, le=10)] = 0.6
    vocabulary: tuple[str, ...] | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self):
        super().__post_init__()
        require(
            self.no_repeat_ngram in (0, 3),
            f"PreSummBeamSearch: no_repeat_ngram is {self.no_repeat_ngram}; PreSumm's search"
            " has 0 or 3; change it, or take BeamSearch",
        )

    def with_vocabulary(self, words: Sequence[str]) -> "PreSummBeamSearch":
        return dataclasses.replace(self, vocabulary=tuple(words))

    def search(
        self, model: Decodable, source: Source, max_length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        hashes = None
        if self.no_repeat_ngram:
            if self.vocabulary is None:
                raise Error(
                    "PreSummBeamSearch: no_repeat_ngram is 3, and there is no vocabulary; expected"
                    " the word pieces by id, vocabulary=tuple(words): PreSumm's trigrams are of"
                    " words"
                )
            hashes = word_hashes(self.vocabulary)

        columns = ops.arange(max_length, dtype="int32")

        def unfinished(position, token, ids, log_probability, words, ended, best, state):
            return (position < max_length) & ops.any(~ended)

        def one_token(position, token, ids, log_probability, words, ended, best, state):
            logits, state = model.step(ops.reshape(token, (-1,)), position, state)
            scores = self._scores(logits, log_probability, position, model.end_id)
            if hashes is not None:
                blocked = words.repeated() & (words.count > 3) & (position >= 3)
                scores = ops.where(blocked[..., None], BLOCKED, scores)

            # The K best of all continuations, (B, K * V) -> (B, K).
            vocabulary_size = logits.shape[-1]
            scores = ops.reshape(scores, (-1, self.width * vocabulary_size))
            score, choice = ops.top_k(scores, self.width)
            origin, token = choice // vocabulary_size, choice % vocabulary_size
            ids = ops.where(columns == position, token[..., None], choose(ids, origin))
            if hashes is not None:
                words = _WrittenWords(*(choose(part, origin) for part in words))
                words = words.with_piece(token, hashes)

            finished = (token == model.end_id) | (position + 1 == max_length)
            best = _with_recorded(best, score, ids, finished, ended, position + 1)
            ended = ended | finished[:, 0]
            log_probability = score * self._penalty(position)
            state = reorder_rows(state, row_numbers(origin, self.width))

            return position + 1, token, ids, log_probability, words, ended, best, state

        start = self._start(model, source, max_length, hashes)
        *_, (score, ids, length), _ = ops.while_loop(unfinished, one_token, start)
        return ids[:, None], (score * self._penalty(length - 1))[:, None], length[:, None]

    def _penalty(self, position):
        return ops.power((6.0 + ops.cast(position, "float32")) / 6.0, self.length_penalty)

    def _scores(self, logits, log_probability, position, end_id):
        """Scores (B, K, V) of all continuations, of logits (B * K, V) and the prefixes (B, K)."""
        gains = ops.log_softmax(ops.cast(logits, "float32"))
        gains = ops.reshape(gains, (-1, self.width, logits.shape[-1]))
        is_end = ops.arange(logits.shape[-1]) == end_id
        gains = ops.where(is_end & (position + 1 < self.min_length), TOO_EARLY, gains)
        return (gains + log_probability[..., None]) / self._penalty(position)

    def _start(self, model, source, max_length, hashes):
        """The loop variables before the first token: the first of K prefixes alone counts."""
        batch = ops.shape(ids_of(source))[0]
        rows = (batch, self.width)
        token = ops.full(rows, model.start_id, dtype="int32")
        words: tuple = ()
        if hashes is not None:
            none = ops.zeros((*rows, max_length + 1, 2), "int32")
            words = _WrittenWords(none, ops.zeros(rows, "int32")).with_piece(token, hashes)

        only_first = ops.where(ops.arange(self.width) == 0, 0.0, FORBIDDEN)
        best = (
            ops.full((batch,), FORBIDDEN, "float32"),
            ops.zeros((batch, max_length), "int32"),
            ops.zeros((batch,), "int32"),
        )

        return (
            ops.convert_to_tensor(0, "int32"),
            token,
            ops.zeros((*rows, max_length), "int32"),
            ops.zeros(rows, "float32") + only_first,
            words,
            ops.zeros((batch,), "bool"),
            best,
            model.start(source, max_length, self.width),
        )


STRATEGIES["presumm_beam"] = PreSummBeamSearch


def _with_recorded(
    best: tuple,
    score: Tensor,
    ids: Tensor,
    finished: Tensor,
    ended: Tensor,
    length: Tensor,
) -> tuple:
    """The best hypothesis of each source, those recorded at this step among them; ties: the one
    recorded first."""
    score = ops.where((finished | finished[:, :1]) & ~ended[:, None], score, FORBIDDEN)
    first = ops.top_k(score, 1)[1]  # not argmax, whose operations not every host has
    newest = choose(score, first)[:, 0]
    better = newest > best[0]

    return (
        ops.where(better, newest, best[0]),
        ops.where(better[:, None], choose(ids, first)[:, 0], best[1]),
        ops.where(better, ops.broadcast_to(length, ops.shape(better)), best[2]),
    )
