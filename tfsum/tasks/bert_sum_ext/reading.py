"""Texts to scored sentences: splitter, tokenizer and windows as in training, then the model.

Every loop over the windows or the documents takes a bounded number of rows at a time, each padded
only to the longest of its own, so that neither a long document nor a large batch asks for memory
beyond its sentence vectors.
"""

from collections.abc import Sequence

import tensorflow as tf

from tfsum.export.groups import in_groups
from tfsum.export.stored_weights import StoredWeights
from tfsum.models import BertSumExt
from tfsum.request import DOCUMENT_SEPARATOR
from tfsum.tasks.bert_sum_ext.read import Read, Texts
from tfsum.text.budget import costs_of
from tfsum.text.known_words import KnownWords
from tfsum.text.packing import pack_windows
from tfsum.text.readability import opens_with_anaphor, without_dateline
from tfsum.text.rows import Rows, repeat, rows_and_places
from tfsum.text.selection import Traits
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.splitting_rules import SPACE
from tfsum.text.word_piece import WordPiece

WINDOWS_AT_ONCE = 8  # attention weights are (8, H, 512, 512): 100 MB with 12 heads
# the head's attention is quadratic too: a longer document goes through it in even blocks
SENTENCES_IN_HEAD = 512
BLOCKS_AT_ONCE = 8
# Rows are padded to multiples of these, so that a server meets a few hundred shapes and not one for
# each text: oneDNN keeps compiled code for each product of a new shape, 0.4 GB after a thousand
# texts.
LENGTHS, SENTENCES = 16, 8


class Reader(tf.Module):
    """Reads texts as a `BertSumExt` was trained to, and scores their sentences.

    Args:
        model: A built `BertSumExt`, see `StoredWeights`.
        word_piece: The tokenizer.
        splitter: The sentence splitter.
        window_length: Tokens in a window.
        storage: Storage of the weights, as in `StoredWeights`.
        frequent: The frequent words of the training corpus, see `frequent_words`.

    Raises:
        ExportError: An unknown storage.
    """

    def __init__(
        self,
        model: BertSumExt,
        word_piece: WordPiece,
        splitter: SentenceSplitter,
        window_length: int,
        storage: str = "float32",
        frequent: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name="reader")
        self.word_piece, self.splitter = word_piece, splitter
        self.window_length = window_length
        self.head_reads_padding = model.config["legacy"]
        self.word_head = model.config["word_head"]
        self.embeds = bool(model.config["embedding_width"])
        self.width = model.bert.config["hidden_size"]
        self.weights = StoredWeights(model, storage, pooler=False)
        self.known_words = KnownWords(word_piece.vocabulary, word_piece.unk_id, frequent)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """`WordPiece.tokenize`, once in the graph."""
        return self.word_piece.tokenize(strings)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def split(self, text: tf.Tensor) -> Texts:
        """Splits texts (B,) into windows of word pieces.

        A text may hold several documents, each of which is read as if it were alone.
        """
        # (D,) the documents of all texts, and where each begins in its text
        documents = tf.strings.split(text, DOCUMENT_SEPARATOR)
        texts = Rows.of(documents)
        begin = texts.sums_before(
            tf.strings.length(documents.flat_values) + len(DOCUMENT_SEPARATOR)
        )

        # (N,) the sentences of all documents
        split = self.splitter.split(documents.flat_values)
        sentences = split["sentences"]
        per_document = sentences.row_lengths()
        pieces = self.tokenize(sentences.flat_values)
        windows = self._pack(pieces, per_document)
        in_documents = Rows.of(sentences)
        in_texts = Rows(in_documents.to_values(texts.owner), texts.count)
        first = in_documents.to_values(begin)

        about = {
            "coverage": _coverage(sentences.flat_values, pieces, windows["pieces_cut"], in_texts),
            **self.known_words.shares(pieces, in_texts),
        }
        if self.splitter.newline == "auto":
            about["newline"] = tf.where(texts.any(split["wrapped"]), "paragraph", "sentence")
            about["unpunctuated"] = texts.any(split["unpunctuated"])
        return Texts(
            sentences.flat_values,
            pieces,
            split["start"].flat_values + first,
            split["end"].flat_values + first,
            windows,
            per_document,
            in_documents,
            tf.cast(texts.sum(per_document), tf.int32),
            about,
        )

    @tf.function(autograph=False)
    def read(self, text: tf.Tensor, sequence: tf.Tensor | None = None) -> tuple[Read, tf.Tensor]:
        """Splits, tokenizes and scores texts (B,), by a vector of each sentence (N, D), which is
        returned too; `sequence` as in `encode_windows`."""
        texts = self.split(text)
        vectors, *rates = self.encode_windows(texts.windows, sequence)
        rest = without_dateline(texts.sentences)
        count = tf.cast(texts.count, tf.int64)
        read = Read(
            texts.sentences,
            texts.pieces,
            texts.start,
            texts.end,
            tf.strings.length(texts.sentences) - tf.strings.length(rest),
            costs_of(rest),
            opens_with_anaphor(rest),
            Traits.of(tf.RaggedTensor.from_row_lengths(rest, count, validate=False)),
            self.score_documents(vectors, tf.cast(texts.per_document, tf.int32)),
            _at_pieces(rates[0], texts.pieces, texts.windows["pieces_cut"]) if rates else None,
            texts.documents,
            texts.count,
            texts.about,
        )
        return read, vectors

    def embed(self, vectors: tf.Tensor) -> tf.Tensor:
        """`BertSumExt.embed_sentences` of vectors (N, D)."""
        with self.weights.model(self.weights.read("embedding/")) as model:
            return model.embed_sentences(vectors)

    @tf.function(autograph=False)
    def embed_texts(self, text: tf.Tensor) -> tf.Tensor:
        """The embeddings (B, W) of texts (B,), each read as one sentence."""
        pieces = self.tokenize(text)
        windows = self._pack(pieces, tf.ones_like(pieces.row_lengths()))
        return self.embed(self.encode_windows(windows)[0])

    def _pack(self, pieces: tf.RaggedTensor, per_document: tf.Tensor) -> dict[str, tf.Tensor]:
        """The windows of sentences (N, .), see `pack_windows`; their tokens a multiple of
        `LENGTHS`."""
        special = self.word_piece.cls_id, self.word_piece.sep_id
        windows = pack_windows(pieces, per_document, self.window_length, *special)
        length = _rounded_up(tf.shape(windows["token_ids"])[1], LENGTHS)
        length = tf.minimum(length, self.window_length)
        for name in ("token_ids", "segment_ids"):
            windows[name] = columns(windows[name], length, 0)
        return windows

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 3, autograph=False)
    def encode(
        self, token_ids: tf.Tensor, segment_ids: tf.Tensor, sentence_starts: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """`BertSumExt.sentence_vectors` and, with a word head, `word_rates` (else (B, T, 0)): the
        one place of the graph where the encoder stands."""
        rows, total = tf.unstack(tf.shape(token_ids))
        length = tf.clip_by_value(total, 1, self.window_length)

        with self.weights.model(self.weights.read("bert/")) as model:
            # Windows as rows of their own: (B, T) -> (B, W * L) -> (B * W, L). The padding of the
            # last ones costs nothing, since the encoder leaves it out.
            short = -total % length
            ids, segments = (
                tf.reshape(tf.pad(part, [[0, 0], [0, short]]), [-1, length])
                for part in (token_ids, segment_ids)
            )
            encoded = model.bert.encode(ids, segments, training=False)

        sequence = tf.reshape(encoded, [rows, total + short, self.width])[:, :total]
        return self.pool(sequence, token_ids, sentence_starts)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, None], tf.float32),
            *[tf.TensorSpec([None, None], tf.int32)] * 2,
        ],
        autograph=False,
    )
    def pool(
        self, sequence: tf.Tensor, token_ids: tf.Tensor, sentence_starts: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """What `encode` returns, of the vectors of tokens (B, T, D)."""
        sequence.set_shape([None, None, self.width])
        with self.weights.model(self.weights.read("length/", "words/")) as model:
            vectors = model.pool_sentences(sequence, token_ids, sentence_starts)
            rates = model.word_rates(sequence) if self.word_head else sequence[..., :0]
            return vectors, rates

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, None], tf.float32),
            tf.TensorSpec([None, None], tf.bool),
            tf.TensorSpec([None], tf.int32),
        ],
        autograph=False,
    )
    def score_sentences(
        self, vectors: tf.Tensor, real: tf.Tensor, first_position: tf.Tensor
    ) -> tf.Tensor:
        """`BertSumExt.score_sentences`, once in the graph too."""
        vectors.set_shape([None, None, self.width])
        with self.weights.model(self.weights.read("head/")) as model:
            return model.score_sentences(
                vectors, real, first_position=first_position, training=False
            )

    def encode_windows(
        self, windows: dict[str, tf.Tensor], sequence: tf.Tensor | None = None
    ) -> list[tf.Tensor]:
        """Encodes packed windows.

        Args:
            windows: The result of `tfsum.text.packing.pack_windows`.
            sequence: Float32 (W, T, D), the vectors of the tokens that another program computed;
                None computes them.

        Returns:
            float32 (N, D), a vector for each sentence of the batch, in order; and with a word head
            float32 (P, 2), the rates of the pieces in the windows, in order.
        """
        lengths = tf.math.count_nonzero(windows["token_ids"], axis=1, dtype=tf.int32)
        sentences = tf.math.count_nonzero(windows["sentence_starts"] >= 0, axis=1, dtype=tf.int32)
        special = [0, self.word_piece.cls_id, self.word_piece.sep_id]

        def encode(rows: tf.Tensor) -> list[tf.Tensor]:
            length = _rounded_up(tf.reduce_max(tf.gather(lengths, rows)), LENGTHS)
            most = _rounded_up(tf.reduce_max(tf.gather(sentences, rows)), SENTENCES)
            starts = columns(tf.gather(windows["sentence_starts"], rows), most, -1)
            token_ids, segment_ids = (
                tf.gather(windows[name], rows)[:, :length] for name in ("token_ids", "segment_ids")
            )
            if sequence is None:
                vectors, rates = self.encode(token_ids, segment_ids, starts)
            else:
                encoded = tf.gather(sequence, rows)[:, :length]
                vectors, rates = self.pool(encoded, token_ids, starts)

            vectors = tf.boolean_mask(vectors, starts >= 0)
            if not self.word_head:
                return [vectors]
            is_piece = tf.reduce_all(token_ids[..., tf.newaxis] != special, -1)
            return [vectors, tf.boolean_mask(rates, is_piece)]

        specs = [tf.TensorSpec([None, self.width]), tf.TensorSpec([None, 2])]
        return in_groups(
            encode, tf.range(tf.size(lengths)), WINDOWS_AT_ONCE, specs[: 1 + self.word_head]
        )

    def score_documents(self, vectors: tf.Tensor, per_document: tf.Tensor) -> tf.Tensor:
        """Scores all sentences, those of a document together.

        Args:
            vectors: Float32 (N, D), document by document.
            per_document: Int32 (B,), sentences of each; they sum to N.

        Returns:
            float32 logits (N,).
        """
        first, size, place = _even_blocks(per_document)
        # A head that reads padding (the LSTM of BertSum as it was) takes one document at a time:
        # its scores would depend on the batch.
        multiple, at_once = (1, 1) if self.head_reads_padding else (SENTENCES, BLOCKS_AT_ONCE)

        def score(rows: tf.Tensor) -> tf.Tensor:
            sizes = tf.gather(size, rows)
            columns = tf.range(_rounded_up(tf.reduce_max(sizes), multiple))
            real = columns < sizes[:, tf.newaxis]
            index = tf.where(real, tf.gather(first, rows)[:, tf.newaxis] + columns, 0)
            logits = self.score_sentences(tf.gather(vectors, index), real, tf.gather(place, rows))
            return (tf.boolean_mask(logits, real),)

        return in_groups(score, tf.range(tf.size(size)), at_once, [tf.TensorSpec([None])])[0]


def _at_pieces(rates: tf.Tensor, pieces: tf.RaggedTensor, pieces_cut: tf.Tensor) -> tf.Tensor:
    """The rates of all pieces (P, 2) from those of the pieces that a window holds: 0 for those
    that were cut from the end of a sentence (N,)."""
    lengths = pieces.row_lengths()
    end = repeat(pieces.row_limits() - tf.cast(pieces_cut, tf.int64), lengths)
    places = tf.range(tf.size(end, tf.int64))
    shape = tf.stack([tf.size(end, tf.int64), tf.shape(rates, tf.int64)[1]])
    return tf.scatter_nd(tf.where(places < end), rates, shape)


def _coverage(
    sentences: tf.Tensor, pieces: tf.RaggedTensor, pieces_cut: tf.Tensor, texts: Rows
) -> tf.Tensor:
    """Share of each text's non-space bytes that the model read: float32 (B,), 1 where there are
    none.

    Only a sentence longer than a window is cut; its bytes count as read in the share of its pieces
    that are.
    """
    bytes_of = tf.strings.length(tf.strings.regex_replace(sentences, f"{SPACE}+", ""))
    size = tf.cast(bytes_of, tf.float64)
    all_pieces = tf.maximum(tf.cast(pieces.row_lengths(), tf.float64), 1.0)
    unread = size * tf.cast(pieces_cut, tf.float64) / all_pieces
    return tf.cast(1.0 - texts.sum(unread) / tf.maximum(texts.sum(size), 1.0), tf.float32)


def _rounded_up(number: tf.Tensor, to: int) -> tf.Tensor:
    return -(-number // to) * to


def columns(rows: tf.Tensor, number: int | tf.Tensor, fill: float | str) -> tf.Tensor:
    """The first columns of rows (R, T), filled up where there are fewer.

    Args:
        rows: Rows, (R, T).
        number: Number N of columns.
        fill: Value of columns that the rows lack.

    Returns:
        (R, N).

    Example:
        >>> columns(tf.constant([[7, 8]]), 3, -1).numpy().tolist()
        [[7, 8, -1]]
    """
    rows = rows[:, :number]
    return tf.pad(rows, [[0, 0], [0, number - tf.shape(rows)[1]]], constant_values=fill)


def _even_blocks(per_document: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Cuts documents into blocks of at most `SENTENCES_IN_HEAD`, as even as can be.

    Returns:
        int32 (R,) each: the first sentence of a block in the batch, its sentences, its place in its
        document.
    """
    blocks = (per_document + SENTENCES_IN_HEAD - 1) // SENTENCES_IN_HEAD
    owner, number = rows_and_places(blocks)
    # in int32 a product of them would overflow
    share = tf.cast(tf.gather(per_document, owner), tf.int64)
    parts, number = tf.cast(tf.gather(blocks, owner), tf.int64), tf.cast(number, tf.int64)
    place = tf.cast(share * number // parts, tf.int32)
    end = tf.cast(share * (number + 1) // parts, tf.int32)

    return tf.gather(tf.cumsum(per_document, exclusive=True), owner) + place, end - place, place
