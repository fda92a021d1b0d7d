"""Training a Transformer on pairs of source and target texts, from their files to the best model folder."""

import dataclasses
import itertools
import pathlib
from typing import Any, Literal

import tensorflow as tf

from tfsum.errors import RecipeError
from tfsum.formats.weight_names import variables_by_path
from tfsum.models import Transformer
from tfsum.tasks.abstractive.batches import PairBatcher, load_pairs, pair_texts
from tfsum.tasks.abstractive.prepare import prepare
from tfsum.tasks.abstractive.validation import AnswerValidation
from tfsum.tasks.abstractive.vocabularies import pair_vocabularies
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.word_piece import WordPiece
from tfsum.training.encoder import CASE_KEYS
from tfsum.training.log import format_counts, log
from tfsum.training.optimizer import Adam, WarmUp
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders
from tfsum.training.run import Run
from tfsum.training.run_settings import RunSettings

VOCABULARIES = ("vocabulary", "target_vocabulary", "vocabulary_size", "target_vocabulary_size")
# What a folder's weights depend on; dropout and the like may differ.
SHAPE = (
    "num_encoder_layers",
    "num_decoder_layers",
    "d_model",
    "num_heads",
    "feed_forward_width",
    "activation",
    "norm",
    "epsilon",
    "shared_embeddings",
    "tied_output",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSettings(RunSettings):
    """[train] of a recipe for a Transformer.

    Attributes:
        tokens_per_batch: padded tokens of a batch's longer side, which all devices share.
        learning_rate: peak rate, reached when the warm-up ends.
        warmup_steps: steps of linear growth of the rate.
        decay: "sqrt", the paper's inverse square root, or "linear" to 0 at the last step.
        beta_1, beta_2, epsilon: of Adam; the defaults are the paper's.
        weight_decay: of AdamW; 0 is the paper's Adam.
        clip_norm: largest global norm of the gradients; 0 never clips.
        shuffle_sources: the control: each target beside another pair's source, so that all that is learned is
            learned without the source.

    Example:
        >>> TrainSettings(folder="runs/translator", steps=1000).warmup_steps
        4000
    """

    tokens_per_batch: int = 4096
    learning_rate: float = 1e-3
    warmup_steps: int = 4000
    decay: Literal["sqrt", "linear"] = "sqrt"
    beta_1: float = 0.9
    beta_2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    clip_norm: float = 0.0
    shuffle_sources: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """[evaluate] of a recipe for a Transformer, see `AnswerValidation`; the metric decides which model is the best.

    Example:
        >>> EvaluateSettings().metric
        'bleu'
    """

    metric: Literal["bleu", "rouge", "loss"] = "bleu"
    documents: int | None = None
    tokenize: Literal["13a", "intl", "zh", "char", "none"] = "13a"
    words: Literal["english", "plain"] = "english"


def schema() -> dict[str, dict[str, Key]]:
    """The schema of a recipe: section -> key -> `Key`."""
    vocabularies = keys_of(pair_vocabularies)
    other = Key((str, type(None)), None)
    return {
        "data": {
            "train": Key((str,)),
            "train_target": other,
            "validation": Key((str,)),
            "validation_target": other,
            "records": Key((str,)),
            **keys_of(
                prepare,
                "corpus",
                "target_corpus",
                "out_dir",
                *VOCABULARIES,
                *CASE_KEYS,
                "shards",
                "processes",
                "progress",
            ),
        },
        "text": {k: vocabularies[k] for k in (*VOCABULARIES, *CASE_KEYS)},
        "model": {
            "start": other,
            **keys_of(
                Transformer,
                "source_vocabulary_size",
                "target_vocabulary_size",
                "start_id",
                "end_id",
                "name",
            ),
        },
        "train": keys_of(TrainSettings),
        "evaluate": keys_of(EvaluateSettings),
    }


@dataclasses.dataclass
class TrainingData:
    """The result of `prepare_data`.

    Attributes:
        text: the text settings that the model folder will hold.
        tokenizers: those of sources and of targets.
        records: split -> folder of its records.
    """

    text: dict[str, Any]
    tokenizers: tuple[WordPiece, WordPiece]
    records: dict[str, pathlib.Path]


def prepare_data(recipe: dict[str, dict[str, Any]]) -> TrainingData:
    """Learns the vocabularies of a recipe and prepares its records, unless that is done."""
    data, text = recipe["data"], recipe["text"]
    folder = pathlib.Path(data["records"])
    files = pair_vocabularies(
        data["train"],
        folder / "vocabulary",
        target_corpus=data["train_target"],
        source=data["source"],
        target=data["target"],
        vocabulary=text["vocabulary"],
        target_vocabulary=text["target_vocabulary"],
        vocabulary_size=text["vocabulary_size"],
        target_vocabulary_size=text["target_vocabulary_size"],
        lowercase=text["lowercase"],
        strip_accents=text["strip_accents"],
    )
    records = {}
    for split in ("train", "validation"):
        records[split] = folder / split
        counts = prepare(
            data[split],
            records[split],
            files[0],
            target_vocabulary=files[1],
            target_corpus=data[f"{split}_target"],
            source=data["source"],
            target=data["target"],
            max_source_length=data["max_source_length"],
            max_target_length=data["max_target_length"],
            cut_sources=data["cut_sources"],
            target_lines=data["target_lines"],
            # Validation uses the original pairs, not windows of them.
            window_sentences=data["window_sentences"] if split == "train" else None,
            window_targets=data["window_targets"],
            lowercase=text["lowercase"],
            strip_accents=text["strip_accents"],
        )
        log(f"{split}: {format_counts(counts)}")
    case = {"lowercase": text["lowercase"], "strip_accents": text["strip_accents"]}
    source, target = (WordPiece.from_file(file, **case) for file in files)
    settings = {
        **case,
        "max_source_length": data["max_source_length"],
        "cut_sources": data["cut_sources"],
    }
    return TrainingData(settings, (source, target), records)


def build_model(recipe: dict[str, dict[str, Any]], data: TrainingData) -> Transformer:
    """Builds the model of a recipe, with new weights or those of [model] start."""
    model = recipe["model"]
    built = make_model(
        *data.tokenizers,
        num_encoder_layers=model["num_encoder_layers"],
        num_decoder_layers=model["num_decoder_layers"],
        d_model=model["d_model"],
        num_heads=model["num_heads"],
        feed_forward_width=model["feed_forward_width"],
        activation=model["activation"],
        norm=model["norm"],
        dropout=model["dropout"],
        attention_dropout=model["attention_dropout"],
        activation_dropout=model["activation_dropout"],
        epsilon=model["epsilon"],
        shared_embeddings=model["shared_embeddings"],
        tied_output=model["tied_output"],
        label_smoothing=model["label_smoothing"],
        max_length=model["max_length"],
    )
    if model["start"] is not None:
        start_from(built, model["start"], *data.tokenizers)
    return built


def make_run(
    recipe: dict[str, dict[str, Any]], data: TrainingData, model: Transformer
) -> "PairRun":
    """Makes the run of a recipe."""
    source, target = (tokenizer.vocabulary for tokenizer in data.tokenizers)
    return PairRun(
        model,
        data.records["train"],
        data.records["validation"],
        [source, target],
        {"text": data.text, "recipe": without_folders(recipe)},
        TrainSettings(**recipe["train"]),
        EvaluateSettings(**recipe["evaluate"]),
    )


def make_model(source: WordPiece, target: WordPiece, **arguments: Any) -> Transformer:
    """Builds an untrained Transformer for two tokenizers.

    Args:
        source, target: the tokenizers; their vocabularies may be one.
        **arguments: those of `Transformer` that they do not decide.

    Raises:
        RecipeError: two vocabularies are to share one table.

    Returns:
        The built model.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"])
        >>> model = make_model(
        ...     word_piece,
        ...     word_piece,
        ...     num_encoder_layers=1,
        ...     num_decoder_layers=1,
        ...     d_model=8,
        ...     num_heads=2,
        ...     feed_forward_width=16,
        ... )
        >>> model.start_id, model.end_id
        (2, 3)
    """
    apart = source.vocabulary != target.vocabulary
    if apart and arguments.get("shared_embeddings", True):
        raise RecipeError(
            "[model] shared_embeddings is true, and source and target have vocabularies of their own; "
            "set it to false, or take one vocabulary for both"
        )
    model = Transformer(
        len(source.vocabulary),
        len(target.vocabulary),
        start_id=target.cls_id,
        end_id=target.sep_id,
        **arguments,
    )
    model.build()
    log(f"{sum(v.shape.num_elements() for v in model.trainable_variables):,} weights")
    return model


def start_from(
    model: Transformer, folder: str | pathlib.Path, source: WordPiece, target: WordPiece
) -> None:
    """Gives a new model the weights of a model folder, to be trained on with other pairs.

    Args:
        model: a built `Transformer`.
        folder: a model folder of a Transformer of the same shape.
        source, target: the model's tokenizers, whose vocabularies must be the folder's.

    Raises:
        RecipeError: the shapes or the vocabularies differ.
        CheckpointError: the folder is no model folder of a Transformer.

    Example:
        >>> start_from(model, "runs/summaries/best", word_piece, word_piece)  # doctest: +SKIP
    """
    folder, stored = pathlib.Path(folder), Transformer.from_pretrained(folder)
    if others := [name for name in SHAPE if stored.config[name] != model.config[name]]:
        wanted = ", ".join(f"{name} = {stored.config[name]!r}" for name in others)
        raise RecipeError(
            f"[model] start: {folder} is a Transformer of another shape; [model] must have {wanted}"
        )
    file = folder / "target_vocab.txt"
    for key, tokenizer, path in (
        ("vocabulary", source, folder / "vocab.txt"),
        ("target_vocabulary", target, file if file.is_file() else folder / "vocab.txt"),
    ):
        if WordPiece.from_file(path).vocabulary != tokenizer.vocabulary:
            raise RecipeError(
                f'[model] start: its weights belong to other word pieces; [text] needs {key} = "{path}" '
                f"in place of {key}_size"
            )
    weights = variables_by_path(stored)
    for path, variable in variables_by_path(model).items():
        variable.assign(weights[path])


class PairRun(Run):
    """A `Run` that trains a Transformer and validates it by its loss and its greedy answers.

    Args:
        model: a built `Transformer`.
        train_records: folder of the training records.
        validation_records: folder of the validation records.
        vocabularies: the word pieces of source and target.
        model_settings: the content of tfsum.json of the best model.
        settings: see `TrainSettings`.
        evaluate: see `EvaluateSettings`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/translator/best')
    """

    def __init__(
        self,
        model: Transformer,
        train_records: str | pathlib.Path,
        validation_records: str | pathlib.Path,
        vocabularies: list[list[str]],
        model_settings: dict,
        settings: TrainSettings,
        evaluate: EvaluateSettings,
    ) -> None:
        with model.distribute_strategy.scope():
            schedule = WarmUp(
                settings.learning_rate,
                settings.warmup_steps,
                settings.steps if settings.decay == "linear" else None,
            )
            optimizer = Adam(
                schedule,
                beta_1=settings.beta_1,
                beta_2=settings.beta_2,
                epsilon=settings.epsilon,
                global_clipnorm=settings.clip_norm or None,
                weight_decay=settings.weight_decay or None,
            )
        super().__init__(model, optimizer, settings)
        self.model_settings, self._vocabularies = model_settings, vocabularies
        self._pairs = load_pairs(train_records)
        if settings.shuffle_sources:
            self._pairs = self._pairs.with_shuffled_sources(settings.seed)
        self._batcher = PairBatcher(
            self._pairs, settings.tokens_per_batch, cls_id=model.start_id, sep_id=model.end_id
        )
        batcher = PairBatcher(
            load_pairs(validation_records),
            settings.tokens_per_batch,
            cls_id=model.start_id,
            sep_id=model.end_id,
        )
        references = [
            target
            for _, target in itertools.islice(pair_texts(validation_records), evaluate.documents)
        ]
        self.validation = AnswerValidation(
            model,
            batcher,
            references,
            Detokenizer(vocabularies[1]),
            evaluate.metric,
            evaluate.tokenize,
            evaluate.words,
        )

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first logs the size of one pass over the pairs."""
        report = self._batcher.report()
        log(
            f"one pass: {report['pairs']} pairs, {report['batches']} batches, {report['source_tokens']} source and "
            f"{report['target_tokens']} target tokens, padding {100 * report['padding']:.1f} %"
        )
        most = self.model.max_length
        if beyond := int((self._pairs.target_counts + 1 > most).sum()):
            log(
                f"{beyond} of these targets have more than {most} tokens, the [model] max_length at which answers stop"
            )
        return super().fit()

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """Token batches of pairs of about equal lengths; see `Run.batches`."""
        return self.shared(self._batcher, done), self.settings.steps

    def rows(self, step: int) -> list[str]:
        """The numbers of the pairs of a step, in the order of the records."""
        return [f"pair {number}" for number in self.batch_rows(self._batcher, step)]

    def measure(self) -> dict[str, float]:
        """The loss on the validation pairs, and BLEU or ROUGE of the greedy answers."""
        scores = self.validation.scores()
        if self.validation.signature and "signature" not in self.state:
            self.state["signature"] = self.validation.signature
            log(f"BLEU is {self.validation.signature}")
        return scores

    def selection_score(self, scores: dict[str, float]) -> float:
        """See `AnswerValidation.selection_score`."""
        return self.validation.selection_score(scores)

    def save_best(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores."""
        source, target = self._vocabularies
        measured = {"validation": self.state["best"], "seconds": round(self.state["seconds"])}
        if "signature" in self.state:
            measured["signature"] = self.state["signature"]
        self.model.save_pretrained(
            folder,
            source,
            None if source == target else target,
            {**self.model_settings, **measured},
        )
