"""Training a BertSumExt on prepared records, from an encoder to the best model folder."""

import json
import pathlib
from typing import Any

from tfsum.data.batcher import SharedBatches
from tfsum.data.records import load_columns, read_records
from tfsum.errors import RecipeError
from tfsum.formats.config_json import read_bert_config, read_json
from tfsum.formats.int8_rows import rounded_rows
from tfsum.models import Bert, BertSumExt
from tfsum.tasks.bert_sum_ext.batches import TrainingBatches
from tfsum.tasks.bert_sum_ext.settings import RecipeSettings, TrainSettings
from tfsum.tasks.bert_sum_ext.validation import ExtractiveValidation
from tfsum.text.known_words import frequent_words
from tfsum.text.word_piece import WordPiece
from tfsum.training.encoder import PreparedDocuments, freeze, prepare_documents
from tfsum.training.log import format_scores, log
from tfsum.training.optimizer import make_adam, warm_up
from tfsum.training.run import Run

SHAPE = ("head", "pooling", "word_head", "length_input", "legacy")
LAYERS = ("head_layers", "head_num_heads", "head_feed_forward_width")


def prepare_data(recipe: RecipeSettings) -> PreparedDocuments:
    """Prepares the records of a recipe, unless that is done."""
    data = recipe.data
    return prepare_documents(
        data,
        recipe.text,
        recipe.model,
        labels=data.labels,
        legacy=data.legacy,
        summary_sentences=data.summary_sentences,
        temperature=data.temperature,
    )


def build_model(recipe: RecipeSettings, data: PreparedDocuments) -> BertSumExt:
    """Builds the model of a recipe: around its encoder, around one of the encoder's size with
    random weights (the original's `baseline`), or with the weights of [model] start.

    Raises:
        RecipeError: [model] start is another model, or has another head.
        CheckpointError: The encoder cannot be read.
    """
    settings, stored = recipe.model, None
    if settings.start:
        stored = _starting_model(data.folder)

    encoder: Bert | dict
    if settings.has_stored_encoder:
        encoder = Bert.from_pretrained(data.folder, **settings.dropout_rates)
    else:
        encoder = {**read_bert_config(data.folder), **settings.dropout_rates}
    model = BertSumExt(
        encoder,
        head=settings.head,
        pooling=settings.pooling,
        word_head=settings.word_head,
        length_input=settings.length_input,
        window_length=settings.window_length,
        head_layers=settings.head_layers,
        head_num_heads=settings.head_num_heads,
        head_feed_forward_width=settings.head_feed_forward_width,
        head_dropout=settings.head_dropout,
        legacy=settings.legacy,
        loss_reduction=settings.loss_reduction,
    )
    model.build()
    if stored is not None:
        _assign(model, stored, data.folder)

    if settings.round_words:  # what an export with storage "small" holds exactly
        words = model.bert.word_embeddings.embeddings
        words.assign(rounded_rows(words.numpy()))
    freeze(model.bert, settings.freeze_layers)
    model.bert.pooler.trainable = False  # the scores do not use it
    return model


def _starting_model(folder: pathlib.Path) -> BertSumExt:
    """The model that training starts from, such as a checkpoint of BertSum that was converted."""
    if "bert_sum_ext" not in read_json(folder / "config.json"):
        raise RecipeError(
            f"[model] start: {folder} is no BertSumExt; name a BERT as encoder instead"
        )
    return BertSumExt.from_pretrained(folder)


def _assign(model: BertSumExt, stored: BertSumExt, folder: pathlib.Path) -> None:
    """Gives a new model the weights of a stored one."""
    names = SHAPE + (LAYERS if stored.config["head"] == "transformer" else ())
    if others := [name for name in names if stored.config[name] != model.config[name]]:
        wanted = ", ".join(f"{name} = {json.dumps(stored.config[name])}" for name in others)
        raise RecipeError(
            f"[model] start: {folder} has another head or pooling; [model] must have {wanted}"
        )

    # The weights above the encoder in an order that depends on the shape of the model alone.
    new, old = (
        each.bert.weights + [weight for _, weight in sorted(each.head_variables().items())]
        for each in (model, stored)
    )
    for variable, value in zip(new, old, strict=True):
        variable.assign(value)


class ExtractiveRun(Run[BertSumExt, TrainSettings]):
    """A `Run` that trains a BertSumExt and validates it by the ROUGE of its summaries.

    Args:
        recipe: The recipe.
        data: Result of `prepare_data`.
        model: Result of `build_model`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/news/best')
    """

    def __init__(self, recipe: RecipeSettings, data: PreparedDocuments, model: BertSumExt) -> None:
        settings = recipe.train
        factors = {"bert": settings.encoder_learning_rate / settings.learning_rate}
        schedule = warm_up(settings, settings.decay)
        super().__init__(model, make_adam(model, settings, schedule, factors=factors), settings)

        word_piece = WordPiece.from_file(data.folder / "vocab.txt")
        self._train_records = data.records["train"]
        self._batches = TrainingBatches(self._train_records, model, word_piece, recipe)
        ((pieces, _),) = load_columns(self._train_records, "pieces")
        self.vocabularies = [word_piece.vocabulary]
        self.model_settings = {
            "text": data.text,
            "frequent": frequent_words(pieces, word_piece.vocabulary, word_piece.unk_id),
            "recipe": recipe.without_folders(),
        }
        self.validation: ExtractiveValidation = ExtractiveValidation(
            model, data.records["validation"], word_piece, settings, recipe.evaluate
        )

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first logs the scores of the lead baseline."""
        self.state["lead"] = self.validation.lead()
        log(f"lead: {format_scores(self.state['lead'])}")
        return super().fit()

    def batches(self, done: int) -> SharedBatches:
        """The batches that follow so many steps."""
        return self._batches.after(done)

    def rows(self, step: int) -> list[str]:
        """Names the documents of a step by their ids."""
        ids = [
            name.decode()
            for batch in read_records(self._train_records, ["id", "sentences"])
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
