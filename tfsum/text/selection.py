"""Which sentences make the summary: the best by score, without repeated trigrams on request.

The rule is the extractive test of BertSum/PreSumm (`Trainer.test`): walk the sentences from the
highest score down, skip one that shares a word trigram with a sentence already chosen, stop when
enough are chosen. Headings, labels, mail headers and quotes are no candidates.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfsum.text.budget import Budget, with_room_for_one
from tfsum.text.english import is_english
from tfsum.text.expected_rouge import AUTOMATIC, expected_rouge_ranks
from tfsum.text.readability import antecedents, faults, names_in_full
from tfsum.text.repeats import repeats
from tfsum.text.rows import Rows, after
from tfsum.text.splitting_rules import load_patterns
from tfsum.text.white_space import UNSPACED, WHITE_SPACE

# The best sentences of a text that are looked at: so many, or times as many as are wanted. In a
# text of a thousand pages the others are not compared with each other.
LOOKED_AT, TIMES_WANTED = 256, 4
LOWEST = tf.float32.min  # the worth of a sentence whose score is no number
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
_LABEL = r"(?:\S+\s+){0,5}\S+ ?[:：]"  # "Ingredients:", "ANNA:"
# of a list of sources: "『雨続く』。", "Press, 2005年9月28日。"
_CITATION = (
    r"[^。『]{0,40}『[^』]*』[。.]?"
    r"|[^。、,]{1,40}[、,] ?\d{4}年(?: ?\d{1,2}月(?: ?\d{1,2}日)?)?[。.]?"
)
# a line whose columns are aligned: a label and numbers, or three cells; or whose cells bars part
_ROW = (
    r"(?s:.*)\S(?: {3,}|\t)(?:[^\p{L}\n]*|[^\n]*\S(?: {3,}|\t)[^\n]*)(?:\n(?s:.*))?"
    r"|(?s:.*)\S\s+\|\s+\S(?s:.*)"
)
_SHORT = r"(?:\S+\s+){0,11}\S+"  # up to twelve words ...
_SHORT_WIDE = r"(?s:.{1,60})"  # ... and of letters without spaces as few
_TITLE = r"(?:\S+\s+){0,19}\S+"  # of a text, which may be longer than a heading,
_SPACED = rf"[^{UNSPACED}]*"  # where words have spaces between them


class Traits(NamedTuple):
    """What is known of the N sentences of all texts, whatever is asked of them.

    Attributes:
        may_be_chosen: Result of `may_be_chosen`, bool (N,).
        english: Result of `tfsum.text.english.is_english`, bool (N,).
        names: Result of `tfsum.text.readability.names_in_full`, int64 (E, 2).
    """

    may_be_chosen: tf.Tensor
    english: tf.Tensor
    names: tf.Tensor

    @classmethod
    def of(cls, texts: tf.RaggedTensor) -> "Traits":
        """The traits of sentences.

        Args:
            texts: Sentences, (B, S) strings.

        Example:
            >>> Traits.of(tf.ragged.constant([["It rained."]])).may_be_chosen.numpy().tolist()
            [True]
        """
        english = is_english(texts)
        return cls(may_be_chosen(texts), english, names_in_full(texts, english))


def select_sentences(
    scores: tf.Tensor,
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
    completing: tf.Tensor | None = None,
    traits: Traits | None = None,
    lead_bias: float = 0.0,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses the sentences of summaries, in validation as in the exported graph.

    Headings and the like are not chosen, see `may_be_chosen`.

    Args:
        scores: Scores of the sentences of all texts, end to end, (N,) float32, higher is better;
            with `pieces` probabilities.
        texts: Sentences, (B, S) strings.
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
        completing: Sentences that are chosen with the one after them, where there is room for both,
            (N,) bool; by default none.
        traits: What is known of the sentences; by default it is found.
        lead_bias: How much more first sentences count by expected ROUGE, see
            `expected_rouge_ranks`.

    Returns:
        Indices (B, N) int32 of the chosen sentences in document order, then -1; and their count
        (B,) int32.

    Example:
        >>> texts = tf.ragged.constant(
        ...     [["the cat sat down", "the cat sat up", "a dog ran"], ["It rained."]]
        ... )
        >>> scores = tf.constant([0.9, 0.8, 0.7, 0.1])
        >>> indices, count = select_sentences(scores, texts, [2, 2], [True, True], limit=2)
        >>> indices.numpy().tolist(), count.numpy().tolist()
        ([[0, 2], [0, -1]], [2, 1])
    """
    traits = traits or Traits.of(texts)
    may_be = traits.may_be_chosen
    if enough is not None:
        may_be &= enough
    budget, may_be = with_room_for_one(budget or Budget.free(texts), texts, may_be)
    worth, documents = _worth(scores), Rows.of(texts)
    fits = budget.holds(tf.zeros_like(may_be), documents)
    may_be &= ~fits | _is_looked_at(worth, may_be & fits, documents, most)
    may_be &= ~repeats(texts, worth, may_be & fits)

    def by_rouge() -> tuple[tf.Tensor, tf.Tensor]:
        """The ranks by expected ROUGE, and how many sentences are chosen."""
        # (C,) those among which it chooses, and more
        place = tf.where(may_be & _is_looked_at(worth, may_be, documents, most))[:, 0]
        found = faults(tf.gather(texts.flat_values, place), tf.gather(traits.english, place))
        own = [tf.cast(found[name], tf.float32) for name in ("quotes", "no_end_mark", "short")]
        looked_at = Rows(place, tf.size(may_be, tf.int64))
        flaws = looked_at.sum(tf.reduce_sum(own, 0))
        opens = looked_at.any(found["pronoun"] | found["connective"])
        needs = antecedents(documents, opens, traits.names)
        ranks = expected_rouge_ranks(
            scores, may_be, pieces, words, most, limit, rates, flaws, needs, budget, lead_bias
        )
        # above 1 where expected ROUGE decided how many
        chosen = documents.sum(tf.cast(ranks > 1.0, tf.int32))
        if by_score is not None:
            ranks = tf.where(documents.to_values(by_score), scores, ranks)
        return ranks, tf.where(most == AUTOMATIC, chosen, most)

    if pieces is not None:
        asked = tf.fill(tf.shape(most), False) if by_score is None else by_score
        settled = tf.reduce_all(asked & (most != AUTOMATIC))
        scores, most = tf.cond(settled, lambda: (scores, most), by_rouge)
    return select(scores, may_be & fits, texts, most, block_trigrams, limit, budget, completing)


def may_be_chosen(texts: tf.RaggedTensor) -> tf.Tensor:
    """Marks the pieces that may be selected: sentences, not what only stands between them.

    A piece without a letter, a header of mail, a line that it quotes, a label that ends with a
    colon, a source (in Japanese or Chinese) and what `is_notice` marks are never chosen, nor rows
    of a table whose columns are aligned or parted by bars, if they have no end mark. A short piece
    without one (a heading, a link, a signature), or a first one that is not long (a title), is not
    chosen if most of the text's pieces end with one. If nothing of a text would be left, everything
    may be chosen.

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
        [matches(pattern) for pattern in (_NO_LETTER, _HEADER, _QUOTE, _LABEL, _CITATION)],
        0,
    )
    never |= is_notice(texts.flat_values)
    never |= matches(_ROW) & ~matches(_END)
    ended = ~never & matches(_END)
    punctuated = rows.count_of(ended) >= PUNCTUATED * rows.count_of(~never)
    title = matches(_TITLE) & matches(_SPACED) & ~rows.continues()
    short = (matches(_SHORT) & matches(_SHORT_WIDE)) | title
    heading = rows.to_values(punctuated) & ~ended & short

    chosen = ~(never | heading)
    return chosen | ~rows.to_values(rows.any(chosen))


def is_notice(sentences: tf.Tensor) -> tf.Tensor:
    """Marks what is said to the reader, not by the text, such as an editor's note, a byline, a
    copyright or an appeal, by the tables of all languages in `tfsum/text/languages/`.

    Args:
        sentences: Strings (N,).

    Returns:
        bool (N,).

    Example:
        >>> is_notice(
        ...     tf.constant(["Read more here.", "無断転載を禁じます。", "It rained."])
        ... ).numpy().tolist()
        [True, True, False]
    """
    notices = load_patterns()["notices"]
    return tf.strings.regex_full_match(sentences, rf"(?is)[^\p{{L}}]*(?:{notices}).*")


def select(
    scores: tf.Tensor,
    present: tf.Tensor,
    texts: tf.RaggedTensor,
    most: tf.Tensor,
    block_trigrams: tf.Tensor,
    limit: int | tf.Tensor,
    budget: Budget | None = None,
    completing: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses sentences by score (ties to the earlier one; NaN counts as the lowest score).

    Args:
        scores: Scores of the sentences of all texts, (N,) float32, higher is better.
        present: Sentences that may be chosen, (N,) bool.
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

    Example:
        >>> texts = tf.ragged.constant([["It rained.", "It snowed.", "It froze."]])
        >>> indices, count = select(
        ...     tf.constant([0.2, 0.9, 0.5]), tf.fill([3], True), texts, [2], [False], limit=3
        ... )
        >>> indices.numpy().tolist(), count.numpy().tolist()
        ([[1, 2, -1]], [2])
    """
    # (K,) what can be chosen, and what completes it
    may_be = present
    if completing is not None:
        may_be |= completing & after(present, False)
    place = tf.where(may_be)[:, 0]
    documents = Rows.of(texts).at(place)
    worth, present = tf.gather(_worth(scores), place), tf.gather(present, place)

    # a sentence takes one of `most` as it takes words and characters
    budget = (budget or Budget.free(texts)).at(place)
    room = budget._replace(
        costs=tf.pad(budget.costs, [[0, 0], [1, 0]], constant_values=1),
        limits=tf.concat([tf.minimum(most, limit)[:, tf.newaxis], budget.limits], 1),
    )
    read = present & documents.to_values(block_trigrams)
    sentences = tf.where(read, tf.gather(texts.flat_values, place), "")
    of_sentences, equal = _trigrams(sentences, documents)
    completes = tf.fill(tf.shape(place), False)
    if completing is not None:
        completes = tf.gather(completing, place) & (after(place, -1) == place + 1)

    def take(free: tf.Tensor, chosen: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Takes the best free sentence (K,) of each text that has room for it; those that repeat a
        trigram of it are free no more."""
        free &= room.holds(chosen, documents)
        new = free & documents.is_best(tf.where(free, worth, -float("inf")))
        is_said = equal.any(of_sentences.to_values(new))
        repeats = of_sentences.any(equal.to_values(is_said))
        chosen |= new
        chosen |= completes & after(new, False) & room.holds(chosen, documents)
        return free & ~chosen & ~repeats, chosen

    _, chosen = tf.while_loop(
        lambda free, _: tf.reduce_any(free),
        take,
        (present, tf.zeros_like(present)),
        parallel_iterations=1,
    )

    # (C,) the chosen sentences of all texts, (B, limit) their places in their texts
    place, rows = tf.boolean_mask(place, chosen), documents.at(tf.where(chosen)[:, 0])
    indices = rows.ragged(tf.cast(place - rows.to_values(texts.row_starts()), tf.int32))
    count = tf.cast(indices.row_lengths(), tf.int32)
    return indices.to_tensor(-1, shape=tf.stack([-1, limit])), count


def _is_looked_at(
    worth: tf.Tensor, present: tf.Tensor, documents: Rows, most: tf.Tensor
) -> tf.Tensor:
    """Whether sentences (N,) are among the best of those that are present, by far more than are to
    be chosen (B,)."""
    order, place = documents.best_first(tf.where(present, worth, LOWEST))
    enough = tf.maximum(TIMES_WANTED * tf.cast(most, tf.int64), LOOKED_AT)
    return tf.gather(place < documents.to_values(enough), tf.argsort(order))


def _worth(scores: tf.Tensor) -> tf.Tensor:
    """Scores, of which one that is no number is the lowest."""
    return tf.where(tf.math.is_nan(scores), LOWEST, tf.maximum(scores, LOWEST))


def _trigrams(sentences: tf.Tensor, documents: Rows) -> tuple[Rows, Rows]:
    """The word trigrams (G,) of sentences (K,): the sentence of each, and equal ones of a text."""
    words = tf.strings.split(tf.strings.regex_replace(sentences, WHITE_SPACE, " "))
    of_words = Rows.of(words)
    # tf.strings.ngrams is an operation that not every host has
    place = tf.where(of_words.owner[:-2] == of_words.owner[2:])[:, 0]
    trigrams = tf.strings.join([tf.gather(words.flat_values, place + i) for i in range(3)], " ")
    sentence = tf.gather(of_words.owner, place)

    # the text is part of the hash, so that texts never meet
    code = tf.strings.to_hash_bucket_fast(trigrams, 2**63 - 1)
    text = tf.gather(documents.owner, sentence)
    _, equal = Rows.of_equal(code + text * 0x1E3779B97F4A7C15)
    return Rows(sentence, of_words.count), equal
