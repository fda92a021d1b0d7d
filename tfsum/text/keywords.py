"""The words and phrases that carry a text, by how often its summary can be expected to hold them.

A word counts as often as the sentences that hold it are likely to be in the summary, and where the
model has a word head as often as that expects, half and half, as for `expected_rouge_ranks`. Words
that stand side by side make a phrase where they are capitalized or do so more than once. What is
chosen says each word once.
"""

from typing import NamedTuple

import tensorflow as tf

from tfsum.text.rows import Rows, after, before, place_in_run
from tfsum.text.white_space import UNSPACED

LONGEST = 3  # words of a phrase
# Scripts that are written without spaces part words by their kind of letter: kanji and katakana are
# words, hiragana is what stands between them.
_LETTER = rf"(?:[^\P{{L}}{UNSPACED}]|[\p{{M}}\p{{N}}])"
_WORD = rf"\p{{Han}}+|[\p{{Katakana}}ー]+|{_LETTER}+(?:['’.&-]{_LETTER}+)*"
_APART = "\x1f"
_SAYS_MORE = r".*\pL.*\pL.*"  # two letters
_NAME = r"\p{Lu}.*"
# who speaks, in up to three words: "○ Anna Holt: "
_SPEAKER = r"^[^\p{L}]*(?:[^\s:：]+ ){0,2}[^\s:：]+ ?(?:: |：)"
_SPACE = r"[ \t\p{Zs}]|[ \t]*\r?\n[ \t]*"


class Spans(NamedTuple):
    """Words or phrases, parts of sentences.

    Attributes:
        text: Strings (N,).
        sentence: Sentence of each, (N,) int64.
        start: Its first byte in the sentence, (N,) int32.
    """

    text: tf.Tensor
    sentence: tf.Tensor
    start: tf.Tensor

    @property
    def end(self) -> tf.Tensor:
        """The byte after each, (N,) int32."""
        return self.start + tf.strings.length(self.text)

    @property
    def is_word(self) -> tf.Tensor:
        """Whether each is a word, (N,) bool."""
        return tf.strings.regex_full_match(self.text, _WORD)

    def at(self, place: tf.Tensor) -> "Spans":
        """Those at some places (M,)."""
        return Spans(*(tf.gather(values, place) for values in self))


def words_of(sentences: tf.Tensor) -> Spans:
    """Parts sentences into words and what stands between them, end to end.

    Args:
        sentences: Strings (N,).

    Example:
        >>> words = words_of(tf.constant(["It's 東京 です."]))
        >>> [part.decode() for part in tf.boolean_mask(words.text, words.is_word).numpy()]
        ["It's", '東京']
    """
    plain = tf.strings.regex_replace(sentences, _APART, " ")
    apart = tf.strings.regex_replace(plain, f"({_WORD})", rf"{_APART}\1{_APART}")
    parts = tf.strings.split(apart, _APART)
    rows = Rows.of(parts)
    start = rows.sums_before(tf.strings.length(parts.flat_values))
    return Spans(parts.flat_values, rows.owner, start)


def speakers(sentences: tf.Tensor, documents: Rows) -> tf.Tensor:
    """Finds who speaks, as a label before sentences, which more than one sentence of the text has.

    Args:
        sentences: Strings (N,).
        documents: Text of each.

    Returns:
        The bytes of the label, (N,) int32; 0 where there is none.

    Example:
        >>> said = tf.constant(["Anna: It rained.", "Rain: a study", "Anna: A lot."])
        >>> speakers(said, Rows(tf.zeros([3], tf.int64), 1)).numpy().tolist()
        [6, 0, 6]
    """
    rest = tf.strings.regex_replace(sentences, _SPEAKER, "", replace_global=False)
    length = tf.strings.length(sentences) - tf.strings.length(rest)
    label = tf.strings.substr(sentences, tf.zeros_like(length), length)
    same = _different(Spans(label, documents.places(), length), documents)
    return tf.where(same.to_values(same.sizes()) > 1.0, length, 0)


def keywords(
    sentences: tf.Tensor,
    documents: Rows,
    parts: Spans,
    expected: tf.Tensor,
    most: tf.Tensor,
) -> dict[str, tf.Tensor]:
    """Chooses the keywords of texts.

    Args:
        sentences: Sentences of all texts, strings (N,).
        documents: Text of each sentence; there are B.
        parts: Words of the sentences and what stands between them (`words_of`), without what is no
            part of the words (`tfsum.text.content_words`).
        expected: How often each part is expected in the summary for its place here, (M,) float32; 0
            for words that are no keywords.
        most: Number of keywords at most, (B,) int32.

    Returns:
        The keywords, the best first, in rows (B, K) that are padded beyond `count`: `phrase`
        strings; `sentence` int64, that of its first occurrence, numbered through all texts; `start`
        and `end` int32, its bytes in the sentence; `score` float32, how often the summary can be
        expected to hold its words. And `count` (B,) int32.

    Example:
        >>> sentences = tf.constant(["Anna Holt met Bo.", "Holt sang."])
        >>> documents, parts = Rows(tf.constant([0, 0], tf.int64), 1), words_of(sentences)
        >>> expected = tf.where(parts.is_word, 0.5, 0.0)
        >>> keywords(sentences, documents, parts, expected, [2])["phrase"].numpy().tolist()
        [[b'Anna Holt', b'met']]
    """
    # (W,) the words that may be keywords, and the different ones of each text
    may_be = parts.is_word & (expected > 0.0)
    place = tf.where(may_be & tf.strings.regex_full_match(parts.text, _SAYS_MORE))[:, 0]
    candidates = parts.at(place)
    different_words = _different(candidates, documents)

    # (G,) phrases, and the different ones of each text
    joined = _is_joined(parts, place, candidates, different_words)
    phrase_of_word, phrases = _phrases(sentences, candidates, joined)
    different_phrases = _different(phrases, documents)

    # (P,) the first place of each different phrase, (E,) the words of these
    first = different_phrases.first()
    is_first = different_phrases.to_values(first) == different_phrases.places()
    of_first = phrase_of_word.to_values(is_first)
    phrase = phrase_of_word.to_values(different_phrases.owner)
    different = phrases.at(first)
    by_text = documents.at(different.sentence)
    width = tf.reduce_max(tf.concat([most, [0]], 0))
    rank, score = _choose(
        Rows(tf.boolean_mask(phrase, of_first), different_phrases.count),
        Rows(tf.boolean_mask(different_words.owner, of_first), different_words.count),
        by_text,
        different_words.sum(tf.gather(expected, place)),
        most,
        width,
    )
    return _table(different, by_text, rank, score, width)


def _different(spans: Spans, documents: Rows) -> Rows:
    """The different ones among the spans (N,) of each text, whose case does not matter."""
    # below 2^40, so that the number of a text has room beside it
    code = tf.strings.to_hash_bucket_fast(tf.strings.upper(spans.text, "utf-8"), 1 << 40)
    document = tf.gather(documents.owner, spans.sentence)
    _, rows = Rows.of_equal(code * documents.count + document)
    return rows


def _is_joined(parts: Spans, place: tf.Tensor, candidates: Spans, different: Rows) -> tf.Tensor:
    """Which words (W,), at these places (W,) of all parts, belong to the phrase of the word before:
    a name goes on, or two words stand side by side more than once."""
    between = tf.gather(parts.text, tf.maximum(place - 1, 0))
    is_next = (place - before(place, 0) == 2) & tf.strings.regex_full_match(between, _SPACE)
    is_next &= candidates.sentence == before(candidates.sentence, -1)
    # nothing was taken off between them
    is_next &= candidates.start - before(candidates.end, 0) == tf.strings.length(between)

    _, pairs = Rows.of_equal(before(different.owner, 0) * different.count + different.owner)
    often = pairs.to_values(pairs.count_of(is_next)) > 1.0
    is_name = tf.strings.regex_full_match(candidates.text, _NAME)
    return is_next & (is_name == before(is_name, False)) & (is_name | often)


def _phrases(sentences: tf.Tensor, candidates: Spans, joined: tf.Tensor) -> tuple[Rows, Spans]:
    """Makes phrases of at most `LONGEST` words (W,) that are joined (W,): the phrase of each word,
    and the phrases (G,)."""
    # (W,) whether a phrase begins at a word, (G,) the first and the last word of each phrase
    opens = place_in_run(~joined) % LONGEST == 0
    phrase_of_word = Rows(tf.cumsum(tf.cast(opens, tf.int64)) - 1, tf.math.count_nonzero(opens))
    first = tf.where(opens)[:, 0]
    last = after(first, tf.size(joined, tf.int64)) - 1

    _, sentence, start = candidates.at(first)
    length = tf.gather(candidates.end, last) - start
    text = tf.strings.substr(tf.gather(sentences, sentence), start, length)
    return phrase_of_word, Spans(text, sentence, start)


def _choose(
    by_phrase: Rows,
    by_word: Rows,
    by_text: Rows,
    total: tf.Tensor,
    most: tf.Tensor,
    width: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses the best phrases of each text, whose words count once.

    Args:
        by_phrase: Phrase, of P different ones, of each of their E words.
        by_word: The same words (E,) among the different words (D,).
        by_text: Text of each phrase (P,).
        total: What each different word is worth, (D,) float32.
        most: Number of phrases at most, (B,) int32.
        width: The largest of these.

    Returns:
        (P,) int32, the rank of each phrase from 0, -1 for those that are not chosen; and (P,)
        float32, what the chosen are worth.
    """

    def choose(step: tf.Tensor, left: tf.Tensor, rank: tf.Tensor, score: tf.Tensor) -> tuple:
        """Takes the best phrase of each text, whose words are worth nothing from then on."""
        worth = by_phrase.sum(by_word.to_values(left))
        worth = tf.where((rank >= 0) | (step >= by_text.to_values(most)), 0.0, worth)
        is_new = by_text.is_best(worth) & (worth > 0.0)
        in_new = by_word.any(by_phrase.to_values(is_new))
        return (
            step + 1,
            tf.where(in_new, 0.0, left),
            tf.where(is_new, step, rank),
            tf.where(is_new, worth, score),
        )

    none = tf.zeros_like(by_text.owner, tf.int32) - 1
    *_, rank, score = tf.while_loop(
        lambda step, *_: step < width,
        choose,
        [0, total, none, tf.zeros_like(none, tf.float32)],
        parallel_iterations=1,
    )
    return rank, score


def _table(
    phrases: Spans, by_text: Rows, rank: tf.Tensor, score: tf.Tensor, width: tf.Tensor
) -> dict[str, tf.Tensor]:
    """Lays out those of the different phrases (P,) that have a rank in rows (B, width)."""
    # (C,) the chosen phrases, (C, 2) their cells, and (B, width) 1 + their place, 0 for none
    chosen = tf.where(rank >= 0)[:, 0]
    row = tf.gather(by_text.owner, chosen)
    cells = tf.stack([row, tf.cast(tf.gather(rank, chosen), tf.int64)], 1)
    shape = tf.stack([by_text.count, tf.cast(width, tf.int64)])
    index = tf.scatter_nd(cells, chosen + 1, shape)

    columns = {
        "phrase": ("", phrases.text),
        "sentence": (-1, phrases.sentence),
        "start": (-1, phrases.start),
        "end": (-1, phrases.end),
        "score": (0.0, score),
    }
    return {
        **{
            name: tf.gather(tf.concat([[fill], values], 0), index)
            for name, (fill, values) in columns.items()
        },
        "count": Rows(row, by_text.count).sum(tf.ones_like(row, tf.int32)),
    }
