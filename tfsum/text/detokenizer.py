"""From word piece ids to text in the graph, core operations alone.

Ids of escaped texts (`tfsum.text.escape`) give the text back byte for byte. Those of a plain BERT
vocabulary do not hold the spaces; rules of English and of scripts without spaces restore them.
"""

import re
from collections.abc import Sequence

import tensorflow as tf

from tfsum.text.escape import BYTE_PIECES, JOIN_MARK, SPACE_MARK, SYMBOLS, is_reversible

UNKNOWN = "\ufffd"  # REPLACEMENT CHARACTER, the text of an unknown token
UNKNOWN_TOKEN = "[UNK]"
_SILENT = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
_UNUSED = re.compile(r"\[unused\d+\]")  # what a vocabulary of BERT has to spare
_READ = {SPACE_MARK: " ", JOIN_MARK: ""} | {
    symbol: character for character, symbol in SYMBOLS.items()
}

_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\x{3000}-\x{303f}\x{ff01}-\x{ff65}]"
# Joins words and marks: (pattern, rewrite), in this order.
_SPACING = (
    (rf"({_UNSPACED}) ({_UNSPACED})", r"\1\2"),
    (rf"({_UNSPACED}) ({_UNSPACED})", r"\1\2"),  # once more: matches do not overlap
    (r'" ([^"]*[^" ]) "', r'"\1"'),
    (r" ([.,;:!?…%)\]}»”])", r"\1"),
    (r"([(\[{«“$£€#@]) ", r"\1"),
    (r"([\pL\pN]) ?([-–/_'’]) ([\pL\pN])", r"\1\2\3"),
    (r"([\pL\pN]) ?([-–/_'’]) ([\pL\pN])", r"\1\2\3"),
    (r"(\pN)([.:]) (\pN)", r"\1\2\3"),
    (r"(\pN), (\pN{3})\b", r"\1,\2"),
    (r"([.!?]) ([.!?])", r"\1\2"),
)


class Detokenizer(tf.Module):
    """Turns ids into texts; special and unused tokens say nothing, an unknown token is U+FFFD.

    Args:
        vocabulary: The word pieces in the order of their ids.
        unknown_token: The piece of words that could not be built.
        line_break: The piece that ends a line of a text, if there is one.

    Example:
        >>> detokenizer = Detokenizer(["[PAD]", "[UNK]", "It", "rain", "##ed", "."])
        >>> detokenizer.detokenize(tf.constant([[2, 3, 4, 5, 0, 0]])).numpy()
        array([b'It rained.'], dtype=object)
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        unknown_token: str = UNKNOWN_TOKEN,
        line_break: str | None = None,
    ) -> None:
        super().__init__(name="detokenizer")
        self.reversible = is_reversible(vocabulary)
        text_of = _escaped_text if self.reversible else _plain_text
        special: dict[str | None, bytes] = {
            **dict.fromkeys((*_SILENT, *filter(_UNUSED.fullmatch, vocabulary)), b""),
            unknown_token: f" {UNKNOWN}".encode(),
            line_break: b"\n",
        }
        self._lines = line_break is not None
        with tf.init_scope():
            self._texts = tf.constant(
                [special.get(piece, text_of(piece)) for piece in vocabulary], tf.string
            )

    def detokenize(self, ids: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
        """Turns ids into texts.

        Args:
            ids: (B, L) integers, padded with 0 or ragged.

        Returns:
            (B,) string of valid UTF-8.
        """
        texts = tf.strings.reduce_join(tf.gather(self._texts, ids), axis=-1)
        # A text begins as if a space stood before it.
        texts = tf.strings.regex_replace(texts, "^ ", "", replace_global=False)
        if not self.reversible:
            for pattern, rewrite in _SPACING:
                texts = tf.strings.regex_replace(texts, pattern, rewrite)
        if self._lines:
            texts = tf.strings.regex_replace(
                tf.strings.regex_replace(texts, r" *\n[ \n]*", "\n"), r"^\n|\n$", ""
            )
        # Bytes that a model put side by side need not be a character.
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")


def bytes_said(vocabulary: Sequence[str]) -> list[int]:
    """Counts the bytes of text in each word piece, without white space; an unknown word counts as
    one.

    Args:
        vocabulary: V word pieces in the order of their ids.

    Returns:
        V numbers of bytes, 0 for the other special tokens.

    Example:
        >>> bytes_said(["[PAD]", "[UNK]", "rain", "##ed"])
        [0, 1, 4, 2]
    """
    text_of = _escaped_text if is_reversible(vocabulary) else _plain_text
    sizes = [
        len(
            "".join(text_of(piece).decode(errors="surrogateescape").split()).encode(
                errors="surrogateescape"
            )
        )
        for piece in vocabulary
    ]
    of_special = {UNKNOWN_TOKEN: 1, **dict.fromkeys(_SILENT, 0)}
    return [of_special.get(piece, size) for piece, size in zip(vocabulary, sizes)]


def _escaped_text(piece: str) -> bytes:
    """What a piece of an escaped text says: bytes of a character, or characters with marks read as
    spaces."""
    if piece in BYTE_PIECES:
        return bytes([BYTE_PIECES[piece]])
    return "".join(
        _READ.get(character, character) for character in piece.removeprefix("##")
    ).encode()


def _plain_text(piece: str) -> bytes:
    """What a piece of a plain vocabulary says: the rest of a word, or a word with a space before
    it."""
    inside = piece.startswith("##") and len(piece) > 2
    return (piece[2:] if inside else f" {piece}").encode()
