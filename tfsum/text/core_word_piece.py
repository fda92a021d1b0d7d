"""WordPiece of TensorFlow's core operations alone, for hosts that link no op library of TF Text."""

import functools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfsum.text.normalizer import load_code_point_map, replacement_pages
from tfsum.text.rows import Rows, rows_and_places

_SPACE = 0x20
# entries of code points that stay: as they are, or as a word of their own
_SAME, _BETWEEN_SPACES = -1, -2


class _Numbered(tf.lookup.KeyValueTensorInitializer):
    """Maps keys to their numbers, which a graph counts in place of storing them."""

    def __init__(self, keys: Sequence[str]):
        super().__init__(keys, range(len(keys)), tf.string, tf.int32)
        self._names = tf.constant(keys)

    def initialize(self, table: tf.lookup.StaticHashTable) -> tf.Operation:
        return tf.raw_ops.LookupTableImportV2(
            table_handle=table.resource_handle,
            keys=self._names,
            values=tf.range(tf.size(self._names)),
        )


class CoreWordPiece(tf.Module):
    """Texts to word piece ids by table look-ups: the normalizer's pages, then longest match first.

    Everything is worked on once: texts are cut at spaces and equal parts put together, then equal
    words of the normalized parts; only what is left is looked up prefix by prefix.

    Args:
        vocabulary: The word pieces in the order of their ids.
        unk_id: Id of the unknown token.
        lowercase: Whether letters are lowered.
        strip_accents: Whether accents are dropped.
        max_characters: Words with more characters become the unknown token.

    Example:
        >>> vocabulary = ["[PAD]", "[UNK]", "rain", "##ed"]
        >>> pieces = CoreWordPiece(vocabulary, 1, True, True, max_characters=100)
        >>> pieces.tokenize(tf.constant(["Rained rain", "snow"])).to_list()
        [[2, 3, 2], [1]]
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        unk_id: int,
        lowercase: bool,
        strip_accents: bool,
        max_characters: int,
    ) -> None:
        super().__init__(name="core_word_piece")
        self._unk_id, self._max_characters = unk_id, max_characters
        self._page_of, self._pages, self._pool = map(tf.constant, _pages(lowercase, strip_accents))
        self._ids = tf.lookup.StaticHashTable(_Numbered(vocabulary), default_value=-1)
        self._longest = min(max_characters, max(map(len, vocabulary)))

    def tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """Turns texts into the ids of their word pieces.

        Args:
            strings: Texts, (N,) string; bytes that are not UTF-8 are dropped.

        Returns:
            (N, P) int32, ragged; row_splits are int64.
        """
        # a space always ends a word, whatever bytes are around it
        parts = tf.strings.split(strings, " ")
        distinct, of_part = tf.unique(parts.flat_values)
        words = tf.strings.split(self._normalize(distinct))
        distinct, of_word = tf.unique(words.flat_values)

        pieces = tf.gather(self._split(distinct), of_word)
        pieces = tf.gather(merge(pieces, words.row_splits), of_part)
        return merge(pieces, parts.row_splits)

    def _normalize(self, strings: tf.Tensor) -> tf.Tensor:
        """Normalizes strings (U,), so that only spaces part words."""
        # (C,) for each code point of the strings its entry, and how many code points it becomes
        decoded = tf.strings.unicode_decode(strings, "UTF-8", errors="ignore")
        codes = decoded.flat_values
        entry = tf.gather(self._pages, tf.gather(self._page_of, codes // 256) * 256 + codes % 256)
        lengths = tf.where(entry == _BETWEEN_SPACES, 3, tf.where(entry == _SAME, 1, entry % 64))

        # (M,) for each code point to be written the one it comes from, and its place in the value
        origin, place = rows_and_places(lengths)
        entry, codes = tf.gather(entry, origin), tf.gather(codes, origin)
        changed = tf.gather(self._pool, tf.where(entry < 0, 0, entry // 64 + place))
        around = (entry == _BETWEEN_SPACES) & (place != 1)
        codes = tf.where(entry < 0, tf.where(around, _SPACE, codes), changed)

        sizes = Rows.of(decoded).sum(lengths)
        normalized = tf.RaggedTensor.from_row_lengths(codes, sizes, validate=False)
        return tf.strings.unicode_encode(normalized, "UTF-8")

    def _split(self, words: tf.Tensor) -> tf.RaggedTensor:
        """Splits distinct words (U,) into ids (U, P), all words at once."""
        # words that are one piece, and the others, of which each turn cuts the next piece
        too_long = tf.strings.length(words, "UTF8_CHAR") > self._max_characters
        ids = tf.where(too_long, -1, self._ids.lookup(words))
        is_done = too_long | (ids >= 0)
        done, word = (tf.where(flags)[:, 0] for flags in (is_done, ~is_done))
        *_, word, ids = tf.while_loop(
            lambda mark, word, *_: tf.size(word) > 0,
            self._cut,
            ("", word, tf.gather(words, word), done, tf.gather(ids, done)),
            shape_invariants=(tf.TensorShape([]), *(tf.TensorShape([None]),) * 4),
        )

        # a word with a turn that found no piece is the unknown token
        is_unknown = Rows(word, tf.size(words)).any(ids < 0)
        kept = ~tf.gather(is_unknown, word) | (ids < 0)
        word, ids = (tf.boolean_mask(values, kept) for values in (word, ids))
        order = tf.argsort(word, stable=True)
        ids = tf.gather(tf.where(ids < 0, self._unk_id, ids), order)
        return tf.RaggedTensor.from_value_rowids(
            ids, tf.gather(word, order), tf.size(words, tf.int64), validate=False
        )

    def _cut(
        self,
        mark: tf.Tensor,
        word: tf.Tensor,
        rest: tf.Tensor,
        words_met: tf.Tensor,
        ids_met: tf.Tensor,
    ) -> tuple[tf.Tensor | str, ...]:
        """Cuts the longest piece off the rests (A,) of words (A,) and adds it to those met, -1
        where there is none; the pieces begin with a mark."""
        # (R,) rows: every prefix of each rest
        lengths = tf.strings.length(rest, "UTF8_CHAR")
        counts = tf.minimum(lengths, self._longest)
        row, place = rows_and_places(counts)
        begin = tf.zeros_like(place)
        prefixes = tf.strings.substr(tf.gather(rest, row), begin, place + 1, unit="UTF8_CHAR")
        ids = self._ids.lookup(tf.strings.join([mark, prefixes]))

        # (A,) the place of the last prefix that is a piece
        last = Rows(row, tf.size(word)).max(tf.where(ids >= 0, place, -1))
        best = tf.cumsum(counts, exclusive=True) + tf.maximum(last, 0)
        words_met = tf.concat([words_met, word], 0)
        ids_met = tf.concat([ids_met, tf.where(last < 0, -1, tf.gather(ids, best))], 0)

        rest = tf.strings.substr(rest, last + 1, lengths, unit="UTF8_CHAR")
        goes_on = (last >= 0) & (rest != "")
        word, rest = (tf.boolean_mask(values, goes_on) for values in (word, rest))
        return "##", word, rest, words_met, ids_met


def merge(pieces: tf.RaggedTensor, splits: tf.Tensor) -> tf.RaggedTensor:
    """Joins neighbouring rows.

    Args:
        pieces: Rows of values, (W, P).
        splits: Where the joined rows begin and end among the W, (R + 1,) int64.

    Returns:
        (R, P).

    Example:
        >>> merge(tf.ragged.constant([[1], [2, 3], [4]]), tf.constant([0, 2, 3])).to_list()
        [[1, 2, 3], [4]]
    """
    splits = tf.gather(pieces.row_splits, splits)
    return tf.RaggedTensor.from_row_splits(pieces.flat_values, splits, validate=False)


@functools.cache
def _pages(lowercase: bool, strip_accents: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The map as `replacement_pages`, with two marks for what stays: the 80,000 Chinese characters
    that become words of their own need neither pages nor a pool."""
    mapping = load_code_point_map(lowercase, strip_accents)
    replaced = {point: text for point, text in mapping.items() if text != f" {chr(point)} "}
    entries = np.full(0x110000, _SAME, np.int32)
    entries[list(mapping)] = _BETWEEN_SPACES
    return replacement_pages(replaced, entries)
