"""What is known of texts once they are split, and once their sentences are scored."""

from typing import NamedTuple

import tensorflow as tf

from tfsum.text.rows import Rows
from tfsum.text.selection import Traits


class Texts(NamedTuple):
    """Texts (B,) that are split, tokenized and packed into windows: N sentences in all."""

    sentences: tf.Tensor  # (N,) string, text by text
    pieces: tf.RaggedTensor  # (N, .) int32, without special tokens
    start: tf.Tensor  # (N,) int32, the first byte in the text
    end: tf.Tensor  # (N,) int32, the byte after it
    windows: dict[str, tf.Tensor]  # the result of `pack_windows`
    per_document: tf.Tensor  # (D,) int64, the sentences of each document
    documents: Rows  # of (N,): of a text that holds several, each has its own
    count: tf.Tensor  # (B,) int32, sentences of each text
    about: dict[str, tf.Tensor]  # (B,) each: what every answer says of its text


class Read(NamedTuple):
    """Texts (B,) that are split, tokenized and scored: N sentences of P word pieces in all."""

    sentences: tf.Tensor  # (N,) string, text by text
    pieces: tf.RaggedTensor  # (N, .) int32, without special tokens
    start: tf.Tensor  # (N,) int32, the first byte in the text
    end: tf.Tensor  # (N,) int32, the byte after it
    dateline: tf.Tensor  # (N,) int32, bytes of what is cut off before it is shown
    costs: tf.Tensor  # (N, 3) int32, see `costs_of`, without datelines as the next two
    anaphor: tf.Tensor  # (N,) bool, whether it opens with one
    traits: Traits
    logits: tf.Tensor  # (N,) float32
    rates: tf.Tensor | None  # (P, 2) float32, what a word head expects of each piece
    documents: Rows  # of (N,): of a text that holds several, each has its own
    count: tf.Tensor  # (B,) int32, sentences of each text
    about: dict[str, tf.Tensor]  # (B,) each: what every answer says of its text

    @property
    def probability(self) -> tf.Tensor:
        """The scores of the sentences, (N,) float32 from 0 to 1."""
        return tf.sigmoid(self.logits)

    @property
    def texts(self) -> tf.RaggedTensor:
        """The sentences as they are shown, (B, S) string."""
        lengths = tf.strings.length(self.sentences) - self.dateline
        return self.per_text(tf.strings.substr(self.sentences, self.dateline, lengths))

    def scores(self, values: tf.Tensor | None = None) -> dict[str, tf.Tensor]:
        """Every sentence of the texts: `start`, `end` and `score` (B, S), `count` and `about`. The
        scores are values of the sentences (N,), by default their probabilities."""
        values = self.probability if values is None else values
        return {
            "start": self.per_text(self.start).to_tensor(-1),
            "end": self.per_text(self.end).to_tensor(-1),
            "score": self.per_text(values).to_tensor(0.0),
            "count": self.count,
            **self.about,
        }

    def per_text(self, values: tf.Tensor | tf.RaggedTensor) -> tf.RaggedTensor:
        """Values of the sentences (N,) as rows (B, S)."""
        return tf.RaggedTensor.from_row_lengths(
            values, tf.cast(self.count, tf.int64), validate=False
        )
