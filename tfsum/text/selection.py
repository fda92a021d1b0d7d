"""Which sentences make the summary: the best by score, without repeated trigrams on request.

The rule is the extractive test of BertSum/PreSumm (`Trainer.test`): walk the sentences from the
highest score down, skip one that shares a word trigram with a sentence already chosen, stop when
enough are chosen. The walk looks at `BLOCK` candidates at once, so that a document of 100,000
sentences is not taken apart to choose three of it. Headings, labels, mail headers and quotes are no
candidates.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfsum.errors import Error
from tfsum.text.budget import Budget, with_room_for_one
from tfsum.text.expected_rouge import AUTOMATIC, expected_rouge_ranks
from tfsum.text.readability import antecedents, faults
from tfsum.text.rows import Rows
from tfsum.text.white_space import WHITE_SPACE

# candidates of each document looked at together: more than most documents have sentences
BLOCK = 64
# share of a text's sentences that end with a mark, from which one without is taken for a heading
PUNCTUATED = 0.5
_END = r"(?s:.*)(?:[.!?…‽。！？｡．।؟。][\"'”’»)\]」』}]*|[.!?…]\s*\[[0-9, ]+\])"
_NO_LETTER = r"[^\p{L}]*"
_HEADER = (
    r"(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Message-I[Dd]|In-Reply-To|References|Received|Return-Path|"
    r"MIME-Version|Content-[A-Za-z-]+|X-[A-Za-z-]+|"
    r"Von|An|Betreff|De|À|Objet|Para|Asunto|보낸사람|보낸 사람|"
    r"받는사람|받는 사람|제목|날짜|差出人|宛先|件名|日時|发件人|收件人|主题|日期) ?[:：](?s:.*)"
)
_QUOTE = r">(?s:.*)"
_NOTE = (  # to the reader, not of the text
    r"(?is)[^\p{L}]*(?:editor['’]s note\b|click (?:here|on|through)\b|read more\b|scroll down\b"
    r"|(?:follow|like|join|email|e-mail) (?:us|@\S+) |photo(?:graph)?s? by\b|by the cnn wire staff"
    r"|the (?:opinions|views) expressed in this (?:commentary|article|column) are\b).*"
    r"|(?is).*\bcontributed to this (?:report|story|article)\.?"
)
_LABEL = r"(?:\S+\s+){0,5}\S+ ?[:：]"  # "Ingredients:", "ANNA:"
_SHORT = r"(?:\S+\s+){0,8}\S+"  # up to nine words ...
_SHORT_WIDE = r"(?s:.{1,60})"  # ... and of letters without spaces as few


def select_sentences(
    scores: tf.RaggedTensor,
    texts: tf.RaggedTensor,
    most: tf.Tensor,
    block_trigrams: tf.Tensor,
    limit: int | tf.Tensor,
    pieces: tf.RaggedTensor | None = None,
    words: np.ndarray | None = None,
    rates: tf.Tensor | None = None,
    budget: Budget | None = None,
    enough: tf.Tensor | None = None,
    by_score: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses the sentences of summaries, in validation as in the exported graph.

    Headings and the like are not chosen, see `may_be_chosen`.

    Args:
        scores: Scores of the sentences, (B, S) float, higher is better; with `pieces`
            probabilities.
        texts: Sentences, (B, S) strings; those beyond the scores are never chosen.
        most: Sentences to choose at most, (B,) int32; with `pieces` also `AUTOMATIC`, for as many
            as are expected to score best.
        block_trigrams: Whether to skip sentences that repeat a trigram, (B,) bool.
        limit: Width N of the result.
        pieces: Word pieces of the sentences, (B, S, P) int32, to choose by expected ROUGE, and
            rather sentences without the faults of `tfsum.text.readability`; None to choose by
            score.
        words: Pieces that ROUGE counts, (V,) bool, with `pieces`.
        rates: What a word head expects of the pieces, see `expected_rouge_ranks`.
        budget: What the summaries may cost; by default anything. A summary in which no sentence has
            room is the shortest one.
        enough: Sentences whose score is high enough to be chosen, (N,) bool for all sentences; by
            default all.
        by_score: Texts whose sentences are chosen by their scores alone, (B,) bool; by default
            none with `pieces`.

    Returns:
        Indices (B, N) int32 of the chosen sentences in document order, then -1; and their count
        (B,) int32.

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
    width = tf.shape(ranks)[1]
    may_be = may_be_chosen(texts)
    if enough is not None:
        may_be &= enough
    budget, may_be = with_room_for_one(budget or Budget.free(texts), texts, may_be)
    candidates = texts.with_flat_values(may_be).to_tensor(False)
    candidates = tf.pad(candidates, [[0, 0], [0, width]])[:, :width]
    present = tf.sequence_mask(scores.row_lengths(), width) & candidates

    if pieces is not None:
        found = faults(texts.flat_values)
        own = [tf.cast(found[name], tf.float32) for name in ("quotes", "no_end_mark", "short")]
        flaws = tf.reduce_sum(own, 0)
        needs = antecedents(texts, found["pronoun"] | found["connective"])
        by_rouge = expected_rouge_ranks(
            ranks, present, pieces, words, most, limit, rates, flaws, needs, budget
        )
        # above 1 where expected ROUGE decided how many
        chosen = tf.reduce_sum(tf.cast(by_rouge > 1.0, tf.int32), 1)
        most = tf.where(most == AUTOMATIC, chosen, most)
        ranks = by_rouge if by_score is None else tf.where(by_score[:, None], ranks, by_rouge)
    return select(ranks, present, texts, most, block_trigrams, limit, budget)


def may_be_chosen(texts: tf.RaggedTensor) -> tf.Tensor:
    """Marks the pieces that may be selected: sentences, not what only stands between them.

    A piece without a letter, a header of mail, a line that it quotes, a label that ends with a
    colon and an editor's note or an appeal to the reader (in English) are never chosen. A short
    piece without an end mark (a heading, a link, a signature) is not chosen if most of the text's
    pieces end with one. If nothing of a text would be left, everything may be chosen.

    Args:
        texts: Sentences of each text without white space at their ends, (B, S) strings.

    Returns:
        bool (N,), N the sentences of all texts.

    Example:
        >>> texts = tf.ragged.constant(
        ...     [["ABSTRACT", "It rained.", "The river rose.", "-----"], ["only a line"]]
        ... )
        >>> may_be_chosen(texts).numpy().tolist()
        [False, True, True, False, True]
    """
    rows = Rows.of(texts)

    def matches(pattern: str) -> tf.Tensor:
        return tf.strings.regex_full_match(texts.flat_values, pattern)

    never = tf.reduce_any(
        [matches(pattern) for pattern in (_NO_LETTER, _HEADER, _QUOTE, _LABEL, _NOTE)], 0
    )
    ended = ~never & matches(_END)
    punctuated = rows.count_of(ended) >= PUNCTUATED * rows.count_of(~never)
    heading = rows.to_values(punctuated) & ~ended & matches(_SHORT) & matches(_SHORT_WIDE)

    chosen = ~(never | heading)
    return chosen | ~rows.to_values(rows.any(chosen))


class _Walk(NamedTuple):
    """How far the walk through the sentences of each text has come."""

    begin: tf.Tensor  # (B,) int32, the next candidate
    chosen: tf.Tensor  # (B, N) int32, the largest number where none is
    count: tf.Tensor  # (B,) int32
    trigrams: tf.Tensor  # (G,) int64, those of the chosen sentences of all texts
    left: tf.Tensor  # (B, 2) int32, what is left of the budget


def select(
    scores: tf.Tensor,
    present: tf.Tensor,
    texts: tf.RaggedTensor,
    most: tf.Tensor,
    block_trigrams: tf.Tensor,
    limit: int | tf.Tensor,
    budget: Budget | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses sentences by score (ties to the earlier one; NaN counts as the lowest score).

    Args:
        scores: Scores of the sentences, (B, S) float, higher is better.
        present: Sentences that may be chosen, (B, S) bool.
        texts: Sentences, (B, S) ragged strings, whose words are separated by white space.
        most: Sentences to choose at most, (B,) int32; above `limit` counts as `limit`.
        block_trigrams: Whether to skip a candidate that shares a word trigram with a chosen
            sentence, (B,) bool. A sentence under three words never does; `The` and `the` are two
            words, as in the papers' code.
        limit: Width N of the result.
        budget: What the summaries may cost; by default anything. A candidate that has no room is
            skipped.

    Returns:
        Indices (B, N) int32 of the chosen sentences in document order, then -1; and their count
        (B,) int32.

    Raises:
        Error: `limit` is below 1.

    Example:
        >>> texts = tf.ragged.constant([["It rained.", "It snowed.", "It froze."]])
        >>> indices, count = select(
        ...     [[0.2, 0.9, 0.5]], [[True, True, True]], texts, [2], [False], limit=3
        ... )
        >>> indices.numpy().tolist(), count.numpy().tolist()
        ([[1, 2, -1]], [2])
    """
    if isinstance(limit, int) and limit < 1:
        raise Error(f"select: limit is {limit}; expected at least 1, the width of the result.")
    scores = tf.convert_to_tensor(scores, tf.float32)
    present = tf.convert_to_tensor(present, tf.bool)
    most = tf.clip_by_value(tf.cast(most, tf.int32), 0, limit)
    block_trigrams = tf.convert_to_tensor(block_trigrams)

    costs_of_all, limits = budget or Budget.free(texts)

    # (B, S + BLOCK) the sentences from the best down; those that are none come last
    order = tf.pad(_best_first(scores, present), [[0, 0], [0, BLOCK]])
    real = tf.pad(tf.gather(present, order[:, :-BLOCK], batch_dims=1), [[0, 0], [0, BLOCK]])

    def unfinished(walk: _Walk) -> tf.Tensor:
        return tf.reduce_any((walk.count < most) & tf.gather(real, walk.begin, batch_dims=1))

    def choose(walk: _Walk) -> tuple[_Walk]:
        """Every row that can takes the best candidate of its next ones that shares no trigram."""
        # (B, BLOCK)
        columns = walk.begin[:, tf.newaxis] + tf.range(BLOCK)
        candidates = tf.gather(order, columns, batch_dims=1)
        free = tf.gather(real, columns, batch_dims=1) & (walk.count < most)[:, tf.newaxis]
        costs = _of_sentences(costs_of_all, texts, candidates)
        free &= tf.reduce_all(costs <= walk.left[:, tf.newaxis], 2)
        trigram, cell = _trigrams(texts, candidates, free & block_trigrams[:, tf.newaxis])
        free &= ~_with_trigrams(walk.trigrams, trigram, cell, free)
        walk = _take(walk, free, candidates, costs, trigram, cell)
        return (walk._replace(begin=tf.minimum(walk.begin, tf.shape(scores)[1])),)

    # until every row is full or has no more candidates
    none = tf.zeros_like(most)
    start = _Walk(
        none,
        tf.fill([tf.size(none), limit], tf.int32.max),
        none,
        tf.zeros([0], tf.int64),
        limits,
    )
    shapes = _Walk(*(part.shape for part in start))._replace(trigrams=tf.TensorShape([None]))
    (walk,) = tf.while_loop(unfinished, choose, (start,), (shapes,), parallel_iterations=1)
    chosen = tf.sort(walk.chosen, axis=1)
    return tf.where(chosen == tf.int32.max, -1, chosen), walk.count


def _take(
    walk: _Walk,
    free: tf.Tensor,
    candidates: tf.Tensor,
    costs: tf.Tensor,
    trigram: tf.Tensor,
    cell: tf.Tensor,
) -> _Walk:
    """Takes the first free one of the candidates (B, BLOCK) of each row, whose `trigram` (G,)
    stand in `cell` (G, 2)."""
    # (B,) its column, written at the row's next place (B, N)
    column = tf.argmax(free, axis=1, output_type=tf.int32)
    takes = tf.reduce_any(free, axis=1)
    limit = tf.shape(walk.chosen)[1]
    place = tf.where(takes, walk.count, -1)[:, tf.newaxis] == tf.range(limit)
    index = tf.gather(candidates, column, batch_dims=1)
    chosen = tf.where(place, index[:, tf.newaxis], walk.chosen)

    is_new = tf.gather(tf.where(takes, column, -1), cell[:, 0]) == cell[:, 1]
    trigrams = tf.concat([walk.trigrams, tf.boolean_mask(trigram, is_new)], 0)
    cost = tf.where(takes[:, tf.newaxis], tf.gather(costs, column, batch_dims=1), 0)
    begin = walk.begin + tf.where(takes, column + 1, BLOCK)
    count = walk.count + tf.cast(takes, tf.int32)
    return _Walk(begin, chosen, count, trigrams, walk.left - cost)


def _best_first(scores: tf.Tensor, present: tf.Tensor) -> tf.Tensor:
    """(B, S) int32: the sentences from the best down, those that are none last."""
    lowest = scores.dtype.min
    real = tf.where(tf.math.is_nan(scores), lowest, tf.maximum(scores, lowest))
    key = tf.where(present, real, -float("inf"))
    # top_k puts the earlier of two equals first
    return tf.math.top_k(key, k=tf.shape(scores)[1], sorted=True).indices


def _of_sentences(values: tf.Tensor, texts: tf.RaggedTensor, candidates: tf.Tensor) -> tf.Tensor:
    """The values (N, 2), of all sentences, of the candidates (B, C); 0 for those that are none."""
    lengths = tf.cast(texts.row_lengths(), tf.int32)[:, tf.newaxis]
    first = tf.cast(texts.row_starts(), tf.int32)[:, tf.newaxis]
    none = tf.shape(values)[0]
    index = tf.where(candidates < lengths, first + candidates, none)
    return tf.gather(tf.pad(values, [[0, 1], [0, 0]]), index)


def _trigrams(
    texts: tf.RaggedTensor, candidates: tf.Tensor, read: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The word trigrams of those candidates (B, C) for which `read` (B, C) is true.

    Returns:
        A hash of each trigram and its document, (G,) int64, and its cell in `candidates`, (G, 2).
    """
    # scores may be padded beyond the sentences
    inside = candidates < tf.cast(texts.row_lengths(), tf.int32)[:, tf.newaxis]
    cells = tf.cast(tf.where(read & inside), tf.int32)
    first = tf.gather(tf.cast(texts.row_splits, tf.int32), cells[:, 0])
    sentences = tf.gather(texts.values, first + tf.gather_nd(candidates, cells))

    words = tf.strings.split(tf.strings.regex_replace(sentences, WHITE_SPACE, " "))
    sentence = Rows.of(words).owner
    # tf.strings.ngrams is an operation that not every host has
    place = tf.reshape(tf.where(sentence[:-2] == sentence[2:]), [-1])
    trigrams = tf.strings.join([tf.gather(words.flat_values, place + i) for i in range(3)], " ")
    cell = tf.gather(cells, tf.gather(sentence, place))
    # the row is part of the hash, so that rows never meet
    code = tf.strings.to_hash_bucket_fast(trigrams, 2**63 - 1)
    return code + tf.cast(cell[:, 0], tf.int64) * 0x1E3779B97F4A7C15, cell


def _with_trigrams(
    used: tf.Tensor, trigram: tf.Tensor, cell: tf.Tensor, free: tf.Tensor
) -> tf.Tensor:
    """Like `free` (B, C): which candidates hold one of the `used` trigrams."""
    known = tf.sort(used)
    place = tf.searchsorted(known, trigram)
    is_used = tf.gather(tf.concat([known, [0]], 0), place) == trigram
    is_used &= place < tf.size(known)
    cells = tf.boolean_mask(cell, is_used)
    return tf.scatter_nd(cells, tf.ones_like(cells[:, 0]), tf.shape(free)) > 0
