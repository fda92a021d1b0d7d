"""Texts of 21 classes on which tokenizers differ, drawn at random but the same for the same seed."""

import random
from collections.abc import Callable

ENGLISH = """our deeds are the reason of this earthquake forest fire near la ronge canada summit U.S. don't
well-known 3.5 10,000 $5 unaffable embeddings tokenization [SEP] [CLS] [UNK] (quoted) "said" — … ½ ‘it’s’ a/b
#tag @user http://t.co/Xy9 COVID-19 e.g. i.e. naïve café TensorFlow The United States""".split()
EUROPEAN = """Straße GROẞE Übergrößenträger Öl ça Noël œuvre élève İstanbul IĞDIR ışık DİYARBAKIR şğüö ΣΊΣΥΦΟΣ
ΎΣ Ὀδυσσεύς ᾳ ΐ ς Σ ß ﬁancé Ǆ ǅ ŉ Łódź Æsir þing ñandú""".split()


def ranges(*spans: tuple[int, int]) -> list[str]:
    """All characters of inclusive spans of code points."""
    return [chr(c) for first, last in spans for c in range(first, last + 1)]


def words_of(characters: list[str], longest: int = 8) -> Callable[[random.Random], str]:
    """Texts of words of these characters, now and then with English between them."""

    def draw(r: random.Random) -> str:
        def word() -> str:
            if r.random() < 0.2:
                return r.choice(ENGLISH)
            return "".join(r.choices(characters, k=r.randint(1, longest)))

        return r.choice([" ", " ", "", ", "]).join(word() for _ in range(r.randint(0, 12)))

    return draw


def choice_of(words: list[str]) -> Callable[[random.Random], str]:
    """Texts of given words, cased at random."""

    def draw(r: random.Random) -> str:
        change = [str, str, str.upper, str.title, str.swapcase]
        return " ".join(r.choice(change)(r.choice(words)) for _ in range(r.randint(0, 25)))

    return draw


def between_letters(characters: list[str]) -> Callable[[random.Random], str]:
    """English and other words with characters thrown in anywhere."""

    def draw(r: random.Random) -> str:
        text = list(" ".join(r.choices(ENGLISH + EUROPEAN + ["한국어", "中文", "5"], k=r.randint(0, 10))))
        for _ in range(r.randint(1, 12)):
            text.insert(r.randint(0, len(text)), r.choice(characters))
        return "".join(text)

    return draw


def long_words(r: random.Random) -> str:
    """Words about as long as the limit of 100 characters, of one to four bytes each."""
    alphabet = r.choice([ranges((97, 122)), ranges((0x430, 0x44F)), ranges((0xAC00, 0xACFF)),
                         ["e\u0301", "a", "ñ"], ["un", "able", "ing", "the"], ranges((0x10400, 0x1044F))])
    return " ".join("".join(r.choices(alphabet, k=r.choice([30, 50, 98, 99, 100, 101, 102, 110])))
                    for _ in range(r.randint(1, 4)))


def invalid(r: random.Random) -> bytes:
    """Bytes that are not UTF-8: cut sequences, overlong forms, surrogates, bytes above the last code point."""
    data = bytearray(r.choice([CLASSES["English"], CLASSES["Chinese"], CLASSES["emoji"]])(r).encode())
    bad = [b"\xff", b"\xc0\xaf", b"\xe2\x82", b"\xf0\x9f\x92", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80",
           b"\xc3", b"\xe0\x80\xaf", b"\xf8\x88\x80\x80\x80", bytes([r.randrange(0x80, 0x100)])]
    for _ in range(r.randint(1, 6)):
        at = r.randint(0, len(data))
        data[at:at + r.randint(0, 1)] = r.choice(bad)
    return bytes(data)


def everything(r: random.Random) -> str:
    """Parts of texts of all other classes in one."""
    names = [name for name in CLASSES if name not in ("invalid UTF-8", "everything")]
    return r.choice(["", " "]).join(CLASSES[r.choice(names)](r)[:12] for _ in range(r.randint(1, 6)))


CLASSES: dict[str, Callable[[random.Random], str | bytes]] = {
    "English": choice_of(ENGLISH),
    "Korean": words_of(ranges((0xAC00, 0xD7A3)) + ranges((0x1100, 0x11FF), (0x3131, 0x318E))),
    "Chinese": words_of(ranges((0x4E00, 0x5200), (0x3400, 0x3410)) + list("，。！？（）《》、：；“”　") * 20),
    "Japanese": words_of(ranges((0x3041, 0x30FF), (0x4E00, 0x4F00)) + list("、。「」ーガギﾊﾟ々〆")),
    "Arabic": words_of(ranges((0x600, 0x6FF), (0xFB50, 0xFBC1))),
    "Hindi, Tamil": words_of(ranges((0x900, 0x97F), (0xB80, 0xBFF))),
    "Thai": words_of(ranges((0xE01, 0xE3A), (0xE3F, 0xE5B)), 20),
    "German, French, Turkish, Greek": choice_of(EUROPEAN + ENGLISH[:8]),
    "emoji": words_of(ranges((0x1F300, 0x1F64F)) + ["\u200d", "\ufe0f", "👨‍👩‍👧", "👍🏽", "🇰🇷"] * 50, 4),
    "symbols": words_of(ranges((0x2000, 0x2BFF), (0x20, 0x40), (0xA1, 0xBF))),
    "control characters": between_letters([*ranges((1, 31), (0x7F, 0x9F)), "\u20e3"]),
    "zero width": between_letters(list("\u200b\u200c\u200d\u200e\u2060\ufeff\u00ad\u061c\ufe0f\u180e")),
    "combining marks": between_letters(ranges((0x300, 0x36F), (0x1AB0, 0x1AFF), (0x1DC0, 0x20F0))),
    "private use": between_letters(
        ranges((0xE000, 0xE100), (0xF8F0, 0xF8FF), (0xF0000, 0xF0010), (0x10FFF0, 0x10FFFD))),
    "unusual spaces": between_letters(
        ranges((0x2000, 0x200A), (0x2028, 0x2029)) + list("\xa0\u1680\u202f\u205f\u3000\x85\v\f")),
    "compatibility forms": words_of(
        ranges((0xFF01, 0xFFEE), (0x3300, 0x33FF), (0xFB00, 0xFB4F), (0x2150, 0x218B), (0xF900, 0xFA6D))),
    "random code points": words_of(
        ranges((0x21, 0xD7FF), (0xE000, 0x1FFFF), (0x2F800, 0x2FA1F), (0xE0100, 0xE01EF))),
    "words of 30-110 characters": long_words,
    "U+0000 inside": between_letters(["\0"]),
    "invalid UTF-8": invalid,
    "everything": everything,
}


def draw(name: str, count: int, seed: int = 0) -> list[bytes]:
    """Draws texts of a class, as bytes."""
    r = random.Random(f"{name} {seed}")
    texts = (CLASSES[name](r) for _ in range(count))
    return [text if isinstance(text, bytes) else text.encode() for text in texts]
