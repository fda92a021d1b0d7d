"""A Transformer's model folder to a SavedModel that takes raw strings and returns texts."""

import pathlib

from tfsum.decoding import BeamSearch, Strategy
from tfsum.errors import ExportError, require
from tfsum.export.model_card import Card
from tfsum.export.saved_model import (
    check_rows,
    read_settings,
    read_word_piece,
    version_folder,
    write_export,
)
from tfsum.generation import golden
from tfsum.generation.module import AbstractiveSummarizer, card_of
from tfsum.generation.sources import RowSource
from tfsum.models import Transformer
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.word_piece import Vocabulary

# The default of `tfsum.tasks.transformer.prepare`, for a model folder without settings.
TEXT_SETTINGS = {"max_source_length": 512}


def export_model(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    ops: str = "core",
    strategy: Strategy | None = None,
    max_length: int | None = None,
    max_source_length: int | None = None,
    storage: str = "float32",
) -> pathlib.Path:
    """Writes a Transformer as a SavedModel, verified before it gets its name.

    Args:
        folder: Model folder (`save_pretrained`) with vocab.txt, tfsum.json, and target_vocab.txt
            where the target has a vocabulary of its own.
        destination: `.../NAME/VERSION`, VERSION a new integer; or `.../NAME`, for the next version.
        ops: "core" for any host of TensorFlow, "text" for hosts with TF Text's ops (faster).
        strategy: Decoding strategy; by default `BeamSearch()`, the paper's.
        max_length: Most tokens of an answer, the end token included; by default the model's.
        max_source_length: Most tokens read of a source, [CLS] and [SEP] included; what is beyond is
            cut, which `coverage` reports. By default as the training data were prepared.
        storage: "float32", "float16", or "small" (float16, and int8 rows of the embeddings with a
            scale each).

    Returns:
        The folder written.

    Raises:
        ExportError: The folder is incomplete, an option is invalid, the destination exists or
            cannot be written.
        CheckpointError: The model folder cannot be read.
    """
    source, destination = pathlib.Path(folder), version_folder(destination)
    settings = read_settings(source)
    text = {**TEXT_SETTINGS, **settings["text"]}

    if max_source_length is not None:
        text["max_source_length"] = max_source_length

    module = build(source, text, ops, strategy, max_length, storage)
    exported = {
        "kind": "abstractive",
        "ops": ops,
        "storage": storage,
        "text": text,
        **module.search_settings(),
    }
    return write_export(module, golden, card, source, destination, settings, exported)


def card(description: dict) -> Card:
    """The part of a Transformer's model card; see `card_of`."""
    config = description["config"]
    return card_of(
        description,
        {
            "kind": "abstractive (Transformer)",
            "layers": f"encoder {config['num_encoder_layers']}, decoder"
            f" {config['num_decoder_layers']}, width {config['d_model']},"
            f" {config['num_heads']} heads",
            "word pieces": f"{config['source_vocabulary_size']} of the source,"
            f" {config['target_vocabulary_size']} of the target",
            "source": f"at most {description['text']['max_source_length']} tokens; what is beyond"
            " is cut, which `coverage` reports",
        },
    )


def build(
    source: pathlib.Path,
    text: dict,
    ops: str,
    strategy: Strategy | None,
    max_length: int | None,
    storage: str,
) -> AbstractiveSummarizer:
    """Makes the module of a Transformer's model folder; `text` holds its text settings.

    Args:
        source: Model folder.
        text: Text settings.
        ops, strategy, max_length, storage: Arguments of `export_model`.

    Raises:
        ExportError: Vocabulary does not fit the model.
    """
    model = Transformer.from_pretrained(str(source))
    rows = model.config["source_vocabulary_size"]
    word_piece = read_word_piece(source, text, ops, rows)
    other = source / "target_vocab.txt"
    file = other if other.is_file() else source / "vocab.txt"
    target = Vocabulary.from_file(file)
    check_rows(source / "vocab.txt", len(word_piece.vocabulary), rows)
    check_rows(file, len(target.words), model.config["target_vocabulary_size"])

    require(
        (model.start_id, model.end_id) == (target.cls_id, target.sep_id),
        f"{source}: start_id and end_id are {model.start_id} and {model.end_id}, and [CLS] and"
        f" [SEP] of {file.name} have the ids {target.cls_id} and {target.sep_id}; take the"
        " vocabulary that the model was trained with",
        ExportError,
    )

    return AbstractiveSummarizer(
        model,
        RowSource(word_piece, text["max_source_length"]),
        Detokenizer(target.words),
        (strategy or BeamSearch()).with_vocabulary(target.words),
        max_length,
        storage,
    )
