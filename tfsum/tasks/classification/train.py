"""Fine-tuning a BertClassifier on labelled texts, from an encoder to the best model folder."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any, cast

import tensorflow as tf

from tfsum.errors import RecipeError
from tfsum.formats.hugging_face import local_folder
from tfsum.formats.open_folder import load_bert, open_folder
from tfsum.models import Bert, BertClassifier
from tfsum.tasks.classification.batches import PackedTexts, TextBatcher, pack_texts
from tfsum.tasks.classification.prepare import read_labelled, read_splits
from tfsum.tasks.classification.report import ClassificationReport, evaluate_labels
from tfsum.tasks.classification.validation import ClassificationValidation
from tfsum.text.word_piece import WordPiece
from tfsum.training.encoder import CASE_KEYS, check_segments, freeze, text_settings
from tfsum.training.log import format_counts, log
from tfsum.training.optimizer import NOT_DECAYED, Adam, WarmUp, encoder_factor
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders
from tfsum.training.run import Run
from tfsum.training.run_settings import RunSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSettings(RunSettings):
    """[train] of a recipe for a BertClassifier.

    Attributes:
        tokens_per_batch: padded tokens of a step's batch, which all devices share.
        learning_rate: peak rate of the classifier and of the pooler, which many encoders have untrained.
        encoder_learning_rate: peak rate of the rest of the encoder.
        warmup_steps: steps of linear growth of the rates, which then fall linearly to 0.
        weight_decay: of AdamW; biases and normalizations are excluded.
        clip_norm: largest global norm of the gradients; 0 never clips.

    Example:
        >>> TrainSettings(folder="runs/tweets", steps=500).encoder_learning_rate
        5e-05
    """

    tokens_per_batch: int = 1024
    learning_rate: float = 5e-4
    encoder_learning_rate: float = 5e-5
    warmup_steps: int = 50
    weight_decay: float = 0.01
    clip_norm: float = 1.0


def schema() -> dict[str, dict[str, Key]]:
    """The schema of a recipe: section -> key -> `Key`."""
    return {
        "data": {**keys_of(read_splits), **keys_of(read_labelled, "path")},
        "text": {**CASE_KEYS, **keys_of(pack_texts, "texts", "label_names", "word_piece")},
        "model": keys_of(make_model, "label_names"),
        "train": keys_of(TrainSettings),
    }


@dataclasses.dataclass
class TrainingData:
    """The result of `prepare_data`.

    Attributes:
        label_names: the labels in the order of the model's scores.
        text: the text settings that the model folder will hold.
        vocabulary: the word pieces.
        packed: split -> its texts as rows of ids.
    """

    label_names: tuple[str, ...]
    text: dict[str, Any]
    vocabulary: list[str]
    packed: dict[str, PackedTexts]


def prepare_data(recipe: dict[str, dict[str, Any]]) -> TrainingData:
    """Reads the texts of a recipe and tokenizes them, in memory."""
    data, text = recipe["data"], recipe["text"]
    texts, label_names = read_splits(
        data["train"],
        data["validation"],
        data["validation_share"],
        data["labels"],
        text=data["text"],
        label=data["label"],
        text_pair=data["text_pair"],
    )
    encoder = local_folder(recipe["model"]["encoder"])
    config, pair = open_folder(encoder).config, data["text_pair"] is not None
    if text["max_length"] > config["max_position_embeddings"]:
        raise RecipeError(
            f"[text] max_length is {text['max_length']}; the encoder has positions for "
            f"{config['max_position_embeddings']} tokens"
        )
    if pair:
        check_segments(config, "a pair of texts ([data] text_pair)")
    case = text_settings(encoder, text["lowercase"], text["strip_accents"])
    word_piece = WordPiece.from_file(encoder / "vocab.txt", **case)
    packed = {
        name: pack_texts(part, label_names, word_piece, text["max_length"])
        for name, part in texts.items()
    }
    for name, part in packed.items():
        of_label = {
            f"of label {label!r}": int((part.labels == i).sum())
            for i, label in enumerate(label_names)
        }
        log(f"{name}: {format_counts(part.counts | of_label)}")
    if absent := [label for i, label in enumerate(label_names) if i not in packed["train"].labels]:
        log(
            f"warning: no training text has label {', '.join(map(repr, absent))}; the model will hardly predict it"
        )
    settings = {**case, "max_length": text["max_length"], "pair": pair}
    return TrainingData(label_names, settings, word_piece.vocabulary, packed)


def build_model(recipe: dict[str, dict[str, Any]], data: TrainingData) -> BertClassifier:
    """Builds the model of a recipe around its encoder."""
    model = recipe["model"]
    return make_model(
        model["encoder"],
        data.label_names,
        model["pretrained"],
        model["freeze_layers"],
        model["hidden_dropout_prob"],
        model["attention_probs_dropout_prob"],
        model["classifier_dropout"],
    )


def make_run(
    recipe: dict[str, dict[str, Any]], data: TrainingData, model: BertClassifier
) -> "ClassificationRun":
    """Makes the run of a recipe."""
    return ClassificationRun(
        model,
        data.packed["train"],
        data.packed["validation"],
        data.vocabulary,
        {"text": data.text, "recipe": without_folders(recipe)},
        TrainSettings(**recipe["train"]),
    )


def make_model(
    encoder: str,
    label_names: Sequence[str],
    pretrained: bool = True,
    freeze_layers: int = 0,
    hidden_dropout_prob: float = 0.1,
    attention_probs_dropout_prob: float = 0.1,
    classifier_dropout: float = 0.1,
) -> BertClassifier:
    """Builds a BertClassifier around an encoder.

    Args:
        encoder: see `tfsum.formats.hugging_face.local_folder`.
        label_names: the labels.
        pretrained: False takes only the encoder's size and vocabulary and new weights: the control
            that shows the effect of pretraining.
        freeze_layers: the lowest encoder layers that keep their weights; above 0 the embeddings keep theirs too.
        hidden_dropout_prob: dropout of the encoder.
        attention_probs_dropout_prob: dropout on its attention weights.
        classifier_dropout: dropout on the pooled output.

    Returns:
        The built model.

    Raises:
        CheckpointError: the encoder cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Bert(10, 8, 1, 2, 16).save_pretrained(folder)
        ...     model = make_model(folder, ["no", "yes"])
        >>> model.label_names
        ('no', 'yes')
    """
    dropout = {
        "hidden_dropout_prob": hidden_dropout_prob,
        "attention_probs_dropout_prob": attention_probs_dropout_prob,
    }
    stored = open_folder(encoder)
    bert = load_bert(Bert, stored, dropout) if pretrained else Bert(**{**stored.config, **dropout})
    model = BertClassifier(bert, label_names, classifier_dropout)
    model.build()
    freeze(bert, freeze_layers)
    return model


class ClassificationRun(Run):
    """A `Run` that trains a BertClassifier and validates it by accuracy and F1.

    Args:
        model: a built `BertClassifier`.
        train: the texts to train on.
        validation: the texts to choose the best model by.
        vocabulary: the word pieces.
        model_settings: the content of tfsum.json of the best model.
        settings: see `TrainSettings`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/tweets/best')
    """

    def __init__(
        self,
        model: BertClassifier,
        train: PackedTexts,
        validation: PackedTexts,
        vocabulary: list[str],
        model_settings: dict,
        settings: TrainSettings,
    ) -> None:
        factor = encoder_factor(settings.encoder_learning_rate, settings.learning_rate)
        with model.distribute_strategy.scope():
            optimizer = Adam(
                WarmUp(settings.learning_rate, settings.warmup_steps, settings.steps),
                {"bert": factor, "pooler": 1.0},
                epsilon=1e-6,
                global_clipnorm=settings.clip_norm or None,
                weight_decay=settings.weight_decay or None,
            )
            optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
        super().__init__(model, optimizer, settings)
        self.model_settings, self._vocabulary = model_settings, vocabulary
        self._batcher = TextBatcher(train, settings.tokens_per_batch)
        self._validation = ClassificationValidation(model, validation, settings.tokens_per_batch)
        self._report: ClassificationReport | None = None  # of the newest validation

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """See `Run.batches`."""
        return self.shared(self._batcher, done), self.settings.steps

    def rows(self, step: int) -> list[str]:
        """The numbers of the texts of a step, in the order of the corpus."""
        return [f"text {number}" for number in self.batch_rows(self._batcher, step)]

    def measure(self) -> dict[str, float]:
        """Accuracy and F1 on the validation texts, in points."""
        answers = self._validation.probabilities().argmax(1)
        self._report = evaluate_labels(
            {"model": answers}, self._validation.labels, self.model.label_names
        )
        scores = self._report.systems["model"]
        return {name: scores[name]["value"] for name in scores if name != "labels"}

    def selection_score(self, scores: dict[str, float]) -> float:
        """The mean of accuracy and macro F1."""
        return (scores["accuracy"] + scores["f1_macro"]) / 2

    def save_best(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores and their intervals."""
        report = cast(ClassificationReport, self._report)
        validation = {
            "step": self.state["best"]["step"],
            "texts": report.texts,
            **report.systems["model"],
        }
        self.model.save_pretrained(
            folder,
            self._vocabulary,
            {
                **self.model_settings,
                "validation": validation,
                "seconds": round(self.state["seconds"]),
            },
        )
