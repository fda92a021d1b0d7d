"""What a run begins with: records, an encoder or another model's weights, and frozen layers."""

import dataclasses
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import keras

from tfsum.data.documents.prepare import DocumentPreparation
from tfsum.data.preparation import Preparation
from tfsum.data.settings import DocumentSettings, TextSettings
from tfsum.errors import RecipeError
from tfsum.formats.config_json import read_json
from tfsum.formats.model_folder import local_folder
from tfsum.formats.open_folder import open_folder
from tfsum.formats.text_settings import read_text_settings
from tfsum.models import Bert
from tfsum.models.with_bert import BertSum
from tfsum.training.log import format_counts, log
from tfsum.training.settings import SummarizerSettings


class Configured(Protocol):
    """A model with its arguments."""

    config: dict[str, Any]


AnyModel = TypeVar("AnyModel", bound=Configured)
AnySummarizer = TypeVar("AnySummarizer", bound=BertSum)


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
    if config["type_vocab_size"] < 2:
        raise RecipeError(
            f"the encoder has one segment (type_vocab_size 1), and {what} needs two; take another "
            "encoder"
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
    for each in classes:
        if each.section in config:
            return each.from_pretrained(folder)
    names = " or ".join(each.__name__ for each in classes)
    raise RecipeError(f"[model] start: {folder} is no {names}; name a BERT as encoder instead")


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
class PreparedDocuments:
    """The records of a recipe.

    Attributes:
        folder: Folder of the encoder, or of the model that training starts from.
        text: Text settings that the model folder will hold.
        records: Split -> folder of its records.
    """

    folder: pathlib.Path
    text: dict[str, Any]
    records: dict[str, pathlib.Path]


def prepare_documents(
    data: DocumentSettings, text: TextSettings, model: SummarizerSettings
) -> PreparedDocuments:
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
    records = prepare_splits(data.records, folder, splits)
    settings = {**case, **{name: options[name] for name in ("newline", "window_length")}}
    return PreparedDocuments(folder, settings, records)


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
