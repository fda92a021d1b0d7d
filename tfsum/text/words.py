"""The words of a sentence in any script, as the oracle and ROUGE count them."""

import unicodedata

# Scripts written without spaces between words: their characters are counted one by one.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic marks that are letters or numbers
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
_APOSTROPHES = "\u2018\u2019\u02bc\u2010\u2011\u00ad"


def is_unspaced(code: int) -> bool:
    """Whether a code point is one of a script that is written without spaces.

    Example:
        >>> is_unspaced(ord("港")), is_unspaced(ord("항"))
        (True, False)
    """
    return any(first <= code <= last for first, last in _UNSPACED)


class _Table(dict):
    """What `str.translate` puts for each character, worked out at its first sight."""

    def __init__(self, ascii_mark: str):
        super().__init__()
        self.ascii_mark = ascii_mark

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if is_unspaced(code) and category[0] in "LMN":
            value = f" {character} "
        elif category[0] in "LMN":
            value = character
        elif category == "Cf":
            value = ""
        elif character.isspace() or (code > 127 and character not in _APOSTROPHES):
            value = " "
        else:
            value = self.ascii_mark
        self[code] = value
        return value


_JOINED = _Table("")
_SPLIT = _Table(" ")


def joined_words(text: str) -> list[str]:
    """Words as BertSum's oracle sees them: punctuation is deleted (`well-known` -> `wellknown`).

    Args:
        text: Any text.

    Returns:
        Lower-cased words; characters of scripts without spaces (Han, Kana, Thai...) one by one,
        Hangul by words. English as `_get_word_ngrams` of the original (lower-cased); letters that
        are not ASCII stay, there they vanish.

    Example:
        >>> joined_words("A well-known rule.")
        ['a', 'wellknown', 'rule']
    """
    return unicodedata.normalize("NFKC", text).lower().translate(_JOINED).split()


def split_words(text: str) -> list[str]:
    """Words as ROUGE sees them: punctuation separates (`well-known` -> `well`, `known`).

    Args:
        text: Any text.

    Returns:
        Lower-cased words of every script; characters of scripts without spaces one by one, Hangul
        by words.

    Example:
        >>> split_words("A well-known rule.")
        ['a', 'well', 'known', 'rule']
    """
    return unicodedata.normalize("NFKC", text).lower().translate(_SPLIT).split()
