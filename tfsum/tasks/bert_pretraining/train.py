"""Pretraining a BERT on documents: masked words and next sentences, from a corpus to the best model
folder."""

import functools
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from tfsum.data.preparation import learned_vocabularies, pass_over, vocabulary_file
from tfsum.data.readers import RereadTexts, read_documents
from tfsum.errors import RecipeError, require
from tfsum.formats.model_folder import local_folder
from tfsum.formats.open_folder import open_folder
from tfsum.formats.text_settings import read_text_settings
from tfsum.models.bert_for_pretraining import PRESETS, BertForPretraining
from tfsum.tasks.bert_pretraining.batches import SentencePairBatcher, load_sentence_pairs
from tfsum.tasks.bert_pretraining.masking import Masking
from tfsum.tasks.bert_pretraining.prepare import SegmentPreparation
from tfsum.tasks.bert_pretraining.settings import (
    DataSettings,
    RecipeSettings,
    TextSettings,
    TrainSettings,
)
from tfsum.tasks.starting_point import (
    PreparedRecords,
    check_positions,
    check_segments,
    prepare_splits,
)
from tfsum.text.word_piece import WordPiece
from tfsum.training.optimizer import NOT_DECAYED, BertWarmUp, make_adam
from tfsum.training.run import Run
from tfsum.training.workers import Workers


def prepare_data(recipe: RecipeSettings) -> PreparedRecords:
    """Learns the vocabulary of a recipe and prepares its records, unless that is done: "train",
    "validation" and, with a next-sentence task, "same_document"."""
    data, model = recipe.data, recipe.model
    vocabulary, case = _vocabulary(data, recipe.text, model.encoder)
    config = model.model_dump() if model.encoder is None else open_folder(model.encoder).config
    check_positions(config, data.max_length, "[data] max_length")
    if model.encoder is not None and data.next_sentence != "none":
        check_segments(config, "a pair of sentences ([data] next_sentence)")

    return PreparedRecords(
        {**case, "max_length": data.max_length},
        _prepare_splits(data, vocabulary, {**case, "newline": recipe.text.newline}),
        [WordPiece.from_file(vocabulary, **case)],
    )


def _vocabulary(
    data: DataSettings, text: TextSettings, encoder: str | None
) -> tuple[pathlib.Path, dict[str, Any]]:
    """The vocab.txt, and how its tokenizer treats case and accents."""
    ready, size = text.vocabulary, text.vocabulary_size
    require(
        [encoder, ready, size].count(None) == 2,
        f"[model] encoder is {encoder!r}, [text] vocabulary {ready!r} and vocabulary_size"
        f" {size}; expected one of the three: an encoder, which has its vocabulary, a vocab.txt"
        " for a new model, or the size of a vocabulary to be learned from the corpus",
        RecipeError,
    )

    if size is None:
        place = local_folder(encoder) if encoder is not None else pathlib.Path(str(ready))
        return vocabulary_file(place), read_text_settings(place, text.lowercase, text.strip_accents)

    case = {"lowercase": bool(text.lowercase), "strip_accents": text.strip_accents}
    options = {"reversible": text.reversible, **case}
    (file,) = learned_vocabularies(
        pathlib.Path(data.records) / "vocabulary",
        {"text": data.text, "size": size, **options},
        {"corpus": data.train},
        {
            "vocab.txt": (
                RereadTexts(lambda: read_documents(data.train, data.text, pass_over)),
                size,
            )
        },
        **options,
    )
    return file, case


def _prepare_splits(
    data: DataSettings, vocabulary: pathlib.Path, text: dict[str, Any]
) -> dict[str, pathlib.Path]:
    """Prepares the splits: "train", "validation" and, with a next-sentence task, "same_document".

    Returns:
        Split -> folder of its records.
    """
    options = data.model_dump(include=set(SegmentPreparation.model_fields)) | text
    held_out = options | {"same_document_share": 0.0}
    if data.validation is None:  # part of the training corpus is held out
        options |= {"part": "training", "held_out_share": data.validation_share}
        held_out |= {"part": "held_out", "held_out_share": data.validation_share}

    others = data.validation or data.train
    splits = {
        "train": (data.train, SegmentPreparation(**options)),
        "validation": (others, SegmentPreparation(**held_out)),
    }
    if data.next_sentence != "none":
        held_out["same_document_share"] = 1.0
        splits["same_document"] = (others, SegmentPreparation(**held_out))
    return prepare_splits(data.records, vocabulary, splits)


def build_model(recipe: RecipeSettings, data: PreparedRecords) -> BertForPretraining:
    """Builds the model of a recipe, with new weights, or with those of its encoder and, where that
    has none, new heads.

    Raises:
        CheckpointError: Encoder cannot be read.
    """
    settings = recipe.model
    if settings.encoder is not None:
        return BertForPretraining.from_stored(
            open_folder(settings.encoder), warn=False, **settings.dropout_rates
        )

    model = BertForPretraining(
        {
            **PRESETS[settings.size],
            "vocab_size": len(data.tokenizers[0].vocabulary),
            "max_position_embeddings": settings.max_position_embeddings,
            **settings.dropout_rates,
        }
    )
    model.build()
    return model


class PretrainingValidation:
    """Held-out pairs, always under the same masks; several workers that train the model share the
    batches.

    Args:
        model: A `BertForPretraining`.
        batchers: Held-out pairs whose false ones come from other documents and, where there is a
            next-sentence task, those whose false ones come from the same document.

    Example:
        >>> PretrainingValidation(model, [batcher]).scores()  # doctest: +SKIP
        {'masked_lm_accuracy': 41.7, 'loss': 3.05}
    """

    def __init__(self, model: BertForPretraining, batchers: Sequence[SentencePairBatcher]) -> None:
        self._sets = [batcher.dataset(training=False) for batcher in batchers]
        self._weight = model.next_sentence_weight
        self._workers = Workers(model.distribute_strategy)
        self._sums = tf.function(
            lambda batch: _sums(model, batch), reduce_retracing=True, autograph=False
        )

    def scores(self) -> dict[str, float]:
        """Accuracies in points, 0 to 100, and the loss.

        Returns:
            `masked_lm_accuracy`; where there is a next-sentence task `next_sentence_accuracy`, with
            false sentences of other documents, and `same_document_accuracy`, with those of the
            same; `loss`, that of training, on the pairs of the first folder.
        """
        (masks, pairs), *others = [
            np.sum(
                self._workers.map(lambda batch: self._sums(batch).numpy().tolist(), batches), axis=0
            )
            for batches in self._sets
        ]
        names = ("masked_lm_accuracy", "next_sentence_accuracy", "same_document_accuracy")
        rows = zip(names, [masks, pairs, *(row for _, row in others)])
        return {
            **{name: float(100 * row[1] / row[0]) for name, row in rows if row[0]},
            "loss": float(masks[2] / masks[0] + self._weight * pairs[2] / max(1.0, pairs[0])),
        }

    def selection_score(self, scores: dict[str, float]) -> float:
        """The loss below 0: the lower the loss, the better."""
        return -scores["loss"]


def _sums(model: BertForPretraining, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Rows for masks and pairs: how many, how many right, their summed cross-entropy; float32 (2,
    3)."""
    outputs = model(batch, training=False)
    labels = batch["next_sentence_labels"]
    rows = []

    for logits, true, weight in (
        (outputs["masked_lm_logits"], batch["masked_lm_ids"], batch["masked_lm_weights"]),
        (outputs["next_sentence_logits"], ops.maximum(labels, 0), ops.cast(labels >= 0, "float32")),
    ):
        right = ops.cast(ops.cast(ops.argmax(logits, axis=-1), "int32") == true, "float32")
        loss = ops.sparse_categorical_crossentropy(true, logits, from_logits=True)
        rows.append(ops.stack([ops.sum(weight), ops.sum(right * weight), ops.sum(loss * weight)]))

    return ops.stack(rows)


class PretrainingRun(Run[BertForPretraining, TrainSettings]):
    """A `Run` that trains a BertForPretraining and validates it by its predictions.

    Args:
        recipe: The recipe.
        data: Result of `prepare_data`.
        model: Result of `build_model`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/bert/best')
    """

    def __init__(
        self, recipe: RecipeSettings, data: PreparedRecords, model: BertForPretraining
    ) -> None:
        settings, (word_piece,) = recipe.train, data.tokenizers
        encoder_rate = settings.encoder_learning_rate
        if encoder_rate is None:
            encoder_rate = settings.learning_rate
        optimizer = make_adam(
            model,
            settings,
            BertWarmUp(settings.learning_rate, settings.warmup_steps, settings.steps),
            factors={"bert": encoder_rate / settings.learning_rate, "pooler": 1.0},
            epsilon=1e-6,
            bias_correction=settings.bias_correction,
        )
        optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
        model.next_sentence_weight = settings.next_sentence_weight
        super().__init__(model, optimizer, settings)
        self.model_settings = {"text": data.text, "recipe": recipe.without_folders()}
        self.vocabularies = [word_piece.vocabulary]

        batcher = functools.partial(
            SentencePairBatcher,
            tokens_per_batch=settings.tokens_per_batch,
            masking=Masking(
                word_piece.vocabulary,
                max_predictions=settings.max_predictions,
                whole_words=settings.whole_words,
                seed=settings.seed,
            ),
            cls_id=word_piece.cls_id,
            sep_id=word_piece.sep_id,
        )
        pairs, *held_out = map(load_sentence_pairs, data.records.values())
        self.batcher = batcher(pairs)
        self.validation: PretrainingValidation = PretrainingValidation(
            model, [batcher(pairs.some(recipe.evaluate.pairs)) for pairs in held_out]
        )


make_run = PretrainingRun
