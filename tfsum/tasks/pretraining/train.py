"""Pretraining a BERT on documents: masked words and next sentences, from a corpus to the best model folder."""

import dataclasses
import pathlib
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tfsum.data.vocabulary_file import vocabulary_file
from tfsum.errors import Error, RecipeError
from tfsum.formats.hugging_face import local_folder
from tfsum.formats.open_folder import open_folder
from tfsum.models import BertForPretraining
from tfsum.models.bert_for_pretraining import PRESETS
from tfsum.tasks.pretraining.batches import SentencePairBatcher, load_sentence_pairs
from tfsum.tasks.pretraining.masking import Masking
from tfsum.tasks.pretraining.prepare import prepare
from tfsum.tasks.pretraining.validation import PretrainingValidation
from tfsum.tasks.pretraining.vocabulary import corpus_vocabulary
from tfsum.text.word_piece import WordPiece
from tfsum.training.encoder import CASE_KEYS, check_segments, text_settings
from tfsum.training.log import format_counts, log
from tfsum.training.optimizer import NOT_DECAYED, Adam, BertWarmUp, encoder_factor
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders
from tfsum.training.run import Run
from tfsum.training.run_settings import RunSettings

Size = Literal["tiny", "mini", "small", "medium", "base", "large"]  # the keys of PRESETS


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSettings(RunSettings):
    """[train] of a recipe for a BertForPretraining.

    Attributes:
        tokens_per_batch: padded tokens of a step's batch, which all devices share.
        masked_share, max_predictions, whole_words: see `Masking`.
        static_masks: see `tfsum.tasks.pretraining.batches.SentencePairBatcher`.
        learning_rate: the target rate of the warm-up; it falls linearly to 0 at the last step (`BertWarmUp`).
        encoder_learning_rate: the same of a trained encoder without its pooler, which may want less than new heads;
            None is `learning_rate`.
        warmup_steps: steps of linear growth of the rates.
        weight_decay: of AdamW; biases and normalizations are excluded.
        bias_correction: False omits Adam's bias correction, as google-research/bert does.
        clip_norm: largest global norm of the gradients; 0 never clips.
        next_sentence_weight: factor of the next-sentence loss; the original's is 1. The pair task is
            learned late if the far larger gradients of the masks dominate at first.

    Raises:
        Error: `next_sentence_weight` is negative.

    Example:
        >>> TrainSettings(folder="runs/bert", steps=1000).masked_share
        0.15
    """

    tokens_per_batch: int = 4096
    masked_share: float = 0.15
    max_predictions: int = 20
    whole_words: bool = False
    static_masks: bool = False
    learning_rate: float = 1e-4
    encoder_learning_rate: float | None = None
    warmup_steps: int = 100
    weight_decay: float = 0.01
    bias_correction: bool = True
    clip_norm: float = 1.0
    next_sentence_weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.next_sentence_weight < 0:
            raise Error(f"next_sentence_weight is {self.next_sentence_weight}; expected 0 or more")


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """[evaluate] of a recipe for a BertForPretraining.

    Attributes:
        pairs: held-out pairs that a validation reads of each folder; None is all.

    Raises:
        Error: fewer than one.

    Example:
        >>> EvaluateSettings(pairs=1000).pairs
        1000
    """

    pairs: int | None = None

    def __post_init__(self) -> None:
        if self.pairs is not None and self.pairs < 1:
            raise Error(f"pairs is {self.pairs}; expected 1 or more, or none for all of them")


def schema() -> dict[str, dict[str, Key]]:
    """The schema of a recipe: section -> key -> `Key`."""
    prepared = keys_of(
        prepare, "corpus", "out_dir", "vocabulary", "part", "held_out_share", "progress", *CASE_KEYS
    )
    return {
        "data": {
            "train": Key((str,)),
            "validation": Key((str, type(None)), None),
            "validation_share": Key((float,), 0.02),
            "records": Key((str,)),
            **{k: v for k, v in prepared.items() if k != "newline"},
        },
        "text": {
            **CASE_KEYS,
            "newline": prepared["newline"],
            "vocabulary": Key((str, type(None)), None),
            "vocabulary_size": Key((int, type(None)), None),
            "reversible": Key((bool,), True),
        },
        "model": keys_of(make_model, "vocabulary_size"),
        "train": keys_of(TrainSettings),
        "evaluate": keys_of(EvaluateSettings),
    }


@dataclasses.dataclass
class TrainingData:
    """The result of `prepare_data`.

    Attributes:
        text: the text settings that the model folder will hold.
        word_piece: the tokenizer.
        records: folders of prepared pairs: "train", "validation" and, where there is a next-sentence task,
            "same_document".
    """

    text: dict[str, Any]
    word_piece: WordPiece
    records: dict[str, pathlib.Path]


def prepare_data(recipe: dict[str, dict[str, Any]]) -> TrainingData:
    """Learns the vocabulary of a recipe and prepares its records, unless that is done."""
    data, text, model = (recipe[section] for section in ("data", "text", "model"))
    vocabulary, settings = _vocabulary(data, text, model["encoder"])
    config = None if model["encoder"] is None else open_folder(model["encoder"]).config
    longest = (
        model["max_position_embeddings"] if config is None else config["max_position_embeddings"]
    )
    if data["max_length"] > longest:
        raise RecipeError(
            f"[data] max_length is {data['max_length']}; the model has positions for {longest} tokens"
        )
    if config is not None and data["next_sentence"] != "none":
        check_segments(config, "a pair of sentences ([data] next_sentence)")
    case = {"lowercase": settings["lowercase"], "strip_accents": settings["strip_accents"]}
    records = _prepare_splits(data, vocabulary, {**case, "newline": text["newline"]})
    return TrainingData(settings, WordPiece.from_file(vocabulary, **case), records)


def _vocabulary(
    data: dict[str, Any], text: dict[str, Any], encoder: str | None
) -> tuple[pathlib.Path, dict]:
    """The vocab.txt, and the text settings that the model folder will remember."""
    ready, size = text["vocabulary"], text["vocabulary_size"]
    if [encoder, ready, size].count(None) != 2:
        raise RecipeError(
            f"[model] encoder is {encoder!r}, [text] vocabulary {ready!r} and vocabulary_size {size}; "
            "expected one of the three: an encoder, which has its vocabulary, a vocab.txt for a new "
            "model, or the size of a vocabulary to be learned from the corpus"
        )
    if size is None:
        place = pathlib.Path(ready) if encoder is None else local_folder(encoder)
        case = text_settings(place, text["lowercase"], text["strip_accents"])
        return vocabulary_file(place), {**case, "max_length": data["max_length"]}
    case = {"lowercase": bool(text["lowercase"]), "strip_accents": text["strip_accents"]}
    folder = pathlib.Path(data["records"]) / "vocabulary"
    file = corpus_vocabulary(
        data["train"], folder, data["text"], size, reversible=text["reversible"], **case
    )
    return file, {**case, "max_length": data["max_length"]}


def _prepare_splits(
    data: dict[str, Any], vocabulary: pathlib.Path, text: dict[str, Any]
) -> dict[str, pathlib.Path]:
    """The folders of the records: "train", "validation" and, with a next-sentence task, "same_document"."""
    own = data["validation"] is None  # part of the training corpus is held out
    splits = {"train": data["same_document_share"], "validation": 0.0}
    if data["next_sentence"] != "none":
        splits["same_document"] = 1.0
    folders = {}
    for split, same_document_share in splits.items():
        training = split == "train"
        folders[split] = pathlib.Path(data["records"]) / split
        counts = prepare(
            data["train"] if own or training else data["validation"],
            folders[split],
            vocabulary,
            text=data["text"],
            max_length=data["max_length"],
            next_sentence=data["next_sentence"],
            same_document_share=same_document_share,
            short_share=data["short_share"],
            duplicates=data["duplicates"] if training else 1,
            lowercase=text["lowercase"],
            strip_accents=text["strip_accents"],
            newline=text["newline"],
            part="all" if not own else "training" if training else "held_out",
            held_out_share=data["validation_share"] if own else 0.0,
            seed=data["seed"],
            shards=data["shards"],
            processes=data["processes"],
        )
        log(f"{split}: {format_counts(counts)}")
    return folders


def build_model(recipe: dict[str, dict[str, Any]], data: TrainingData) -> BertForPretraining:
    """Builds the model of a recipe, with new weights or those of its encoder."""
    model = recipe["model"]
    return make_model(
        len(data.word_piece.vocabulary),
        model["encoder"],
        model["size"],
        model["max_position_embeddings"],
        model["hidden_dropout_prob"],
        model["attention_probs_dropout_prob"],
    )


def make_run(
    recipe: dict[str, dict[str, Any]], data: TrainingData, model: BertForPretraining
) -> "PretrainingRun":
    """Makes the run of a recipe."""
    return PretrainingRun(
        model,
        data.records,
        data.word_piece,
        {"text": data.text, "recipe": without_folders(recipe)},
        TrainSettings(**recipe["train"]),
        EvaluateSettings(**recipe["evaluate"]),
    )


def make_model(
    vocabulary_size: int,
    encoder: str | None = None,
    size: Size = "mini",
    max_position_embeddings: int = 512,
    hidden_dropout_prob: float = 0.1,
    attention_probs_dropout_prob: float = 0.1,
) -> BertForPretraining:
    """Builds a BertForPretraining with new weights, or with those of an encoder and, where it has none, new heads.

    Args:
        vocabulary_size: pieces of a new model's vocabulary.
        encoder: see `tfsum.formats.hugging_face.local_folder`; None for new weights.
        size: of a new model, a key of `tfsum.models.bert_for_pretraining.PRESETS`.
        max_position_embeddings: positions of a new model.
        hidden_dropout_prob: dropout of the encoder.
        attention_probs_dropout_prob: dropout on its attention weights.

    Returns:
        The built model.

    Raises:
        CheckpointError: the encoder cannot be read.

    Example:
        >>> make_model(vocabulary_size=10, size="tiny").bert.config["hidden_size"]
        128
    """
    dropout = {
        "hidden_dropout_prob": hidden_dropout_prob,
        "attention_probs_dropout_prob": attention_probs_dropout_prob,
    }
    if encoder is not None:
        return BertForPretraining.from_stored(open_folder(encoder), warn=False, **dropout)
    model = BertForPretraining(
        {
            **PRESETS[size],
            "vocab_size": vocabulary_size,
            "max_position_embeddings": max_position_embeddings,
            **dropout,
        }
    )
    model.build()
    return model


class PretrainingRun(Run):
    """A `Run` that trains a BertForPretraining and validates it by its predictions.

    Args:
        model: a built `BertForPretraining`.
        records: folders of prepared pairs, see `TrainingData`.
        word_piece: the tokenizer.
        model_settings: the content of tfsum.json of the best model.
        settings: see `TrainSettings`.
        evaluate: see `EvaluateSettings`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/bert/best')
    """

    def __init__(
        self,
        model: BertForPretraining,
        records: dict[str, pathlib.Path],
        word_piece: WordPiece,
        model_settings: dict,
        settings: TrainSettings,
        evaluate: EvaluateSettings,
    ) -> None:
        encoder_rate = settings.encoder_learning_rate
        factor = encoder_factor(
            settings.learning_rate if encoder_rate is None else encoder_rate, settings.learning_rate
        )
        with model.distribute_strategy.scope():
            optimizer = Adam(
                BertWarmUp(settings.learning_rate, settings.warmup_steps, settings.steps),
                {"bert": factor, "pooler": 1.0},
                epsilon=1e-6,
                weight_decay=settings.weight_decay,
                bias_correction=settings.bias_correction,
                global_clipnorm=settings.clip_norm or None,
            )
            optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
        model.next_sentence_weight = settings.next_sentence_weight
        super().__init__(model, optimizer, settings)
        self.model_settings, self._word_piece = model_settings, word_piece
        self._pairs = load_sentence_pairs(records["train"])
        masking = Masking(
            word_piece.vocabulary,
            settings.masked_share,
            settings.max_predictions,
            settings.whole_words,
            settings.seed,
        )
        ids = {"cls_id": word_piece.cls_id, "sep_id": word_piece.sep_id}
        self._batcher = SentencePairBatcher(
            self._pairs,
            settings.tokens_per_batch,
            masking=masking,
            static_masks=settings.static_masks,
            **ids,
        )
        self.validation = PretrainingValidation(
            model,
            records["validation"],
            records.get("same_document"),
            masking,
            settings.tokens_per_batch,
            pairs=evaluate.pairs,
            **ids,
        )

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first logs what a pass over the pairs holds, and what the most frequent piece scores."""
        report = self._batcher.report()
        log(
            f"one pass: {report['pairs']} pairs, {report['tokens']} tokens, {report['batches']} batches, padding "
            f"{100 * report['padding']:.1f} %"
        )
        guess = int(np.bincount(self._pairs.pieces).argmax())
        self.state["unigram"] = {
            "piece": self._word_piece.vocabulary[guess],
            "masked_lm_accuracy": self.validation.unigram_accuracy(guess),
        }
        log(
            "unigram guess {piece!r}: masked_lm_accuracy {masked_lm_accuracy:.2f}".format(
                **self.state["unigram"]
            )
        )
        best = super().fit()
        log(table(self.state["history"]))
        return best

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """Token batches of pairs of about equal lengths, with new masks in each epoch; see `Run.batches`."""
        return self.shared(self._batcher, done), self.settings.steps

    def rows(self, step: int) -> list[str]:
        """The numbers of the pairs of a step, in the order of the records."""
        return [f"pair {number}" for number in self.batch_rows(self._batcher, step)]

    def measure(self) -> dict[str, float]:
        """See `PretrainingValidation.scores`."""
        return self.validation.scores()

    def selection_score(self, scores: dict[str, float]) -> float:
        """The loss below 0: the lower the loss, the better."""
        return -scores["loss"]

    def save_best(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores beside the unigram guess's."""
        self.model.save_pretrained(
            folder,
            self._word_piece.vocabulary,
            {
                **self.model_settings,
                "validation": self.state["best"],
                "unigram": self.state["unigram"],
                "seconds": round(self.state["seconds"]),
            },
        )


def table(history: list[dict[str, float]]) -> str:
    """Formats the validations of a run, one per line.

    Args:
        history: the scores of each validation; the first key is the step.

    Example:
        >>> print(table([{"step": 1000, "loss": 7.5}]))
        step  loss
        1000  7.50
    """
    names = list(history[0])
    rows = [
        names,
        *([str(row["step"]), *(f"{row[name]:.2f}" for name in names[1:])] for row in history),
    ]
    return "\n".join(
        "  ".join(cell.rjust(len(name)) for cell, name in zip(row, names, strict=True))
        for row in rows
    )
