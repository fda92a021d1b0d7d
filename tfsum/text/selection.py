"""Which sentences make the summary: the best by score, if wanted without repeated word trigrams.

The rule is the extractive test of BertSum/PreSumm (`Trainer.test`): walk the sentences from the highest
score down, skip one that shares a word trigram with a sentence already chosen, stop when enough are chosen.
The walk goes in blocks of `BLOCK` candidates, so that a document of 100,000 sentences is not taken apart to
choose three of it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfsum.errors import Error
from tfsum.text.candidates import may_be_chosen
from tfsum.text.expected_rouge import expected_rouge_ranks

BLOCK = (
    64  # candidates of each document looked at together: more than most documents have sentences
)
WHITE_SPACE = r"[\s\x0b\x1c-\x1f\x{85}\p{Z}]+"


class _Trigrams(NamedTuple):
    """The word trigrams of a block of candidates: a hash each, and its candidate's row and column."""

    key: tf.Tensor
    row: tf.Tensor
    column: tf.Tensor


_Reader = Callable[[tf.Tensor, tf.Tensor], _Trigrams]
"""Reads the trigrams of a block of candidates (B, C), those that are free (B, C)."""


def select_sentences(
    scores: tf.RaggedTensor,
    texts: tf.RaggedTensor,
    most: tf.Tensor,
    block_trigrams: tf.Tensor,
    limit: int,
    pieces: tf.RaggedTensor | None = None,
    words: np.ndarray | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses the sentences of summaries, in validation as in the exported graph; see also `may_be_chosen`.

    Args:
        scores: (B, S) float, higher is better; with `pieces` probabilities.
        texts: (B, S) strings, the sentences; more than scores are never chosen.
        most: see `select`.
        block_trigrams: see `select`.
        limit: see `select`.
        pieces: (B, S, P) int32 word pieces, to choose by expected ROUGE, see `expected_rouge_ranks`; None to choose by
            score.
        words: (V,) bool, with `pieces`, see `is_word`.

    Returns:
        See `select`.

    Example:
        >>> texts = tf.ragged.constant(
        ...     [["the cat sat down", "the cat sat up", "a dog ran"], ["It rained."]]
        ... )
        >>> scores = tf.ragged.constant([[0.9, 0.8, 0.7], [0.1]])
        >>> indices, count = select_sentences(scores, texts, [2, 2], [True, True], limit=2)
        >>> indices.numpy().tolist(), count.numpy().tolist()
        ([[0, 2], [0, -1]], [2, 1])
    """
    ranks = scores.to_tensor(0.0)
    candidates = texts.with_flat_values(may_be_chosen(texts)).to_tensor(False)
    candidates = tf.pad(candidates, [[0, 0], [0, tf.shape(ranks)[1]]])[:, : tf.shape(ranks)[1]]
    present = tf.sequence_mask(scores.row_lengths(), tf.shape(ranks)[1]) & candidates
    if pieces is not None:
        ranks = expected_rouge_ranks(ranks, present, pieces, words, most, limit)
    return select(ranks, present, texts, most, block_trigrams, limit)


def select(
    scores: tf.Tensor,
    present: tf.Tensor,
    words: tf.RaggedTensor | None,
    most: tf.Tensor,
    block_trigrams: tf.Tensor | None,
    limit: int,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses sentences by score (ties to the earlier one; NaN counts as the lowest score).

    Args:
        scores: (B, S) float, higher is better.
        present: (B, S) bool, True for a real sentence; no other is ever chosen.
        words: the text that trigrams are taken from, a RaggedTensor of strings: (B, S) sentences, split here
            at white space, or (B, S, W) words. None where no row blocks trigrams.
        most: (B,) int32, how many to choose at most; above `limit` counts as `limit`.
        block_trigrams: (B,) bool, True to skip a candidate that shares a word trigram with a chosen sentence
            (a sentence under three words never does; `The` and `the` are two words, as in the papers' code). None for
            no row.
        limit: N, the width of the result.

    Returns:
        Indices (B, N) int32 of the chosen sentences in document order, then -1; and their count (B,) int32.

    Raises:
        Error: if `limit` is below 1, or if trigrams are to be blocked and there are no words.

    Example:
        >>> indices, count = select(
        ...     [[0.2, 0.9, 0.5]], [[True, True, True]], None, [2], None, limit=3
        ... )
        >>> indices.numpy().tolist(), count.numpy().tolist()
        ([[1, 2, -1]], [2])
    """
    if limit < 1:
        raise Error(f"select: limit is {limit}; expected at least 1, the width of the result.")
    scores, present = (
        tf.convert_to_tensor(scores, tf.float32),
        tf.convert_to_tensor(present, tf.bool),
    )
    most = tf.clip_by_value(tf.cast(most, tf.int32), 0, limit)
    order = _order(scores, present)
    real = tf.gather(present, order, batch_dims=1)
    if words is None:
        _refuse_blocking(block_trigrams)
        return _walk(order, real, most, limit, _no_trigrams)
    block = (
        tf.zeros_like(most, tf.bool)
        if block_trigrams is None
        else tf.convert_to_tensor(block_trigrams)
    )
    return _walk(order, real, most, limit, _reader(words, block))


def _refuse_blocking(block_trigrams: tf.Tensor | None) -> None:
    if block_trigrams is None:
        return
    known = tf.get_static_value(tf.convert_to_tensor(block_trigrams))
    if known is None or known.any():
        raise Error(
            "select: block_trigrams is given and words is None; expected the sentences' texts as "
            "`words`, or block_trigrams=None for a selection by score alone."
        )


def _order(scores: tf.Tensor, present: tf.Tensor) -> tf.Tensor:
    """(B, S) int32: the sentences from the best down, those that are none last."""
    lowest = scores.dtype.min
    real = tf.where(tf.math.is_nan(scores), lowest, tf.maximum(scores, lowest))
    key = tf.where(present, real, -float("inf"))
    # top_k puts the earlier of two equals first
    return tf.math.top_k(key, k=tf.shape(scores)[1], sorted=True).indices


def _walk(
    order: tf.Tensor, real: tf.Tensor, most: tf.Tensor, limit: int, read: _Reader
) -> tuple[tf.Tensor, tf.Tensor]:
    """Goes through the candidates block by block until every row is full or has no more."""
    rows, length = tf.shape(order)[0], tf.shape(order)[1]
    chosen = tf.fill([rows, limit], tf.int32.max)

    def unfinished(
        begin: tf.Tensor, chosen: tf.Tensor, count: tf.Tensor, _: tf.Tensor
    ) -> tf.Tensor:
        rest = tf.reduce_any(
            real[:, begin : begin + 1], axis=1
        )  # real ones come first: is the next one real?
        return tf.reduce_any((count < most) & rest) & (begin < length)

    def one_block(
        begin: tf.Tensor, chosen: tf.Tensor, count: tf.Tensor, used: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        candidates = order[:, begin : begin + BLOCK]
        free = real[:, begin : begin + BLOCK] & (count < most)[:, tf.newaxis]
        trigrams = read(candidates, free)
        free &= ~_blocked(trigrams, used, free)
        chosen, count, used, _ = tf.while_loop(
            lambda chosen, count, used, free: tf.reduce_any(free),
            lambda *state: _choose(candidates, trigrams, most, *state),
            [chosen, count, used, free],
            [
                chosen.shape,
                count.shape,
                tf.TensorShape([None]),
                tf.TensorShape([free.shape[0], None]),
            ],
            parallel_iterations=1,
        )
        return begin + BLOCK, chosen, count, used

    _, chosen, count, _ = tf.while_loop(
        unfinished,
        one_block,
        [0, chosen, tf.zeros_like(most), tf.zeros([0], tf.int64)],
        [tf.TensorShape([]), chosen.shape, most.shape, tf.TensorShape([None])],
        parallel_iterations=1,
    )
    chosen = tf.sort(chosen, axis=1)
    return tf.where(chosen == tf.int32.max, -1, chosen), count


def _choose(
    candidates: tf.Tensor,
    trigrams: _Trigrams,
    most: tf.Tensor,
    chosen: tf.Tensor,
    count: tf.Tensor,
    used: tf.Tensor,
    free: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Every row that can takes its best free candidate and withdraws those that share a trigram with it."""
    column = tf.argmax(free, axis=1, output_type=tf.int32)  # the first True
    takes = tf.reduce_any(free, axis=1)
    index = tf.gather(candidates, column, batch_dims=1)
    here = tf.one_hot(
        tf.where(takes, count, -1), tf.shape(chosen)[1], on_value=True, off_value=False
    )
    chosen = tf.where(here, index[:, tf.newaxis], chosen)
    count += tf.cast(takes, tf.int32)
    is_new = tf.gather(takes, trigrams.row) & (tf.gather(column, trigrams.row) == trigrams.column)
    new = tf.boolean_mask(trigrams.key, is_new)
    free &= (tf.range(tf.shape(free)[1]) > column[:, tf.newaxis]) & (count < most)[:, tf.newaxis]
    free &= ~_blocked(trigrams, new, free)
    return chosen, count, tf.concat([used, new], 0), free


def _blocked(trigrams: _Trigrams, used: tf.Tensor, free: tf.Tensor) -> tf.Tensor:
    """Like `free` (B, C): which candidates hold a trigram of `used`."""
    known = tf.sort(used)
    place = tf.searchsorted(known, trigrams.key)
    found = tf.gather(tf.concat([known, [0]], 0), place) == trigrams.key
    found &= place < tf.size(known)
    where = tf.boolean_mask(tf.stack([trigrams.row, trigrams.column], 1), found)
    hits = tf.scatter_nd(where, tf.ones([tf.shape(where)[0]], tf.int32), tf.shape(free))
    return hits > 0


def _no_trigrams(candidates: tf.Tensor, free: tf.Tensor) -> _Trigrams:
    none = tf.zeros([0], tf.int32)
    return _Trigrams(tf.zeros([0], tf.int64), none, none)


def _reader(words: tf.RaggedTensor, block: tf.Tensor) -> _Reader:
    """Makes the function that reads the trigrams of a block of candidates, in the rows that block."""
    splits, lengths = tf.cast(words.row_splits, tf.int32), tf.cast(words.row_lengths(), tf.int32)

    def read(candidates: tf.Tensor, free: tf.Tensor) -> _Trigrams:
        known = candidates < lengths[:, tf.newaxis]  # scores may be padded beyond the sentences
        where = tf.cast(tf.where(free & known & block[:, tf.newaxis]), tf.int32)
        row, column = where[:, 0], where[:, 1]
        flat = tf.gather(words.values, tf.gather(splits, row) + tf.gather_nd(candidates, where))
        if not isinstance(flat, tf.RaggedTensor):
            flat = tf.strings.split(tf.strings.regex_replace(flat, WHITE_SPACE, " "))
        owner = tf.cast(flat.value_rowids(), tf.int32)
        key, first = _hash_trigrams(flat.flat_values, owner)
        owner = tf.gather(owner, first)
        row, column = tf.gather(row, owner), tf.gather(column, owner)
        return _Trigrams(
            key + tf.cast(row, tf.int64) * 0x1E3779B97F4A7C15, row, column
        )  # rows never meet

    return read


def _hash_trigrams(words: tf.Tensor, owner: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """A hash of each trigram inside one sentence, and the place of its first word in `words` (N,)."""
    code = tf.strings.to_hash_bucket_fast(words, 2**63 - 1)
    first = tf.reshape(tf.where(owner[:-2] == owner[2:]), [-1])
    part = lambda i, factor: tf.gather(code, first + i) * tf.constant(factor, tf.int64)  # noqa: E731
    return part(0, 0x2545F4914F6CDD1D) + part(1, 0x369DEA0F31A53F85) + part(
        2, 0x27BB2EE687B0B0FD
    ), first
