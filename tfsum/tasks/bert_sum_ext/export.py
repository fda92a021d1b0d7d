"""A BertSumExt's model folder to a SavedModel: strings in, sentences with scores and offsets out.

The signatures are here; `reading.py` splits, tokenizes and scores texts, and `choosing.py` chooses
among their sentences and words. See `stored_weights` for how the weights are stored.

Some options of an export lead to other files: `ops="core"` to `text/core_word_piece.py`,
`newline="auto"` to `text/hard_wraps.py`, `selection="expected_rouge"` to `text/expected_rouge.py`.
"""

import pathlib
from collections.abc import Sequence
from typing import Literal

import tensorflow as tf

import tfsum.papers  # noqa: F401  (adds its head to those of BertSumExt)
from tfsum.errors import ExportError
from tfsum.export.model_card import Card
from tfsum.export.saved_model import (
    read_settings,
    read_word_piece,
    version_folder,
    window_of,
    write_export,
)
from tfsum.models import BertSumExt
from tfsum.request import INPUTS
from tfsum.tasks.bert_sum_ext import golden
from tfsum.tasks.bert_sum_ext.choosing import Options, choose_keywords, choose_sentences, relevances
from tfsum.tasks.bert_sum_ext.reading import Reader, columns
from tfsum.text.expected_rouge import AUTOMATIC, MOST, SELECTIONS, is_word
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.word_piece import WordPiece

# For a model folder without settings: BERT's own.
TEXT_SETTINGS = {"newline": "sentence"}
NO_SENTENCE = -2  # a number of sentences for `extract`, where 0 is any number
FILLS: dict[str, float | str] = {
    "sentences": "",
    "start": -1,
    "end": -1,
    "score": 0.0,
}  # of columns beyond `count`
TEXT = tf.TensorSpec([None], tf.string, name="text")


def export_model(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    ops: str = "core",
    max_sentences: int = 10,
    sentences: int | Literal["auto"] = 3,
    selection: str | None = None,
    block_trigrams: bool | None = None,
    storage: str = "float32",
    newline: str | None = None,
) -> pathlib.Path:
    """Writes and verifies a BertSumExt as a SavedModel that takes raw strings.

    Args:
        folder: A model folder (`BertSumExt.save_pretrained`) with vocab.txt and tfsum.json.
        destination: `.../NAME/VERSION`, VERSION a new integer; or `.../NAME`, for the next version.
        ops: "core" for any host of TensorFlow, "text" for hosts with TF Text's ops (faster).
        max_sentences: N, the most sentences of a summary.
        sentences: The number that `serving_default` returns; "auto" for two to four, as many as are
            expected to score best.
        selection: "score" or "expected_rouge": how sentences are selected, see
            `ExtractiveSummarizer`; by default as the model's recipe was evaluated, else by score
            (the papers').
        block_trigrams: Whether `serving_default` skips a sentence that repeats a word trigram of
            the summary; by default as the model's recipe was evaluated, else True (the papers').
        storage: "float32", "float16", or "small" (float16, and int8 rows of the word embedding with
            a scale each).
        newline: Meaning of a new line, as in `SentenceSplitter`; "auto" decides for each text and
            returns its decision. By default as the model was trained.

    Returns:
        The folder written.

    Raises:
        ExportError: Folder is incomplete, an option is invalid, the destination exists or
            cannot be written.
        CheckpointError: Model folder cannot be read.
    """
    source, destination = pathlib.Path(folder), version_folder(destination)
    settings = read_settings(source)
    if newline is not None:
        settings["text"] = {**settings["text"], "newline": newline}

    evaluated = settings.get("recipe", {}).get("evaluate", {})
    if block_trigrams is None:
        block_trigrams = bool(evaluated.get("block_trigrams", True))
    choice = {
        "max_sentences": max_sentences,
        "sentences": sentences,
        "selection": selection or evaluated.get("selection", "score"),
        "block_trigrams": block_trigrams,
    }

    module = build(source, settings, ops, choice, storage)
    text = {**TEXT_SETTINGS, **settings["text"], "window_length": module.window_length}

    return write_export(
        module,
        golden,
        card,
        source,
        destination,
        settings,
        {
            "kind": "extractive",
            "ops": ops,
            "storage": storage,
            "text": text,
            **choice,
            **module.automatic(),
            "relevance": True,  # has this signature, which older exports lack
        },
    )


def card(description: dict) -> Card:
    """The part of an extractive summarizer's model card.

    Args:
        description: Content of assets.extra/tfsum.json.
    """
    config = description["config"]
    model, most = config["bert_sum_ext"], description["sentences"]
    blocking = {True: "on", False: "off"}[description["block_trigrams"]]
    return Card(
        "An extractive summarizer for TensorFlow",
        "sentences with scores and byte offsets",
        {
            "kind": f'extractive (BertSumExt, head "{model["head"]}",'
            f' pooling "{model["pooling"]}")',
            "encoder": f"{config['num_hidden_layers']} layers, width {config['hidden_size']},"
            f" {config['vocab_size']} word pieces, windows of"
            f" {description['text']['window_length']} tokens",
            "signatures": ", ".join(golden.signatures(description)),
            "summary": f"{'two to four' if most == 'auto' else most} sentences by default, at most"
            f" {description['max_sentences']}; trigram blocking {blocking}",
            "chosen by": description["selection"],
        },
    )


def build(
    source: pathlib.Path, settings: dict, ops: str, choice: dict, storage: str
) -> "ExtractiveSummarizer":
    """Makes the module of a model folder; `choice` holds the arguments of the selection.

    Args:
        source: The model folder.
        settings: Settings from `read_settings`.
        ops: Operations of the text work, as in `export_model`.
        storage: Storage of the weights, as in `export_model`.
        choice: Further arguments of `ExtractiveSummarizer`.

    Raises:
        ExportError: Vocabulary or the window length does not fit the model.

    Example:
        >>> source = pathlib.Path("runs/news/best")
        >>> module = build(
        ...     source, read_settings(source), "core", {"sentences": 3}, "float32"
        ... )  # doctest: +SKIP
    """
    text = {**TEXT_SETTINGS, **settings["text"]}
    model = BertSumExt.from_pretrained(str(source))
    return ExtractiveSummarizer(
        model,
        read_word_piece(source, text, ops, model.bert.config["vocab_size"]),
        SentenceSplitter(text["newline"]),
        window_of(source, text, model.window_length),
        storage=storage,
        frequent=settings.get("frequent", {}).get("words"),
        **choice,
    )


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
            for method in (self.embed, self.read):
                found[method.__name__] = tf.function(method, [TEXT], autograph=False)
        return found

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
        _check_rows(text, **named)
        read, by_rouge = self.reader.read(text), self.selection == "expected_rouge"
        chosen = choose_sentences(read, Options(**named), self.word_piece, self.words, by_rouge)
        return {**chosen, **read.about}

    @tf.function(
        input_signature=[TEXT, tf.TensorSpec([None], tf.int32, name="max_keywords")],
        autograph=False,
    )
    def keywords(self, text: tf.Tensor, max_keywords: tf.Tensor) -> dict[str, tf.Tensor]:
        """The words and phrases that carry texts (B,), at most `max_keywords` (B,) of each, and
        never more than `MOST_KEYWORDS`."""
        _check_rows(text, max_keywords=max_keywords)
        read = self.reader.read(text)
        found = choose_keywords(read, max_keywords, self.word_piece, self.reader.known_words)
        return {**found, **read.about}

    @tf.function(input_signature=[TEXT], autograph=False)
    def score(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Scores every sentence of texts (B,); rows are padded with -1 and 0 beyond `count`."""
        return self.reader.read(text).scores()

    @tf.function(input_signature=[TEXT, tf.TensorSpec([None], tf.string, "query")], autograph=False)
    def relevance(self, text: tf.Tensor, query: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `score`, by how much every sentence has to do with the query (B,) to its text."""
        _check_rows(text, query=query)
        read = self.reader.read(text)
        return read.scores(relevances(query, read, self.word_piece, self.words))

    def embed(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Embeds texts (B,), each read as one sentence: unit vectors (B, W), whose products say how
        near the texts are in meaning."""
        return {"embedding": self.reader.embed_texts(text)}

    def read(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Scores and embeds every sentence of texts (B,) in one pass: as `score`, and unit vectors
        (B, S, W); rows are padded with 0."""
        read = self.reader.read(text)
        embeddings = read.per_text(self.reader.embed(read.vectors))
        return {**read.scores(), "embedding": embeddings.to_tensor(0.0)}

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


def _check_rows(text: tf.Tensor, **inputs: tf.Tensor) -> None:
    """Checks that other inputs have a value for each text."""
    for name, given in inputs.items():
        tf.debugging.assert_equal(
            tf.shape(given), tf.shape(text), f"{name}: expected one value for each text"
        )
