"""Training a BertSumAbs on documents and their summaries, from an encoder or an extractive model to
the best folder."""

import itertools

import numpy as np

from tfsum.data.documents.summary_batches import (
    Summaries,
    SummaryBatcher,
    join_targets,
    load_summaries,
)
from tfsum.data.documents.windows import (
    DocumentBatcher,
    WindowedDocuments,
    in_windows,
    load_windows,
)
from tfsum.data.records import Paths, load_columns, read_records
from tfsum.errors import DataError, require
from tfsum.generation.validation import AnswerValidation
from tfsum.models import Bert, BertSumAbs, BertSumExt

# `tfsum.papers` also adds its head to those of BertSumExt.
from tfsum.papers.batches import original_summary_batches
from tfsum.tasks.bert_sum_abs.settings import RecipeSettings, TrainSettings
from tfsum.tasks.starting_point import (
    PreparedRecords,
    freeze,
    prepare_documents,
    start_from,
    starting_model,
    warn_of_unknown_words,
)
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.packing import lay_out_windows
from tfsum.training.log import log
from tfsum.training.optimizer import make_adam, warm_up
from tfsum.training.run import Run

TOKENS = ("[unused0]", "[unused1]", "[unused2]")
"""Before a summary, after it, and between its sentences (nlpyang/PreSumm, train_abstractive.py)."""
OTHER_TOKENS = ("[CLS]", "[SEP]", "[MASK]")  # where a vocabulary has none to spare
# source tokens at least, where the batches of training are measured by their summaries
VALIDATED_TOGETHER = 8192
SHAPE = ("num_decoder_layers", "num_heads", "feed_forward_width", "copy")


def prepare_data(recipe: RecipeSettings) -> PreparedRecords:
    """Prepares the records of a recipe, those of extractive training, unless that is done."""
    documents = prepare_documents(recipe.data, recipe.text, recipe.model)
    documents.text |= {
        "max_windows": recipe.train.max_windows,
        "line_break": target_tokens(documents.tokenizers[0].vocabulary)[2],
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


def build_model(recipe: RecipeSettings, data: PreparedRecords) -> BertSumAbs:
    """Builds the model of a recipe around its encoder, or with the weights of [model] start."""
    settings, words = recipe.model, data.tokenizers[0].vocabulary
    bert = Bert.from_pretrained(data.folder, **settings.dropout_rates)
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
    if settings.start is not None:
        stored = starting_model(data.folder, BertSumAbs, BertSumExt)
        if isinstance(stored, BertSumAbs):
            start_from(model, stored, data.folder, SHAPE, BertSumAbs.head_variables)

    freeze(bert, settings.freeze_layers)
    bert.pooler.trainable = False  # the decoder does not read it
    log(f"{sum(v.shape.num_elements() for v in model.trainable_variables):,} weights are trained")
    return model


def load_gap_sentences(
    records: Paths,
    window_length: int,
    max_length: int,
    *,
    number: int,
    mask_id: int,
    kept: float = 0.2,
    line_break: int | None = None,
    seed: int = 0,
) -> tuple[WindowedDocuments, Summaries]:
    """Makes pairs of all windows: the rest of a window, and its important sentences.

    A sentence is as important as its words are those of the rest of its window: the F1 of their
    sets of word pieces.

    Args:
        records: Records of `tfsum.data.documents.prepare`.
        window_length: Positions of a window.
        max_length: Pieces of a target, its end token among them; a longer one is cut.
        number: Sentences of a window that are to be written, the most important ones; a window with
            fewer than one other sentence is left out.
        mask_id: Id of [MASK].
        kept: The share of windows whose sentences also stay in the source, which teaches to copy;
            of the others [MASK] takes their place.
        line_break: The id between two sentences to be written; None joins them.
        seed: Seed of the choice of windows that keep their sentences.

    Returns:
        the sources, one window each, and the targets.

    Raises:
        DataError: No window has more sentences than are taken out.

    Source: Zhang et al. 2020, "PEGASUS: Pre-training with Extracted Gap-sentences for Abstractive
        Summarization", section 3.1 (the variant Ind-Uniq); 6.1.3 keeps a fifth of the sentences in
        the source.
    """
    (pieces, _), (piece_counts, sentence_counts) = load_columns(records, "pieces", "piece_counts")
    sentences = np.split(pieces, np.cumsum(piece_counts)[:-1])
    random, mask = np.random.default_rng(seed), np.array([mask_id], np.int32)
    sources: list[np.ndarray] = []
    source_counts, targets = [], []
    places = lay_out_windows(piece_counts, sentence_counts, window_length)["place"].numpy()
    starts = np.flatnonzero(places == 0).tolist()
    for first, last in itertools.pairwise([*starts, len(sentences)]):
        window = sentences[first:last]
        if len(window) > number:
            chosen = _most_important(window, number)
            targets.append([window[i] for i in chosen])
            source_counts.append(len(window))
            if random.random() >= kept:
                window = [mask if i in chosen else own for i, own in enumerate(window)]
            sources += window

    require(
        targets,
        f"{records}: no window of {window_length} tokens has more than {number} sentences;"
        " lower gap_sentences or raise window_length",
        DataError,
    )
    documents = in_windows(
        np.concatenate(sources),
        np.array([len(sentence) for sentence in sources], np.int64),
        np.array(source_counts, np.int64),
        np.zeros(len(sources), np.float32),
        window_length,
        1,
    )
    return documents, join_targets(targets, [""] * len(targets), line_break, max_length)


def _most_important(window: list[np.ndarray], number: int) -> list[int]:
    """The sentences of a window that share the most word pieces with its rest, in the order of the
    text."""
    sets = [set(sentence.tolist()) for sentence in window]

    def score(i: int) -> float:
        rest = set().union(*sets[:i], *sets[i + 1 :])
        return 2 * len(sets[i] & rest) / max(1, len(sets[i]) + len(rest))

    # A tie goes to the first.
    return sorted(sorted(range(len(window)), key=score, reverse=True)[:number])


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

    def __init__(self, recipe: RecipeSettings, data: PreparedRecords, model: BertSumAbs) -> None:
        settings, evaluate = recipe.train, recipe.evaluate
        of_encoder = {
            "learning_rate": settings.encoder_learning_rate,
            "warmup_steps": settings.encoder_warmup_steps,
        }
        optimizer = make_adam(
            model,
            settings,
            warm_up(settings, settings.decay),
            groups={"bert": warm_up(settings.model_copy(update=of_encoder), settings.decay)},
        )
        super().__init__(model, optimizer, settings)

        self.model_settings = {"text": data.text, "recipe": recipe.without_folders()}
        self._records, (self._word_piece,) = data.records, data.tokenizers
        for first in read_records(data.records["train"], ["pieces"]).take(1):
            warn_of_unknown_words(first["pieces"].flat_values.numpy(), self._word_piece)
        words, line_break = self._word_piece.vocabulary, data.text["line_break"]
        self.vocabularies, self._line_break = [words], words.index(line_break)
        budget = settings.tokens_per_batch
        if recipe.data.legacy:
            self.batcher = original_summary_batches(
                data.records["train"], model, self._word_piece, self._line_break, settings
            )
            budget = max(budget, VALIDATED_TOGETHER)
        elif settings.gap_sentences:
            windows, sentences = load_gap_sentences(
                data.records["train"],
                model.window_length,
                model.max_length,
                number=settings.gap_sentences,
                mask_id=words.index("[MASK]"),
                kept=settings.gap_kept,
                line_break=self._line_break,
                seed=settings.seed,
            )
            self.batcher = self._batches_of(windows, sentences, budget)
        else:
            self.batcher = self._batches_of(*self._pairs_of("train"), budget)

        documents, summaries = self._pairs_of("validation")
        self.validation = AnswerValidation(
            model,
            self._batches_of(documents, summaries, budget),
            summaries.texts[: evaluate.documents],
            Detokenizer(words, line_break=line_break),
            evaluate.metric,
            words=evaluate.words,
        )

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

    def _batches_of(
        self, documents: WindowedDocuments, summaries: Summaries, budget: int
    ) -> SummaryBatcher:
        words, model = self._word_piece, self.model
        sources = DocumentBatcher(documents, budget, cls_id=words.cls_id, sep_id=words.sep_id)
        return SummaryBatcher(sources, summaries, budget, model.start_id, model.end_id)


make_run = SummaryRun
