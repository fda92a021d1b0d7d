"""Which words of a text can be keywords, by what is known of its language.

A file of `tfsum/text/languages/` may have a section `[keywords]`, with some of these; patterns are
RE2's, for a whole word where nothing else is said:

- `empty`: words that say nothing alone, parted by spaces. The language of a text is the one of
  whose words it has most.
- `letters`: pattern of words that are of the language in any text, by their script.
- `joined`: pattern of what stands before a word and is no part of it.
- `endings`: pattern of a word and what is joined to it, with a group for what the word is without
  it; `whole`, pattern of the words for which this is wrong.
- `nouns`: pattern of the words that can be keywords; `none`, of those that cannot.
"""

import functools
import re
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from tfsum.text.keywords import Spans
from tfsum.text.rows import Rows
from tfsum.text.splitting_rules import load_tables

LEAST = 0.05  # of the words of a text are empty ones of its language
LARGEST = (1 << 63) - 1
# Hangul syllables stand in the order of their final consonants, of which there are 27. Those of
# verbs, such as ㄲ and ㅍ, end no syllable that is written in Chinese characters too.
_FINALS = {
    "open": [0],
    "nieun": [4],
    "rieul": [8],
    "past": [20],
    "verbal": [2, 5, 6, 7, 9, 10, 11, 14, 15, 18, 20, 22, 25, 26, 27],
}
_OF_FINAL = {
    name: "".join(chr(code) for number in numbers for code in range(0xAC00 + number, 0xD7A4, 28))
    for name, numbers in _FINALS.items()
}
_SYLLABLES = {
    "open": rf"[{_OF_FINAL['open']}A-Za-z\d]",
    "final": rf"[^\P{{Hangul}}{_OF_FINAL['open']}]",
    "closed": rf"(?:[^\P{{Hangul}}{_OF_FINAL['open']}]|[A-Za-z\d])",
    "liquid": rf"[{_OF_FINAL['open']}{_OF_FINAL['rieul']}A-Za-z\d]",
    "nieun": f"[{_OF_FINAL['nieun']}]",
    "rieul": f"[{_OF_FINAL['rieul']}]",
    "past": f"[{_OF_FINAL['past']}]",
    "verbal": f"[{_OF_FINAL['verbal']}]",
}


def content_words(parts: Spans, texts: Rows) -> tuple[Spans, tf.Tensor]:
    """Takes off words what is no part of them.

    Args:
        parts: Words of texts and what stands between them (`tfsum.text.keywords.words_of`).
        texts: Text of each part (M,).

    Returns:
        The parts, words without what is joined to them; and whether each can be a keyword or a
        word of one, (M,) bool.

    Example:
        >>> from tfsum.text.keywords import words_of
        >>> parts = words_of(tf.constant(["연구진은 쥐의 크기가 줄었다고 밝혔다."]))
        >>> words, are_content = content_words(parts, Rows(tf.zeros_like(parts.sentence), 1))
        >>> [word.decode() for word in tf.boolean_mask(words.text, are_content).numpy()]
        ['연구진', '쥐', '크기']
    """
    # (U, L) whether each different part is an empty word of each language
    different, place = tf.unique(parts.text, tf.int64)
    empty = _empty_words(different)
    # (M, L) whether a part is of a text in each language
    counts = texts.sum(tf.cast(tf.gather(empty, place), tf.float32))
    is_most = counts == tf.reduce_max(counts, 1, keepdims=True)
    least = LEAST * texts.count_of(parts.is_word)[:, tf.newaxis]
    in_text = texts.to_values(is_most & (counts > least))

    text, start, can_be = parts.text, parts.start, parts.is_word
    for number, table in enumerate(load_tables("keywords")):
        is_its = in_text[:, number]
        if "letters" in table:
            is_its |= tf.gather(_matches(different, table["letters"]), place)
        bare = _without_joined(different, table)
        before = tf.strings.length(different) - tf.strings.length(bare)
        core, can = _core(bare, table)
        can &= ~empty[:, number]
        if bare is not different:
            can &= ~_empty_words(bare)[:, number]

        text = tf.where(is_its, tf.gather(core, place), text)
        start += tf.where(is_its, tf.gather(before, place), 0)
        can_be &= tf.gather(can, place) | ~is_its
    return Spans(text, parts.sentence, start), can_be


def _without_joined(words: tf.Tensor, table: Mapping[str, str]) -> tf.Tensor:
    """Words of a language (U,) without what is joined before them."""
    if "joined" not in table:
        return words
    bare = tf.strings.regex_replace(words, f"^(?i:{table['joined']})", "")
    return tf.where(bare == "", words, bare)


def _core(words: tf.Tensor, table: Mapping[str, str]) -> tuple[tf.Tensor, tf.Tensor]:
    """Words of a language (U,) without their endings, and whether they can be keywords."""
    core, can_be = words, tf.ones_like(words, tf.bool)
    if "nouns" in table:
        can_be &= _matches(words, table["nouns"])
    if "endings" in table:
        endings = _pattern(table["endings"])
        number = endings.count("(") - endings.count("(?")
        groups = "".join(rf"\{i + 1}" for i in range(number))
        cut = tf.strings.regex_replace(words, f"^(?:{endings})$", groups)
        core = tf.where(_matches(words, table["whole"]), words, cut)
    if "none" in table:
        can_be &= ~(_matches(words, table["none"]) | _matches(core, table["none"]))
    return core, can_be


def _matches(words: tf.Tensor, pattern: str) -> tf.Tensor:
    return tf.strings.regex_full_match(words, _pattern(pattern))


def _empty_words(words: tf.Tensor) -> tf.Tensor:
    """Whether words (U,) are empty ones of each language, (U, L) bool."""
    listed, languages = _listed()

    def coded(strings: tf.Tensor) -> tf.Tensor:
        plain = tf.strings.regex_replace(strings, "’", "'")
        return tf.strings.to_hash_bucket_fast(tf.strings.upper(plain, "utf-8"), LARGEST)

    codes = coded(tf.constant(listed))
    order = tf.argsort(codes)
    codes, code = tf.gather(codes, order), coded(words)
    place = tf.minimum(tf.searchsorted(codes, code), len(listed) - 1)
    is_listed = tf.gather(codes, place) == code
    number = tf.where(is_listed, tf.gather(tf.constant(languages), tf.gather(order, place)), 0)
    powers = 2 ** tf.range(len(load_tables("keywords")))
    return number[:, tf.newaxis] // powers % 2 == 1


@functools.cache
def _listed() -> tuple[list[str], np.ndarray]:
    """The empty words of all languages, and which of them have each: a sum of powers of two, int32
    (W,), since bools for each language would be most of a graph's tables."""
    empty = [set(table.get("empty", "").split()) for table in load_tables("keywords")]
    words = sorted(set().union(*empty))
    has = np.array([[word in of for of in empty] for word in words])
    return words, has @ (1 << np.arange(len(empty), dtype=np.int32))


def _pattern(text: str) -> str:
    """A pattern of a file, whose lines are one, with the syllables that it names."""
    return re.sub(r"<(\w+)>", lambda match: _SYLLABLES[match[1]], re.sub(r"(^|\n) *", "", text))
