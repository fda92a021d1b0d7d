"""WordPiece of TensorFlow's core operations alone, for hosts that link no op library of TF Text."""

import functools
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from tfsum.text.normalizer import CodePointMap
from tfsum.text.repeat import repeat, row_ids

_SPACE = 0x20
_SAME, _BETWEEN_SPACES = (
    -1,
    -2,
)  # entries of code points that stay: as they are, or as a word of their own


class CoreWordPiece(tf.Module):
    """Texts to word piece ids by table look-ups: the normalizer's pages, then longest match first.

    Everything is worked on once: texts are cut at spaces and equal parts put together, then equal words of
    the normalized parts; only what is left is looked up prefix by prefix.

    Args:
        vocabulary: The word pieces in the order of their ids.
        unk_id: Id of the unknown token.
        mapping: The normalizer.
        max_characters: Words with more characters become the unknown token.

    Example:
        >>> from tfsum.text.normalizer import load_code_point_map
        >>> vocabulary = ["[PAD]", "[UNK]", "rain", "##ed"]
        >>> pieces = CoreWordPiece(vocabulary, 1, load_code_point_map(), max_characters=100)
        >>> pieces.tokenize(tf.constant(["Rained rain", "snow"])).to_list()
        [[2, 3, 2], [1]]
    """

    def __init__(
        self, vocabulary: Sequence[str], unk_id: int, mapping: CodePointMap, max_characters: int
    ) -> None:
        super().__init__(name="core_word_piece")
        self._unk_id, self._max_characters = unk_id, max_characters
        self._page_of, self._pages, self._pool = (tf.constant(array) for array in _pages(mapping))
        inner = {word[2:]: i for i, word in enumerate(vocabulary) if word.startswith("##")}
        self._first = _table(vocabulary, range(len(vocabulary)))
        self._inner = (
            _table(*zip(*inner.items())) if inner else _table([""], [-1])
        )  # a table needs a key
        self._longest = min(max_characters, max(map(len, vocabulary)))

    def tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """Turns texts into the ids of their word pieces.

        Args:
            strings: (N,) string; bytes that are not UTF-8 are dropped.

        Returns:
            (N, P) int32, ragged; row_splits are int64.
        """
        parts = tf.strings.split(
            strings, " "
        )  # a space always ends a word, whatever bytes are beside it
        distinct, of_part = tf.unique(parts.flat_values)
        codes, in_part = self._normalize(distinct)
        words, of_word = tf.unique(tf.strings.unicode_encode(codes, "UTF-8"))
        example = tf.math.unsorted_segment_max(tf.range(tf.size(of_word)), of_word, tf.size(words))
        pieces = self._split(words, tf.gather(codes, example))
        pieces = _merge(tf.gather(pieces, of_word), in_part)
        return _merge(tf.gather(pieces, of_part), parts.row_splits)

    def _normalize(self, strings: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Turns strings (U,) into their words' code points (W, C) and the row splits of words in strings."""
        decoded = tf.strings.unicode_decode(strings, "UTF-8", errors="ignore")
        codes = decoded.flat_values
        entry = tf.gather(self._pages, tf.gather(self._page_of, codes // 256) * 256 + codes % 256)
        lengths = tf.where(entry == _BETWEEN_SPACES, 3, tf.where(entry == _SAME, 1, entry % 64))
        origin = repeat(tf.range(tf.size(codes)), lengths)
        entry, place = tf.gather(entry, origin), tf.range(tf.size(origin))
        place -= tf.gather(tf.cumsum(lengths, exclusive=True), origin)
        changed = tf.gather(self._pool, tf.where(entry < 0, 0, entry // 64 + place))
        around = (entry == _BETWEEN_SPACES) & (place != 1)
        codes = tf.where(entry < 0, tf.where(around, _SPACE, tf.gather(codes, origin)), changed)
        return _words(codes, tf.gather(row_ids(decoded), origin), decoded.nrows())

    def _split(self, words: tf.Tensor, codes: tf.RaggedTensor) -> tf.RaggedTensor:
        """Splits distinct words (U,) with their code points (U, C) into ids (U, P), all words at once."""
        too_long = codes.row_lengths() > self._max_characters
        whole = tf.where(too_long, self._unk_id, self._first.lookup(words))
        known, word = tf.where(whole >= 0)[:, 0], tf.where(whole < 0)[:, 0]
        prefixes = _Prefixes(words, codes, self._longest)
        ids, at, on = prefixes.match(self._first, word, tf.gather(codes.row_starts(), word))
        found = _Found().add(
            0, tf.concat([known, word], 0), tf.concat([tf.gather(whole, known), ids], 0)
        )

        def turn(
            number: tf.Tensor, word: tf.Tensor, at: tf.Tensor, *arrays: tf.TensorArray
        ) -> tuple:
            ids, following, on = prefixes.match(self._inner, word, at)
            arrays = _Found(*arrays).add(number, word, ids).arrays
            return number + 1, tf.boolean_mask(word, on), tf.boolean_mask(following, on), *arrays

        start = (1, tf.boolean_mask(word, on), tf.boolean_mask(at, on), *found.arrays)
        _, _, _, *arrays = tf.while_loop(lambda number, word, *_: tf.size(word) > 0, turn, start)
        return _Found(*arrays).rows(tf.size(words, tf.int64), self._unk_id)


class _Prefixes:
    """The prefixes of what is left of words, looked up all at once."""

    def __init__(self, words: tf.Tensor, codes: tf.RaggedTensor, longest: int):
        self._words, self._longest, self._ends = words, longest, codes.row_limits()
        c = codes.flat_values
        width = tf.where(
            c < 0x80, 1, tf.where(c < 0x800, 2, tf.where(c < 0x10000, 3, 4))
        )  # bytes of UTF-8
        self._byte_at = tf.concat([[0], tf.cumsum(width)], 0)
        self._first_byte = tf.gather(self._byte_at, codes.row_starts())

    def match(self, table: tf.lookup.StaticHashTable, word: tf.Tensor, at: tf.Tensor) -> tuple:
        """Finds the longest pieces of words (A,) from characters (A,) on: ids or -1, next place, goes on."""
        end = tf.gather(self._ends, word)
        count = tf.minimum(end - at, self._longest)
        start = tf.cumsum(count, exclusive=True)
        row = repeat(tf.range(tf.size(word)), count)
        size = tf.range(tf.size(row, tf.int64)) - tf.gather(start, row) + 1
        first_byte = tf.gather(self._byte_at, at)
        length = tf.gather(self._byte_at, tf.gather(at, row) + size) - tf.gather(first_byte, row)
        begin = tf.gather(first_byte - tf.gather(self._first_byte, word), row)
        ids = table.lookup(
            tf.strings.substr(tf.gather(self._words, tf.gather(word, row)), begin, length)
        )
        best = tf.math.unsorted_segment_max(tf.where(ids >= 0, size, 0), row, tf.size(word))
        ids = tf.where(best > 0, tf.gather(ids, start + tf.maximum(best - 1, 0)), -1)
        return ids, at + best, (best > 0) & (at + best < end)


class _Found:
    """Pieces found so far; a word finds one in each turn until it ends, so that the turn is its place."""

    def __init__(self, *arrays: tf.TensorArray):
        def empty(dtype: tf.DType) -> tf.TensorArray:
            return tf.TensorArray(
                dtype, 0, dynamic_size=True, infer_shape=False, element_shape=[None]
            )

        self.arrays = arrays or (empty(tf.int64), empty(tf.int32), empty(tf.int64))

    def add(self, turn: tf.Tensor, word: tf.Tensor, ids: tf.Tensor) -> "_Found":
        values = (word, ids, tf.fill(tf.shape(word), tf.cast(turn, tf.int64)))
        return _Found(*(array.write(turn, value) for array, value in zip(self.arrays, values)))

    def rows(self, words: tf.Tensor, unk_id: int) -> tf.RaggedTensor:
        """The ids of each word (U, P); one that met a turn without a piece is the unknown token."""
        word, ids, turn = (array.concat() for array in self.arrays)
        failed = tf.math.unsorted_segment_max(tf.cast(ids < 0, tf.int32), word, words) > 0
        found = tf.math.unsorted_segment_sum(tf.ones_like(word), word, words)
        lengths = tf.where(failed, tf.ones_like(found), found)
        start = tf.cumsum(lengths, exclusive=True)
        kept = ~tf.gather(failed, word) | (turn == 0)
        ids = tf.where(tf.gather(failed, word), unk_id, ids)
        place = tf.boolean_mask(tf.gather(start, word) + turn, kept)
        flat = tf.scatter_nd(
            place[:, None], tf.boolean_mask(ids, kept), tf.reduce_sum(lengths)[None]
        )
        return tf.RaggedTensor.from_row_lengths(flat, lengths, validate=False)


def _words(codes: tf.Tensor, row: tf.Tensor, rows: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Cuts code points (M,) of rows at spaces: words (W, C) and the row splits of words in rows (R + 1,)."""
    solid = codes != _SPACE
    after_space = tf.concat([[_SPACE], codes], 0)[:-1] == _SPACE
    after_row = tf.concat([[-1], row], 0)[:-1] != row
    opens = tf.cast(solid & (after_space | after_row), tf.int64)
    word = tf.boolean_mask(tf.cumsum(opens) - 1, solid)
    lengths = tf.math.unsorted_segment_sum(tf.ones_like(word), word, tf.reduce_sum(opens))
    splits = tf.concat([[0], tf.cumsum(tf.math.unsorted_segment_sum(opens, row, rows))], 0)
    return tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(codes, solid), lengths, validate=False
    ), splits


def _merge(pieces: tf.RaggedTensor, splits: tf.Tensor) -> tf.RaggedTensor:
    """Joins neighbouring rows (W, P) into (R, P) at the row splits (R + 1,)."""
    splits = tf.gather(pieces.row_splits, splits)
    return tf.RaggedTensor.from_row_splits(pieces.flat_values, splits, validate=False)


def _table(keys: Iterable[str], ids: Iterable[int]) -> tf.lookup.StaticHashTable:
    keys, ids = tf.constant(list(keys), tf.string), tf.constant(list(ids), tf.int32)
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, ids), default_value=-1
    )


@functools.cache
def _pages(mapping: CodePointMap) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The map as pages of 256 code points, equal ones once: page of c // 256; entries; pool of replacements.

    An entry is the offset in the pool times 64 plus the length, or one of the two marks for what stays: the 80,000
    Chinese characters that become words of their own need neither pages nor a pool.
    """
    pool, where, entries = [0], {}, np.full(0x110000, _SAME, np.int32)
    ends = np.cumsum(mapping.lengths)
    for point, start, end in zip(mapping.points.tolist(), ends - mapping.lengths, ends):
        value = tuple(mapping.values[start:end].tolist())
        if value == (_SPACE, point, _SPACE):
            entries[point] = _BETWEEN_SPACES
            continue
        if value not in where:
            where[value] = len(pool)
            pool.extend(value)
        entries[point] = where[value] << 6 | len(value)
    pages, page_of = np.unique(entries.reshape(-1, 256), axis=0, return_inverse=True)
    return page_of.reshape(-1).astype(np.int32), pages.reshape(-1), np.array(pool, np.int32)
