"""The words by which a text is known as English, and as news; needs no TensorFlow."""

import re

# "a" is as common in Hungarian and Portuguese.
COMMON = frozenset(
    "the of and to in that is was for it on with he said are as his be by have from at an this they"
    " not but were has had she her will who".split()
)
LEAST = 0.15  # of the words of an English text are common ones
REPORTED = frozenset(
    "said says told monday tuesday wednesday thursday friday saturday sunday".split()
)
LEAST_REPORTED = 0.002  # of the words of news in English
BEGINNING = 20_000  # characters that are looked at


def is_english_news(text: str) -> bool:
    """Whether a text is news in English: who said what, on which day.

    Args:
        text: Text.

    Example:
        >>> is_english_news("The bridge was closed on Monday, the mayor said.")
        True
        >>> is_english_news("The bridge of a graph is an edge that is in no cycle.")
        False
    """
    words = re.findall(r"[^\W\d_]+", text[:BEGINNING].lower())
    common, reported = (sum(word in of for word in words) for of in (COMMON, REPORTED))
    return common > LEAST * len(words) and reported >= max(1, LEAST_REPORTED * len(words))
