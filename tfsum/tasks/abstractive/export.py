"""A Transformer's model folder to a SavedModel that takes raw strings and returns texts."""

import dataclasses
import pathlib

from tfsum.decoding import BeamSearch
from tfsum.decoding.strategy import Strategy
from tfsum.errors import ExportError
from tfsum.export.saved_model import read_settings, version_folder, write_export
from tfsum.models import Transformer
from tfsum.tasks import task
from tfsum.tasks.abstractive.module import AbstractiveSummarizer
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.word_piece import Vocabulary, WordPiece

# Those of `tfsum.tasks.abstractive.prepare`, for a model folder without settings.
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
    """Writes a Transformer as a SavedModel that takes raw strings, and verifies it before it gets its name.

    Args:
        folder: a model folder (`Transformer.save_pretrained`) with vocab.txt, tfsum.json, and target_vocab.txt
            where the target has words of its own.
        destination, ops: see `tfsum.tasks.extractive.export.export_model`.
        strategy: the decoding strategy; `BeamSearch()`, the paper's, by default.
        max_length: the most tokens of an answer, the end token among them; the model's own by default.
        max_source_length: tokens read of a source, [CLS] and [SEP] among them; what is beyond is cut, which
            `coverage` reports. By default as the model's training data were prepared.
        storage: "float32", "float16", or "small" (float16, and int8 rows of the embeddings with a scale each).

    Returns:
        The folder written.

    Raises:
        ExportError, CheckpointError: as `tfsum.tasks.extractive.export.export_model`.
    """
    source, destination = pathlib.Path(folder), version_folder(destination)
    settings = read_settings(source)
    text = {**TEXT_SETTINGS, **settings["text"]}
    if max_source_length is not None:
        text["max_source_length"] = max_source_length
    module = build(source, text, ops, BeamSearch() if strategy is None else strategy, max_length, storage)
    search = {"strategy": type(module.strategy).__name__, **dataclasses.asdict(module.strategy)}
    return write_export(task("abstractive"), module, source, destination, settings,
                        {"ops": ops, "storage": storage, "text": text, "search": search,
                         "max_length": module.max_length})


def build(source: pathlib.Path, text: dict, ops: str, strategy: Strategy, max_length: int | None,
          storage: str) -> AbstractiveSummarizer:
    """Makes the module of a model folder; `text` holds its text settings.

    Args:
        source: the model folder.
        text: its text settings.
        ops, strategy, max_length, storage: see `export_model`.

    Raises:
        ExportError: the vocabulary does not fit the model.

    Example:
        >>> from tfsum.decoding import BeamSearch
        >>> text = {"lowercase": False, "strip_accents": None, "max_source_length": 128}
        >>> source = pathlib.Path("runs/english_french/best")
        >>> module = build(source, text, "core", BeamSearch(), None, "float32")  # doctest: +SKIP
    """
    model = Transformer.from_pretrained(str(source))
    case = {name: text[name] for name in ("lowercase", "strip_accents")}
    word_piece = WordPiece.from_file(source / "vocab.txt", ops=ops, **case)
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
    max_length = model.max_length if max_length is None else max_length
    return AbstractiveSummarizer(model, word_piece, Detokenizer(target.words), strategy, text["max_source_length"],
                                 max_length, storage)


def _check(path: pathlib.Path, pieces: int, rows: int) -> None:
    if pieces != rows:
        raise ExportError(f"{path}: {pieces} word pieces, and the model has {rows} rows for them; take the vocabulary "
                          "that it was trained with")
