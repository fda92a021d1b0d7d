"""Training a BertSumExt on prepared records, from an encoder to the best model folder."""

import functools
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import SharedBatches, TokenBudgetBatcher, ragged_places
from tfsum.data.documents.windows import DocumentBatcher, load_windows
from tfsum.data.records import Paths, load_columns, read_records
from tfsum.evaluation.rouge import METRICS, score_summaries
from tfsum.formats.config_json import read_bert_config
from tfsum.formats.int8_rows import rounded_rows
from tfsum.formats.model_folder import local_folder
from tfsum.models import Bert, BertSumExt

# `tfsum.papers` also adds its head to those of BertSumExt.
from tfsum.papers.batches import OriginalBatcher
from tfsum.tasks.bert_sum_ext.settings import EvaluateSettings, RecipeSettings, TrainSettings
from tfsum.tasks.bert_sum_ext.teacher import sentence_embeddings
from tfsum.tasks.starting_point import (
    PreparedRecords,
    freeze,
    prepare_documents,
    start_from,
    starting_model,
    warn_of_unknown_words,
)
from tfsum.text.known_words import frequent_words, is_word
from tfsum.text.selection import select_sentences
from tfsum.text.word_piece import WordPiece
from tfsum.training.log import format_scores, log
from tfsum.training.optimizer import make_adam, warm_up
from tfsum.training.run import Run
from tfsum.training.workers import Workers

SHAPE = ("head", "pooling", "word_head", "length_input", "embedding_width", "legacy")
"""Keys of [model] and arguments of `BertSumExt` on which its weights depend."""
SIZES = ("head_layers", "head_num_heads", "head_feed_forward_width")
"""Such keys of the transformer head."""

# of a document: the scores of its sentences (S), and the word head's rates at its pieces (P, 2)
Answer = tuple[list[float], list[list[float]]]


def prepare_data(recipe: RecipeSettings) -> PreparedRecords:
    """Prepares the records of a recipe, unless that is done."""
    return prepare_documents(recipe.data, recipe.text, recipe.model)


def build_model(recipe: RecipeSettings, data: PreparedRecords) -> BertSumExt:
    """Builds the model of a recipe: around its encoder, around one of the encoder's size with
    random weights (the original's `baseline`), or with the weights of [model] start.

    Raises:
        RecipeError: [model] start is another model, or has another head.
        CheckpointError: The encoder cannot be read.
    """
    settings = recipe.model
    encoder: Bert | dict
    if settings.has_stored_encoder:
        encoder = Bert.from_pretrained(data.folder, **settings.dropout_rates)
    else:
        encoder = {**read_bert_config(data.folder), **settings.dropout_rates}

    width = 0
    if settings.embedding_teacher:
        width = read_bert_config(local_folder(settings.embedding_teacher))["hidden_size"]

    model = BertSumExt(
        encoder,
        head=settings.head,
        pooling=settings.pooling,
        word_head=settings.word_head,
        length_input=settings.length_input,
        embedding_width=width,
        window_length=settings.window_length,
        head_layers=settings.head_layers,
        head_num_heads=settings.head_num_heads,
        head_feed_forward_width=settings.head_feed_forward_width,
        head_dropout=settings.head_dropout,
        legacy=settings.legacy,
        loss_reduction=settings.loss_reduction,
    )
    model.build()
    if settings.start:
        stored = starting_model(data.folder, BertSumExt)
        shape = SHAPE + (SIZES if stored.config["head"] == "transformer" else ())
        start_from(model, stored, data.folder, shape, BertSumExt.head_variables)

    if settings.round_words:  # what an export with storage "small" holds exactly
        words = model.bert.word_embeddings.embeddings
        words.assign(rounded_rows(words.numpy()))
    freeze(model.bert, settings.freeze_layers)
    model.bert.pooler.trainable = False  # the scores do not use it
    return model


class ExtractiveValidation:
    """Scores what a model chooses from prepared documents, by ROUGE.

    Workers that train the model share the batches.

    Args:
        model: A built `BertSumExt`.
        records: Folder of the records.
        word_piece: The tokenizer of the records.
        train: Section [train] of the recipe, which says how the documents are read.
        evaluate: Section [evaluate], which says how sentences are chosen from them.
    """

    def __init__(
        self,
        model: BertSumExt,
        records: Paths,
        word_piece: WordPiece,
        train: TrainSettings,
        evaluate: EvaluateSettings,
    ) -> None:
        self.evaluate = evaluate
        documents = [
            (sentences, summary.decode().split("\n"))
            for batch in read_records(records, ["sentences", "summary"])
            for sentences, summary in zip(batch["sentences"].to_list(), batch["summary"].numpy())
            if sentences
        ][: evaluate.documents]
        self._texts = [sentences for sentences, _ in documents]
        self._references = [summary for _, summary in documents]

        self._documents = load_windows(records, model.window_length, train.max_windows)
        self._batcher = DocumentBatcher(
            self._documents,
            train.tokens_per_batch,
            cls_id=word_piece.cls_id,
            sep_id=word_piece.sep_id,
        )
        self._words, self._word_head = is_word(word_piece.vocabulary), model.config["word_head"]

        # Not Keras's `predict`, which under a strategy gives the answers of every replica.
        self._workers = Workers(model.distribute_strategy)
        self._predict = tf.function(
            functools.partial(_scores, model),
            input_signature=[self._batcher.signature],
            autograph=False,
        )

    def scores(self) -> dict[str, float]:
        """ROUGE on the validation documents."""
        return self.rouge(self.answers())

    def selection_score(self, scores: dict[str, float]) -> float:
        """The mean of the three ROUGEs."""
        return sum(scores[name] for name in METRICS) / 3

    def answers(self) -> list[Answer]:
        """What the model says of each document."""
        return self._workers.map_rows(self._answers_to, self._batcher.plan(), len(self._texts))

    def _answers_to(self, rows: np.ndarray) -> list[Answer]:
        """The answers to some documents, one batch."""
        batch = self._batcher.assemble(rows)
        scores, rates = (part.numpy() for part in self._predict(batch))
        is_sentence = batch["sentence_starts"] >= 0
        special = (0, self._batcher.cls_id, self._batcher.sep_id)
        is_piece = ~np.isin(batch["token_ids"], special)
        return [
            (scores[i][is_sentence[i]].tolist(), rates[i][is_piece[i]].tolist())
            for i in range(len(rows))
        ]

    def rouge(self, answers: list[Answer]) -> dict[str, float]:
        """Returns ROUGE F of the sentences chosen by these answers, 0 to 100.

        The keys are rouge1, rouge2 and rougeLsum.
        """
        every, number = self._documents, self.evaluate.sentences
        lengths = [len(scores) for scores, _ in answers]

        pieces = rates = None
        if self.evaluate.selection == "expected_rouge":
            first, counts = (
                part[: sum(lengths)] for part in (every.first_piece, every.piece_counts)
            )
            row, place = ragged_places(counts)
            pieces = tf.RaggedTensor.from_nested_row_lengths(
                every.pieces[first[row] + place], [lengths, counts]
            )
            if self._word_head:
                per_document = [np.reshape(rates, (-1, 2)) for _, rates in answers]
                rates = tf.constant(np.concatenate(per_document), tf.float32)

        flat = np.concatenate([np.array(scores, np.float32) for scores, _ in answers])
        # the sentences that the model read
        texts = [text[:length] for text, length in zip(self._texts, lengths)]
        chosen, _ = select_sentences(
            tf.constant(flat),
            tf.ragged.constant(texts, ragged_rank=1),
            tf.fill([len(answers)], number),
            tf.fill([len(answers)], self.evaluate.block_trigrams),
            number,
            pieces,
            self._words,
            rates,
            lead_bias=self.evaluate.lead_bias,
        )
        return self._rouge_of([[i for i in row if i >= 0] for row in chosen.numpy()])

    def lead(self) -> dict[str, float]:
        """ROUGE F of the first sentences of each document."""
        return self._rouge_of([range(len(text))[: self.evaluate.sentences] for text in self._texts])

    def _rouge_of(self, chosen: Sequence[Sequence[int]]) -> dict[str, float]:
        """ROUGE F of the sentences at some places of each document."""
        summaries = [
            [text[i].decode(errors="replace") for i in places]
            for text, places in zip(self._texts, chosen, strict=True)
        ]
        return score_summaries(summaries, self._references)


def _scores(model: BertSumExt, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
    """Probabilities of the sentences (B, S), and the rates of the words (B, T, 2) or (B, T, 0)."""
    logits, rates, _ = model.read(batch, training=False)
    if rates is None:
        rates = tf.zeros(tf.concat([tf.shape(batch["token_ids"]), [0]], 0))
    return tf.sigmoid(logits), rates


class ExtractiveRun(Run[BertSumExt, TrainSettings]):
    """A `Run` that trains a BertSumExt and validates it by the ROUGE of its summaries.

    Its batches hold the first window of each document at first, then several; the records are read
    once for each of the two numbers of windows. With [data] legacy, the batches of that program are
    repeated, `micro_batches` of which make a step, see `OriginalBatcher`.

    Args:
        recipe: The recipe.
        data: Result of `prepare_data`.
        model: Result of `build_model`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/news/best')
    """

    def __init__(self, recipe: RecipeSettings, data: PreparedRecords, model: BertSumExt) -> None:
        settings = recipe.train
        optimizer = make_adam(
            model,
            settings,
            warm_up(settings, settings.decay),
            factors={"bert": settings.encoder_learning_rate / settings.learning_rate},
        )
        super().__init__(model, optimizer, settings)

        self._legacy, self._records = recipe.data.legacy, data.records["train"]
        (self._word_piece,), self._embeddings = data.tokenizers, None
        if recipe.model.embedding_teacher:
            self._embeddings = sentence_embeddings(
                self._records,
                recipe.model.embedding_teacher,
                self._word_piece,
                model.window_length,
            )
        # The batches of first windows are not needed after the others are read.
        self._batcher = functools.lru_cache(maxsize=1)(self._make_batcher)

        words = self._word_piece.vocabulary
        ((pieces, lengths),) = load_columns(self._records, "pieces")
        warn_of_unknown_words(pieces, self._word_piece)
        self.vocabularies = [words]
        self.model_settings = {
            "text": data.text,
            "frequent": frequent_words(pieces, lengths, words, self._word_piece.unk_id),
            "recipe": recipe.without_folders(),
        }
        self.validation: ExtractiveValidation = ExtractiveValidation(
            model, data.records["validation"], self._word_piece, settings, recipe.evaluate
        )

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first logs the scores of the lead baseline."""
        self.state["lead"] = self.validation.lead()
        log(f"lead: {format_scores(self.state['lead'])}")
        return super().fit()

    def batches(self, done: int) -> SharedBatches:
        """The batches that follow so many steps."""
        first, steps = self.settings.first_window_steps, self.settings.steps
        if done < first:
            return SharedBatches(self._batcher(1), done, until=min(first, steps))
        return SharedBatches(self._batcher(self.settings.max_windows), done - first, until=steps)

    def _make_batcher(self, max_windows: int) -> TokenBudgetBatcher:
        ids = {"cls_id": self._word_piece.cls_id, "sep_id": self._word_piece.sep_id}
        length, budget = self.model.window_length, self.settings.tokens_per_batch
        if self._legacy:
            return OriginalBatcher(
                self._records, self._legacy, length, budget, self.settings.micro_batches, **ids
            )
        documents, words = load_windows(self._records, length, max_windows), None
        if self.model.config["word_head"]:
            words = is_word(self._word_piece.vocabulary)
        return DocumentBatcher(documents, budget, **ids, words=words, embeddings=self._embeddings)

    def rows(self, step: int) -> list[str]:
        """Names the documents of a step by their ids."""
        ids = [
            name.decode()
            for batch in read_records(self._records, ["id", "sentences"])
            for name, sentences in zip(batch["id"].numpy(), batch["sentences"].to_list())
            if sentences
        ]
        batches = self.batches(step - 1)
        return [
            f"document {ids[row]}"
            for row in batches.batcher.rows_of(batches.skip, self.settings.seed)
        ]

    def measured(self) -> dict[str, Any]:
        """The scores of the best model beside lead's."""
        return {**super().measured(), "lead": self.state["lead"]}


make_run = ExtractiveRun
