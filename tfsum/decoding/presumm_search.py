"""Beam search as nlpyang/PreSumm computes it, with its slips: for parity with published summaries."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from tfsum.decoding.strategy import FORBIDDEN, choose, ids_of, reorder_rows, row_numbers
from tfsum.tensor import Tensor

BLOCKED, TOO_EARLY = (
    -1e21,
    -1e20,
)  # finite in the original: a beam that is blocked may still be the best there is
FACTORS = (1_000_003, 92_821)  # of two hashes of 32 bits; they overflow, on purpose
CONTINUES = "##"


class WordHashes(NamedTuple):
    """What is added to the hashes of a word by a piece of it.

    Attributes:
        piece: (V, 2) int32, the hashes of each piece's characters.
        factor: (V, 2) int32, what the hashes before it are multiplied by.
        continues: (V,) bool, whether it continues a word.

    Example:
        >>> hashes = word_hashes(["play", "##ing", "playing"])
        >>> bool((hashes.piece[0] * hashes.factor[1] + hashes.piece[1] == hashes.piece[2]).all())
        True
    """

    piece: np.ndarray
    factor: np.ndarray
    continues: np.ndarray


def word_hashes(vocabulary: Sequence[str]) -> WordHashes:
    """The hashes of word pieces, such that those of a word do not depend on how it is cut into pieces.

    Args:
        vocabulary: the word pieces by id.

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


class _Words(NamedTuple):
    """The words of each sequence so far, the start token among them."""

    hashes: Any  # (B, K, L + 1, 2) int32, 0 after the last
    count: Any  # (B, K) int32

    def reordered(self, origin: Tensor) -> "_Words":
        return _Words(choose(self.hashes, origin), choose(self.count, origin))

    def with_piece(self, token: Tensor, known: WordHashes) -> "_Words":
        """After one more piece (B, K) of each sequence."""
        piece, factor = ops.take(known.piece, token, axis=0), ops.take(known.factor, token, axis=0)
        continues = ops.take(known.continues, token, axis=0)
        count = self.count + ops.cast(~continues, "int32")
        here = (ops.arange(self.hashes.shape[2]) == (count - 1)[..., None])[..., None]
        # The place of a new word holds 0, so that both cases are one sum.
        grown = self.hashes * factor[:, :, None] + piece[:, :, None]
        return _Words(ops.where(here, grown, self.hashes), count)

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


def presumm_search(
    model: Any,
    source: Any,
    max_length: int,
    *,
    width: int,
    length_penalty: float,
    min_length: int,
    vocabulary: Sequence[str] | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Searches as the original does.

    What differs from `BeamSearch`: [PAD] and the start token may be written; the hypotheses that ended stay in the
    beam and go on after their end token; a search ends when the best prefix ends; a trigram of words is punished a
    step after it was completed for the second time, by cutting off all that its prefix continues with.

    Args:
        model, source, max_length: see `Strategy.__call__`.
        width: K.
        length_penalty: alpha of the normalization "gnmt".
        min_length: see `Strategy`; one more than the original's, which does not count the end token.
        vocabulary: the word pieces, to block trigrams of words; None does not block.

    Returns:
        as `Strategy.__call__`, of the best hypothesis: ids (B, 1, L), which may go on after an end token, the
        log-probability (B, 1) that the original's score stands for, and lengths (B, 1).

    Source: nlpyang/PreSumm, models/predictor.py, `Translator._fast_translate_batch`.

    Example:
        >>> import numpy as np
        >>> import tfsum
        >>> model = tfsum.Transformer(9, 9, 1, 1, d_model=8, num_heads=2, feed_forward_width=8)
        >>> ids, _, _ = presumm_search(
        ...     model,
        ...     np.array([[4, 5, 6]]),
        ...     5,
        ...     width=2,
        ...     length_penalty=0.6,
        ...     min_length=1,
        ...     vocabulary=None,
        ... )
        >>> tuple(ids.shape)
        (1, 1, 5)
    """
    batch, known = (
        ops.shape(ids_of(source))[0],
        None if vocabulary is None else word_hashes(vocabulary),
    )
    columns = ops.arange(max_length, dtype="int32")

    def penalty(position: Tensor) -> Tensor:
        return ops.power((6.0 + ops.cast(position, "float32")) / 6.0, length_penalty)

    def unfinished(position, token, ids, log_probability, words, ended, best, state):
        return (position < max_length) & ops.any(~ended)

    def one_token(position, token, ids, log_probability, words, ended, best, state):
        logits, state = model.step(ops.reshape(token, (-1,)), position, state)
        vocabulary_size = logits.shape[-1]
        gains = ops.reshape(
            ops.log_softmax(ops.cast(logits, "float32")), (-1, width, vocabulary_size)
        )
        is_end = ops.arange(vocabulary_size) == model.end_id
        gains = ops.where(is_end & (position + 1 < min_length), TOO_EARLY, gains)
        scores = (gains + log_probability[..., None]) / penalty(position)
        if known is not None:
            blocked = words.repeated() & (words.count > 3) & (position >= 3)
            scores = ops.where(blocked[..., None], BLOCKED, scores)
        score, choice = ops.top_k(ops.reshape(scores, (-1, width * vocabulary_size)), width)
        origin, token = choice // vocabulary_size, choice % vocabulary_size
        ids = ops.where(columns == position, token[..., None], choose(ids, origin))
        if known is not None:
            words = words.reordered(origin).with_piece(token, known)
        finished = (token == model.end_id) | (position + 1 == max_length)
        best = _with_recorded(best, score, ids, finished, finished[:, :1], ended, position + 1)
        state = reorder_rows(state, row_numbers(origin, width))
        return (
            position + 1,
            token,
            ids,
            score * penalty(position),
            words,
            ended | finished[:, 0],
            best,
            state,
        )

    rows = (batch, width)
    words = _Words(ops.zeros((*rows, 1, 2), "int32"), ops.zeros(rows, "int32"))
    token = ops.full(rows, model.start_id, dtype="int32")
    if known is not None:
        words = _Words(ops.zeros((*rows, max_length + 1, 2), "int32"), words.count).with_piece(
            token, known
        )
    log_probability = ops.zeros(rows, "float32") + ops.where(ops.arange(width) == 0, 0.0, FORBIDDEN)
    best = (
        ops.full((batch,), FORBIDDEN, "float32"),
        ops.zeros((batch, max_length), "int32"),
        ops.zeros((batch,), "int32"),
    )
    start = (
        ops.convert_to_tensor(0, "int32"),
        token,
        ops.zeros((*rows, max_length), "int32"),
        log_probability,
        words,
        ops.zeros((batch,), "bool"),
        best,
        model.start(source, max_length, width),
    )
    *_, best, _ = ops.while_loop(unfinished, one_token, start)
    score, ids, length = best
    return ids[:, None], (score * penalty(length - 1))[:, None], length[:, None]


def _with_recorded(
    best: tuple,
    score: Tensor,
    ids: Tensor,
    finished: Tensor,
    at_end: Tensor,
    ended: Tensor,
    length: Tensor,
) -> tuple:
    """The best hypothesis of each source, those recorded at this step among them; ties: the one recorded first."""
    recorded = (finished | at_end) & ~ended[:, None]
    score = ops.where(recorded, score, FORBIDDEN)
    first = ops.top_k(score, 1)[1]  # not argmax, whose operations not every host has
    newest = choose(score, first)[:, 0]
    better = newest > best[0]
    return (
        ops.where(better, newest, best[0]),
        ops.where(better[:, None], choose(ids, first)[:, 0], best[1]),
        ops.where(better, ops.broadcast_to(length, ops.shape(better)), best[2]),
    )
