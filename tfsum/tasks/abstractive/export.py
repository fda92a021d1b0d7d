"""The model folder of a Transformer or a BertSumAbs to a SavedModel that takes raw strings and returns texts."""

import dataclasses
import pathlib
from typing import Any

import numpy as np

from tfsum.decoding import BeamSearch
from tfsum.decoding.strategy import Strategy
from tfsum.errors import ExportError
from tfsum.export.saved_model import read_settings, version_folder, write_export
from tfsum.formats.model_folder import read_json
from tfsum.models import BertSumAbs, Transformer
from tfsum.tasks import task
from tfsum.tasks.abstractive.module import AbstractiveSummarizer
from tfsum.tasks.abstractive.sources import DocumentSource, RowSource
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.name_pieces import number_pieces, unpack_flags
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.true_case import TrueCase
from tfsum.text.word_piece import Vocabulary, WordPiece

# Those of `tfsum.tasks.abstractive.prepare`, for a model folder without settings.
TEXT_SETTINGS = {"max_source_length": 512}
# Of a BertSumAbs: one window, as the papers, and their token between two sentences of a summary.
DOCUMENT_SETTINGS = {
    "newline": "sentence",
    "max_windows": 1,
    "line_break": "[unused2]",
    "source_names": False,
    "restore_case": False,
}
ROW_OPTIONS, DOCUMENT_OPTIONS = (
    ("max_source_length",),
    ("newline", "max_windows", "source_names", "restore_case"),
)


def export_model(
    folder: str | pathlib.Path,
    destination: str | pathlib.Path,
    ops: str = "core",
    strategy: Strategy | None = None,
    max_length: int | None = None,
    max_source_length: int | None = None,
    newline: str | None = None,
    max_windows: int | None = None,
    source_names: bool | None = None,
    restore_case: bool | None = None,
    storage: str = "float32",
) -> pathlib.Path:
    """Writes a Transformer or a BertSumAbs as a SavedModel that takes raw strings, verified before it gets its name.

    Args:
        folder: a model folder (`save_pretrained`) with vocab.txt, tfsum.json, and target_vocab.txt where a
            Transformer's target has words of its own.
        destination, ops: see `tfsum.tasks.extractive.export.export_model`.
        strategy: the decoding strategy; by default the papers': `BeamSearch()` of a Transformer, and of a BertSumAbs
            `BeamSearch(5, length_penalty=0.95, no_repeat_ngram=3)`.
        max_length: the most tokens of an answer, the end token among them; the model's own by default.
        max_source_length: of a Transformer: tokens read of a source, [CLS] and [SEP] among them; what is beyond is
            cut, which `coverage` reports. By default as the model's training data were prepared.
        newline: of a BertSumAbs: what a new line means, see `SentenceSplitter`; as it was trained by default.
        max_windows: of a BertSumAbs: windows of whole sentences read of a text; what is beyond is left out, which
            `coverage` reports. As it was trained by default.
        source_names: of a BertSumAbs: whether it writes numbers, and names as training has found them, only as the
            text has them, see `tfsum.decoding.source_names`.
        restore_case: of a BertSumAbs that lower-cases: whether its words get the case that they have in the text, see
            `tfsum.text.true_case`.
        storage: "float32", "float16", or "small" (float16, and int8 rows of the embeddings with a scale each).

    Returns:
        The folder written.

    Raises:
        ExportError, CheckpointError: as `tfsum.tasks.extractive.export.export_model`.
    """
    source, destination = pathlib.Path(folder), version_folder(destination)
    settings = read_settings(source)
    documents = "bert_sum_abs" in read_json(source / "config.json")
    text = {**(DOCUMENT_SETTINGS if documents else TEXT_SETTINGS), **settings["text"]}
    given = {
        "max_source_length": max_source_length,
        "newline": newline,
        "max_windows": max_windows,
        "source_names": source_names,
        "restore_case": restore_case,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if wrong := [
        name for name in given if name in (ROW_OPTIONS if documents else DOCUMENT_OPTIONS)
    ]:
        kinds = (
            ("a BertSumAbs", "a Transformer") if documents else ("a Transformer", "a BertSumAbs")
        )
        raise ExportError(
            f"{source}: {', '.join(wrong)}: is an option of {kinds[1]}, and this is {kinds[0]}; leave it "
            "out"
        )
    text |= given
    if documents:
        text["names"] = settings.get("names")
    module = (build_documents if documents else build)(
        source, text, ops, strategy, max_length, storage
    )
    text.pop("names", None)
    if documents:
        text["window_length"] = module.source.window_length
    search = {
        name: value
        for name, value in dataclasses.asdict(module.strategy).items()
        if name != "vocabulary"
    }
    return write_export(
        task("abstractive"),
        module,
        source,
        destination,
        settings,
        {
            "ops": ops,
            "storage": storage,
            "text": text,
            "search": {"strategy": type(module.strategy).__name__, **search},
            "max_length": module.max_length,
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
        source: the model folder.
        text: its text settings.
        ops, strategy, max_length, storage: see `export_model`.

    Raises:
        ExportError: the vocabulary does not fit the model.

    Example:
        >>> text = {"lowercase": False, "strip_accents": None, "max_source_length": 128}
        >>> source = pathlib.Path("runs/english_french/best")
        >>> module = build(source, text, "core", None, None, "float32")  # doctest: +SKIP
    """
    model = Transformer.from_pretrained(str(source))
    word_piece = _word_piece(source, text, ops)
    other = source / "target_vocab.txt"
    file = other if other.is_file() else source / "vocab.txt"
    target = Vocabulary.from_file(file)
    _check(source / "vocab.txt", len(word_piece.vocabulary), model.config["source_vocabulary_size"])
    _check(file, len(target.words), model.config["target_vocabulary_size"])
    if (model.start_id, model.end_id) != (target.cls_id, target.sep_id):
        raise ExportError(
            f"{source}: start_id and end_id are {model.start_id} and {model.end_id}, and [CLS] and [SEP] of "
            f"{file.name} have the ids {target.cls_id} and {target.sep_id}; take the vocabulary that the model was "
            "trained with"
        )
    return _module(
        model,
        RowSource(word_piece, text["max_source_length"]),
        Detokenizer(target.words),
        strategy or BeamSearch(),
        target.words,
        max_length,
        storage,
    )


def build_documents(
    source: pathlib.Path,
    text: dict,
    ops: str,
    strategy: Strategy | None,
    max_length: int | None,
    storage: str,
) -> AbstractiveSummarizer:
    """Makes the module of a BertSumAbs's model folder; for the arguments and errors see `build`.

    Example:
        >>> text = {"lowercase": True, "strip_accents": None, **DOCUMENT_SETTINGS}
        >>> source = pathlib.Path("runs/news_abs/best")
        >>> module = build_documents(source, text, "core", None, None, "float32")  # doctest: +SKIP
    """
    model = BertSumAbs.from_pretrained(str(source))
    word_piece, rows = _word_piece(source, text, ops), model.bert.config["vocab_size"]
    words = word_piece.vocabulary
    if len(words) > rows:
        _check(source / "vocab.txt", len(words), rows)
    if text["line_break"] not in (None, *words):
        raise ExportError(
            f"{source}: line_break is {text['line_break']!r} in tfsum.json, which vocab.txt lacks; name "
            "a piece of it, or null where the model writes no line breaks"
        )
    window = int(text.get("window_length") or model.window_length)
    if window > model.window_length:
        raise ExportError(
            f"{source}/tfsum.json: window_length is {window}; the model reads {model.window_length}"
        )
    detokenizer = Detokenizer(
        [*words, *["[PAD]"] * (rows - len(words))], line_break=text["line_break"]
    )
    strategy = strategy or BeamSearch(5, length_penalty=0.95, no_repeat_ngram=3)
    names = _names(source, text.get("names"), words)
    options: dict[str, Any] = {}
    if text["source_names"]:
        options["names"] = np.pad(
            number_pieces(words) if names is None else names, (0, rows - len(words))
        )
    if text["restore_case"]:
        options["true_case"] = TrueCase(word_piece, names)
    return _module(
        model,
        DocumentSource(word_piece, SentenceSplitter(text["newline"]), window, text["max_windows"]),
        detokenizer,
        strategy,
        words,
        max_length,
        storage,
        **options,
    )


def _names(source: pathlib.Path, given: str | None, words: list[str]) -> np.ndarray | None:
    """The pieces of names and numbers that training has found, bool (V,); None where it has not looked."""
    if given is None:
        return None
    try:
        return unpack_flags(given, len(words))
    except (TypeError, ValueError) as error:
        raise ExportError(
            f"{source}/tfsum.json: names: {error}; expected the bits of its word pieces in base64, as "
            "training writes them; remove the key to restrict numbers alone"
        ) from None


def _module(
    model: Any,
    source: Any,
    detokenizer: Detokenizer,
    strategy: Strategy,
    words: list[str],
    max_length: int | None,
    storage: str,
    **options: Any,
) -> AbstractiveSummarizer:
    if isinstance(strategy, BeamSearch) and strategy.legacy:
        strategy = dataclasses.replace(strategy, vocabulary=tuple(words))
    return AbstractiveSummarizer(
        model,
        source,
        detokenizer,
        strategy,
        model.max_length if max_length is None else max_length,
        storage,
        **options,
    )


def _word_piece(source: pathlib.Path, text: dict, ops: str) -> WordPiece:
    case = {name: text[name] for name in ("lowercase", "strip_accents")}
    return WordPiece.from_file(source / "vocab.txt", ops=ops, **case)


def _check(path: pathlib.Path, pieces: int, rows: int) -> None:
    if pieces != rows:
        raise ExportError(
            f"{path}: {pieces} word pieces, and the model has {rows} rows for them; take the vocabulary "
            "that it was trained with"
        )
