"""Training a BertSumExt on prepared records, from an encoder to the best model folder."""

import dataclasses
import functools
import pathlib
from typing import Any, Literal

import tensorflow as tf

from tfsum.data.batcher import Batcher
from tfsum.data.document_batcher import DocumentBatcher
from tfsum.data.original_batches import OriginalBatcher
from tfsum.data.original_preprocessing import Program
from tfsum.data.records import load_columns, read_records
from tfsum.data.windows import load_windows
from tfsum.errors import RecipeError
from tfsum.formats.hugging_face import local_folder
from tfsum.formats.model_folder import read_json
from tfsum.formats.open_folder import open_folder
from tfsum.models import BertSumExt
from tfsum.tasks.extractive.initial_model import (
    check_origin,
    check_rounding,
    is_pretrained,
    make_model,
    random_model,
    start_model,
)
from tfsum.tasks.extractive.prepare import prepare
from tfsum.tasks.extractive.validation import ExtractiveValidation
from tfsum.text.known_words import frequent_words
from tfsum.text.word_piece import Vocabulary, WordPiece
from tfsum.training.encoder import CASE_KEYS, check_segments, text_settings
from tfsum.training.log import format_counts, format_scores, log
from tfsum.training.optimizer import Adam, WarmUp, encoder_factor
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders
from tfsum.training.run import Run
from tfsum.training.run_settings import RunSettings

COLUMNS = (
    "id",
    "text",
    "summary",
)  # of the corpus; keys of [data] say what they are called if not so


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSettings(RunSettings):
    """[train] of a recipe for a BertSumExt.

    Attributes:
        tokens_per_batch: padded tokens of a step's batch, which all devices share.
        max_windows: windows read of a document.
        first_window_steps: steps at the start that read only the first window: most of what a model learns
            is there, and a step reads more documents.
        learning_rate: peak rate of the head.
        encoder_learning_rate: peak rate of the encoder.
        warmup_steps: steps of linear growth of the rates.
        decay: "linear" to 0 at the last step, or "sqrt", the papers' inverse square root.
        weight_decay: of AdamW; 0 is the papers' Adam.
        clip_norm: largest global norm of the gradients; 0 never clips.

    Example:
        >>> TrainSettings(folder="runs/news", steps=1000).tokens_per_batch
        8192
    """

    tokens_per_batch: int = 8192
    max_windows: int = 1
    first_window_steps: int = 0
    learning_rate: float = 1e-3
    encoder_learning_rate: float = 5e-5
    warmup_steps: int = 100
    decay: Literal["linear", "sqrt"] = "linear"
    weight_decay: float = 0.0
    clip_norm: float = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """[evaluate] of a recipe for a BertSumExt: how a validation chooses sentences, see `ExtractiveValidation`.

    Example:
        >>> EvaluateSettings().sentences
        3
    """

    sentences: int = 3
    selection: Literal["score", "expected_rouge"] = "score"
    block_trigrams: bool = True
    documents: int | None = None


def schema() -> dict[str, dict[str, Key]]:
    """The schema of a recipe: section -> key -> `Key`."""
    prepared = keys_of(
        prepare,
        "corpus",
        "out_dir",
        "vocabulary",
        "window_length",
        "columns",
        "progress",
        *CASE_KEYS,
    )
    return {
        "data": {
            "train": Key((str,)),
            "validation": Key((str,)),
            "records": Key((str,)),
            **{field: Key((str, type(None)), None) for field in COLUMNS},
            **{k: v for k, v in prepared.items() if k != "newline"},
        },
        "text": {**CASE_KEYS, "newline": prepared["newline"]},
        "model": {
            **keys_of(make_model),
            **keys_of(BertSumExt, "bert", "name"),
            **dict.fromkeys(("encoder", "start"), Key((str, type(None)), None)),
            # Unset rather than false and true: the runs of 0.1.0 have no such keys, and are resumed.
            **dict.fromkeys(("legacy", "pretrained"), Key((bool, type(None)), None)),
        },
        "train": keys_of(TrainSettings),
        "evaluate": keys_of(EvaluateSettings),
    }


@dataclasses.dataclass
class TrainingData:
    """The result of `prepare_data`.

    Attributes:
        encoder: the folder of the encoder, or of the model that training starts from.
        text: the text settings that the model folder will hold.
        records: split -> folder of its records.
    """

    encoder: pathlib.Path
    text: dict[str, Any]
    records: dict[str, pathlib.Path]


def prepare_data(recipe: dict[str, dict[str, Any]]) -> TrainingData:
    """Prepares the records of a recipe, unless that is done."""
    data, text, model = (recipe[section] for section in ("data", "text", "model"))
    check_rounding(model["round_words"], model["freeze_layers"])
    check_origin(model)
    encoder = local_folder(model["encoder"] or model["start"])
    config = (
        open_folder(encoder).config if is_pretrained(model) else read_json(encoder / "config.json")
    )
    check_segments(config, "a document, whose sentences take turns,")
    case = text_settings(encoder, text["lowercase"], text["strip_accents"])
    window_length = model["window_length"] or config["max_position_embeddings"]
    records = {}
    for split in ("train", "validation"):
        records[split] = pathlib.Path(data["records"]) / split
        counts = prepare(
            data[split],
            records[split],
            encoder,
            # Validation needs no soft labels, and its oracle is the report's.
            labels=data["labels"] if split == "train" else "greedy",
            legacy=data["legacy"],
            columns={field: data[field] for field in COLUMNS if data[field] is not None} or None,
            summary_sentences=data["summary_sentences"],
            temperature=data["temperature"],
            max_sentences=data["max_sentences"],
            window_length=window_length,
            lowercase=bool(case["lowercase"]),
            strip_accents=case["strip_accents"],
            newline=text["newline"],
            shards=data["shards"],
            processes=data["processes"],
        )
        log(f"{split}: {format_counts(counts)}")
    return TrainingData(
        encoder, {**case, "newline": text["newline"], "window_length": window_length}, records
    )


def build_model(recipe: dict[str, dict[str, Any]], data: TrainingData) -> BertSumExt:
    """Builds the model of a recipe around its encoder, or with the weights of [model] start."""
    model = recipe["model"]
    make = make_model if is_pretrained(model) else start_model if model["start"] else random_model
    return make(
        str(data.encoder),
        model["freeze_layers"],
        model["round_words"],
        model["hidden_dropout_prob"],
        model["attention_probs_dropout_prob"],
        head=model["head"],
        pooling=model["pooling"],
        length_input=model["length_input"],
        window_length=model["window_length"],
        head_layers=model["head_layers"],
        head_num_heads=model["head_num_heads"],
        head_feed_forward_width=model["head_feed_forward_width"],
        head_dropout=model["head_dropout"],
        legacy=bool(model["legacy"]),
        loss_reduction=model["loss_reduction"],
    )


def make_run(
    recipe: dict[str, dict[str, Any]], data: TrainingData, model: BertSumExt
) -> "ExtractiveRun":
    """Makes the run of a recipe."""
    ((pieces, _),) = load_columns(data.records["train"], "pieces")
    vocabulary = Vocabulary.from_file(data.encoder / "vocab.txt")
    frequent = frequent_words(pieces, vocabulary.words, vocabulary.unk_id)
    return ExtractiveRun(
        model,
        data.records["train"],
        data.records["validation"],
        data.encoder,
        {"text": data.text, "frequent": frequent, "recipe": without_folders(recipe)},
        TrainSettings(**recipe["train"]),
        EvaluateSettings(**recipe["evaluate"]),
        recipe["data"]["legacy"],
    )


class ExtractiveRun(Run):
    """A `Run` that trains a BertSumExt and validates it by the ROUGE of its summaries.

    Args:
        model: a built `BertSumExt`.
        train_records: folder of the training records.
        validation_records: folder of the validation records.
        vocabulary: the folder that holds vocab.txt.
        model_settings: the content of tfsum.json of the best model.
        settings: see `TrainSettings`.
        evaluate: see `EvaluateSettings`.
        legacy: whose batches to train on, `micro_batches` of which are a step, see `OriginalBatcher`.

    Raises:
        RecipeError: `legacy` with more than one window, of which the originals read one.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/news/best')
    """

    def __init__(
        self,
        model: BertSumExt,
        train_records: str | pathlib.Path,
        validation_records: str | pathlib.Path,
        vocabulary: str | pathlib.Path,
        model_settings: dict,
        settings: TrainSettings,
        evaluate: EvaluateSettings,
        legacy: Program | None = None,
    ) -> None:
        if legacy and settings.max_windows > 1:
            raise RecipeError(
                f"[train] max_windows is {settings.max_windows} and [data] legacy {legacy!r}; expected "
                "max_windows 1, since the original reads one window"
            )
        with model.distribute_strategy.scope():
            schedule = WarmUp(
                settings.learning_rate,
                settings.warmup_steps,
                settings.steps if settings.decay == "linear" else None,
            )
            factor = encoder_factor(settings.encoder_learning_rate, settings.learning_rate)
            optimizer = Adam(
                schedule,
                {"bert": factor},
                global_clipnorm=settings.clip_norm or None,
                weight_decay=settings.weight_decay or None,
            )
        super().__init__(model, optimizer, settings)
        self.model_settings = model_settings
        self._word_piece = WordPiece.from_file(pathlib.Path(vocabulary) / "vocab.txt")
        self._train_records, self._legacy = train_records, legacy
        # Read once for each of the two numbers of windows; the first is not needed after the second is read.
        self._batcher = functools.lru_cache(maxsize=1)(self._make_batcher)
        self.validation = ExtractiveValidation(
            model,
            validation_records,
            settings.max_windows,
            self._word_piece,
            settings.tokens_per_batch,
            evaluate.sentences,
            evaluate.selection,
            evaluate.block_trigrams,
            evaluate.documents,
        )

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first logs the size of a pass and the scores of the lead baseline."""
        report = self._batcher(self.settings.max_windows).report()
        log(
            f"one pass: {report['documents']} documents, {report['batches']} batches, padding "
            f"{100 * report['padding']:.1f} %, {report['sentences_dropped']} sentences beyond max_windows, "
            f"{report['sentences_cut']} cut"
        )
        self.state["lead"] = self.validation.lead()
        log(f"lead: {format_scores(self.state['lead'])}")
        return super().fit()

    def _make_batcher(self, max_windows: int) -> Batcher:
        """The batches of the training documents, so many windows of each."""
        ids = {"cls_id": self._word_piece.cls_id, "sep_id": self._word_piece.sep_id}
        records, length, budget = (
            self._train_records,
            self.model.window_length,
            self.settings.tokens_per_batch,
        )
        if self._legacy:
            return OriginalBatcher(
                records, self._legacy, length, budget, self.settings.micro_batches, **ids
            )
        return DocumentBatcher(load_windows(records, length, max_windows), budget, **ids)

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """Only first windows, then up to `max_windows` of each document; see `Run.batches`."""
        settings, first = self.settings, self.settings.first_window_steps
        windows, since = self._phase(done)
        batcher = self._batcher(windows)
        until = min(first, settings.steps) if done < first else settings.steps
        return self.shared(batcher, done - since), until

    def _phase(self, done: int) -> tuple[int, int]:
        """The windows that are read of a document after `done` steps, and the step after which that began."""
        first = self.settings.first_window_steps
        return (1, 0) if done < first else (self.settings.max_windows, first)

    def rows(self, step: int) -> list[str]:
        """The ids of the documents of a step."""
        windows, since = self._phase(step - 1)
        ids = [
            name.decode()
            for batch in read_records(self._train_records, ["id", "sentences"])
            for name, sentences in zip(batch["id"].numpy(), batch["sentences"].to_list())
            if sentences
        ]
        return [
            f"document {ids[number - 1]}"
            for number in self.batch_rows(self._batcher(windows), step - since)
        ]

    def measure(self) -> dict[str, float]:
        """ROUGE on the validation documents."""
        return self.validation.rouge(self.validation.probabilities())

    def selection_score(self, scores: dict[str, float]) -> float:
        """The mean of the three ROUGEs."""
        return sum(scores[name] for name in ("rouge1", "rouge2", "rougeLsum")) / 3

    def save_best(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores beside lead's."""
        self.model.save_pretrained(
            folder,
            self._word_piece.vocabulary,
            {
                **self.model_settings,
                "validation": self.state["best"],
                "lead": self.state["lead"],
                "seconds": round(self.state["seconds"]),
            },
        )
