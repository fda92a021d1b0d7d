"""Which sentences and words of texts are shown, after all sentences are scored."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from tfsum.request import MOST_KEYWORDS, TOKEN_BYTES
from tfsum.tasks.bert_sum_ext.read import Read
from tfsum.text.budget import UNLIMITED, Budget, budget_of, most_that_fit
from tfsum.text.content_words import content_words
from tfsum.text.expected_rouge import AUTOMATIC, MOST, USUAL
from tfsum.text.keywords import Spans, keywords, speakers, words_of
from tfsum.text.known_words import KnownWords
from tfsum.text.rows import Rows, after, repeat
from tfsum.text.selection import is_notice, select_sentences

SEPARATOR = " "  # between the sentences of a summary
LINE_BREAK = r"[ \t]*\r?\n[ \t]*"  # in a sentence of a hard-wrapped text
# of the best score, without a query and with one: less fills no limit (docs/asked_for.md)
ENOUGH, ENOUGH_ASKED = 0.2, 0.5
HYPHENATED = r"([\p{L}\d]-)\r?\n[ \t]*"  # a line may end after the hyphen of a word


class Options(NamedTuple):
    """What is asked of the summary of each text, (B,) each; 0 and "" ask nothing.

    The inputs that `tfsum.request.INPUTS` lists.
    """

    max_sentences: tf.Tensor  # int32; `AUTOMATIC` for as many as are expected to score best
    max_words: tf.Tensor  # int32
    max_characters: tf.Tensor  # int32
    max_tokens: tf.Tensor  # int32
    max_share: tf.Tensor  # float32, of the words of the text
    min_score: tf.Tensor  # float32
    fill: tf.Tensor  # bool, whether a limit is filled with sentences of nearly no score too
    query: tf.Tensor  # string
    query_weight: tf.Tensor  # float32, beside what matters in general, from 0 to 1
    max_per_document: tf.Tensor  # int32, sentences of each document that a text holds
    block_trigrams: tf.Tensor  # bool


def choose_sentences(
    read: Read,
    options: Options,
    relevant: tf.Tensor,
    words: tf.Tensor,
    by_rouge: bool,
    lead_bias: float,
) -> dict[str, tf.Tensor]:
    """Makes the summaries of texts (B,).

    Args:
        read: The texts.
        options: What is asked of their summaries.
        relevant: How much the sentences have to do with the query to their text, (N,) from 0 to 1.
        words: Pieces that ROUGE counts, bool (V,).
        by_rouge: Whether sentences are chosen by expected ROUGE, else by score.
        lead_bias: How much more first sentences count by it, see `expected_rouge_ranks`.

    Returns:
        `summary` (B,); `sentences`, `start`, `end` and `score` (B, W), W the most of a text; and
        `count` (B,).
    """
    texts = read.texts
    chosen, count = _choose(read, texts, options, relevant, words, by_rouge, lead_bias)

    # (B, W) the places among all sentences, after the last one for none
    chosen = chosen[:, : tf.reduce_max(tf.concat([count, [0]], 0))]
    first = tf.cumsum(read.count, exclusive=True)[:, tf.newaxis]
    place = tf.where(chosen >= 0, first + chosen, tf.size(read.logits))

    def of_chosen(values: tf.Tensor, fill: float | str) -> tf.Tensor:
        return tf.gather(tf.concat([values, [fill]], 0), place)

    sentences = of_chosen(texts.flat_values, "")
    summary = tf.strings.reduce_join(
        tf.RaggedTensor.from_tensor(sentences, lengths=tf.cast(count, tf.int64)),
        axis=-1,
        separator=SEPARATOR,
    )
    if "newline" in read.about:
        summary = tf.strings.regex_replace(summary, HYPHENATED, r"\1")
        summary = tf.strings.regex_replace(summary, LINE_BREAK, SEPARATOR)
    return {
        "summary": summary,
        "sentences": sentences,
        "start": of_chosen(read.start + read.dateline, -1),
        "end": of_chosen(read.end, -1),
        "score": of_chosen(read.probability, 0.0),
        "count": count,
    }


def _choose(
    read: Read,
    texts: tf.RaggedTensor,
    options: Options,
    relevant: tf.Tensor,
    words: tf.Tensor,
    by_rouge: bool,
    lead_bias: float,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses sentences of texts (B, S), see `select_sentences`."""
    pieces = texts.with_values(read.pieces)
    # (B,) and (N,) how much the query counts, which takes the place of what matters in general
    weight = tf.clip_by_value(options.query_weight, 0.0, 1.0)
    asked = tf.where(options.query == "", 0.0, weight)
    share = repeat(asked, read.count)
    wanted = (1.0 - share) * read.probability + share * relevant
    # the papers' choice is by logits, which differ where probabilities no longer do
    ranks = wanted if by_rouge else tf.where(share > 0.0, wanted, read.logits)
    least = tf.where(options.min_score > 0.0, options.min_score, -float("inf"))
    enough = read.probability >= repeat(least, read.count)

    # (B,) the most sentences
    budget = budget_of(
        read.costs,
        Rows.of(texts),
        options.max_words,
        options.max_characters,
        tf.minimum(options.max_tokens, UNLIMITED // TOKEN_BYTES) * TOKEN_BYTES,
        options.max_share,
        read.documents,
        options.max_per_document,
    )
    enough &= _matters(wanted, read, budget, options)
    limit, most = most_that_fit(budget, texts), options.max_sentences
    within = tf.minimum(tf.where(most == 0, limit, most), limit)
    most = tf.where(most == AUTOMATIC, most, within)
    return select_sentences(
        ranks,
        texts,
        most,
        options.block_trigrams,
        tf.reduce_max(tf.concat([most, [MOST]], 0)),
        pieces if by_rouge else None,
        words,
        read.rates if by_rouge else None,
        budget,
        enough,
        asked > 0.0,  # by the words of a summary the best for a query would be lost
        _completing(read, repeat((asked > 0.0) & (options.max_sentences == 0), read.count)),
        read.traits,
        lead_bias,
    )


def _completing(read: Read, asked: tf.Tensor) -> tf.Tensor:
    """Whether sentences (N,) of texts with a query (N,) complete the one after them, which opens
    with a pronoun."""
    needs = read.anaphor & read.documents.continues()
    return after(needs, False) & asked & read.traits.may_be_chosen


def _matters(wanted: tf.Tensor, read: Read, budget: Budget, options: Options) -> tf.Tensor:
    """Whether sentences (N,) matter enough to fill a limit, or to answer a query, beside the best
    that has room.

    A limit is no duty, unless a number of sentences or their score says how much is wanted.
    """
    rows = Rows.of(read.per_text(wanted))
    has_room = budget.holds(tf.zeros_like(wanted, tf.bool), rows)
    best = rows.max(tf.where(has_room & read.traits.may_be_chosen, wanted, 0.0))

    is_asked, is_automatic = options.query != "", options.max_sentences == AUTOMATIC
    is_limit = tf.reduce_any(budget.limits < UNLIMITED, 1) & (options.max_sentences == 0)
    is_limit = (is_limit | is_asked & is_automatic) & ~options.fill & (options.min_score <= 0.0)
    share = tf.where(is_asked, ENOUGH_ASKED, ENOUGH)
    return wanted >= rows.to_values(tf.where(is_limit, share * best, -float("inf")))


def choose_keywords(
    read: Read,
    most: tf.Tensor,
    tokenize: Callable[[tf.Tensor], tf.RaggedTensor],
    known_words: KnownWords,
) -> dict[str, tf.Tensor]:
    """Finds the keywords of texts (B,).

    Args:
        read: The texts.
        most: Number of keywords at most, (B,) int32; never more than `MOST_KEYWORDS`.
        tokenize: `WordPiece.tokenize`.
        known_words: Tells the frequent words of the training corpus, which are no keywords.

    Returns:
        `keyword`, `start`, `end` and `score` (B, K), and `count` (B,).
    """
    number = tf.size(read.count, tf.int64)
    texts = Rows(repeat(tf.range(number), read.count), number)
    parts = words_of(read.sentences)
    pieces = tokenize(parts.text)
    # the first bytes of a sentence that no keyword is from: its dateline, who speaks, or all
    none = tf.maximum(read.dateline, speakers(read.sentences, texts))
    none = tf.where(is_notice(read.sentences), tf.int32.max, none)
    is_none = parts.start < tf.gather(none, parts.sentence)
    is_none |= known_words.are_frequent(pieces)
    words, are_content = content_words(parts, texts.at(parts.sentence))
    expected = _expected(read, texts, parts, pieces)
    expected = tf.where(are_content & ~is_none, expected, 0.0)
    found = keywords(read.sentences, texts, words, expected, tf.minimum(most, MOST_KEYWORDS))
    # 0 for cells (B, K) without a keyword
    sentence = tf.gather(tf.pad(read.start, [[1, 0]]), found["sentence"] + 1)
    return {
        "keyword": found["phrase"],
        "start": sentence + found["start"],
        "end": sentence + found["end"],
        "score": found["score"],
        "count": found["count"],
    }


def _expected(read: Read, texts: Rows, parts: Spans, pieces: tf.RaggedTensor) -> tf.Tensor:
    """How often each part of the sentences, which has pieces (M, .), is expected in the summary,
    (M,) float32."""
    probability = read.probability
    mass = texts.to_values(texts.sum(probability))
    expected = USUAL * probability / tf.where(mass > 0.0, mass, 1.0)
    expected = tf.gather(expected, parts.sentence)
    if read.rates is None:
        return expected

    # Parts are read as sentences are, unless a word ends where its kind of letter does: the rates
    # of such a sentence are not known by its words.
    sentences, lengths = Rows(parts.sentence, tf.size(texts.owner)), pieces.row_lengths()
    is_same = sentences.to_values(sentences.sum(lengths) == read.pieces.row_lengths())
    # (Q,) for each piece of all parts its place among the pieces of the sentences (P,)
    begin = tf.gather(read.pieces.row_starts(), parts.sentence) + sentences.sums_before(lengths)
    of_part = Rows.of(pieces)
    place = of_part.to_values(begin - tf.cumsum(lengths, exclusive=True)) + of_part.places()
    rates = tf.concat([read.rates[:, 0], [0.0]], 0)
    place = tf.where(of_part.to_values(is_same), place, tf.size(rates, tf.int64) - 1)
    mean = of_part.sum(tf.gather(rates, place)) / tf.maximum(tf.cast(lengths, tf.float32), 1.0)
    return tf.where(is_same, (expected + mean) / 2.0, expected)
