"""Composes letters and accents that are written apart (half of NFC), by core operations alone."""

import functools
import unicodedata

import tensorflow as tf

from tfsum.text.rows import Rows, after, before

_SHIFT = 1 << 21  # above the last code point


class Compose(tf.Module):
    """Replaces neighbouring code points by the one character that NFC has for them.

    Text in NFC stays as it is; decomposed text (NFD, as some systems name files and type Korean)
    becomes it. Not done: putting accents in order, and replacing characters that NFC never keeps,
    such as the Kelvin sign.

    Example:
        >>> compose = Compose()
        >>> codes, row = compose(
        ...     tf.constant([0x61, 0x301, 0x62]), tf.constant([0, 0, 1], tf.int64)
        ... )  # "a" + acute, "b"
        >>> codes.numpy().tolist(), row.numpy().tolist()
        ([225, 98], [0, 1])
    """

    def __init__(self) -> None:
        super().__init__(name="compose")
        pairs = canonical_pairs()
        keys = tf.constant([first * _SHIFT + second for first, second in pairs], tf.int64)
        table = tf.lookup.KeyValueTensorInitializer(
            keys, tf.constant(list(pairs.values()), tf.int32)
        )
        self._composites = tf.lookup.StaticHashTable(table, default_value=-1)

    def __call__(self, codes: tf.Tensor, row: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Composes code points, until no pair is left.

        Args:
            codes: Code points of all texts, (C,) int32.
            row: Text of each code point, (C,) int64.

        Returns:
            The code points that are left, and their texts.
        """

        def turn(codes: tf.Tensor, row: tf.Tensor, composite: tf.Tensor) -> tuple[tf.Tensor, ...]:
            has_pair = composite >= 0
            first = has_pair & ~before(
                has_pair, False
            )  # of two pairs that share a code point, the first
            codes = tf.where(first, composite, codes)
            codes, row = (tf.boolean_mask(values, ~before(first, False)) for values in (codes, row))
            return codes, row, self._with_next(codes, row)

        codes, row, _ = tf.while_loop(
            lambda codes, row, composite: tf.reduce_any(composite >= 0),
            turn,
            (codes, row, self._with_next(codes, row)),
            shape_invariants=(tf.TensorShape([None]),) * 3,
        )
        return codes, row

    def compose_texts(self, strings: tf.Tensor) -> tf.Tensor:
        """Composes texts.

        Args:
            strings: Texts, (N,) string; bytes that are not UTF-8 are lost.

        Returns:
            (N,) string in UTF-8.

        Example:
            >>> Compose().compose_texts(tf.constant(["a\\u0301"])).numpy()[0].decode()
            'á'
        """
        decoded = tf.strings.unicode_decode(strings, "UTF-8", errors="ignore")
        texts = Rows.of(decoded)
        codes, row = self(decoded.flat_values, texts.owner)
        return tf.strings.unicode_encode(Rows(row, texts.count).ragged(codes), "UTF-8")

    def _with_next(self, codes: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
        """What each code point and the next one of its text compose to (C,), -1 for nothing."""
        key = tf.cast(codes, tf.int64) * _SHIFT + tf.cast(after(codes, 0), tf.int64)
        return tf.where(after(row, -1) == row, self._composites.lookup(key), -1)


@functools.cache
def canonical_pairs() -> dict[tuple[int, int], int]:
    """Returns {(first, second): composite} of all pairs of code points that NFC composes.

    Example:
        >>> chr(canonical_pairs()[ord("a"), 0x301])
        'á'
    """
    pairs = {}
    for point in range(0x110000):
        character = chr(point)
        parts = unicodedata.normalize("NFD", character)
        if len(parts) > 1 and unicodedata.is_normalized("NFC", character):
            pairs[ord(unicodedata.normalize("NFC", parts[:-1])), ord(parts[-1])] = point
    return pairs
