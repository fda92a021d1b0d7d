"""Training a Transformer on pairs of source and target texts, from their files to the best model
folder."""

import itertools
import pathlib
from typing import Any

from tfsum.data.preparation import learned_vocabularies, pass_over, vocabulary_file
from tfsum.data.readers import RereadTexts, read_pairs
from tfsum.errors import RecipeError, require
from tfsum.formats.weight_names import variables_by_path
from tfsum.generation.validation import AnswerValidation
from tfsum.models import Transformer
from tfsum.tasks.starting_point import PreparedRecords, prepare_splits, start_from
from tfsum.tasks.transformer.batches import PairBatcher, load_pairs, pair_texts
from tfsum.tasks.transformer.prepare import PairPreparation
from tfsum.tasks.transformer.settings import (
    DataSettings,
    RecipeSettings,
    TextSettings,
    TrainSettings,
)
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.word_piece import WordPiece
from tfsum.training.log import log
from tfsum.training.optimizer import make_adam, warm_up
from tfsum.training.run import Run

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


def prepare_data(recipe: RecipeSettings) -> PreparedRecords:
    """Learns the vocabularies of a recipe and prepares its records, unless that is done."""
    data, text = recipe.data, recipe.text
    files = pair_vocabularies(data, text)
    case = {"lowercase": text.lowercase, "strip_accents": text.strip_accents}
    options = data.model_dump(include=set(PairPreparation.model_fields)) | case
    options["target_vocabulary"] = files[1]
    # of validation the original pairs, not windows of them
    original = options | {"window_sentences": None}
    splits = {
        "train": (data.train, PairPreparation(**options, target_corpus=data.train_target)),
        "validation": (
            data.validation,
            PairPreparation(**original, target_corpus=data.validation_target),
        ),
    }
    return PreparedRecords(
        {**case, "max_source_length": data.max_source_length, "cut_sources": data.cut_sources},
        prepare_splits(data.records, files[0], splits),
        [WordPiece.from_file(file, **case) for file in files],
    )


def pair_vocabularies(data: DataSettings, text: TextSettings) -> tuple[pathlib.Path, pathlib.Path]:
    """Finds or learns the vocabularies of a recipe; a second call finds the learned ones done.

    Args:
        data: Section [data]: the training pairs, and the folder of the records, in which learned
            vocabularies are kept.
        text: Section [text]: ready vocabularies, or sizes of those to learn. Without a size of the
            target's own, one is learned from both sides.

    Returns:
        The files of source and target; the same file twice where they share one.

    Raises:
        Error: Files and sizes are mixed or both missing, or the folder holds a vocabulary learned
            otherwise.

    Example:
        >>> pair_vocabularies(recipe.data, recipe.text)  # doctest: +SKIP
        (PosixPath('records/vocabulary/vocab.txt'), PosixPath('records/vocabulary/vocab.txt'))
    """
    ready = [file for file in (text.vocabulary, text.target_vocabulary) if file is not None]
    sizes = [size for size in (text.vocabulary_size, text.target_vocabulary_size) if size]
    require(
        [text.vocabulary, text.vocabulary_size].count(None) == 1 and bool(ready) != bool(sizes),
        f"[text] vocabulary {text.vocabulary!r}, target_vocabulary {text.target_vocabulary!r},"
        f" vocabulary_size {text.vocabulary_size}, target_vocabulary_size"
        f" {text.target_vocabulary_size}: expected exactly one of vocabulary"
        " and vocabulary_size; target_vocabulary only beside vocabulary, target_vocabulary_size"
        " only beside vocabulary_size",
    )

    if ready:
        found = [vocabulary_file(file) for file in ready]
        return found[0], found[-1]

    columns = {"source": data.source, "target": data.target}

    def texts(*sides: int) -> RereadTexts:
        return RereadTexts(
            lambda: (
                pair[side]
                for pair in read_pairs(data.train, data.train_target, wrong=pass_over, **columns)
                for side in sides
            )
        )

    wanted = {"vocab.txt": (texts(0, 1), sizes[0])}
    if len(sizes) == 2:
        wanted = {"vocab.txt": (texts(0), sizes[0]), "target_vocab.txt": (texts(1), sizes[1])}

    found = learned_vocabularies(
        pathlib.Path(data.records) / "vocabulary",
        {
            **columns,
            "sizes": sizes,
            "lowercase": text.lowercase,
            "strip_accents": text.loses_accents,
        },
        {"corpus": data.train, "target_corpus": data.train_target},
        wanted,
        lowercase=text.lowercase,
        strip_accents=text.strip_accents,
    )
    return found[0], found[-1]


def build_model(recipe: RecipeSettings, data: PreparedRecords) -> Transformer:
    """Builds the model of a recipe, with new weights or those of [model] start.

    Raises:
        RecipeError: Two vocabularies are to share one table, or [model] start does not fit.
        CheckpointError: [model] start is no model folder of a Transformer.
    """
    settings, (source, target) = recipe.model, data.tokenizers
    require(
        source.vocabulary == target.vocabulary or not settings.shared_embeddings,
        "[model] shared_embeddings is true, and source and target have vocabularies of their"
        " own; set it to false, or take one vocabulary for both",
        RecipeError,
    )
    model = Transformer(
        len(source.vocabulary),
        len(target.vocabulary),
        start_id=target.cls_id,
        end_id=target.sep_id,
        num_encoder_layers=settings.num_encoder_layers,
        num_decoder_layers=settings.num_decoder_layers,
        d_model=settings.d_model,
        num_heads=settings.num_heads,
        feed_forward_width=settings.feed_forward_width,
        activation=settings.activation,
        norm=settings.norm,
        dropout=settings.dropout,
        attention_dropout=settings.attention_dropout,
        activation_dropout=settings.activation_dropout,
        epsilon=settings.epsilon,
        shared_embeddings=settings.shared_embeddings,
        tied_output=settings.tied_output,
        label_smoothing=settings.label_smoothing,
        max_length=settings.max_length,
    )
    model.build()

    log(f"{sum(v.shape.num_elements() for v in model.trainable_variables):,} weights")
    if settings.start is not None:
        folder = pathlib.Path(settings.start)
        stored = Transformer.from_pretrained(folder)
        _check_pieces(folder, source, target)
        start_from(model, stored, folder, SHAPE, variables_by_path)
    return model


def _check_pieces(folder: pathlib.Path, source: WordPiece, target: WordPiece) -> None:
    """Checks that the word pieces are those of the model that training starts from."""
    file, other = folder / "vocab.txt", folder / "target_vocab.txt"
    for key, tokenizer, path in (
        ("vocabulary", source, file),
        ("target_vocabulary", target, other if other.is_file() else file),
    ):
        require(
            WordPiece.from_file(path).vocabulary == tokenizer.vocabulary,
            f"[model] start: its weights belong to other word pieces; [text] needs {key} ="
            f' "{path}" in place of {key}_size',
            RecipeError,
        )


class PairRun(Run[Transformer, TrainSettings]):
    """A `Run` that trains a Transformer and validates it by its loss and its greedy answers.

    Args:
        recipe: The recipe.
        data: Result of `prepare_data`.
        model: Result of `build_model`.

    Example:
        >>> run = make_run(recipe, prepare_data(recipe), model)  # doctest: +SKIP
        >>> run.fit()  # doctest: +SKIP
        PosixPath('runs/translator/best')
    """

    def __init__(self, recipe: RecipeSettings, data: PreparedRecords, model: Transformer) -> None:
        settings, evaluate = recipe.train, recipe.evaluate
        optimizer = make_adam(
            model,
            settings,
            warm_up(settings, settings.decay),
            beta_1=settings.beta_1,
            beta_2=settings.beta_2,
            epsilon=settings.epsilon,
        )
        super().__init__(model, optimizer, settings)

        self.model_settings = {"text": data.text, "recipe": recipe.without_folders()}
        source, target = (tokenizer.vocabulary for tokenizer in data.tokenizers)
        self.vocabularies = [source]
        if source != target:
            self.vocabularies.append(target)
        train = load_pairs(data.records["train"])
        if settings.shuffle_sources:
            train = train.with_shuffled_sources(settings.seed)
        if beyond := int((train.target_counts + 1 > model.max_length).sum()):
            log(
                f"{beyond} training targets have more than {model.max_length} tokens, the [model]"
                " max_length at which answers stop"
            )
        self.batcher, validation = (
            PairBatcher(
                pairs, settings.tokens_per_batch, cls_id=model.start_id, sep_id=model.end_id
            )
            for pairs in (train, load_pairs(data.records["validation"]))
        )
        references = (target for _, target in pair_texts(data.records["validation"]))
        self.validation: AnswerValidation = AnswerValidation(
            model,
            validation,
            list(itertools.islice(references, evaluate.documents)),
            Detokenizer(target),
            evaluate.metric,
            evaluate.tokenize,
            evaluate.words,
        )

    def measure(self) -> dict[str, float]:
        """The loss on the validation pairs, and BLEU or ROUGE of the greedy answers."""
        scores = self.validation.scores()
        if self.validation.signature and "signature" not in self.state:
            self.state["signature"] = self.validation.signature
            log(f"BLEU is {self.validation.signature}")
        return scores

    def measured(self) -> dict[str, Any]:
        """The scores of the best model, and what its BLEU is."""
        signature = {name: self.state[name] for name in ("signature",) if name in self.state}
        return super().measured() | signature


make_run = PairRun
