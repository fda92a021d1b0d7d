"""Fine-tuning a BertClassifier on labelled texts, from an encoder to the best model folder."""

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.formats.model_folder import local_folder
from tfsum.formats.open_folder import open_folder
from tfsum.formats.text_settings import read_text_settings
from tfsum.models import Bert, BertClassifier
from tfsum.tasks.bert_classifier.batches import (
    PackedTexts,
    TextBatcher,
    pack_texts,
    read_labelled,
)
from tfsum.tasks.bert_classifier.classified import KNOWN_AT_ALL
from tfsum.tasks.bert_classifier.report import METRICS, ClassificationReport, evaluate_labels
from tfsum.tasks.bert_classifier.settings import RecipeSettings, TrainSettings
from tfsum.tasks.starting_point import (
    check_positions,
    check_segments,
    freeze,
    warn_of_unknown_words,
)
from tfsum.text.word_piece import WordPiece
from tfsum.training.log import format_counts, log
from tfsum.training.optimizer import NOT_DECAYED, make_adam
from tfsum.training.run import Run
from tfsum.training.workers import Workers


@dataclasses.dataclass
class ClassificationData:
    """The result of `prepare_data`.

    Attributes:
        label_names: Labels in the order of the model's scores.
        text: Text settings that the model folder will hold.
        vocabulary: Word pieces.
        packed: Split -> its texts as rows of ids.
    """

    label_names: tuple[str, ...]
    text: dict[str, Any]
    vocabulary: list[str]
    packed: dict[str, PackedTexts]


def prepare_data(recipe: RecipeSettings) -> ClassificationData:
    """Reads the texts of a recipe and tokenizes them, in memory."""
    data, text = recipe.data, recipe.text
    columns: dict[str, Any] = {"text": data.text, "label": data.label, "text_pair": data.text_pair}
    train = read_labelled(data.train, **columns)
    label_names = train.label_names() if data.labels is None else tuple(map(str, data.labels))
    if data.validation is None:
        train, held_out = train.held_out(data.validation_share)
    else:
        held_out = read_labelled(data.validation, **columns)

    encoder = local_folder(recipe.model.encoder)
    config, pair = open_folder(encoder).config, data.text_pair is not None
    check_positions(config, text.max_length, "[text] max_length")
    if pair:
        check_segments(config, "a pair of texts ([data] text_pair)")

    case = read_text_settings(encoder, text.lowercase, text.strip_accents)
    word_piece = WordPiece.from_file(encoder / "vocab.txt", **case)
    packed = {
        name: pack_texts(part, label_names, word_piece, text.max_length)
        for name, part in {"train": train, "validation": held_out}.items()
    }
    for name, part in packed.items():
        of_label = np.bincount(part.labels, minlength=len(label_names)).tolist()
        named = {f"of label {label!r}": count for label, count in zip(label_names, of_label)}
        log(f"{name}: {format_counts(part.counts | named)}")
    if absent := [label for i, label in enumerate(label_names) if i not in packed["train"].labels]:
        log(
            f"warning: no training text has label {', '.join(map(repr, absent))}; the model will"
            " hardly predict it"
        )
    warn_of_unknown_words(packed["train"].token_ids, word_piece, KNOWN_AT_ALL)
    return ClassificationData(
        label_names,
        {**case, "max_length": text.max_length, "pair": pair},
        word_piece.vocabulary,
        packed,
    )


def build_model(recipe: RecipeSettings, data: ClassificationData) -> BertClassifier:
    """Builds the model of a recipe around its encoder; with `pretrained` false only the encoder's
    size and vocabulary are taken, and new weights: the control that shows the effect of
    pretraining.

    Raises:
        CheckpointError: Encoder cannot be read.
    """
    settings = recipe.model
    stored = open_folder(settings.encoder)
    if settings.pretrained:
        bert = Bert.from_stored(stored, **settings.dropout_rates)
    else:
        bert = Bert(**{**stored.config, **settings.dropout_rates})
    model = BertClassifier(bert, data.label_names, settings.classifier_dropout)
    model.build()
    freeze(bert, settings.freeze_layers)
    return model


class ClassificationValidation:
    """Packed texts, and what a model answers to them; several workers that train it share the
    batches.

    Args:
        model: A built model of C labels.
        texts: N texts.
        tokens_per_batch: Padded tokens of a batch.

    Attributes:
        report: Report on the newest `scores`.

    Example:
        >>> validation = ClassificationValidation(
        ...     model, texts, tokens_per_batch=4096
        ... )  # doctest: +SKIP
        >>> validation.probabilities().argmax(1)  # doctest: +SKIP
        array([1, 0, 0])
    """

    report: ClassificationReport

    def __init__(self, model: BertClassifier, texts: PackedTexts, tokens_per_batch: int) -> None:
        self._labels, self._label_names = texts.labels, model.label_names
        self._batcher = TextBatcher(texts, tokens_per_batch)
        # Not Keras's `predict`, which under a strategy gives the answers of every replica.
        self._workers = Workers(model.distribute_strategy)
        self._predict = tf.function(
            model.predict_step, input_signature=[self._batcher.signature], autograph=False
        )

    def scores(self) -> dict[str, float]:
        """Accuracy and F1, in points."""
        answers = self.probabilities().argmax(1)
        self.report = evaluate_labels(answers, self._labels, self._label_names)
        scores = self.report.systems["model"]
        return {name: scores[name]["value"] for name in METRICS if name in scores}

    def selection_score(self, scores: dict[str, float]) -> float:
        """The mean of accuracy and macro F1."""
        return (scores["accuracy"] + scores["f1_macro"]) / 2

    def probabilities(self) -> np.ndarray:
        """The model's probabilities of each text's labels, float32 (N, C)."""
        return np.array(
            self._workers.map_rows(
                lambda rows: self._predict(self._batcher.assemble(rows)).numpy().tolist(),
                self._batcher.plan(),
                len(self._labels),
            ),
            np.float32,
        )


class ClassificationRun(Run[BertClassifier, TrainSettings]):
    """A `Run` that trains a BertClassifier and validates it by accuracy and F1.

    Args:
        recipe: The recipe.
        data: Result of `prepare_data`.
        model: Result of `build_model`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/tweets/best')
    """

    validation: ClassificationValidation

    def __init__(
        self, recipe: RecipeSettings, data: ClassificationData, model: BertClassifier
    ) -> None:
        settings = recipe.train
        optimizer = make_adam(
            model,
            settings,
            factors={
                "bert": settings.encoder_learning_rate / settings.learning_rate,
                "pooler": 1.0,
            },
            epsilon=1e-6,
        )
        optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
        super().__init__(model, optimizer, settings)
        self.model_settings = {"text": data.text, "recipe": recipe.without_folders()}
        self.vocabularies = [data.vocabulary]
        self.batcher = TextBatcher(data.packed["train"], settings.tokens_per_batch)
        self.validation = ClassificationValidation(
            model, data.packed["validation"], settings.tokens_per_batch
        )

    def measured(self) -> dict[str, Any]:
        """The scores of the best model, with their intervals."""
        report, step = self.validation.report, self.state["best"]["step"]
        return {"validation": {"step": step, "texts": report.texts, **report.systems["model"]}}


make_run = ClassificationRun
