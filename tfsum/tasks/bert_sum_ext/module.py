"""The extractive summarizer as one module: strings in, sentences with scores and offsets out.

The same splitter, tokenizer and windows as in training, then BertSumExt, then the selection; see
`stored_weights` for how the weights are stored. Every loop over the windows or the documents takes
a bounded number of rows at a time, each padded only to the longest of its own, so that neither a
long document nor a large batch asks for memory beyond its sentence vectors.

Some options of an export lead to other files: `ops="core"` to `text/core_word_piece.py`,
`newline="auto"` to `text/hard_wraps.py`, `selection="expected_rouge"` to `text/expected_rouge.py`.
"""

from collections.abc import Sequence
from typing import Any, Literal

import tensorflow as tf

from tfsum.errors import ExportError
from tfsum.export.groups import in_groups
from tfsum.export.stored_weights import StoredWeights
from tfsum.models import BertSumExt
from tfsum.tasks.bert_sum_ext.limits import DOCUMENT_SEPARATOR, KEYWORDS
from tfsum.text.budget import budget_of, most_that_fit
from tfsum.text.expected_rouge import AUTOMATIC, MOST, SELECTIONS, USUAL, is_word
from tfsum.text.keywords import Words, keywords, words_of
from tfsum.text.known_words import KnownWords
from tfsum.text.packing import pack_windows
from tfsum.text.query import relevance
from tfsum.text.readability import without_dateline
from tfsum.text.repeat import repeat, row_ids
from tfsum.text.rows import Rows
from tfsum.text.selection import select_sentences
from tfsum.text.sentence_splitter import SPACE, SentenceSplitter
from tfsum.text.word_piece import WordPiece

SEPARATOR = " "  # between the sentences of a summary
LINE_BREAK = r"[ \t]*\r?\n[ \t]*"  # in a sentence of a hard-wrapped text
HYPHENATED = r"([\p{L}\d]-)\r?\n[ \t]*"  # a line may end after the hyphen of a word
WINDOWS_AT_ONCE = 8  # attention weights are (8, H, 512, 512): 100 MB with 12 heads
# the head's attention is quadratic too: a longer document goes through it in even blocks
SENTENCES_IN_HEAD = 512
BLOCKS_AT_ONCE = 8
# Rows are padded to multiples of these, so that a server meets a few hundred shapes and not one for
# each text: oneDNN keeps compiled code for each product of a new shape, 0.4 GB after a thousand
# texts.
LENGTHS, SENTENCES = 16, 8
NO_SENTENCE = -2  # a number of sentences for `extract`, where 0 is any number


class ExtractiveSummarizer(tf.Module):
    """The exported graph of a `BertSumExt`.

    Args:
        model: A built `BertSumExt`, whose weights the module takes over (see `StoredWeights`).
        word_piece: The tokenizer; its `ops` decide which hosts can load the export.
        splitter: The sentence splitter.
        window_length: Tokens in a window.
        max_sentences: N, the width of the outputs and the most sentences of a summary.
        sentences: The number that `serving_default` selects; "auto" for as many as are expected to
            score best, with `selection="expected_rouge"`.
        selection: Way of selecting sentences: "score", or "expected_rouge" (see
            `tfsum.text.expected_rouge`).
        block_trigrams: Whether `serving_default` skips a sentence that repeats a word trigram of
            the summary.
        storage: Storage of the weights, as in `StoredWeights`.
        frequent: The frequent words of the training corpus, see `frequent_words`; the share of a
            text's words that they are is an output.

    Raises:
        ExportError: Numbers of sentences do not fit each other, or an unknown selection or
            storage.

    Example:
        >>> import tfsum
        >>> model = tfsum.BertSumExt(
        ...     {
        ...         "vocab_size": 5,
        ...         "hidden_size": 8,
        ...         "num_hidden_layers": 1,
        ...         "num_attention_heads": 2,
        ...         "intermediate_size": 16,
        ...     },
        ...     head="classifier",
        ... )
        >>> model.build()
        >>> words = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"], lowercase=True)
        >>> module = ExtractiveSummarizer(model, words, SentenceSplitter(), window_length=32)
        >>> module.score(tf.constant(["Rain. Rain."]))["count"].numpy().tolist()
        [2]
    """

    def __init__(
        self,
        model: BertSumExt,
        word_piece: WordPiece,
        splitter: SentenceSplitter,
        window_length: int,
        max_sentences: int = 10,
        sentences: int | Literal["auto"] = 3,
        selection: str = "score",
        block_trigrams: bool = True,
        storage: str = "float32",
        frequent: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name="extractive_summarizer")
        if sentences == "auto":
            if selection != "expected_rouge":
                raise ExportError(
                    f"sentences='auto' and selection={selection!r}; expected"
                    " selection='expected_rouge', by which the number is chosen"
                )
        elif not 1 <= sentences <= max_sentences:
            raise ExportError(
                f"sentences={sentences} and max_sentences={max_sentences}; expected "
                "1 <= sentences <= max_sentences, which is the width of the outputs"
            )
        if selection not in SELECTIONS:
            raise ExportError(f"selection={selection!r}; expected one of {', '.join(SELECTIONS)}")

        self.word_piece, self.splitter = word_piece, splitter
        self.window_length, self.max_sentences = window_length, max_sentences
        self.head_reads_padding = model.config["legacy"]
        self.word_head = model.config["word_head"]
        self.default_sentences = AUTOMATIC if sentences == "auto" else sentences
        self.default_block = block_trigrams
        self.selection, self.words = selection, tf.constant(is_word(word_piece.vocabulary))
        self.width = model.bert.config["hidden_size"]
        self.weights = StoredWeights(model, storage, pooler=False)
        self.known_words = KnownWords(word_piece.vocabulary, word_piece.unk_id, frequent)

    def automatic(self) -> dict[str, int]:
        """For the description: the `max_sentences` by which the graph chooses the number itself."""
        return {"automatic": AUTOMATIC} if self.selection == "expected_rouge" else {}

    def signatures(self) -> dict:
        """The signatures of the SavedModel, by name."""
        return {
            "serving_default": self.serve,
            "summarize": self.summarize,
            "extract": self.extract,
            "keywords": self.keywords,
            "score": self.score,
            "score_ids": self.score_ids,
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serve(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Summarizes texts (B,) with the defaults of the export."""
        rows = tf.shape(text)
        return self.summarize(
            text, tf.fill(rows, self.default_sentences), tf.fill(rows, self.default_block)
        )

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="text"),
            tf.TensorSpec([None], tf.int32, name="max_sentences"),
            tf.TensorSpec([None], tf.bool, name="block_trigrams"),
        ],
        autograph=False,
    )
    def summarize(
        self, text: tf.Tensor, max_sentences: tf.Tensor, block_trigrams: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Summarizes texts (B,) by at most `max_sentences` (B,) each, see `select_sentences`.

        `block_trigrams` (B,) skips sentences that repeat a trigram.
        """
        most = tf.minimum(max_sentences, self.max_sentences)
        if self.max_sentences < MOST:
            most = tf.where(most == AUTOMATIC, self.max_sentences, most)
        any_number, anything = (
            tf.zeros_like(max_sentences),
            tf.zeros_like(max_sentences, tf.float32),
        )
        outputs = self._extract(
            text,
            # 0 is no limit there, and here no sentence
            tf.where(most == 0, NO_SENTENCE, most),
            any_number,
            any_number,
            anything,
            anything,
            tf.fill(tf.shape(max_sentences), ""),
            anything,
            block_trigrams,
        )
        fills: dict[str, Any] = {"sentences": "", "start": -1, "end": -1, "score": 0.0}
        return {
            name: _columns(value, self.max_sentences, fills[name]) if name in fills else value
            for name, value in outputs.items()
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="text"),
            tf.TensorSpec([None], tf.int32, name="max_sentences"),
            tf.TensorSpec([None], tf.int32, name="max_words"),
            tf.TensorSpec([None], tf.int32, name="max_characters"),
            tf.TensorSpec([None], tf.float32, name="max_share"),
            tf.TensorSpec([None], tf.float32, name="min_score"),
            tf.TensorSpec([None], tf.string, name="query"),
            tf.TensorSpec([None], tf.float32, name="query_weight"),
            tf.TensorSpec([None], tf.bool, name="block_trigrams"),
        ],
        autograph=False,
    )
    def extract(
        self,
        text: tf.Tensor,
        max_sentences: tf.Tensor,
        max_words: tf.Tensor,
        max_characters: tf.Tensor,
        max_share: tf.Tensor,
        min_score: tf.Tensor,
        query: tf.Tensor,
        query_weight: tf.Tensor,
        block_trigrams: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        """Chooses the sentences of texts (B,) within limits, where 0 is none, and for a query.

        A summary is never over `max_words`, `max_characters` or `max_share` of the text's words,
        unless no sentence has room: then it is the shortest one. `query_weight`, from 0 to 1,
        is how much the query counts beside what matters in general; "" asks nothing.
        """
        return self._extract(
            text,
            max_sentences,
            max_words,
            max_characters,
            max_share,
            min_score,
            query,
            query_weight,
            block_trigrams,
        )

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string)]
        + [tf.TensorSpec([None], tf.int32)] * 3
        + [tf.TensorSpec([None])] * 2
        + [tf.TensorSpec([None], tf.string), tf.TensorSpec([None])]
        + [tf.TensorSpec([None], tf.bool)],
        autograph=False,
    )
    def _extract(
        self,
        text: tf.Tensor,
        max_sentences: tf.Tensor,
        max_words: tf.Tensor,
        max_characters: tf.Tensor,
        max_share: tf.Tensor,
        min_score: tf.Tensor,
        query: tf.Tensor,
        query_weight: tf.Tensor,
        block_trigrams: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        """`extract`, once in the graph."""
        per_text = {
            "max_sentences": max_sentences,
            "max_words": max_words,
            "max_characters": max_characters,
            "max_share": max_share,
            "min_score": min_score,
            "query": query,
            "query_weight": query_weight,
            "block_trigrams": block_trigrams,
        }
        for name, given in per_text.items():
            tf.debugging.assert_equal(
                tf.shape(given), tf.shape(text), f"{name}: expected one value for each text"
            )
        read = self._read(text)
        splits = tf.concat([[0], tf.cumsum(read["count"])], 0)
        whole = tf.RaggedTensor.from_row_splits(
            read["sentences"], tf.cast(splits, tf.int64), validate=False
        )
        texts = whole.with_flat_values(without_dateline(read["sentences"]))
        pieces = whole.with_values(read["pieces"])

        # What a query asks for takes the place of what matters, in the share of its weight.
        probability = tf.sigmoid(read["logits"])
        queries = self.word_piece.tokenize(query)
        asks = tf.where(query == "", 0.0, tf.clip_by_value(query_weight, 0.0, 1.0))
        share = repeat(asks, read["count"])
        wanted = (1.0 - share) * probability + share * relevance(queries, pieces, self.words)
        by_rouge = self.selection == "expected_rouge"
        # the papers' choice is by logits, which differ where probabilities no longer do
        ranks = wanted if by_rouge else tf.where(share > 0.0, wanted, read["logits"])
        least = tf.where(min_score > 0.0, min_score, -float("inf"))
        enough = probability >= repeat(least, read["count"])

        budget = budget_of(texts, max_words, max_characters, max_share)
        limit = most_that_fit(budget, texts)
        most = tf.where(max_sentences == 0, limit, max_sentences)
        most = tf.where(max_sentences == AUTOMATIC, max_sentences, tf.minimum(most, limit))
        chosen, count = select_sentences(
            whole.with_flat_values(ranks),
            texts,
            most,
            block_trigrams,
            tf.reduce_max(tf.concat([most, [MOST]], 0)),
            pieces if by_rouge else None,
            self.words,
            read.get("rates") if by_rouge else None,
            budget,
            enough,
            asks > 0.0,  # by the words of a summary the best for a query would be lost
        )
        chosen = chosen[:, : tf.reduce_max(tf.concat([count, [0]], 0))]
        # the index after the last sentence, where `pick` appends the fill
        flat = tf.where(chosen >= 0, splits[:-1, tf.newaxis] + chosen, tf.size(read["logits"]))

        def pick(values: tf.Tensor, fill: float | str) -> tf.Tensor:
            return tf.gather(tf.concat([values, [fill]], 0), flat)

        sentences = pick(texts.flat_values, "")
        cut = tf.strings.length(read["sentences"]) - tf.strings.length(texts.flat_values)
        joined = tf.RaggedTensor.from_tensor(sentences, lengths=tf.cast(count, tf.int64))
        summary = tf.strings.reduce_join(joined, axis=-1, separator=SEPARATOR)

        return {
            "summary": _one_line(summary) if "newline" in read else summary,
            "sentences": sentences,
            "start": pick(read["start"] + cut, -1),
            "end": pick(read["end"], -1),
            "score": pick(probability, 0.0),
            "count": count,
            **self._about(read),
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="text"),
            tf.TensorSpec([None], tf.int32, name="max_keywords"),
        ],
        autograph=False,
    )
    def keywords(self, text: tf.Tensor, max_keywords: tf.Tensor) -> dict[str, tf.Tensor]:
        """The words and phrases that carry texts (B,), at most `max_keywords` (B,) of each, and
        never more than `KEYWORDS`."""
        tf.debugging.assert_equal(
            tf.shape(max_keywords), tf.shape(text), "max_keywords: expected one value for each text"
        )
        read = self._read(text)
        sentences = read["sentences"]
        owner = repeat(tf.range(tf.size(text, tf.int64)), read["count"])
        words = words_of(sentences)
        found = keywords(
            sentences,
            Rows(owner, tf.size(text, tf.int64)),
            words,
            self._expected(read, words, owner),
            tf.minimum(max_keywords, KEYWORDS),
        )
        at = tf.gather(tf.pad(read["start"], [[0, 1]]), tf.maximum(found.sentence, 0))
        at = tf.where(found.sentence < 0, 0, at)
        return {
            "keyword": found.phrase,
            "start": at + found.start,
            "end": at + found.end,
            "score": found.score,
            "count": found.count,
            **self._about(read),
        }

    def _expected(self, read: dict[str, tf.Tensor], words: Words, owner: tf.Tensor) -> tf.Tensor:
        """How often each part of the sentences is expected in the summary, (M,) float32; 0 for the
        frequent words of the training corpus."""
        probability, documents = tf.sigmoid(read["logits"]), tf.size(read["count"])
        mass = tf.gather(tf.math.unsorted_segment_sum(probability, owner, documents), owner)
        expected = tf.gather(USUAL * probability / tf.where(mass > 0.0, mass, 1.0), words.sentence)
        pieces = self.word_piece.tokenize(words.parts)
        if self.word_head:
            rates = read["rates"][:, 0]
            own = read["pieces"].row_splits
            # Parts are read as sentences are, unless a word ends where its kind of letter does:
            # the rates of such a sentence are not known by its words.
            lengths = pieces.row_lengths()
            before = tf.cumsum(lengths, exclusive=True)
            sums = tf.math.unsorted_segment_sum(lengths, words.sentence, tf.size(owner))
            same = tf.gather(sums == read["pieces"].row_lengths(), words.sentence)
            first = tf.gather(tf.concat([tf.cumsum(sums, exclusive=True), [0]], 0), words.sentence)
            begin = tf.gather(own, words.sentence) + before - first
            part = row_ids(pieces)
            place = tf.gather(begin - before, part) + tf.range(tf.size(part, tf.int64))
            place = tf.where(tf.gather(same, part), place, tf.size(rates, tf.int64))
            rate = tf.gather(tf.concat([rates, [0.0]], 0), place)
            mean = tf.math.unsorted_segment_sum(rate, part, tf.size(words.parts))
            mean /= tf.maximum(tf.cast(lengths, tf.float32), 1.0)
            expected = tf.where(same, (expected + mean) / 2.0, expected)
        return tf.where(self.known_words.are_frequent(pieces), 0.0, expected)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def score(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Scores every sentence of texts (B,); rows are padded with -1 and 0 beyond `count`."""
        read = self._read(text)
        per_document = tf.cast(read["count"], tf.int64)

        def rows(values: tf.Tensor, fill: float) -> tf.Tensor:
            return tf.RaggedTensor.from_row_lengths(values, per_document, validate=False).to_tensor(
                fill
            )

        return {
            "start": rows(read["start"], -1),
            "end": rows(read["end"], -1),
            "score": rows(tf.sigmoid(read["logits"]), 0.0),
            "count": read["count"],
            **self._about(read),
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.int32, name="token_ids"),
            tf.TensorSpec([None, None], tf.int32, name="segment_ids"),
            tf.TensorSpec([None, None], tf.int32, name="sentence_starts"),
        ],
        autograph=False,
    )
    def score_ids(
        self, token_ids: tf.Tensor, segment_ids: tf.Tensor, sentence_starts: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Scores sentences of documents that are already packed; 0 where there is none."""
        real = sentence_starts >= 0
        vectors, _ = self.encode(token_ids, segment_ids, sentence_starts)
        logits = self.score_sentences(vectors, real, tf.zeros_like(token_ids[:, 0]))
        return {"score": tf.where(real, tf.sigmoid(logits), 0.0)}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 3, autograph=False)
    def encode(
        self, token_ids: tf.Tensor, segment_ids: tf.Tensor, sentence_starts: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """`BertSumExt.sentence_vectors` and, with a word head, `word_rates` (else (B, T, 0)): the
        one place of the graph where the encoder stands."""
        rows, total = tf.unstack(tf.shape(token_ids))
        length = tf.clip_by_value(total, 1, self.window_length)

        with self.weights.model(self.weights.read("bert/", "length/", "words/")) as model:
            # Windows as rows of their own: (B, T) -> (B, W * L) -> (B * W, L). The padding of the
            # last ones costs nothing, since the encoder leaves it out.
            short = -total % length
            ids, segments = (
                tf.reshape(tf.pad(part, [[0, 0], [0, short]]), [-1, length])
                for part in (token_ids, segment_ids)
            )
            encoded = model.bert.encode(ids, segments, training=False)

            sequence = tf.reshape(encoded, [rows, total + short, self.width])[:, :total]
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

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def _read(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Splits, tokenizes and scores texts (B,): flat values (N,) over all sentences, and (B,)
        ones.

        A text may hold several documents, each of which is read as if it were alone.
        """
        parts = tf.strings.split(text, DOCUMENT_SEPARATOR)
        of_text, texts = row_ids(parts), tf.size(text, tf.int64)
        length = tf.strings.length(parts.flat_values) + len(DOCUMENT_SEPARATOR)
        before = tf.concat([[0], tf.cumsum(length)], 0)
        begin = before[:-1] - tf.gather(before, tf.gather(parts.row_starts(), of_text))

        split = self.splitter.split(parts.flat_values)
        sentences = split["sentences"]
        per_document = sentences.row_lengths()
        pieces = self.word_piece.tokenize(sentences.flat_values)
        windows = pack_windows(
            pieces, per_document, self.window_length, self.word_piece.cls_id, self.word_piece.sep_id
        )
        vectors, *rates = self.encode_windows(windows)
        logits = self.score_documents(vectors, tf.cast(per_document, tf.int32))
        document = row_ids(sentences)
        owner, first = tf.gather(of_text, document), tf.gather(begin, document)

        def any_of(flags: tf.Tensor) -> tf.Tensor:
            """Whether a flag is true of a document of each text."""
            return tf.math.unsorted_segment_max(tf.cast(flags, tf.int32), of_text, texts) > 0

        count = tf.math.unsorted_segment_sum(per_document, of_text, texts)
        return {
            "sentences": sentences.flat_values,
            "pieces": pieces,
            "start": split["start"].flat_values + first,
            "end": split["end"].flat_values + first,
            "logits": logits,
            "count": tf.cast(count, tf.int32),
            "coverage": _coverage(
                sentences.flat_values, pieces, windows["pieces_cut"], owner, texts
            ),
            **self.known_words.shares(pieces, owner, texts),
            **({"rates": _at_pieces(rates[0], pieces, windows["pieces_cut"])} if rates else {}),
            **(
                {
                    "newline": tf.where(any_of(split["wrapped"]), "paragraph", "sentence"),
                    "unpunctuated": any_of(split["unpunctuated"]),
                }
                if self.splitter.newline == "auto"
                else {}
            ),
        }

    def encode_windows(self, windows: dict[str, tf.Tensor]) -> list[tf.Tensor]:
        """Encodes packed windows.

        Args:
            windows: The result of `tfsum.text.packing.pack_windows`.

        Returns:
            float32 (N, D), a vector for each sentence of the batch, in order; and with a word head
            float32 (P, 2), the rates of the pieces in the windows, in order.
        """
        lengths = tf.math.count_nonzero(windows["token_ids"], axis=1, dtype=tf.int32)
        held = tf.math.count_nonzero(windows["sentence_starts"] >= 0, axis=1, dtype=tf.int32)
        special = [0, self.word_piece.cls_id, self.word_piece.sep_id]

        def encode(rows: tf.Tensor) -> list[tf.Tensor]:
            longest = _rounded_up(tf.reduce_max(tf.gather(lengths, rows)), LENGTHS)
            length = tf.minimum(longest, self.window_length)
            most = _rounded_up(tf.reduce_max(tf.gather(held, rows)), SENTENCES)
            starts = _columns(tf.gather(windows["sentence_starts"], rows), most, -1)
            token_ids = _columns(tf.gather(windows["token_ids"], rows), length, 0)
            segment_ids = _columns(tf.gather(windows["segment_ids"], rows), length, 0)
            vectors, rates = self.encode(token_ids, segment_ids, starts)
            vectors = tf.boolean_mask(vectors, starts >= 0)
            if not self.word_head:
                return [vectors]
            is_piece = tf.reduce_all(token_ids[..., tf.newaxis] != special, -1)
            return [vectors, tf.boolean_mask(rates, is_piece)]

        specs = [tf.TensorSpec([None, self.width]), tf.TensorSpec([None, 2])]
        every = tf.range(tf.size(lengths))
        return in_groups(encode, every, WINDOWS_AT_ONCE, specs[: 1 + self.word_head])

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

    def _about(self, read: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """What every answer says of its document (B,)."""
        return {
            name: read[name]
            for name in ("coverage", "known", "frequent", "newline", "unpunctuated")
            if name in read
        }


def _one_line(summary: tf.Tensor) -> tf.Tensor:
    """Summaries (B,) without the line breaks of hard-wrapped texts."""
    return tf.strings.regex_replace(
        tf.strings.regex_replace(summary, HYPHENATED, r"\1"), LINE_BREAK, SEPARATOR
    )


def _at_pieces(rates: tf.Tensor, pieces: tf.RaggedTensor, pieces_cut: tf.Tensor) -> tf.Tensor:
    """The rates of all pieces (P, 2) from those of the pieces that a window holds: 0 for those
    that were cut from the end of a sentence (N,)."""
    lengths = pieces.row_lengths()
    end = repeat(pieces.row_limits() - tf.cast(pieces_cut, tf.int64), lengths)
    places = tf.range(tf.size(end, tf.int64))
    shape = tf.stack([tf.size(end, tf.int64), tf.shape(rates, tf.int64)[1]])
    return tf.scatter_nd(tf.where(places < end), rates, shape)


def _coverage(
    sentences: tf.Tensor,
    pieces: tf.RaggedTensor,
    pieces_cut: tf.Tensor,
    owner: tf.Tensor,
    documents: tf.Tensor,
) -> tf.Tensor:
    """Share of each document's non-space bytes that the model read: float32 (B,), 1 where there are
    none.

    Only a sentence longer than a window is cut; its bytes count as read in the share of its pieces
    that are.
    """
    size = tf.cast(
        tf.strings.length(tf.strings.regex_replace(sentences, f"{SPACE}+", "")), tf.float64
    )
    all_pieces = tf.maximum(tf.cast(pieces.row_lengths(), tf.float64), 1.0)
    unread = size * tf.cast(pieces_cut, tf.float64) / all_pieces

    def total(values: tf.Tensor) -> tf.Tensor:
        return tf.math.unsorted_segment_sum(values, owner, documents)

    return tf.cast(1.0 - total(unread) / tf.maximum(total(size), 1.0), tf.float32)


def _rounded_up(number: tf.Tensor, to: int) -> tf.Tensor:
    return -(-number // to) * to


def _columns(rows: tf.Tensor, number: int | tf.Tensor, fill: Any) -> tf.Tensor:
    """The first columns of rows (R, T), filled up where there are fewer."""
    rows = rows[:, :number]
    return tf.pad(rows, [[0, 0], [0, number - tf.shape(rows)[1]]], constant_values=fill)


def _even_blocks(per_document: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Cuts documents into blocks of at most `SENTENCES_IN_HEAD`, as even as can be.

    Returns:
        int32 (R,) each: the first sentence of a block in the batch, its sentences, its place in its
        document.
    """
    blocks = (per_document + SENTENCES_IN_HEAD - 1) // SENTENCES_IN_HEAD
    owner = repeat(tf.range(tf.size(blocks)), blocks)
    number = tf.range(tf.size(owner)) - tf.gather(tf.cumsum(blocks, exclusive=True), owner)
    # in int32 a product of them would overflow
    share = tf.cast(tf.gather(per_document, owner), tf.int64)
    parts, number = tf.cast(tf.gather(blocks, owner), tf.int64), tf.cast(number, tf.int64)
    place = tf.cast(share * number // parts, tf.int32)
    end = tf.cast(share * (number + 1) // parts, tf.int32)

    return tf.gather(tf.cumsum(per_document, exclusive=True), owner) + place, end - place, place
