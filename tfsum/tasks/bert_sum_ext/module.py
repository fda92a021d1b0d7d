"""The extractive summarizer as one module: strings in, sentences with scores and offsets out.

The signatures are here; `reading.py` splits, tokenizes and scores texts, and `choosing.py` chooses
among their sentences and words. See `stored_weights` for how the weights are stored.

Some options of an export lead to other files: `ops="core"` to `text/core_word_piece.py`,
`newline="auto"` to `text/hard_wraps.py`, `selection="expected_rouge"` to `text/expected_rouge.py`.
"""

from collections.abc import Sequence
from typing import Literal

import tensorflow as tf

from tfsum.errors import ExportError
from tfsum.models import BertSumExt
from tfsum.request import INPUTS
from tfsum.tasks.bert_sum_ext.choosing import Options, choose_keywords, choose_sentences
from tfsum.tasks.bert_sum_ext.reading import Reader, columns
from tfsum.text.expected_rouge import AUTOMATIC, MOST, SELECTIONS, is_word
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

        self.reader = Reader(model, word_piece, splitter, window_length, storage, frequent)
        self.weights = self.reader.weights
        self.word_piece, self.window_length = word_piece, window_length
        self.max_sentences = max_sentences
        self.default_sentences = AUTOMATIC if sentences == "auto" else sentences
        self.default_block = block_trigrams
        self.selection, self.words = selection, tf.constant(is_word(word_piece.vocabulary))

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
        filled = {
            name: columns(outputs[name], self.max_sentences, fill) for name, fill in FILLS.items()
        }
        return outputs | filled

    @tf.function(
        input_signature=[
            TEXT,
            *(
                tf.TensorSpec([None], tf.constant(entry.nothing).dtype, name=entry.name)
                for entry in INPUTS.values()
            ),
        ],
        autograph=False,
    )
    def extract(self, text: tf.Tensor, *options: tf.Tensor) -> dict[str, tf.Tensor]:
        """Chooses the sentences of texts (B,) within `Options` (B,), where 0 is no limit.

        A summary is never over `max_words`, `max_characters` or `max_share` of the text's words,
        unless no sentence has room: then it is the shortest one. `query_weight`, from 0 to 1,
        is how much the query counts beside what matters in general; "" asks nothing.
        """
        named = {entry.name: given for entry, given in zip(INPUTS.values(), options, strict=True)}
        for name, given in named.items():
            tf.debugging.assert_equal(
                tf.shape(given), tf.shape(text), f"{name}: expected one value for each text"
            )
        read = self.reader.read(text)
        by_rouge = self.selection == "expected_rouge"
        chosen = choose_sentences(read, Options(**named), self.word_piece, self.words, by_rouge)
        return {**chosen, **read.about}

    @tf.function(
        input_signature=[TEXT, tf.TensorSpec([None], tf.int32, name="max_keywords")],
        autograph=False,
    )
    def keywords(self, text: tf.Tensor, max_keywords: tf.Tensor) -> dict[str, tf.Tensor]:
        """The words and phrases that carry texts (B,), at most `max_keywords` (B,) of each, and
        never more than `MOST_KEYWORDS`."""
        tf.debugging.assert_equal(
            tf.shape(max_keywords), tf.shape(text), "max_keywords: expected one value for each text"
        )
        read = self.reader.read(text)
        found = choose_keywords(read, max_keywords, self.word_piece, self.reader.known_words)
        return {**found, **read.about}

    @tf.function(input_signature=[TEXT], autograph=False)
    def score(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Scores every sentence of texts (B,); rows are padded with -1 and 0 beyond `count`."""
        read = self.reader.read(text)
        return {
            "start": read.per_text(read.start).to_tensor(-1),
            "end": read.per_text(read.end).to_tensor(-1),
            "score": read.per_text(read.probability).to_tensor(0.0),
            "count": read.count,
            **read.about,
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
        vectors, _ = self.reader.encode(token_ids, segment_ids, sentence_starts)
        logits = self.reader.score_sentences(vectors, real, tf.zeros_like(token_ids[:, 0]))
        return {"score": tf.where(real, tf.sigmoid(logits), 0.0)}
