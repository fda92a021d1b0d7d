"""What a training begins with: records, an encoder or another model, and frozen layers."""

import dataclasses
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import keras
import numpy as np

from tfsum.data.documents.prepare import DocumentPreparation
from tfsum.data.preparation import Preparation
from tfsum.data.settings import DocumentSettings, TextSettings
from tfsum.errors import RecipeError, require
from tfsum.formats.config_json import read_json
from tfsum.formats.model_folder import local_folder
from tfsum.formats.open_folder import open_folder
from tfsum.formats.text_settings import read_text_settings
from tfsum.inference.texts import KNOWN_ENOUGH
from tfsum.models import Bert
from tfsum.models.model import Model
from tfsum.models.with_bert import BertSum
from tfsum.text.known_words import known_share
from tfsum.text.word_piece import WordPiece
from tfsum.training.log import format_counts, log
from tfsum.training.settings import SummarizerSettings

AnyModel = TypeVar("AnyModel", bound=Model)
AnySummarizer = TypeVar("AnySummarizer", bound=BertSum)
FIRST = 200_000  # word pieces that are looked at


def check_positions(config: dict, max_length: int, key: str) -> None:
    """Checks that an encoder has a position for each token.

    Args:
        config: Arguments of the `Bert`.
        max_length: Most tokens of a row.
        key: Key of the recipe that says so, for the message.

    Raises:
        RecipeError: The encoder has fewer.

    Example:
        >>> check_positions({"max_position_embeddings": 512}, 128, "[text] max_length")
    """
    if max_length > (longest := config["max_position_embeddings"]):
        raise RecipeError(f"{key} is {max_length}; the model has positions for {longest} tokens")


def check_segments(config: dict, what: str) -> None:
    """Checks that an encoder has two segments.

    Args:
        config: Arguments of the `Bert`.
        what: Input that needs two segments, for the message.

    Raises:
        RecipeError: The encoder has one segment.

    Example:
        >>> check_segments({"type_vocab_size": 2}, "a pair of texts")
    """
    require(
        config["type_vocab_size"] > 1,
        f"the encoder has one segment (type_vocab_size 1), and {what} needs two; take another "
        "encoder",
        RecipeError,
    )


def starting_model(folder: pathlib.Path, *classes: type[AnySummarizer]) -> AnySummarizer:
    """Loads the model of [model] start.

    Args:
        folder: Model folder.
        *classes: Classes that the model may have.

    Raises:
        RecipeError: It is none of them.
        CheckpointError: The folder cannot be read.
    """
    config = read_json(folder / "config.json")
    fitting = [each for each in classes if each.section in config]
    names = " or ".join(each.__name__ for each in classes)
    require(
        fitting,
        f"[model] start: {folder} is no {names}; name a BERT as encoder instead",
        RecipeError,
    )
    return fitting[0].from_pretrained(folder)


def start_from(
    model: AnyModel,
    stored: AnyModel,
    folder: pathlib.Path,
    shape: Sequence[str],
    weights_of: Callable[[AnyModel], Mapping[str, keras.Variable]],
) -> None:
    """Gives a new model the weights of the model of [model] start.

    Args:
        model: Built model.
        stored: Model of [model] start.
        folder: Folder of the stored model.
        shape: Arguments of the class on which the weights depend.
        weights_of: Function from a model to its weights by path.

    Raises:
        RecipeError: An argument differs.
    """
    if others := [name for name in shape if stored.config[name] != model.config[name]]:
        wanted = ", ".join(f"{name} = {json.dumps(stored.config[name])}" for name in others)
        raise RecipeError(
            f"[model] start: {folder} is a {type(model).__name__} of another shape; [model] must"
            f" have {wanted}"
        )

    weights = weights_of(stored)
    for path, variable in weights_of(model).items():
        variable.assign(weights[path])


def freeze(bert: Bert, layers: int) -> None:
    """Freezes the lowest encoder layers, and with at least one of them the embeddings.

    Args:
        bert: Built model.
        layers: Number of frozen encoder layers; 0 freezes nothing.

    Example:
        >>> bert = Bert(10, 8, 2, 2, 16)
        >>> bert.build()
        >>> freeze(bert, 1)
        >>> bert.word_embeddings.trainable, bert.encoder.encoder_layers[1].trainable
        (False, True)
    """
    frozen = bert.encoder.encoder_layers[:layers]

    if layers:
        frozen += [
            bert.word_embeddings,
            bert.position_embeddings,
            bert.segment_embeddings,
            bert.embedding_norm,
        ]

    for layer in frozen:
        layer.trainable = False


@dataclasses.dataclass
class PreparedRecords:
    """The records of a recipe.

    Attributes:
        text: Text settings that the model folder will hold.
        records: Split -> folder of its records.
        tokenizers: Tokenizer of the records; of pairs those of sources and targets.
        folder: Folder of the encoder, or of the model that training starts from.
    """

    text: dict[str, Any]
    records: dict[str, pathlib.Path]
    tokenizers: Sequence[WordPiece]
    folder: pathlib.Path = pathlib.Path()


def prepare_documents(
    data: DocumentSettings, text: TextSettings, model: SummarizerSettings
) -> PreparedRecords:
    """Prepares the records of a recipe, unless that is done.

    Args:
        data, text, model: Sections of the recipe. Labels are those of the training documents:
            validation needs no soft labels, and its oracle is the report's.

    Raises:
        RecipeError: The encoder has one segment.
    """
    folder = local_folder(model.encoder or model.start or "")
    if model.has_stored_encoder:
        config = open_folder(folder).config
    else:
        config = read_json(folder / "config.json")
    check_segments(config, "a document, whose sentences take turns,")
    case = read_text_settings(folder, text.lowercase, text.strip_accents)
    options = data.model_dump(include=set(DocumentPreparation.model_fields)) | {
        "columns": data.columns,
        "window_length": model.window_length or config["max_position_embeddings"],
        "lowercase": bool(case["lowercase"]),
        "strip_accents": case["strip_accents"],
        "newline": text.newline,
    }
    splits = {
        "train": (data.train, DocumentPreparation(**options)),
        "validation": (
            data.validation,
            DocumentPreparation(**options | {"labels": "greedy", "unlabelled": False}),
        ),
    }
    settings = {**case, **{name: options[name] for name in ("newline", "window_length")}}
    return PreparedRecords(
        settings,
        prepare_splits(data.records, folder, splits),
        [WordPiece.from_file(folder / "vocab.txt", **case)],
        folder,
    )


def prepare_splits(
    folder: str, vocabulary: pathlib.Path, splits: Mapping[str, tuple[str, Preparation]]
) -> dict[str, pathlib.Path]:
    """Prepares the records of the splits of a recipe, unless that is done, and logs their counts.

    Args:
        folder: Folder of the records, one folder in it for each split.
        vocabulary: A vocab.txt, or the folder that holds one.
        splits: Split -> its corpus, and how it is prepared.

    Returns:
        Split -> folder of its records.
    """
    records = {split: pathlib.Path(folder) / split for split in splits}
    for split, (corpus, preparation) in splits.items():
        counts = preparation.write(corpus, records[split], vocabulary)
        log(f"{split}: {format_counts(counts)}")
    return records


def warn_of_unknown_words(
    pieces: np.ndarray, word_piece: WordPiece, enough: float = KNOWN_ENOUGH
) -> None:
    """Logs a warning where few of the words of training texts are in the vocabulary.

    Args:
        pieces: Word pieces of the texts, one after another, (P,); the first ones are looked at.
        word_piece: The tokenizer of the encoder.
        enough: Share of whole words from which there is none.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"], lowercase=True)
        >>> warn_of_unknown_words(np.array([4, 4, 1]), word_piece)
    """
    share = known_share(pieces[:FIRST], word_piece.vocabulary, word_piece.unk_id)
    if share < enough:
        log(
            f"warning: only {share:.0%} of the words of the training texts are in the encoder's"
            " vocabulary: they seem to be in a language or script that it does not know, of which"
            " the model will learn little; take an encoder of that language"
        )
