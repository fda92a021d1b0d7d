"""A BertSumAbs's model folder to a SavedModel that takes raw strings and returns summaries."""

import pathlib

from tfsum.decoding import BeamSearch, Strategy
from tfsum.errors import ExportError, require
from tfsum.export.model_card import Card
from tfsum.export.saved_model import (
    read_settings,
    read_word_piece,
    version_folder,
    window_of,
    write_export,
)
from tfsum.generation import golden
from tfsum.generation.module import AbstractiveSummarizer, card_of
from tfsum.generation.sources import DocumentSource
from tfsum.models import BertSumAbs
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.true_case import TrueCase

PAPERS = BeamSearch(5, length_penalty=0.95, no_repeat_ngram=3)
# For a model folder without settings: one window, as in the papers, and their token between two
# sentences of a summary.
TEXT_SETTINGS = {
    "newline": "sentence",
    "max_windows": 1,
    "line_break": "[unused2]",
    "restore_case": False,
}


def export_model(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    ops: str = "core",
    strategy: Strategy | None = None,
    max_length: int | None = None,
    newline: str | None = None,
    max_windows: int | None = None,
    restore_case: bool | None = None,
    storage: str = "float32",
) -> pathlib.Path:
    """Writes a BertSumAbs as a SavedModel, verified before it gets its name.

    Args:
        folder: Model folder (`save_pretrained`) with vocab.txt and tfsum.json.
        destination: `.../NAME/VERSION`, VERSION a new integer; or `.../NAME`, for the next version.
        ops: "core" for any host of TensorFlow, "text" for hosts with TF Text's ops (faster).
        strategy: Decoding strategy; by default the papers',
            `BeamSearch(5, length_penalty=0.95, no_repeat_ngram=3)`.
        max_length: Most tokens of a summary, the end token included; by default the model's.
        newline: Meaning of a new line, an argument of `SentenceSplitter`; by default as in
            training.
        max_windows: Most windows of whole sentences read of a text; what is beyond is left out,
            which `coverage` reports. By default as in training.
        restore_case: Whether the words of a model that lower-cases get the case that they have in
            the text (`tfsum.text.true_case`).
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
    options = {
        "newline": newline,
        "max_windows": max_windows,
        "restore_case": restore_case,
    }
    text |= {name: value for name, value in options.items() if value is not None}

    module = build(source, text, ops, strategy, max_length, storage)
    text["window_length"] = module.source.window_length
    exported = {
        "kind": "abstractive",
        "ops": ops,
        "storage": storage,
        "text": text,
        **module.search_settings(),
    }
    return write_export(module, golden, card, source, destination, settings, exported)


def card(description: dict) -> Card:
    """The part of a BertSumAbs's model card; see `card_of`."""
    config, text = description["config"], description["text"]
    decoder, pieces = config["bert_sum_abs"], config["vocab_size"]
    return card_of(
        description,
        {
            "kind": "abstractive (BertSumAbs)",
            "layers": f"encoder {config['num_hidden_layers']}, decoder"
            f" {decoder['num_decoder_layers']}, width {config['hidden_size']},"
            f" {decoder['num_heads']} heads",
            "word pieces": f"{pieces} of the source, {pieces} of the target",
            "source": f"at most {text['max_windows']} windows of {text['window_length']} tokens;"
            " sentences beyond are left out, which `coverage` reports",
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
    """Makes the module of a BertSumAbs's model folder.

    Args:
        source: Model folder.
        text: Text settings.
        ops, strategy, max_length, storage: Arguments of `export_model`.

    Raises:
        ExportError: The vocabulary, its line break, its names or the window length do not fit.

    """
    model = BertSumAbs.from_pretrained(str(source))
    rows = model.bert.config["vocab_size"]
    word_piece = read_word_piece(source, text, ops, rows)
    words = word_piece.vocabulary
    require(
        text["line_break"] in (None, *words),
        f"{source}: line_break is {text['line_break']!r} in tfsum.json, which vocab.txt lacks;"
        " name a piece of it, or null where the model writes no line breaks",
        ExportError,
    )

    padding = rows - len(words)
    return AbstractiveSummarizer(
        model,
        DocumentSource(
            word_piece,
            SentenceSplitter(text["newline"]),
            window_of(source, text, model.window_length),
            text["max_windows"],
        ),
        Detokenizer([*words, *["[PAD]"] * padding], line_break=text["line_break"]),
        (strategy or PAPERS).with_vocabulary(words),
        max_length,
        storage,
        TrueCase(word_piece) if text["restore_case"] else None,
    )
