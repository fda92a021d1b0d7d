"""The graph that an extractive summarizer is exported as: a signature for each way to ask."""

from collections.abc import Callable, Sequence
from typing import Literal

import tensorflow as tf

from tfsum.errors import ExportError
from tfsum.models import BertSumExt
from tfsum.request import INPUTS
from tfsum.tasks.bert_sum_ext.choosing import Options, choose_keywords, choose_sentences
from tfsum.tasks.bert_sum_ext.read import Read
from tfsum.tasks.bert_sum_ext.read_once import OF_READING
from tfsum.tasks.bert_sum_ext.reading import Reader, columns
from tfsum.tasks.bert_sum_ext.reading_outputs import read_again, reading_outputs
from tfsum.text.expected_rouge import AUTOMATIC, MOST, SELECTIONS
from tfsum.text.query import SharedWords, of_best, with_meaning
from tfsum.text.rows import Rows, repeat
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.word_piece import WordPiece

NO_SENTENCE = -2  # a number of sentences for `extract`, where 0 is any number
FILLS: dict[str, float | str] = {
    "sentences": "",
    "start": -1,
    "end": -1,
    "score": 0.0,
}  # of columns beyond `count`
TEXT = tf.TensorSpec([None], tf.string, name="text")
QUERY = tf.TensorSpec([None], tf.string, name="query")
MAX_KEYWORDS = tf.TensorSpec([None], tf.int32, name="max_keywords")
OPTIONS = [
    tf.TensorSpec([None], tf.constant(entry.nothing).dtype, name=entry.name)
    for entry in INPUTS.values()
]


class ExtractiveSummarizer(tf.Module):
    """The exported graph of a `BertSumExt`.

    Args:
        model: A built `BertSumExt`, whose weights are stored (see `StoredWeights`).
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
        lead_bias: How much more first sentences count by expected ROUGE, see
            `tfsum.text.expected_rouge.expected_rouge_ranks`.
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
        lead_bias: float = 0.0,
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

        self.reader = Reader(model, word_piece, splitter, window_length, storage, frequent)
        self.weights = self.reader.weights
        self.window_length = window_length
        self.max_sentences = max_sentences
        self.default_sentences = AUTOMATIC if sentences == "auto" else sentences
        self.default_block = block_trigrams
        self.lead_bias = lead_bias
        self.selection, self.shared_words = selection, SharedWords(word_piece.vocabulary)

    def automatic(self) -> dict[str, int]:
        """For the description: the `max_sentences` by which the graph chooses the number itself."""
        return {"automatic": AUTOMATIC} if self.selection == "expected_rouge" else {}

    def signatures(self) -> dict:
        """The signatures of the SavedModel, by name."""
        found = {
            "serving_default": self.serve,
            "summarize": self.summarize,
            "extract": self.extract,
            "keywords": self.keywords,
            "score": self.score,
            "relevance": self.relevance,
            "score_ids": self.score_ids,
        }
        if self.reader.embeds:
            found["embed"] = tf.function(self.embed, [TEXT], autograph=False)
        return {
            **found,
            "read": self.read,
            **self.of_readings(),
            "windows": self.windows,
            "read_encoded": self.read_encoded,
        }

    @tf.function(input_signature=[TEXT], autograph=False)
    def serve(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Summarizes texts (B,) with the defaults of the export."""
        rows = tf.shape(text)
        return self.summarize(
            text, tf.fill(rows, self.default_sentences), tf.fill(rows, self.default_block)
        )

    @tf.function(
        input_signature=[
            TEXT,
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
        nothing = {
            entry.name: tf.fill(tf.shape(max_sentences), entry.nothing) for entry in INPUTS.values()
        }
        # 0 is no limit there, and here no sentence
        most = tf.where(most == 0, NO_SENTENCE, most)
        options = nothing | {"max_sentences": most, "block_trigrams": block_trigrams}

        outputs = self.extract(text, *options.values())
        return outputs | {
            name: columns(outputs[name], self.max_sentences, fill) for name, fill in FILLS.items()
        }

    @tf.function(input_signature=[TEXT, *OPTIONS], autograph=False)
    def extract(self, text: tf.Tensor, *options: tf.Tensor) -> dict[str, tf.Tensor]:
        """Chooses the sentences of texts (B,) within `Options` (B,), where 0 is no limit.

        A summary is never over `max_words`, `max_characters` or `max_share` of the text's words,
        unless no sentence has room: then it is the shortest one. `query_weight`, from 0 to 1,
        is how much the query counts beside what matters in general; "" asks nothing.
        """
        named = {entry.name: given for entry, given in zip(INPUTS.values(), options, strict=True)}
        text = _checked(text, **named)
        read, vectors = self.reader.read(text)
        return self._extract(read, lambda: self.reader.embed(vectors), Options(**named))

    @tf.function(input_signature=[TEXT, MAX_KEYWORDS], autograph=False)
    def keywords(self, text: tf.Tensor, max_keywords: tf.Tensor) -> dict[str, tf.Tensor]:
        """The words and phrases that carry texts (B,), at most `max_keywords` (B,) of each, and
        never more than `MOST_KEYWORDS`."""
        text = _checked(text, max_keywords=max_keywords)
        return self._keywords(self.reader.read(text)[0], max_keywords)

    @tf.function(input_signature=[TEXT], autograph=False)
    def score(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Scores every sentence of texts (B,); rows are padded with -1 and 0 beyond `count`."""
        return self.reader.read(text)[0].scores()

    @tf.function(input_signature=[TEXT, QUERY], autograph=False)
    def relevance(self, text: tf.Tensor, query: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `score`, by how much every sentence has to do with the query (B,) to its text."""
        text = _checked(text, query=query)
        read, vectors = self.reader.read(text)
        return self._relevance(read, lambda: self.reader.embed(vectors), query)

    def embed(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Embeds texts (B,), each read as one sentence: unit vectors (B, W), whose products say how
        near the texts are in meaning."""
        return {"embedding": self.reader.embed_texts(text)}

    @tf.function(input_signature=[TEXT], autograph=False)
    def read(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Reads texts (B,) once: what `score` returns, and all that the signatures `..._of_reading`
        need to answer any number of requests, see `tfsum.tasks.bert_sum_ext.reading_outputs`."""
        return self._outputs(*self.reader.read(text))

    @tf.function(input_signature=[TEXT], autograph=False)
    def windows(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The windows of texts (B,) that the encoder reads, (W, T) of all texts."""
        windows = self.reader.split(text).windows
        return {name: windows[name] for name in ("token_ids", "segment_ids")}

    @tf.function(
        input_signature=[TEXT, tf.TensorSpec([None, None, None], tf.float32, name="sequence")],
        autograph=False,
    )
    def read_encoded(self, text: tf.Tensor, sequence: tf.Tensor) -> dict[str, tf.Tensor]:
        """`read` of texts (B,) whose `windows` another program encoded: vectors (W, T, D)."""
        return self._outputs(*self.reader.read(text, sequence))

    @tf.function(autograph=False)
    def _outputs(self, read: Read, vectors: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `read` of texts that were read."""
        embeddings = self.reader.embed(vectors) if self.reader.embeds else None
        return reading_outputs(read, embeddings)

    def reading(self) -> dict[str, tf.TensorSpec]:
        """What `read` returns, by name."""
        outputs = self.read.get_concrete_function().structured_outputs
        return {
            name: tf.TensorSpec(output.shape, output.dtype, name)
            for name, output in outputs.items()
        }

    def of_readings(self) -> dict[str, Callable]:
        """The signatures that take what `read` returned in place of texts, by name."""
        specs = self.reading()

        def signature(answer: Callable, *inputs: tf.TensorSpec) -> Callable:
            def of_reading(*given: tf.Tensor) -> dict[str, tf.Tensor]:
                reading = dict(zip(specs, given[: len(specs)], strict=True))
                return answer(reading, *given[len(specs) :])

            return tf.function(of_reading, [*specs.values(), *inputs], autograph=False)

        return {
            "extract" + OF_READING: signature(
                lambda reading, *options: self._extract(*read_again(reading), Options(*options)),
                *OPTIONS,
            ),
            "keywords" + OF_READING: signature(
                lambda reading, most: self._keywords(read_again(reading)[0], most), MAX_KEYWORDS
            ),
            "relevance" + OF_READING: signature(
                lambda reading, query: self._relevance(*read_again(reading), query), QUERY
            ),
        }

    def _extract(
        self, read: Read, embeddings: Callable[[], tf.Tensor], options: Options
    ) -> dict[str, tf.Tensor]:
        """The signature `extract` of texts that were read."""
        relevant, found = self._relevances(read, embeddings, options.query)
        return {**self._chosen(read, options, relevant), **found, **read.about}

    @tf.function(autograph=False)
    def _chosen(self, read: Read, options: Options, relevant: tf.Tensor) -> dict[str, tf.Tensor]:
        """`choose_sentences`, once in the graph."""
        by_rouge = self.selection == "expected_rouge"
        words = self.shared_words.words
        return choose_sentences(read, options, relevant, words, by_rouge, self.lead_bias)

    @tf.function(autograph=False)
    def _keywords(self, read: Read, most: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `keywords` of texts that were read."""
        found = choose_keywords(read, most, self.reader.tokenize, self.reader.known_words)
        return {**found, **read.about}

    def _relevance(
        self, read: Read, embeddings: Callable[[], tf.Tensor], query: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The signature `relevance` of texts that were read."""
        relevant, found = self._relevances(read, embeddings, query)
        return {**read.scores(relevant), **found}

    def _relevances(
        self, read: Read, embeddings: Callable[[], tf.Tensor], queries: tf.Tensor
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """How much sentences (N,) have to do with the queries (B,) to their texts, from 0 to 1; and
        (B,) what says whether anything has: `shared`, the share of the query that is in the text,
        and `nearest`, the best cosine with it, of a model that embeds."""
        rows = Rows.of(read.per_text(read.start))
        nothing, of_texts = tf.zeros_like(read.logits), tf.zeros_like(rows.sizes())
        relevant, shared, near = tf.cond(
            tf.reduce_any(queries != ""),
            lambda: self._asked(read, embeddings() if self.reader.embeds else None, queries),
            lambda: (nothing, of_texts, nothing),
        )
        found = {"shared": shared}
        if self.reader.embeds:
            found["nearest"] = tf.maximum(rows.max(near), 0.0)  # of no sentences too
        return of_best(relevant, rows), found

    @tf.function(autograph=False)
    def _asked(
        self, read: Read, embeddings: tf.Tensor | None, queries: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """What sentences (N,) have to do with the queries (B,) to their texts, by words and
        meaning; the share (B,) of the query that is in the text; and the cosines (N,), 0 without
        embeddings."""
        texts = read.per_text(read.pieces)
        rows = Rows.of(texts)
        asked = self.reader.tokenize(queries)
        by_words, shared = self.shared_words(asked, texts)
        if embeddings is None:
            return by_words, shared, tf.zeros_like(by_words)

        count = Rows.of(asked).count_of(tf.gather(self.shared_words.words, asked.flat_values))
        of_queries = self.reader.embed_texts(queries)
        of_queries = tf.where((queries != "")[:, tf.newaxis], of_queries, 0.0)
        near = tf.reduce_sum(embeddings * repeat(of_queries, read.count), 1)
        return with_meaning(by_words, near, rows, count), shared, near

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
        vectors, _ = self.reader.encode(token_ids, segment_ids, sentence_starts)
        logits = self.reader.score_sentences(vectors, real, tf.zeros_like(token_ids[:, 0]))
        return {"score": tf.where(real, tf.sigmoid(logits), 0.0)}


def _checked(text: tf.Tensor, **inputs: tf.Tensor) -> tf.Tensor:
    """The texts, once it is known that the other inputs have a value for each of them."""
    checks = [
        tf.debugging.assert_equal(
            tf.shape(given), tf.shape(text), f"{name}: expected one value for each text"
        )
        for name, given in inputs.items()
    ]
    with tf.control_dependencies(checks):
        return tf.identity(text)
