"""Training a BertSumAbs on documents and their summaries, from an encoder or an extractive model to the best folder."""

import dataclasses
import functools
import pathlib
from collections.abc import Callable
from typing import Any, Literal

import tensorflow as tf

from tfsum.data.batcher import Batcher
from tfsum.data.original_batches import OriginalBatcher
from tfsum.data.original_preprocessing import pieces_between_blanks
from tfsum.data.records import read_records
from tfsum.data.windows import WindowedDocuments, load_windows
from tfsum.errors import RecipeError
from tfsum.formats.hugging_face import local_folder
from tfsum.formats.model_folder import read_json
from tfsum.formats.open_folder import open_folder
from tfsum.models import Bert, BertSumAbs, BertSumExt
from tfsum.tasks import task
from tfsum.tasks.abstractive.gap_sentences import GapSentences, load_gap_sentences
from tfsum.tasks.abstractive.original_summary_batches import LONGEST_TARGET, OriginalSummaryBatcher
from tfsum.tasks.abstractive.summary_batches import Summaries, SummaryBatcher, load_summaries
from tfsum.tasks.abstractive.validation import AnswerValidation
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.name_pieces import name_pieces, pack_flags
from tfsum.text.word_piece import Vocabulary, WordPiece
from tfsum.training.encoder import CASE_KEYS, check_segments, freeze, text_settings
from tfsum.training.log import format_counts, log
from tfsum.training.optimizer import Adam, WarmUp
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders
from tfsum.training.run import Run
from tfsum.training.run_settings import RunSettings

TOKENS = ("[unused0]", "[unused1]", "[unused2]")
"""Before a summary, after it, and between its sentences (nlpyang/PreSumm, train_abstractive.py)."""
COLUMNS = (
    "id",
    "text",
    "summary",
)  # of the corpus; keys of [data] say what they are called if not so
OTHER_TOKENS = ("[CLS]", "[SEP]", "[MASK]")  # where a vocabulary has none to spare
VALIDATED_TOGETHER = (
    8192  # source tokens at least, where the batches of training are measured by their summaries
)
SHAPE = ("num_decoder_layers", "num_heads", "feed_forward_width", "copy")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSettings(RunSettings):
    """[train] of a recipe for a BertSumAbs.

    Attributes:
        tokens_per_batch: padded source tokens of a step's batch, which all devices share.
        max_windows: windows read of a document.
        gap_sentences: sentences that are taken out of each window of a document, and to be written in place of its
            summary (see `tfsum.tasks.abstractive.gap_sentences`); 0 trains on the summaries.
        gap_kept: the share of windows that keep these sentences in the source.
        learning_rate: peak rate of the decoder.
        warmup_steps: steps of linear growth of that rate.
        encoder_learning_rate: peak rate of the encoder.
        encoder_warmup_steps: steps of linear growth of that rate.
        decay: "sqrt", the papers' inverse square root, or "linear" to 0 at the last step.
        weight_decay: of AdamW; 0 is the papers' Adam.
        clip_norm: largest norm of the gradients, of the encoder and of the rest each; 0 never clips.

    Example:
        >>> TrainSettings(folder="runs/news_abs", steps=1000).encoder_warmup_steps
        20000
    """

    tokens_per_batch: int = 8192
    max_windows: int = 1
    gap_sentences: int = 0
    gap_kept: float = 0.2
    learning_rate: float = 2e-3
    warmup_steps: int = 10000
    encoder_learning_rate: float = 1.4e-5
    encoder_warmup_steps: int = 20000
    decay: Literal["sqrt", "linear"] = "sqrt"
    weight_decay: float = 0.0
    clip_norm: float = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """[evaluate] of a recipe for a BertSumAbs, see `AnswerValidation`; the metric decides which model is the best.

    Example:
        >>> EvaluateSettings().metric
        'rouge'
    """

    metric: Literal["rouge", "loss"] = "rouge"
    documents: int | None = None
    words: Literal["english", "plain"] = "english"


def schema() -> dict[str, dict[str, Key]]:
    """The schema of a recipe: section -> key -> `Key`.

    Example:
        >>> sorted(schema())
        ['data', 'evaluate', 'model', 'text', 'train']
    """
    prepared = keys_of(
        _prepare(),
        "corpus",
        "out_dir",
        "vocabulary",
        "labels",
        "summary_sentences",
        "temperature",
        "window_length",
        "columns",
        "progress",
        *CASE_KEYS,
    )
    other, rate = Key((str, type(None)), None), Key((float, int), 0.1)
    return {
        "data": {
            "train": Key((str,)),
            "validation": Key((str,)),
            "records": Key((str,)),
            **dict.fromkeys(COLUMNS, other),
            **{k: v for k, v in prepared.items() if k != "newline"},
        },
        "text": {**CASE_KEYS, "newline": prepared["newline"]},
        "model": {
            "encoder": other,
            "start": other,
            "freeze_layers": Key((int,), 0),
            "hidden_dropout_prob": rate,
            "attention_probs_dropout_prob": rate,
            **keys_of(BertSumAbs, "bert", "start_id", "end_id", "name"),
        },
        "train": keys_of(TrainSettings),
        "evaluate": keys_of(EvaluateSettings),
    }


@dataclasses.dataclass
class TrainingData:
    """The result of `prepare_data`.

    Attributes:
        folder: of the encoder, or of the model that training starts from.
        text: the text settings that the model folder will hold.
        records: split -> folder of its records.

    Example:
        >>> prepare_data(recipe).records  # doctest: +SKIP
        {'train': PosixPath('records/news/train'), 'validation': PosixPath('records/news/validation')}
    """

    folder: pathlib.Path
    text: dict[str, Any]
    records: dict[str, pathlib.Path]


def prepare_data(recipe: dict[str, dict[str, Any]]) -> TrainingData:
    """Prepares the records of a recipe, those of extractive training, unless that is done.

    Example:
        >>> data = prepare_data(recipe)  # doctest: +SKIP
    """
    data, text, model = (recipe[section] for section in ("data", "text", "model"))
    if (model["encoder"] is None) == (model["start"] is None):
        raise RecipeError(
            "[model] needs one of encoder, a BERT whose decoder begins untrained, and start, the model "
            "folder of a BertSumExt (for its encoder) or of a BertSumAbs"
        )
    folder = local_folder(model["encoder"] or model["start"])
    config = open_folder(folder).config if model["encoder"] else read_json(folder / "config.json")
    check_segments(config, "a document, whose sentences take turns,")
    case = text_settings(folder, text["lowercase"], text["strip_accents"])
    window_length = model["window_length"] or config["max_position_embeddings"]
    if data["legacy"] == "bertsum":
        raise RecipeError(
            "[data] legacy is 'bertsum', which has no abstractive model; expected 'presumm'"
        )
    records = {}
    for split in ("train", "validation"):
        records[split] = pathlib.Path(data["records"]) / split
        counts = _prepare()(
            data[split],
            records[split],
            folder,
            columns={field: data[field] for field in COLUMNS if data[field] is not None} or None,
            max_sentences=data["max_sentences"],
            window_length=window_length,
            lowercase=bool(case["lowercase"]),
            strip_accents=case["strip_accents"],
            newline=text["newline"],
            shards=data["shards"],
            processes=data["processes"],
            legacy=data["legacy"],
        )
        log(f"{split}: {format_counts(counts)}")
    vocabulary = Vocabulary.from_file(folder / "vocab.txt")
    settings = {
        **case,
        "newline": text["newline"],
        "window_length": window_length,
        "max_windows": recipe["train"]["max_windows"],
        "line_break": target_tokens(vocabulary.words)[2],
    }
    return TrainingData(folder, settings, records)


def _prepare() -> Callable[..., dict[str, int]]:
    """The preparation of documents, which is the extractive task's: a BertSumAbs reads the same records."""
    return task("extractive").part("prepare").prepare


def target_tokens(vocabulary: list[str]) -> tuple[str, ...]:
    """The tokens before a summary, after it, and between its sentences.

    Args:
        vocabulary: the word pieces.

    Example:
        >>> target_tokens(["[PAD]", "[unused0]", "[unused1]", "[unused2]"])
        ('[unused0]', '[unused1]', '[unused2]')
    """
    return TOKENS if all(token in vocabulary for token in TOKENS) else OTHER_TOKENS


def build_model(recipe: dict[str, dict[str, Any]], data: TrainingData) -> BertSumAbs:
    """Builds the model of a recipe around its encoder, or with the weights of [model] start.

    Example:
        >>> model = build_model(recipe, prepare_data(recipe))  # doctest: +SKIP
    """
    given = recipe["model"]
    words = Vocabulary.from_file(data.folder / "vocab.txt").words
    start, end, _ = (words.index(token) for token in target_tokens(words))
    rates = {name: given[name] for name in ("hidden_dropout_prob", "attention_probs_dropout_prob")}
    arguments = {
        name: given[name]
        for name in (*SHAPE, "dropout", "label_smoothing", "max_length", "window_length")
    }
    stored = None
    if given["encoder"] is not None:
        bert = Bert.from_pretrained(data.folder, **rates)
    else:
        stored = _stored(data.folder)
        bert = Bert(**{**stored.bert.config, **rates})
        bert.build()
        for new, old in zip(bert.weights, stored.bert.weights, strict=True):
            new.assign(old)
    model = BertSumAbs(bert, start_id=start, end_id=end, **arguments)
    model.build()
    if isinstance(stored, BertSumAbs):
        if others := [name for name in SHAPE if stored.config[name] != model.config[name]]:
            wanted = ", ".join(f"{name} = {stored.config[name]!r}" for name in others)
            raise RecipeError(
                f"[model] start: {data.folder} is a BertSumAbs of another shape; [model] must have "
                f"{wanted}"
            )
        weights = stored.writer_variables()
        for path, variable in model.writer_variables().items():
            variable.assign(weights[path])
    freeze(bert, given["freeze_layers"])
    bert.pooler.trainable = False  # the decoder does not read it
    log(f"{sum(v.shape.num_elements() for v in model.trainable_variables):,} weights are trained")
    return model


def _stored(folder: pathlib.Path) -> BertSumExt | BertSumAbs:
    config = read_json(folder / "config.json")
    if "bert_sum_abs" in config:
        return BertSumAbs.from_pretrained(folder)
    if "bert_sum_ext" in config:
        return BertSumExt.from_pretrained(folder)
    raise RecipeError(
        f"[model] start: {folder} is neither a BertSumExt nor a BertSumAbs; name a BERT as encoder "
        "instead"
    )


def make_run(
    recipe: dict[str, dict[str, Any]], data: TrainingData, model: BertSumAbs
) -> "SummaryRun":
    """Makes the run of a recipe.

    Example:
        >>> run = make_run(recipe, data, build_model(recipe, data))  # doctest: +SKIP
    """
    word_piece = WordPiece.from_file(
        data.folder / "vocab.txt",
        **{name: data.text[name] for name in ("lowercase", "strip_accents")},
    )
    return SummaryRun(
        model,
        data.records,
        word_piece,
        {"text": data.text, "recipe": without_folders(recipe)},
        TrainSettings(**recipe["train"]),
        EvaluateSettings(**recipe["evaluate"]),
        legacy=recipe["data"]["legacy"] is not None,
    )


class SummaryRun(Run):
    """A `Run` that trains a BertSumAbs and validates it by its loss and the ROUGE of its greedy summaries.

    Args:
        model: a built `BertSumAbs`.
        records: split -> folder of its records.
        word_piece: the tokenizer of sources and targets.
        model_settings: the content of tfsum.json of the best model.
        settings: see `TrainSettings`.
        evaluate: see `EvaluateSettings`.
        legacy: whether to train on PreSumm's batches, `micro_batches` of which are a step.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/news_abs/best')
    """

    def __init__(
        self,
        model: BertSumAbs,
        records: dict[str, pathlib.Path],
        word_piece: WordPiece,
        model_settings: dict,
        settings: TrainSettings,
        evaluate: EvaluateSettings,
        legacy: bool = False,
    ) -> None:
        with model.distribute_strategy.scope():
            last = settings.steps if settings.decay == "linear" else None
            rates = {
                "bert": WarmUp(settings.encoder_learning_rate, settings.encoder_warmup_steps, last)
            }
            optimizer = Adam(
                WarmUp(settings.learning_rate, settings.warmup_steps, last),
                groups=rates,
                global_clipnorm=settings.clip_norm or None,
                weight_decay=settings.weight_decay or None,
            )
        super().__init__(model, optimizer, settings)
        self.model_settings, self._word_piece, self._records = (
            model_settings,
            word_piece,
            records["train"],
        )
        line_break = model_settings["text"]["line_break"]
        line_break_id = word_piece.vocabulary.index(line_break)
        budget = settings.tokens_per_batch
        if legacy:
            self._batcher: Batcher = self._original_batches(records["train"], line_break_id)
            budget = max(budget, VALIDATED_TOGETHER)
        else:
            self._batcher = self._batches_of(
                *self._training_data(records["train"], line_break_id), budget
            )
        summaries = self._read_summaries(records["validation"], line_break_id)
        self.validation = AnswerValidation(
            model,
            self._batches_of(self._windows(records["validation"]), summaries, budget),
            summaries.texts[: evaluate.documents],
            Detokenizer(word_piece.vocabulary, line_break=line_break),
            evaluate.metric,
            words=evaluate.words,
        )

    @functools.cached_property
    def _names(self) -> str:
        """The pieces of names and numbers of the training documents, see `tfsum.text.name_pieces`."""
        sentences = (
            sentence.decode("utf-8", "replace")
            for batch in read_records(self._records, ["sentences"])
            for sentence in batch["sentences"].flat_values.numpy()
        )
        return pack_flags(name_pieces(sentences, self._word_piece))

    def _training_data(
        self, records: pathlib.Path, line_break: int
    ) -> tuple[WindowedDocuments, Summaries]:
        """Documents with their summaries, or windows with the sentences that are taken out of them."""
        settings, word_piece = self.settings, self._word_piece
        if not settings.gap_sentences:
            return self._windows(records), self._read_summaries(records, line_break)
        gaps = GapSentences(
            number=settings.gap_sentences,
            mask_id=word_piece.vocabulary.index("[MASK]"),
            kept=settings.gap_kept,
            line_break=line_break,
            seed=settings.seed,
        )
        return load_gap_sentences(records, self.model.window_length, self.model.max_length, gaps)

    def _windows(self, records: pathlib.Path) -> WindowedDocuments:
        return load_windows(records, self.model.window_length, self.settings.max_windows)

    def _read_summaries(self, records: pathlib.Path, line_break: int) -> Summaries:
        return load_summaries(
            records,
            lambda texts: self._word_piece.tokenize(texts).to_list(),
            line_break,
            self.model.max_length,
        )

    def _batches_of(
        self, documents: WindowedDocuments, summaries: Summaries, budget: int
    ) -> SummaryBatcher:
        return SummaryBatcher(
            documents, summaries, budget, self._word_piece, self.model.start_id, self.model.end_id
        )

    def _original_batches(self, records: pathlib.Path, line_break: int) -> OriginalSummaryBatcher:
        model, settings, word_piece = self.model, self.settings, self._word_piece
        ids = {piece: i for i, piece in enumerate(word_piece.vocabulary)}
        summaries = load_summaries(
            records,
            lambda texts: [pieces_between_blanks(text, ids) for text in texts],
            line_break,
            LONGEST_TARGET - 1,
        )
        sources = OriginalBatcher(
            records,
            "presumm",
            model.window_length,
            settings.tokens_per_batch,
            cls_id=word_piece.cls_id,
            sep_id=word_piece.sep_id,
        )
        return OriginalSummaryBatcher(
            sources,
            summaries,
            settings.tokens_per_batch,
            settings.micro_batches,
            model.start_id,
            model.end_id,
        )

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first logs the size of a pass."""
        report = self._batcher.report()
        log(
            f"one pass: {report['documents']} documents, {report['batches']} batches, {report['target_tokens']} target "
            f"tokens, padding {100 * report['padding']:.1f} %, {report['sentences_dropped']} sentences beyond "
            f"max_windows, {report['targets_cut']} summaries cut to max_length"
        )
        return super().fit()

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """Token batches of documents of about equal lengths; see `Run.batches`."""
        return self.shared(self._batcher, done), self.settings.steps

    def rows(self, step: int) -> list[str]:
        """The numbers of the documents of a step, in the order of the records."""
        return [f"document {number}" for number in self.batch_rows(self._batcher, step)]

    def measure(self) -> dict[str, float]:
        """The loss on the validation documents, and ROUGE of the greedy summaries."""
        return self.validation.scores()

    def selection_score(self, scores: dict[str, float]) -> float:
        """See `AnswerValidation.selection_score`."""
        return self.validation.selection_score(scores)

    def save_best(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores."""
        self.model.save_pretrained(
            folder,
            self._word_piece.vocabulary,
            {
                **self.model_settings,
                "names": self._names,
                "validation": self.state["best"],
                "seconds": round(self.state["seconds"]),
            },
        )
