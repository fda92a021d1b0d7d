"""The case and the accents of an answer by a model that has neither, from the text that it read."""

import numpy as np
import tensorflow as tf

from tfsum.text.rows import Rows
from tfsum.text.word_piece import WordPiece

_MARK = "\x1f"  # between the words of a text and what stands between them
_WORD = r"([\pL\pM\pN]+)"
_WITHIN = r"[\s,]+"  # before a word that is not the first of its sentence
_WORDS_READ = 4096  # of a text, from its beginning
_PRIME = 1_000_003


class TrueCase(tf.Module):
    """Writes each word of an answer as the text has it.

    The first letter of each line becomes a capital. Words are equal if their pieces are. Of the
    forms of a word in the text, the first within a sentence counts, since at the beginning of one
    every word is capitalized. A word that the text has only there is capitalized if it is a name. A
    word that the text lacks stays as it was written.

    Args:
        word_piece: Tokenizer of the model, which lower-cases.
        names: Pieces of names, bool (V,), see `name_pieces`; None takes any word for one.

    Example:
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "in", "paris", "."]
        >>> case = TrueCase(WordPiece(words))
        >>> case.restore(
        ...     tf.constant(["rain in paris"]), tf.constant(["In Paris, rain."])
        ... ).numpy().tolist()
        [b'Rain In Paris']
    """

    def __init__(self, word_piece: WordPiece, names: np.ndarray | None = None) -> None:
        super().__init__(name="true_case")
        self._word_piece = word_piece
        if names is None:
            names = np.ones(len(word_piece.vocabulary), bool)
        self._names = tf.constant(names)

    def restore(self, answers: tf.Tensor, texts: tf.Tensor) -> tf.Tensor:
        """Restores the case of answers.

        Args:
            answers: Answers, (B,) string.
            texts: Texts that they answer, (B,) string.

        Returns:
            (B,) string.
        """
        written, forms = self._parts(answers), self._parts(texts)
        shown = tf.map_fn(
            lambda row: self._shown(written[row], forms[row]),
            tf.range(tf.size(answers)),
            fn_output_signature=tf.string,
        )
        return tf.reshape(shown, tf.shape(answers))

    def _parts(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Texts (B,) in parts (B, P), words at odd places and what stands between them at even."""
        marked = tf.strings.regex_replace(texts, _MARK, " ")
        return tf.strings.split(
            tf.strings.regex_replace(marked, _WORD, rf"{_MARK}\1{_MARK}"), sep=_MARK
        )

    def _shown(self, written: tf.Tensor, forms: tf.Tensor) -> tf.Tensor:
        """Joins the parts (P,) of an answer, each word as it is among those (Q,) of the text."""
        words, before = written[1::2], written[:-1:2]
        of_text, before_it = forms[1::2][:_WORDS_READ], forms[:-1:2][:_WORDS_READ]
        within = tf.strings.regex_full_match(before_it, _WITHIN)
        (keys, name), (keys_of_text, _) = self._keys(words), self._keys(of_text)

        # (words of the answer, words of the text + 1): 2 within a sentence, 1 for a name, else 0
        same = keys[:, tf.newaxis] == keys_of_text
        rank = tf.where(same, tf.where(within, 2, tf.cast(name, tf.int32)[:, tf.newaxis]), 0)
        # A last column of 0 for texts without words.
        rank = tf.pad(rank, [[0, 0], [0, 1]])
        best = tf.argmax(rank, axis=1, output_type=tf.int32)
        form = tf.gather(tf.concat([of_text, [""]], 0), best)
        words = tf.where(tf.reduce_max(rank, axis=1) > 0, form, words)

        first = tf.strings.regex_full_match(before, r"(?s).*\n.*") | (tf.range(tf.size(words)) == 0)
        words = tf.where(first, _capitalized(words), words)
        pairs = tf.reshape(tf.stack([before, words], axis=1), [-1])
        return tf.strings.reduce_join(tf.concat([pairs, written[-1:]], 0))

    def _keys(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """A number for the pieces of each word, int64 (N,), and whether one is a name's, bool."""
        pieces = self._word_piece.tokenize(words)
        ids, rows = tf.cast(pieces.flat_values, tf.int64), Rows.of(pieces)
        weight = (rows.places() - tf.gather(pieces.row_starts(), rows.owner)) * _PRIME + 1
        keys = rows.sum((ids + 1) * weight * weight)
        return keys, rows.any(tf.gather(self._names, ids))


def _capitalized(words: tf.Tensor) -> tf.Tensor:
    first = tf.strings.substr(words, 0, 1, unit="UTF8_CHAR")
    rest = tf.strings.substr(words, 1, 1_000_000, unit="UTF8_CHAR")
    return tf.strings.join([tf.strings.upper(first, encoding="utf-8"), rest])
