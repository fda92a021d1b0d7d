"""The encoder of a run: its text settings, its frozen layers, and documents prepared for it."""

import dataclasses
import pathlib
from typing import Any

from tfsum.data.documents.prepare import prepare
from tfsum.errors import RecipeError
from tfsum.formats.config_json import read_json
from tfsum.formats.model_folder import local_folder
from tfsum.formats.open_folder import open_folder
from tfsum.formats.text_settings import read_text_settings
from tfsum.models import Bert
from tfsum.training.log import format_counts, log
from tfsum.training.settings import DocumentSettings, SummarizerSettings, TextSettings


def text_settings(
    folder: pathlib.Path, lowercase: bool | None, strip_accents: bool | None
) -> dict[str, bool | None]:
    """Takes the text settings of a recipe, or those of the encoder's folder for unset keys.

    Args:
        folder: Folder of the encoder, or file of a vocabulary.
        lowercase: Key of the recipe; None if unset.
        strip_accents: Key of the recipe; None if unset.

    Returns:
        `lowercase` and `strip_accents`, the arguments of `WordPiece`.

    Example:
        >>> text_settings(pathlib.Path("no_folder"), lowercase=False, strip_accents=None)
        {'lowercase': False, 'strip_accents': None}
    """
    settings = read_text_settings(folder)

    if lowercase is not None:
        settings = {"lowercase": lowercase, "strip_accents": None}
    if strip_accents is not None:
        settings["strip_accents"] = strip_accents

    return settings


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
    data: DocumentSettings,
    text: TextSettings,
    model: SummarizerSettings,
    labels: str = "greedy",
    **options: Any,
) -> PreparedDocuments:
    """Prepares the records of a recipe, unless that is done.

    Args:
        data, text, model: Sections of the recipe.
        labels: Oracle labels of the training documents. Validation needs no soft labels, and its
            oracle is the report's.
        **options: Further arguments of `tfsum.data.documents.prepare.prepare`.

    Raises:
        RecipeError: The encoder has one segment.
    """
    folder = local_folder(model.encoder or model.start or "")
    if model.has_stored_encoder:
        config = open_folder(folder).config
    else:
        config = read_json(folder / "config.json")
    check_segments(config, "a document, whose sentences take turns,")
    case = text_settings(folder, text.lowercase, text.strip_accents)
    window_length = model.window_length or config["max_position_embeddings"]

    records = {}
    splits = {"train": (data.train, labels), "validation": (data.validation, "greedy")}
    for split, (corpus, oracle) in splits.items():
        records[split] = pathlib.Path(data.records) / split
        counts = prepare(
            corpus,
            records[split],
            folder,
            labels=oracle,
            columns=data.columns,
            max_sentences=data.max_sentences,
            window_length=window_length,
            lowercase=bool(case["lowercase"]),
            strip_accents=case["strip_accents"],
            newline=text.newline,
            shards=data.shards,
            processes=data.processes,
            **options,
        )
        log(f"{split}: {format_counts(counts)}")

    settings = {**case, "newline": text.newline, "window_length": window_length}
    return PreparedDocuments(folder, settings, records)
