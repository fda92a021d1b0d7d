"""The words and phrases that carry a text, by how often its summary can be expected to hold them.

A word counts as often as the sentences that hold it are likely to be in the summary, and where the
model has a word head as often as that expects, half and half, as for `expected_rouge_ranks`. Words
that stand side by side make a phrase where they are capitalized or do so more than once. What is
chosen says each word once.
"""

from typing import NamedTuple

import tensorflow as tf

from tfsum.text.repeat import row_ids

LONGEST = 3  # words of a phrase
# Scripts that are written without spaces part words by their kind of letter: kanji and katakana are
# words, hiragana is what stands between them.
_OTHER = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LETTER = rf"(?:[^\P{{L}}{_OTHER}]|[\p{{M}}\p{{N}}])"
_WORD = rf"\p{{Han}}+|[\p{{Katakana}}ー]+|{_LETTER}+(?:['’.&-]{_LETTER}+)*"
_APART = "\x1f"
_SAYS_MORE = r".*\pL.*\pL.*"  # two letters
_NAME = r"\p{Lu}.*"
_SPACE = r"[ \t\p{Zs}]|[ \t]*\r?\n[ \t]*"


class Words(NamedTuple):
    """The words of sentences, and what stands between them, end to end.

    Attributes:
        parts: Strings (M,), which joined are the sentences.
        sentence: Sentence of each, (M,) int64.
        start: Its first byte in the sentence, (M,) int32.
        is_word: Whether it is a word, (M,) bool.
    """

    parts: tf.Tensor
    sentence: tf.Tensor
    start: tf.Tensor
    is_word: tf.Tensor


def words_of(sentences: tf.Tensor) -> Words:
    """Parts sentences into words and what stands between them.

    Args:
        sentences: Strings (N,).

    Example:
        >>> words = words_of(tf.constant(["It's 東京 です."]))
        >>> [part.decode() for part in tf.boolean_mask(words.parts, words.is_word).numpy()]
        ["It's", '東京']
    """
    plain = tf.strings.regex_replace(sentences, _APART, " ")
    apart = tf.strings.regex_replace(plain, f"({_WORD})", rf"{_APART}\1{_APART}")
    parts = tf.strings.split(apart, _APART)
    lengths = parts.with_flat_values(tf.strings.length(parts.flat_values))
    before = tf.cumsum(lengths.flat_values, exclusive=True)
    first = tf.gather(tf.concat([before, [0]], 0), parts.row_starts())
    sentence = row_ids(parts)
    return Words(
        parts.flat_values,
        sentence,
        before - tf.gather(first, sentence),
        tf.strings.regex_full_match(parts.flat_values, _WORD),
    )


class Keywords(NamedTuple):
    """The keywords of texts, the best first; rows are padded beyond `count`.

    Attributes:
        phrase: Strings (B, K).
        sentence: Sentence of its first occurrence, numbered through all texts, (B, K) int64.
        start: Its first byte in the sentence, (B, K) int32.
        end: The byte after it, (B, K) int32.
        score: How often the summary can be expected to hold its words, (B, K) float32.
        count: Number of keywords, (B,) int32.
    """

    phrase: tf.Tensor
    sentence: tf.Tensor
    start: tf.Tensor
    end: tf.Tensor
    score: tf.Tensor
    count: tf.Tensor


def keywords(
    sentences: tf.Tensor,
    words: Words,
    owner: tf.Tensor,
    documents: tf.Tensor,
    expected: tf.Tensor,
    most: tf.Tensor,
) -> Keywords:
    """Chooses the keywords of texts.

    Args:
        sentences: Sentences of all texts, strings (N,).
        words: Their words.
        owner: Text of each sentence, (N,) int64.
        documents: Number B of texts, int64.
        expected: How often each word is expected in the summary for its place here, (M,) float32; 0
            for words that are no keywords.
        most: Number of keywords at most, (B,) int32.

    Returns:
        The keywords.

    Example:
        >>> sentences = tf.constant(["Anna Holt met Bo.", "Holt sang."])
        >>> words = words_of(sentences)
        >>> expected = tf.where(words.is_word, 0.5, 0.0)
        >>> owner, documents = tf.constant([0, 0], tf.int64), tf.constant(1, tf.int64)
        >>> keywords(sentences, words, owner, documents, expected, [2]).phrase.numpy().tolist()
        [[b'Anna Holt', b'met']]
    """
    # (W,) the words that may be keywords, with a number for each different one of a text
    may_be = words.is_word & (expected > 0.0)
    at = tf.where(may_be & tf.strings.regex_full_match(words.parts, _SAYS_MORE))[:, 0]
    word, sentence = tf.gather(words.parts, at), tf.gather(words.sentence, at)
    start = tf.gather(words.start, at)
    end = start + tf.strings.length(word)
    document = tf.gather(owner, sentence)
    kinds, kind = tf.unique(_hash(word) * documents + document, tf.int64)
    total = tf.math.unsorted_segment_sum(tf.gather(expected, at), kind, tf.size(kinds))

    # Which belong to the phrase of the word before: a name goes on, or two words that do so twice.
    between = tf.gather(words.parts, tf.maximum(at - 1, 0))
    is_next = (at - _shifted(at) == 2) & (sentence == _shifted(sentence))
    is_next &= tf.strings.regex_full_match(between, _SPACE)
    is_name = tf.strings.regex_full_match(word, _NAME)
    pairs, pair = tf.unique(_shifted(kind) * tf.size(kinds, tf.int64) + kind, tf.int64)
    often = tf.math.unsorted_segment_sum(tf.cast(is_next, tf.int32), pair, tf.size(pairs))
    goes_on = is_next & (is_name == (_shifted(tf.cast(is_name, tf.int32)) > 0))
    goes_on &= is_name | (tf.gather(often, pair) > 1)

    # (G,) phrases of at most `LONGEST` words, with a number for each different one of a text
    chain = tf.cumsum(tf.cast(~goes_on, tf.int64))
    places = tf.range(tf.size(chain, tf.int64))
    begin = tf.math.unsorted_segment_max(
        tf.where(goes_on, tf.zeros_like(places), places),
        chain,
        tf.reduce_max(tf.concat([chain, tf.zeros([1], tf.int64)], 0)) + 1,
    )
    begins = (places - tf.gather(begin, chain)) % LONGEST == 0
    group = tf.cumsum(tf.cast(begins, tf.int64)) - 1
    first = tf.where(begins)[:, 0]
    last = tf.concat([first[1:], tf.size(group, tf.int64)[tf.newaxis]], 0)[: tf.size(first)] - 1
    of, from_byte, to_byte = (
        tf.gather(sentence, first),
        tf.gather(start, first),
        tf.gather(end, last),
    )
    text = tf.strings.substr(tf.gather(sentences, of), from_byte, to_byte - from_byte)
    text_of = tf.gather(owner, of)
    phrases, phrase = tf.unique(_hash(text) * documents + text_of, tf.int64)
    groups, number = tf.size(first, tf.int64), tf.size(phrases, tf.int64)
    # the first place of each different phrase (P,), and its words once (E,)
    place = groups - 1 - tf.math.unsorted_segment_max(groups - 1 - tf.range(groups), phrase, number)
    is_first = tf.gather(place, phrase) == tf.range(groups)
    of_phrase = tf.boolean_mask(tf.gather(phrase, group), tf.gather(is_first, group))
    held = tf.boolean_mask(kind, tf.gather(is_first, group))
    phrase_text = tf.gather(text_of, place)

    def choose(step: tf.Tensor, left: tf.Tensor, rank: tf.Tensor, score: tf.Tensor) -> tuple:
        """Takes the best phrase of each text, whose words are worth nothing from then on."""
        value = tf.math.unsorted_segment_sum(tf.gather(left, held), of_phrase, number)
        value = tf.where((rank >= 0) | (step >= tf.gather(most, phrase_text)), 0.0, value)
        best = tf.math.unsorted_segment_max(value, phrase_text, documents)
        is_best = (value > 0.0) & (value == tf.gather(best, phrase_text))
        order = number - tf.range(number)
        foremost = tf.math.unsorted_segment_max(
            tf.where(is_best, order, tf.zeros_like(order)), phrase_text, documents
        )
        is_new = is_best & (order == tf.gather(foremost, phrase_text))
        said = tf.math.unsorted_segment_max(
            tf.cast(tf.gather(is_new, of_phrase), tf.int32), held, tf.size(kinds)
        )
        return (
            step + 1,
            tf.where(said > 0, 0.0, left),
            tf.where(is_new, step, rank),
            tf.where(is_new, value, score),
        )

    width = tf.reduce_max(tf.concat([most, [0]], 0))
    none = tf.zeros_like(place, tf.int32) - 1
    *_, rank, score = tf.while_loop(
        lambda step, *_: step < width,
        choose,
        [0, total, none, tf.zeros_like(none, tf.float32)],
        parallel_iterations=1,
    )

    chosen = tf.where(rank >= 0)[:, 0]
    row = tf.gather(phrase_text, chosen)
    cells = tf.stack([row, tf.cast(tf.gather(rank, chosen), tf.int64)], 1)
    shape = tf.stack([documents, tf.cast(width, tf.int64)])
    index = tf.scatter_nd(cells, tf.gather(place, chosen) + 1, shape)

    def table(values: tf.Tensor, fill: tf.Tensor | float | str) -> tf.Tensor:
        return tf.gather(tf.concat([[fill], values], 0), index)

    scores = tf.scatter_nd(cells, tf.gather(score, chosen), shape)
    count = tf.math.unsorted_segment_sum(tf.ones_like(row, tf.int32), row, documents)
    return Keywords(
        table(text, ""),
        table(of, tf.constant(-1, tf.int64)),
        table(from_byte, -1),
        table(to_byte, -1),
        scores,
        count,
    )


def _hash(text: tf.Tensor) -> tf.Tensor:
    """A number of each string, whose case does not matter; below 2^40, so that the number of a text
    has room beside it."""
    return tf.strings.to_hash_bucket_fast(tf.strings.upper(text, "utf-8"), 1 << 40)


def _shifted(values: tf.Tensor) -> tf.Tensor:
    """The value before each; -1 before the first."""
    return tf.concat([tf.cast([-1], values.dtype), values], 0)[:-1]
