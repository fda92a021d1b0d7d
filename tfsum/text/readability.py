"""Sentences that read badly out of their place, by simple rules.

English texts have rules of their own for words, and alone those for names; other texts the tables
of all languages in `tfsum/text/languages/`. The rules for marks hold wherever sentences end with
one.
"""

import tensorflow as tf

from tfsum.text.rows import Rows, after, before
from tfsum.text.splitting_rules import load_patterns
from tfsum.text.white_space import UNSPACED

# In ROUGE's F: what a sentence must bring more than another if it has a fault, or lacks one that it
# needs; and if only the one before it is missing.
PENALTY, ALONE = 0.03, 0.008

_PRONOUN = (
    r"(?is)[^\p{L}\p{N}]*(?:he|she|it|they|his|her|its|their|this|these)"
    r"(?:['’](?:s|d|ll|re|ve))?(?:[^\p{L}\p{N}_-].*)?"
)
_CONNECTIVE = (
    r"(?is)[^\p{L}\p{N}]*(?:but|and|so|or|nor|yet|however|also|then|still|meanwhile|instead"
    r"|moreover|now|even|furthermore|therefore|thus|nevertheless|nonetheless|besides|otherwise"
    r"|although|though|while|because|since|indeed|in addition|in contrast|on the other hand"
    r"|as a result|for example|for instance|after all|at the same time|that['’]s why|later|earlier)"
    r"(?:[^\p{L}\p{N}_-].*)?"
)
# after the name of a speaker too
_ANAPHOR = (
    r"(?is)[^\p{{L}}\p{{N}}]*(?-i:(?:\p{{Lu}}[^\s:]* ?){{1,3}}: )?[^\p{{L}}\p{{N}}]*(?:{})"
    r"(?:['’](?:s|d|ll|re|ve))?(?:[^\p{{L}}\p{{N}}_-].*)?"
)
_ENDED = r"(?s).*[.!?…。！？｡．।؟][\"'”’»)\]」』}]*"
_SHORT = r"(?:\S+\s+){0,4}\S*"
_TWELVE = rf"(?s)(?:.*[{UNSPACED}]){{12}}.*"
_ODD = r'(?s)[^"]*"(?:[^"]*"[^"]*")*[^"]*'
_PAIRS = (("“", "”"), ("«", "»"))

_NAME = r"[^\p{L}\p{N}]*\p{Lu}[\p{L}\p{M}'’-]+[^\p{L}\p{N}]*"
_NO_NAME = (  # capitalized at the start of a sentence
    r"(?i)[^\p{L}]*(?:the|a|an|and|but|or|so|if|as|at|by|for|from|in|of|on|to|with|after|before|since"
    r"|while|when|where|who|what|why|how|because|although|though|he|she|it|they|we|i|you|his|her|its"
    r"|their|our|my|your|this|that|these|those|there|here|no|not|some|many|most|more|other|last|next"
    r"|one|two|three|then|now|all|both)[^\p{L}]*"
)
_AROUND = r"^[^\p{L}\p{N}]+|(?:['’]s)?[^\p{L}\p{N}]*$"
_STOPS = r".*[^\p{L}\p{N}]"  # a mark after a word ends a name

# What an article begins with, its place and its agency: "(CNN) -- ", "LONDON, England (CNN) -- ",
# "Seoul (AP) -- ", "HARLOW BAY (Coastal Post) -- ", "HARLOW BAY, Maine — " without another dash,
# "(서울=연합뉴스) 김하나 기자 = ", "[항구신문 김하나 기자] ", "本报讯（记者 王明）".
# Words and no lengths of letters: RE2 unrolls what is counted.
_AGENCY = (
    r"(?i:CNN[^()]{0,20}|AP|AFP|Reuters|UPI|Xinhua|dpa|ANSA|EFE|TASS|Yonhap|Kyodo|PTI|ANI|IANS"
    r"|Bloomberg)"
)
_PLACE = r"(?:[^\s()]+ ){0,5}"
_DASH = r"\.?\s*(?:--|[—–-])\s*"
_REPORTER = r"\p{Hangul}{2,4}(?:[·,] ?\p{Hangul}{2,4})*\s*(?:인턴)?(?:기자|특파원)"
_DATELINE = (
    rf"^(?:[(\[【][^=＝()\[\]【】]{{1,20}}[=＝][^=＝()\[\]【】]{{1,20}}[)\]】]\s*"
    rf"(?:{_REPORTER}(?:, ?{_REPORTER})*\s*=\s*)?"
    rf"|[(\[][^()\[\]]{{0,20}} {_REPORTER}[)\]]\s*"
    r"|(?:本[报報][讯訊]|(?:新[华華]社|中新[网網社])[^，。（ ]{2,20}[电電])\s*"
    r"(?:[（(][^（()）]{2,30}[)）])?\s*"
    rf"|\([^()]{{2,30}}\){_DASH}|\((?i:CNN)\)\s*|{_PLACE}\({_AGENCY}\){_DASH}"
    rf"|[A-Z]{{3}}{_PLACE}\([^()]{{2,30}}\){_DASH}"
    r"|[A-Z]{3,}(?: [A-Z]+)*(?:, [A-Z][\w.]+)? [—–] (\p{Lu}[^—–]*)$)"
)


def faults(sentences: tf.Tensor, english: tf.Tensor) -> dict[str, tf.Tensor]:
    """Finds the faults of sentences.

    Args:
        sentences: Strings (N,).
        english: Sentences of English texts, bool (N,).

    Returns:
        bool (N,) each: "pronoun" and "connective", a sentence that opens with one, which is a fault
        where its predecessor is missing; "quotes", quotation marks that do not pair; "no_end_mark",
        no mark at the end; "short", under six words, or twelve letters of a script without spaces.

    Example:
        >>> found = faults(tf.constant(["It rained.", "A ship with forty men sank."]), [True, True])
        >>> {name: flags.numpy().tolist() for name, flags in found.items() if flags.numpy().any()}
        {'pronoun': [True, False], 'short': [True, False]}
    """

    def matches(pattern: str) -> tf.Tensor:
        return tf.strings.regex_full_match(sentences, pattern)

    def count(mark: str) -> tf.Tensor:
        return tf.strings.length(tf.strings.regex_replace(sentences, f"[^{mark}]+", ""))

    unpaired = [count(first) != count(second) for first, second in _PAIRS]
    connective = matches(_ANAPHOR.format(load_patterns()["connectives"]))
    return {
        "pronoun": tf.where(english, matches(_PRONOUN), opens_with_anaphor(sentences)),
        "connective": tf.where(english, matches(_CONNECTIVE), connective),
        "quotes": tf.reduce_any([matches(_ODD), *unpaired], 0),
        "no_end_mark": ~matches(_ENDED),
        "short": matches(_SHORT) & ~matches(_TWELVE),
    }


def antecedents(documents: Rows, opens: tf.Tensor, names: tf.Tensor) -> tf.Tensor:
    """Finds the sentences that others need to be understood.

    A sentence that opens with a pronoun or a connective needs the one before it, and one with a
    part of a name alone the one that `names_in_full` finds.

    Args:
        documents: Document of each of the N sentences.
        opens: Sentences that open with a pronoun or a connective (`faults`), (N,) bool.
        names: Result of `names_in_full`.

    Returns:
        int64 (E, 2), pairs of a sentence and one that it needs, numbered through all documents.

    Example:
        >>> documents = Rows(tf.constant([0, 0, 0], tf.int64), 1)
        >>> opens, names = tf.constant([False, False, True]), tf.constant([[2, 0]], tf.int64)
        >>> antecedents(documents, opens, names).numpy().tolist()
        [[2, 1], [2, 0]]
    """
    # (E, 2) sentences that need the one before them, and that
    second = tf.where(opens & documents.continues())
    return tf.concat([tf.concat([second, second - 1], 1), names], 0)


def names_in_full(texts: tf.RaggedTensor, english: tf.Tensor) -> tf.Tensor:
    """Finds the sentences with the last part of a name alone, "Holt", and for each the first before
    it that holds the name in full, "Mayor Anna Holt", unless it does so itself.

    Args:
        texts: Sentences of documents, (B, S) strings.
        english: Sentences of English texts, bool (N,) for the N sentences of all documents: names
            count in no others, in some of which every noun is capitalized.

    Returns:
        int64 (E, 2), pairs of such sentences, numbered through all documents, the first in order.

    Example:
        >>> texts = tf.ragged.constant([["Anna Holt spoke.", "Rain fell.", "They heard Holt."]])
        >>> names_in_full(texts, tf.fill([3], True)).numpy().tolist()
        [[2, 0]]
    """
    # (W,) the words of all sentences, and whether they are earlier or later parts of full names
    documents = Rows.of(texts)
    split = tf.strings.split(tf.where(english, texts.flat_values, ""))
    words, in_sentence = split.flat_values, Rows.of(split)
    earlier, later, is_name = _parts_of_names(words, in_sentence)

    # (W,) the first sentence of the text in which the word is the later part of a full name
    sentence, every = in_sentence.owner, in_sentence.count
    _, parts = Rows.of_equal(tf.strings.regex_replace(words, _AROUND, ""))
    text = in_sentence.to_values(documents.owner)
    _, names = Rows.of_equal(parts.owner * tf.maximum(documents.count, 1) + text)
    first = tf.gather(tf.concat([sentence, [every]], 0), names.first(later))
    introduced = names.to_values(first)

    # (W,) the last part alone, in a sentence that does not have the name in full too
    _, in_same = Rows.of_equal(names.owner * every + sentence)
    alone = is_name & ~later & ~earlier & ~in_same.to_values(in_same.any(later))
    needs = tf.where(alone & (introduced < sentence))[:, 0]
    return tf.stack([tf.gather(sentence, needs), tf.gather(introduced, needs)], 1)


def _parts_of_names(words: tf.Tensor, sentences: Rows) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Whether words (W,) are parts of a name that goes on, that began before, and names at all."""
    is_name = tf.strings.regex_full_match(words, _NAME)
    is_name &= ~tf.strings.regex_full_match(words, _NO_NAME)
    may_go_on = is_name & ~tf.strings.regex_full_match(words, _STOPS)
    later = is_name & sentences.continues() & before(may_go_on, False)
    return after(later, False), later, is_name


def opens_with_anaphor(sentences: tf.Tensor) -> tf.Tensor:
    """Tells which sentences open with a pronoun or a demonstrative, by the tables of all languages.

    Args:
        sentences: Strings (N,).

    Returns:
        bool (N,).

    Example:
        >>> opens_with_anaphor(
        ...     tf.constant(["It rained.", "이는 드물다.", "Item one."])
        ... ).numpy().tolist()
        [True, True, False]
    """
    return tf.strings.regex_full_match(sentences, _ANAPHOR.format(load_patterns()["anaphors"]))


def without_dateline(sentences: tf.Tensor) -> tf.Tensor:
    """Cuts the dateline off sentences, an agency's name in parentheses and what stands before it.

    Args:
        sentences: Strings of any shape.

    Returns:
        The rest of each; the whole where nothing would be left.

    Example:
        >>> without_dateline(tf.constant(["Seoul (AP) -- A frog was found."])).numpy().tolist()
        [b'A frog was found.']
    """
    rest = tf.strings.regex_replace(sentences, _DATELINE, r"\1", replace_global=False)
    return tf.where(rest == "", sentences, rest)
