"""Writes texts so that BERT's splitting loses nothing: a piece knows whether a space precedes it.

WordPiece forgets white space, drops what it cleans away and gives [UNK] for letters it never saw,
so that its ids cannot be turned into the text again. Here every word of letters begins with one of
two marks, U+2581 after a space and U+2323 after anything else; other white space has a symbol of
its own, and a character outside the alphabet becomes the bytes of its UTF-8, written as Braille
patterns (U+2800 + byte). Marks, symbols and patterns are letters to BERT, which leaves them alone:

    l'été, 3 m² !   ->   ▁l ' ⌣été , ▁3 ▁m ⣂ ⢲ ⍽ !

Since the marks carry the spaces, the spaces of the written text only part words, and each letter
needs one piece, the one inside words. The idea of the mark is SentencePiece's, that of bytes its
byte fallback. Source: Kudo and Richardson, "SentencePiece", 2018, section 3.2.
"""

from collections.abc import Collection

import numpy as np
import tensorflow as tf

from tfsum.text.compose import Compose
from tfsum.text.normalizer import equal_pages, load_code_point_map
from tfsum.text.rows import Rows, after, before, place_in_run, rows_and_places

SPACE_MARK, JOIN_MARK = "\u2581", "\u2323"
# Characters that BERT's cleaning turns into a plain space or drops, but that texts are made of.
SYMBOLS = {
    "\t": "\u2409",  # SYMBOL FOR HORIZONTAL TABULATION
    "\n": "\u240a",  # SYMBOL FOR LINE FEED
    "\u00a0": "\u237d",  # no-break space: SHOULDERED OPEN BOX
    "\u202f": "\u2423",  # narrow no-break space, before French marks: OPEN BOX
    "\u3000": "\u2b1a",  # ideographic space: DOTTED SQUARE
    "\u200c": "\u234a",  # zero width non-joiner, inside Persian words
    "\u200d": "\u2351",  # zero width joiner, inside emoji
}
BYTE_PIECES = {chr(0x2800 + byte): byte for byte in (*range(0x80, 0xC0), *range(0xC2, 0xF5))}
PIECES = (SPACE_MARK, JOIN_MARK, *SYMBOLS.values(), *BYTE_PIECES)

_SPACE, _MARK, _JOIN = 0x20, ord(SPACE_MARK), ord(JOIN_MARK)
# What a character is: dropped, the plain space, a letter, a word of its own, none of them (bytes);
# symbols follow.
_DROPPED, _BLANK, _LETTER, _ALONE, _UNKNOWN, _FIRST_SYMBOL = range(6)


def is_reversible(vocabulary: Collection[str]) -> bool:
    """Returns whether a vocabulary was made for escaped texts, by the pieces that no other has.

    Args:
        vocabulary: The word pieces.

    Example:
        >>> is_reversible(["[PAD]", "[UNK]", "rain"]), is_reversible(PIECES)
        (False, True)
    """
    return set(PIECES) <= set(vocabulary)


class Escape(tf.Module):
    """Writes texts as WordPiece can read and give back; core operations alone.

    Letters and accents written apart are composed, as in NFC. Only control characters (but tab and
    new line), what `lowercase` and `strip_accents` change and bytes that are not UTF-8 are lost.

    Args:
        vocabulary: Word pieces, `PIECES` among them; its alphabet are those of one character, "##"
            before letters, and holds printable ASCII (the only characters without byte pieces).
        lowercase: Whether WordPiece lowers letters.
        strip_accents: Whether it drops accents.
        max_characters: Characters of a word at most; longer words are split.

    Example:
        >>> letters = [f"##{chr(code)}" for code in range(0x61, 0x7B)]
        >>> escape = Escape([*PIECES, *letters, "."], lowercase=True, strip_accents=True)
        >>> escape(tf.constant(["It rained."])).numpy()[0].decode()
        ' ▁It ▁rained.'
    """

    def __init__(
        self,
        vocabulary: Collection[str],
        lowercase: bool,
        strip_accents: bool,
        max_characters: int = 100,
    ) -> None:
        super().__init__(name="escape")
        letters = {piece[2:] for piece in vocabulary if piece.startswith("##") and len(piece) == 3}
        alone = {piece for piece in vocabulary if len(piece) == 1} - set(PIECES)
        self._compose = Compose()
        roles, longest = _roles(letters, alone, load_code_point_map(lowercase, strip_accents))
        self._word_length = max(1, (max_characters - 1) // longest)
        self._pages, self._page_of = map(tf.constant, equal_pages(roles))
        self._symbols = tf.constant([ord(symbol) for symbol in SYMBOLS.values()])

    def __call__(self, strings: tf.Tensor) -> tf.Tensor:
        """Escapes texts (N,) string; returns (N,) string, which `Detokenizer` reads back."""
        decoded = tf.strings.unicode_decode(strings, "UTF-8", errors="ignore")
        codes, row = self._compose(decoded.flat_values, Rows.of(decoded).owner)

        # (C,) the role of each character; dropped ones are left out
        entry = tf.gather(self._page_of, codes // 256) * 256 + codes % 256
        role = tf.cast(tf.gather(self._pages, entry), tf.int32)
        kept = role != _DROPPED
        codes, row, role = (tf.boolean_mask(values, kept) for values in (codes, row, role))

        lead, lengths = self._lead(role, row, codes)
        written = _written(codes, role, lead, lengths, self._symbols)
        rows = Rows(row, decoded.nrows()).sum(lengths)
        escaped = tf.RaggedTensor.from_row_lengths(written, rows, validate=False)
        return tf.strings.unicode_encode(escaped, "UTF-8")

    def _lead(
        self, role: tf.Tensor, row: tf.Tensor, codes: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The mark before each character, 0 for none, and its length when written, (C,) each.

        A letter that begins a word has a space and a mark before it. A plain space is the mark of
        the letter after it, and a mark of its own where none follows. A text that begins with a
        letter or a space begins as if a space stood before it.
        """
        letter, blank, first = role == _LETTER, role == _BLANK, before(row, -1) != row
        role_before = tf.where(first, _BLANK, before(role, _BLANK))
        letter_after = after(letter & ~first, False)

        opens = letter & (role_before != _LETTER)
        opens |= letter & (place_in_run(opens | ~letter) % self._word_length == 0)
        lead = tf.where(opens, tf.where(role_before == _BLANK, _MARK, _JOIN), 0)

        marks = tf.where(letter_after, 0, 2) + tf.where(first, 2, 0)  # a space and the mark, each
        lengths = tf.where(blank, marks, tf.where(opens, 3, 1))
        lengths = tf.where(role >= _FIRST_SYMBOL, 3, lengths)
        return lead, tf.where(role == _UNKNOWN, 2 * _width(codes) + 1, lengths)


def _width(codes: tf.Tensor) -> tf.Tensor:
    """Bytes of UTF-8 of each code point."""
    return 1 + sum(tf.cast(codes >= limit, tf.int32) for limit in (0x80, 0x800, 0x10000))


def _written(
    codes: tf.Tensor, role: tf.Tensor, lead: tf.Tensor, lengths: tf.Tensor, symbols: tf.Tensor
) -> tf.Tensor:
    """The code points of all characters written out, `lengths` of each: (sum of lengths,)."""
    origin, place = rows_and_places(lengths)
    codes, role, lead = (tf.gather(values, origin) for values in (codes, role, lead))

    # what is written at each place, for each role of character
    opening = tf.where(place == 0, _SPACE, tf.where(place == 1, lead, codes))
    letter = tf.where(lead > 0, opening, codes)
    blank = tf.where(place % 2 == 0, _SPACE, _MARK)
    symbol = tf.where(place == 1, tf.gather(symbols, tf.maximum(role - _FIRST_SYMBOL, 0)), _SPACE)
    unknown = tf.where(place % 2 == 0, _SPACE, 0x2800 + _byte(codes, place // 2))

    written = tf.where(role == _BLANK, blank, letter)
    written = tf.where(role >= _FIRST_SYMBOL, symbol, written)
    return tf.where(role == _UNKNOWN, unknown, written)


def _byte(codes: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """The byte of this number (from 0) of each code point's UTF-8; 0 past its end."""
    width = _width(codes)
    bits = codes // tf.gather([1, 1 << 6, 1 << 12, 1 << 18], tf.maximum(width - 1 - number, 0))
    leading = tf.gather([0, 0x00, 0xC0, 0xE0, 0xF0], width)
    byte = tf.where(number == 0, leading + bits, 0x80 + bits % 64)
    return tf.where(number < width, byte, 0)


def _roles(letters: set[str], alone: set[str], changed: dict[int, str]) -> tuple[np.ndarray, int]:
    """What each code point is, (0x110000,) int8, and the longest that a letter becomes."""
    cleaned = load_code_point_map(False, False)
    roles, longest = np.full(0x110000, _UNKNOWN, np.int8), 1
    roles[:0x20] = roles[0x7F] = _DROPPED
    unchanged = set(map(ord, letters - set(PIECES))) - changed.keys()
    roles[list(unchanged)] = _LETTER
    for point, text in changed.items():
        if text and set(text) <= letters - set(PIECES):
            roles[point], longest = _LETTER, max(longest, len(text))
        elif text.startswith(" ") and text.strip() in alone:
            roles[point] = _ALONE
        # An accent goes as was asked for; what only the cleaning drops is kept as bytes.
        elif not text and cleaned.get(point, "-"):
            roles[point] = _DROPPED
    roles[_SPACE] = _BLANK
    roles[list(map(ord, SYMBOLS))] = _FIRST_SYMBOL + np.arange(len(SYMBOLS))
    return roles, longest
