"""From raw strings to what an abstractive model reads, in the graph."""

import tensorflow as tf

from tfsum.errors import ExportError, require
from tfsum.text.compose import Compose
from tfsum.text.detokenizer import bytes_said
from tfsum.text.known_words import KnownWords
from tfsum.text.packing import pack_windows
from tfsum.text.rows import Rows
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.white_space import WHITE_SPACE
from tfsum.text.word_piece import WordPiece


class TextSource(tf.Module):
    """Base class of what reads texts: with a method `read`, and `at_once`, how many sources of its
    kind a model reads together.

    Args:
        word_piece: The tokenizer.
    """

    def __init__(self, word_piece: WordPiece) -> None:
        super().__init__(name="source")
        self.word_piece = word_piece
        self._known_words = KnownWords(word_piece.vocabulary, word_piece.unk_id)
        self._bytes = tf.constant(bytes_said(word_piece.vocabulary))


class RowSource(TextSource):
    """Reads a text as one row, `[CLS] pieces [SEP]`, for a `Transformer`.

    Pieces beyond the row are cut.

    Text is read as `tfsum.tasks.transformer.prepare` reads it, so that serving and training treat a
    source alike.

    Args:
        word_piece: The tokenizer of sources.
        max_source_length: Tokens read of a source, [CLS] and [SEP] among them.

    Raises:
        ExportError: An invalid length.

    Example:
        >>> source = RowSource(WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"]), 3)
        >>> read = source.read(tf.constant(["rain rain"]))
        >>> read["source"].numpy().tolist(), read["coverage"].numpy().tolist()
        ([[2, 4, 3]], [0.5])
    """

    at_once = 64  # a cache of 64 beams of 4, 6 layers of 512 and 64 tokens is 400 MB

    def __init__(self, word_piece: WordPiece, max_source_length: int) -> None:
        super().__init__(word_piece)
        self.max_source_length = at_least(3, max_source_length, "max_source_length")
        # Training used NFC, so serving does; the escape of a reversible vocabulary composes by
        # itself.
        self._compose = None if word_piece.reversible else Compose()

    def read(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Texts (B,) to `source` (B, Ts) and, of each text, `coverage`, `known`, and whether it is
        `not_empty`."""
        text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="ignore")
        text = tf.strings.regex_replace(text, f"^{WHITE_SPACE}|{WHITE_SPACE}$", "")
        if self._compose is not None:
            text = self._compose.compose_texts(text)

        pieces, texts = self.word_piece.tokenize(text), tf.size(text)
        read = tf.minimum(tf.cast(pieces.row_lengths(), tf.int32), self.max_source_length - 2)
        return {
            "source": self._frame(pieces, read),
            "coverage": share_read(self._bytes, pieces, read, tf.range(texts), texts),
            **self._known_words.shares(pieces, Rows(tf.range(texts), texts)),
            "not_empty": pieces.row_lengths() > 0,
        }

    def _frame(self, pieces: tf.RaggedTensor, read: tf.Tensor) -> tf.Tensor:
        """Cuts pieces (B, P) to the first ones that the model reads (B,), with [CLS] before and
        [SEP] after: (B, Ts)."""
        room = self.max_source_length - 2
        longest = tf.reduce_max(tf.concat([read, [0]], 0))
        ids = tf.pad(pieces.to_tensor(0, shape=[None, room])[:, :longest], [[0, 0], [1, 1]])
        place, end = tf.range(longest + 2), read[:, tf.newaxis] + 1

        ids = tf.where(place == end, self.word_piece.sep_id, ids)
        return tf.where(place == 0, self.word_piece.cls_id, ids)


class DocumentSource(TextSource):
    """Reads a text in windows of whole sentences, for a `BertSumAbs`.

    The windows are those of `BertSumExt`.

    Args:
        word_piece: The tokenizer.
        splitter: Splitter of sentences.
        window_length: Tokens of a window.
        max_windows: Windows read of a text; the sentences beyond are left out, which `coverage`
            reports.

    Raises:
        ExportError: An invalid number of windows.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "."])
        >>> source = DocumentSource(word_piece, SentenceSplitter(), 4, 1)
        >>> read = source.read(tf.constant(["Rain. Rain."]))
        >>> read["source"]["source_ids"].numpy().tolist(), read["coverage"].numpy().tolist()
        ([[2, 4, 5, 3]], [0.5])
    """

    # windows of 512 tokens, whose attention weights are 12 MB a head; see `bert_sum_ext.reading`
    at_once = 8

    def __init__(
        self,
        word_piece: WordPiece,
        splitter: SentenceSplitter,
        window_length: int,
        max_windows: int,
    ) -> None:
        super().__init__(word_piece)
        self.splitter, self.window_length = splitter, window_length
        self.max_windows = at_least(1, max_windows, "max_windows")

    def read(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Texts (B,) to `source`, a dict of `source_ids` and `segment_ids` (B, Ts), and as
        `RowSource.read`."""
        sentences, texts = self.splitter.split(text)["sentences"], tf.size(text)
        pieces, owner = self.word_piece.tokenize(sentences.flat_values), Rows.of(sentences).owner
        windows = pack_windows(
            pieces,
            sentences.row_lengths(),
            self.window_length,
            self.word_piece.cls_id,
            self.word_piece.sep_id,
        )
        source = self._rows(windows)

        per_text = windows["windows_per_document"]
        first = tf.gather(tf.cumsum(per_text, exclusive=True), owner)
        in_window = windows["window_of_sentence"] - first < self.max_windows
        kept = tf.cast(pieces.row_lengths(), tf.int32) - windows["pieces_cut"]
        read = tf.where(in_window, kept, 0)
        return {
            "source": source,
            "coverage": share_read(self._bytes, pieces, read, owner, texts),
            **self._known_words.shares(pieces, Rows(owner, texts)),
            "not_empty": sentences.row_lengths() > 0,
        }

    def _rows(self, windows: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """The first windows (W, T) of each text side by side, each padded to its length: (B,
        Ts)."""
        per_text = windows["windows_per_document"]
        read = tf.minimum(per_text, self.max_windows)
        lengths = tf.math.count_nonzero(windows["token_ids"], axis=1, dtype=tf.int32)
        last = tf.cumsum(per_text) - per_text + read - 1  # of the windows of the batch
        length = tf.where(
            read > 0,
            (read - 1) * self.window_length
            + tf.gather(tf.concat([lengths, [0]], 0), tf.maximum(last, 0)),
            0,
        )
        longest = tf.reduce_max(tf.concat([length, [1]], 0))

        def rows(ids: tf.Tensor) -> tf.Tensor:
            ids = tf.pad(ids, [[0, 0], [0, self.window_length - tf.shape(ids)[1]]])
            laid_out = tf.RaggedTensor.from_row_lengths(ids, per_text, validate=False)
            laid_out = laid_out.to_tensor(0, shape=[None, self.max_windows, self.window_length])
            return tf.reshape(laid_out, [-1, self.max_windows * self.window_length])[:, :longest]

        return {
            "source_ids": rows(windows["token_ids"]),
            "segment_ids": rows(windows["segment_ids"]),
        }


def share_read(
    sizes: tf.Tensor, pieces: tf.RaggedTensor, read: tf.Tensor, owner: tf.Tensor, texts: tf.Tensor
) -> tf.Tensor:
    """The share of each text's bytes, white space not counted, in the pieces which are read.

    Args:
        sizes: (V,) the bytes of each piece.
        pieces: Ids, (N, P) ragged.
        read: Number of pieces, the first ones, that are read of each row, (N,) int32.
        owner: Index of the text of each row, (N,) int.
        texts: Number B of texts.

    Returns:
        float32 (B,), 1 for a text without bytes.

    Example:
        >>> pieces = tf.RaggedTensor.from_row_lengths([1, 2], [2])
        >>> read, owner = tf.constant([1]), tf.constant([0])
        >>> share_read(tf.constant([0, 1, 3]), pieces, read, owner, 1).numpy().tolist()
        [0.25]
    """
    size = tf.cast(tf.gather(sizes, pieces.flat_values), tf.float32)
    rows, starts = Rows.of(pieces).owner, tf.cast(pieces.row_starts(), tf.int32)
    is_read = tf.range(tf.size(rows)) - tf.gather(starts, rows) < tf.gather(read, rows)
    owner = tf.gather(owner, rows)
    total = tf.math.unsorted_segment_sum(size, owner, texts)
    return tf.where(
        total > 0.0,
        tf.math.unsorted_segment_sum(tf.where(is_read, size, 0.0), owner, texts)
        / tf.maximum(total, 1.0),
        1.0,
    )


def at_least(least: int, value: int, name: str) -> int:
    """Returns a number of an export, after a check.

    Args:
        least: The smallest possible number.
        value: The number.
        name: Name of the option, for the message.

    Raises:
        ExportError: It is no whole number, or smaller.

    Example:
        >>> at_least(1, 2, "max_windows")
        2
    """
    require(
        isinstance(value, int) and not isinstance(value, bool) and value >= least,
        f"{name} is {value!r}; expected a whole number of at least {least}",
        ExportError,
    )
    return value
