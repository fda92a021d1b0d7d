"""A BertSumAbs's model folder to a SavedModel that takes raw strings and returns summaries."""

import pathlib
from typing import Any

import numpy as np

from tfsum.decoding import BeamSearch, Strategy
from tfsum.errors import ExportError
from tfsum.export.saved_model import read_settings, version_folder, write_export
from tfsum.generation import golden
from tfsum.generation.module import AbstractiveSummarizer
from tfsum.generation.sources import DocumentSource
from tfsum.models import BertSumAbs
from tfsum.tasks.bert_sum_abs import card
from tfsum.tasks.export import read_word_piece, window_of
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.name_pieces import number_pieces, unpack_flags
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.true_case import TrueCase

# For a model folder without settings: one window, as in the papers, and their token between two
# sentences of a summary.
TEXT_SETTINGS = {
    "newline": "sentence",
    "max_windows": 1,
    "line_break": "[unused2]",
    "source_names": False,
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
    source_names: bool | None = None,
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
        source_names: Whether numbers, and the names that training has recorded, are written only as
            the text has them (`tfsum.decoding.source_names`).
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
    options = {
        "newline": newline,
        "max_windows": max_windows,
        "source_names": source_names,
        "restore_case": restore_case,
    }
    options = {name: value for name, value in options.items() if value is not None}
    text = {**TEXT_SETTINGS, **settings["text"], **options}

    module = build(
        source, text | {"names": settings.get("names")}, ops, strategy, max_length, storage
    )
    text["window_length"] = module.source.window_length
    exported = {
        "kind": "abstractive",
        "ops": ops,
        "storage": storage,
        "text": text,
        **module.search_settings(),
    }
    return write_export(module, golden, card, source, destination, settings, exported)


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
    if text["line_break"] not in (None, *words):
        raise ExportError(
            f"{source}: line_break is {text['line_break']!r} in tfsum.json, which vocab.txt lacks;"
            " name a piece of it, or null where the model writes no line breaks"
        )

    window = window_of(source, text, model.window_length)
    detokenizer = Detokenizer(
        [*words, *["[PAD]"] * (rows - len(words))], line_break=text["line_break"]
    )
    names = _names(source, text.get("names"), words)
    options: dict[str, Any] = {}
    if text["source_names"]:
        options["names"] = np.pad(
            number_pieces(words) if names is None else names, (0, rows - len(words))
        )
    if text["restore_case"]:
        options["true_case"] = TrueCase(word_piece, names)

    strategy = strategy or BeamSearch(5, length_penalty=0.95, no_repeat_ngram=3)
    return AbstractiveSummarizer(
        model,
        DocumentSource(word_piece, SentenceSplitter(text["newline"]), window, text["max_windows"]),
        detokenizer,
        strategy.with_vocabulary(words),
        max_length,
        storage,
        **options,
    )


def _names(source: pathlib.Path, given: str | None, words: list[str]) -> np.ndarray | None:
    """The pieces of names and numbers that training has found, bool (V,); None where it has not
    looked."""
    if given is None:
        return None
    try:
        return unpack_flags(given, len(words))
    except (TypeError, ValueError) as error:
        raise ExportError(
            f"{source}/tfsum.json: names: {error}; expected the bits of its word pieces in base64,"
            " as training writes them; remove the key to restrict numbers alone"
        ) from None
