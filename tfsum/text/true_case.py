"""The case and the accents of an answer by a model that has neither, from the text that it read."""

import tensorflow as tf

from tfsum.text.rows import Rows, rows_and_places
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
    every word is capitalized. A word that the text lacks stays as it was written.

    Args:
        word_piece: Tokenizer of the model, which lower-cases.

    Example:
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "in", "paris", "."]
        >>> case = TrueCase(WordPiece(words))
        >>> case.restore(
        ...     tf.constant(["rain in paris"]), tf.constant(["In Paris, rain."])
        ... ).numpy().tolist()
        [b'Rain In Paris']
    """

    def __init__(self, word_piece: WordPiece) -> None:
        super().__init__(name="true_case")
        self._word_piece = word_piece

    def restore(self, answers: tf.Tensor, texts: tf.Tensor) -> tf.Tensor:
        """Restores the case of answers.

        Args:
            answers: Answers, (B,) string.
            texts: Texts that they answer, (B,) string.

        Returns:
            (B,) string.
        """
        # (P,) texts and answers in parts: words at odd places, what stands between them at even
        number = tf.size(texts, tf.int64)
        plain = tf.strings.regex_replace(tf.concat([texts, answers], 0), _MARK, " ")
        marked = tf.strings.regex_replace(plain, _WORD, rf"{_MARK}\1{_MARK}")
        parts = tf.strings.split(marked, sep=_MARK)
        owner, place = rows_and_places(parts.row_lengths())

        # (W,) the words, and which of them are the texts'
        is_text = owner < number
        is_word = (place % 2 == 1) & (~is_text | (place < 2 * _WORDS_READ))
        at = tf.where(is_word)[:, 0]
        words, before = tf.gather(parts.flat_values, at), tf.gather(parts.flat_values, at - 1)
        owner, place, is_text = (tf.boolean_mask(x, is_word) for x in (owner, place, is_text))

        # Of equal words the first within a sentence of the text, else the first.
        _, equal = Rows.of_equal(self._keys(words))
        _, forms = Rows.of_equal(equal.owner * number + owner % number)
        within = forms.first(is_text & tf.strings.regex_full_match(before, _WITHIN))
        form = tf.where(within < tf.size(words, tf.int64), within, forms.first(is_text))
        form = tf.minimum(forms.to_values(form), forms.places())
        words = tf.gather(words, form)

        is_first = (place == 1) | tf.strings.regex_full_match(before, r"(?s).*\n.*")
        words = tf.where(is_first, _capitalized(words), words)
        flat = tf.tensor_scatter_nd_update(parts.flat_values, at[:, tf.newaxis], words)
        return tf.strings.reduce_join(parts.with_flat_values(flat), axis=-1)[number:]

    def _keys(self, words: tf.Tensor) -> tf.Tensor:
        """A number for the pieces of each word, int64 (N,)."""
        pieces = self._word_piece.tokenize(words)
        ids, rows = tf.cast(pieces.flat_values, tf.int64), Rows.of(pieces)
        weight = (rows.places() - tf.gather(pieces.row_starts(), rows.owner)) * _PRIME + 1
        return rows.sum((ids + 1) * weight * weight)


def _capitalized(words: tf.Tensor) -> tf.Tensor:
    first = tf.strings.substr(words, 0, 1, unit="UTF8_CHAR")
    rest = tf.strings.substr(words, 1, 1_000_000, unit="UTF8_CHAR")
    return tf.strings.join([tf.strings.upper(first, encoding="utf-8"), rest])
