"""Training a BertSumAbs on documents and their summaries, from an encoder or an extractive model to
the best folder."""

import functools
import pathlib
from typing import Any

from tfsum.data.documents.summary_batches import Summaries, SummaryBatcher, load_summaries
from tfsum.data.documents.windows import WindowedDocuments, load_windows
from tfsum.data.records import read_records
from tfsum.errors import RecipeError
from tfsum.formats.config_json import read_json
from tfsum.generation.validation import AnswerValidation
from tfsum.models import Bert, BertSumAbs, BertSumExt

# `tfsum.papers` also adds its head to those of BertSumExt.
from tfsum.papers.batches import original_summary_batches
from tfsum.tasks.bert_sum_abs.gap_sentences import GapSentences, load_gap_sentences
from tfsum.tasks.bert_sum_abs.settings import ModelSettings, RecipeSettings, TrainSettings
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.name_pieces import name_pieces, pack_flags
from tfsum.text.word_piece import Vocabulary, WordPiece
from tfsum.training.encoder import PreparedDocuments, freeze, prepare_documents
from tfsum.training.log import log
from tfsum.training.optimizer import make_adam, warm_up
from tfsum.training.run import Run

TOKENS = ("[unused0]", "[unused1]", "[unused2]")
"""Before a summary, after it, and between its sentences (nlpyang/PreSumm, train_abstractive.py)."""
OTHER_TOKENS = ("[CLS]", "[SEP]", "[MASK]")  # where a vocabulary has none to spare
# source tokens at least, where the batches of training are measured by their summaries
VALIDATED_TOGETHER = 8192
SHAPE = ("num_decoder_layers", "num_heads", "feed_forward_width", "copy")


def prepare_data(recipe: RecipeSettings) -> PreparedDocuments:
    """Prepares the records of a recipe, those of extractive training, unless that is done."""
    data = recipe.data
    documents = prepare_documents(data, recipe.text, recipe.model, legacy=data.legacy)
    words = Vocabulary.from_file(documents.folder / "vocab.txt").words
    documents.text |= {
        "max_windows": recipe.train.max_windows,
        "line_break": target_tokens(words)[2],
    }
    return documents


def target_tokens(vocabulary: list[str]) -> tuple[str, ...]:
    """The tokens before a summary, after it, and between its sentences.

    Args:
        vocabulary: Word pieces.

    Example:
        >>> target_tokens(["[PAD]", "[unused0]", "[unused1]", "[unused2]"])
        ('[unused0]', '[unused1]', '[unused2]')
    """
    return TOKENS if all(token in vocabulary for token in TOKENS) else OTHER_TOKENS


def build_model(recipe: RecipeSettings, data: PreparedDocuments) -> BertSumAbs:
    """Builds the model of a recipe around its encoder, or with the weights of [model] start."""
    settings = recipe.model
    stored = None
    if settings.start is not None:
        stored = _starting_model(data.folder)

    bert = _build_encoder(settings, data.folder, stored)
    words = Vocabulary.from_file(data.folder / "vocab.txt").words
    start, end, _ = (words.index(token) for token in target_tokens(words))
    model = BertSumAbs(
        bert,
        start_id=start,
        end_id=end,
        num_decoder_layers=settings.num_decoder_layers,
        num_heads=settings.num_heads,
        feed_forward_width=settings.feed_forward_width,
        dropout=settings.dropout,
        label_smoothing=settings.label_smoothing,
        max_length=settings.max_length,
        window_length=settings.window_length,
        copy=settings.copy_attention,
    )
    model.build()
    if isinstance(stored, BertSumAbs):
        _assign_decoder(model, stored, data.folder)

    freeze(bert, settings.freeze_layers)
    bert.pooler.trainable = False  # the decoder does not read it
    log(f"{sum(v.shape.num_elements() for v in model.trainable_variables):,} weights are trained")
    return model


def _starting_model(folder: pathlib.Path) -> BertSumExt | BertSumAbs:
    """Loads the model of [model] start."""
    config = read_json(folder / "config.json")
    if "bert_sum_abs" in config:
        return BertSumAbs.from_pretrained(folder)
    if "bert_sum_ext" in config:
        return BertSumExt.from_pretrained(folder)
    raise RecipeError(
        f"[model] start: {folder} is neither a BertSumExt nor a BertSumAbs; name a BERT as encoder"
        " instead"
    )


def _build_encoder(
    settings: ModelSettings, folder: pathlib.Path, stored: BertSumExt | BertSumAbs | None
) -> Bert:
    """Builds the encoder, with the weights of [model] encoder or of the model of [model] start."""
    if stored is None:
        return Bert.from_pretrained(folder, **settings.dropout_rates)

    bert = Bert(**{**stored.bert.config, **settings.dropout_rates})
    bert.build()
    for new, old in zip(bert.weights, stored.bert.weights, strict=True):
        new.assign(old)
    return bert


def _assign_decoder(model: BertSumAbs, stored: BertSumAbs, folder: pathlib.Path) -> None:
    """Gives a new model the decoder of the model of [model] start."""
    if others := [name for name in SHAPE if stored.config[name] != model.config[name]]:
        expected = ", ".join(f"{name} = {stored.config[name]!r}" for name in others)
        raise RecipeError(
            f"[model] start: {folder} is a BertSumAbs of another shape; [model] must have"
            f" {expected}"
        )

    weights = stored.head_variables()
    for path, variable in model.head_variables().items():
        variable.assign(weights[path])


class SummaryRun(Run[BertSumAbs, TrainSettings]):
    """A `Run` that trains a BertSumAbs and validates it by its loss and the ROUGE of its greedy
    summaries.

    Args:
        recipe: The recipe. With [data] legacy, PreSumm's batches are repeated, `micro_batches` of
            which make a step.
        data: Result of `prepare_data`.
        model: Result of `build_model`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/news_abs/best')
    """

    def __init__(self, recipe: RecipeSettings, data: PreparedDocuments, model: BertSumAbs) -> None:
        settings, evaluate = recipe.train, recipe.evaluate
        decay, warmup_steps = settings.decay, settings.encoder_warmup_steps
        groups = {"bert": warm_up(settings, decay, settings.encoder_learning_rate, warmup_steps)}
        schedule = warm_up(settings, decay)
        super().__init__(model, make_adam(model, settings, schedule, groups=groups), settings)

        self.model_settings = {"text": data.text, "recipe": recipe.without_folders()}
        self._records, line_break = data.records, data.text["line_break"]
        case = {name: data.text[name] for name in ("lowercase", "strip_accents")}
        self._word_piece = WordPiece.from_file(data.folder / "vocab.txt", **case)
        self.vocabularies = [self._word_piece.vocabulary]
        self._line_break = self._word_piece.vocabulary.index(line_break)
        budget = settings.tokens_per_batch
        if recipe.data.legacy:
            self.batcher = original_summary_batches(
                data.records["train"], model, self._word_piece, self._line_break, settings
            )
            budget = max(budget, VALIDATED_TOGETHER)
        elif settings.gap_sentences:
            self.batcher = self._batches_of(*self._load_gap_sentences(), budget)
        else:
            self.batcher = self._batches_of(*self._pairs_of("train"), budget)

        documents, summaries = self._pairs_of("validation")
        self.validation = AnswerValidation(
            model,
            self._batches_of(documents, summaries, budget),
            summaries.texts[: evaluate.documents],
            Detokenizer(self._word_piece.vocabulary, line_break=line_break),
            evaluate.metric,
            words=evaluate.words,
        )

    @functools.cached_property
    def _names(self) -> str:
        """The pieces of names and numbers of the training documents, see
        `tfsum.text.name_pieces`."""
        sentences = (
            sentence.decode("utf-8", "replace")
            for batch in read_records(self._records["train"], ["sentences"])
            for sentence in batch["sentences"].flat_values.numpy()
        )
        return pack_flags(name_pieces(sentences, self._word_piece))

    def _pairs_of(self, split: str) -> tuple[WindowedDocuments, Summaries]:
        """The documents of a split, and their summaries."""
        documents = load_windows(
            self._records[split], self.model.window_length, self.settings.max_windows
        )
        return documents, load_summaries(
            self._records[split],
            lambda texts: self._word_piece.tokenize(texts).to_list(),
            self._line_break,
            self.model.max_length,
        )

    def _load_gap_sentences(self) -> tuple[WindowedDocuments, Summaries]:
        """Windows of the training documents, and the sentences that are taken out of them."""
        gaps = GapSentences(
            number=self.settings.gap_sentences,
            mask_id=self._word_piece.vocabulary.index("[MASK]"),
            kept=self.settings.gap_kept,
            line_break=self._line_break,
            seed=self.settings.seed,
        )
        return load_gap_sentences(
            self._records["train"], self.model.window_length, self.model.max_length, gaps
        )

    def _batches_of(
        self, documents: WindowedDocuments, summaries: Summaries, budget: int
    ) -> SummaryBatcher:
        return SummaryBatcher(
            documents, summaries, budget, self._word_piece, self.model.start_id, self.model.end_id
        )

    def measured(self) -> dict[str, Any]:
        """The scores of the best model, and the pieces of names."""
        return {"names": self._names, **super().measured()}


make_run = SummaryRun
