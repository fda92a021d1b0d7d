"""Unicode's compatibility normalization (NFKC), by core operations alone."""

import functools
import unicodedata

import numpy as np
import tensorflow as tf

from tfsum.text.compose import Compose
from tfsum.text.normalizer import replacement_pages
from tfsum.text.rows import Rows, rows_and_places
from tfsum.text.white_space import UNSPACED

MARK = "[NFKC]"
"""Piece of a vocabulary whose texts are normalized by NFKC, as those of e5 and XLM-R are."""

_SAME = -1  # entry of a code point that stays
_RUN = f"[{UNSPACED}]{{100}}"


class Nfkc(tf.Module):
    """Normalizes texts by NFKC, and parts runs of scripts without spaces after every
    hundredth letter.

    Wide and narrow forms, ligatures and circled numbers become plain characters ("Ｔ", "ﾀ", "①"),
    letters and accents that are written apart are composed. Not done: putting several accents of a
    letter in order. A sentence of Thai may be one word of over a hundred letters, and WordPiece
    gives up on those.

    Example:
        >>> Nfkc()(tf.constant(["Ｔokyo ﬁne①"])).numpy()[0].decode()
        'Tokyo fine1'
    """

    def __init__(self) -> None:
        super().__init__(name="nfkc")
        self._page_of, self._pages, self._pool = map(tf.constant, _pages())
        self._compose = Compose()

    def __call__(self, strings: tf.Tensor) -> tf.Tensor:
        """Normalizes texts.

        Args:
            strings: Texts, (N,) string; bytes that are not UTF-8 are dropped.

        Returns:
            (N,) string.
        """
        decoded = tf.strings.unicode_decode(strings, "UTF-8", errors="ignore")
        codes, texts = decoded.flat_values, Rows.of(decoded)
        entry = tf.gather(self._pages, tf.gather(self._page_of, codes // 256) * 256 + codes % 256)

        # (M,) for each code point to be written the one it comes from, and its place in the value
        origin, place = rows_and_places(tf.where(entry == _SAME, 1, entry % 64))
        entry = tf.gather(entry, origin)
        changed = tf.gather(self._pool, tf.where(entry == _SAME, 0, entry // 64 + place))
        codes = tf.where(entry == _SAME, tf.gather(codes, origin), changed)

        codes, row = self._compose(codes, texts.at(origin).owner)
        normal = tf.strings.unicode_encode(Rows(row, texts.count).ragged(codes), "UTF-8")
        return tf.strings.regex_replace(normal, _RUN, r"\0 ")


@functools.cache
def _pages() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The changed code points as `replacement_pages`."""
    changed = {
        point: text
        for point in range(0x110000)
        if (text := unicodedata.normalize("NFKC", chr(point))) != chr(point)
    }
    return replacement_pages(changed, np.full(0x110000, _SAME, np.int32))
