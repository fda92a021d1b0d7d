"""Sentences that read badly out of their place, by simple rules.

The words are English; the other rules hold for every language whose sentences end with a mark.
"""

import tensorflow as tf

PENALTY = 0.02  # in ROUGE's F: what a sentence with a fault must bring more than another

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
_ENDED = r"(?s).*[.!?…。！？｡．।؟][\"'”’»)\]」』}]*"
_SHORT = r"(?:\S+\s+){0,4}\S*"
_ODD = r'(?s)[^"]*"(?:[^"]*"[^"]*")*[^"]*'
_PAIRS = (("“", "”"), ("«", "»"))

# What a place of an article begins with: "(CNN) -- ", "LONDON, England (CNN) -- ",
# "Seoul (AP) -- ", "HARLOW BAY (Coastal Post) -- ".
# Words and no lengths of letters: RE2 unrolls what is counted.
_AGENCY = (
    r"(?i:CNN[^()]{0,20}|AP|AFP|Reuters|UPI|Xinhua|dpa|ANSA|EFE|TASS|Yonhap|Kyodo|PTI|ANI|IANS"
    r"|Bloomberg)"
)
_PLACE = r"(?:[^\s()]+ ){0,5}"
_DASH = r"\s*(?:--|[—–-])\s*"
DATELINE = (
    rf"^(?:\([^()]{{2,30}}\){_DASH}|\((?i:CNN)\)\s*|{_PLACE}\({_AGENCY}\){_DASH}"
    rf"|[A-Z]{{3}}{_PLACE}\([^()]{{2,30}}\){_DASH})"
)


def faults(sentences: tf.Tensor) -> dict[str, tf.Tensor]:
    """Finds the faults of sentences.

    Args:
        sentences: Strings (N,).

    Returns:
        bool (N,) each: "pronoun" and "connective", a sentence that opens with one, which is a fault
        where its predecessor is missing; "quotes", quotation marks that do not pair; "no_end_mark",
        no mark at the end; "short", under six words.

    Example:
        >>> found = faults(tf.constant(["It rained.", "A ship with forty men sank."]))
        >>> {name: flags.numpy().tolist() for name, flags in found.items() if flags.numpy().any()}
        {'pronoun': [True, False], 'short': [True, False]}
    """

    def matches(pattern: str) -> tf.Tensor:
        return tf.strings.regex_full_match(sentences, pattern)

    def count(mark: str) -> tf.Tensor:
        others = tf.strings.regex_replace(sentences, mark, "")
        return tf.strings.length(sentences) - tf.strings.length(others)

    unpaired = [count(first) != count(second) for first, second in _PAIRS]
    return {
        "pronoun": matches(_PRONOUN),
        "connective": matches(_CONNECTIVE),
        "quotes": tf.reduce_any([matches(_ODD), *unpaired], 0),
        "no_end_mark": ~matches(_ENDED),
        "short": matches(_SHORT),
    }


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
    rest = tf.strings.regex_replace(sentences, DATELINE, "", replace_global=False)
    return tf.where(rest == "", sentences, rest)
