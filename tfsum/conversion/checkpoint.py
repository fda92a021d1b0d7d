"""Checkpoints of BertSum and PreSumm to model folders, and back."""

import os
import pathlib
from typing import Any

import numpy as np

from tfsum.conversion.bertsum import StoredBertSum, open_bertsum
from tfsum.conversion.bertsum_writer import FLAVOURS, write_bertsum
from tfsum.errors import CheckpointError
from tfsum.formats import model_folder, text_settings, weight_names
from tfsum.formats.model_folder import read_json
from tfsum.formats.piece_file import piece_file, read_pieces
from tfsum.models.bert_sum_abs import BertSumAbs
from tfsum.models.bert_sum_ext import BertSumExt

START, END = "[unused0]", "[unused1]"
"""PreSumm's tokens before and after a summary (train_abstractive.py)."""


def checkpoint_to_folder(
    source: str | os.PathLike,
    destination: pathlib.Path,
    vocabulary: str | os.PathLike | None,
    lowercase: bool | None = None,
    bert: dict[str, Any] | None = None,
    **changes: Any,
) -> list[str]:
    """Writes a checkpoint as a model folder, which `evaluate`, `export`, `summarize` and `[model] start` take.

    Args:
        source: the .pt file.
        destination: a new folder.
        vocabulary: the word pieces of its BERT, which the file does not contain: vocab.txt, or a folder with it.
        lowercase: whether its tokenizer lower-cases; by default as the vocabulary's folder or the vocabulary says.
        bert, **changes: see `read_bertsum`.

    Returns:
        Notes, one line each: what of the file is left out or rounded.

    Raises:
        CheckpointError: the file cannot be read, or the vocabulary is missing or does not fit.

    Example:
        >>> checkpoint_to_folder(
        ...     "model_step_50000.pt", pathlib.Path("bertsum"), "vocab.txt"
        ... )  # doctest: +SKIP
    """
    if vocabulary is None:
        raise CheckpointError(
            f"{source}: a checkpoint does not contain its word pieces; give the vocabulary of its "
            "BERT: --vocabulary vocab.txt, or the folder that holds it"
        )
    vocabulary = pathlib.Path(vocabulary)
    file = piece_file(vocabulary / "vocab.txt" if vocabulary.is_dir() else vocabulary)
    if not file.is_file():
        raise CheckpointError(
            f"{file}: no such vocabulary; expected a vocab.txt or the folder that holds one"
        )
    pieces = read_pieces(file)
    stored = open_bertsum(source, bert, **changes)
    model = stored.model
    rows = model.bert.config["vocab_size"]
    if len(pieces) != rows:
        raise CheckpointError(
            f"{file}: {len(pieces)} word pieces, and {source} has {rows} rows for them; give the "
            "vocabulary of its BERT"
        )
    if isinstance(model, BertSumAbs):
        special = [pieces.index(token) if token in pieces else None for token in (START, END)]
        if special != [model.start_id, model.end_id]:
            raise CheckpointError(
                f"{file}: {START} and {END} have the ids {special}, and PreSumm's summaries begin "
                f"with {model.start_id} and end with {model.end_id}; give the vocabulary of its BERT"
            )
    settings = text_settings.read_text_settings(vocabulary)
    if lowercase is not None:
        settings = {"lowercase": lowercase, "strip_accents": None}
    model_folder.save_model(
        model, destination, pieces, {"text": settings}, tensors=_tensors(stored)
    )
    return stored.notes


def _tensors(stored: StoredBertSum) -> dict[str, np.ndarray]:
    """The weights by the names of a model folder; those of BERT are as they are in the checkpoint, and not copied."""
    names = weight_names.bert_names(stored.model.bert.config["num_hidden_layers"], "bert.")
    tensors = {
        name: stored.weights[f"bert/{path}"].T if transposed else stored.weights[f"bert/{path}"]
        for name, path, transposed in names
    }
    tensors |= {
        path.replace("/", "."): value
        for path, value in stored.weights.items()
        if not path.startswith("bert/")
    }
    return {name: np.ascontiguousarray(value, np.float32) for name, value in tensors.items()}


def folder_to_checkpoint(
    source: str | os.PathLike, destination: pathlib.Path, to: str
) -> list[str]:
    """Writes a model folder as a checkpoint of the original's program.

    Args:
        source: a model folder of a `BertSumExt` or a `BertSumAbs`.
        destination: the .pt file.
        to: see `write_bertsum`.

    Returns:
        Notes, one line each.

    Raises:
        CheckpointError: the folder is of another model, or the original has no such model.
        OSError: the file cannot be written.

    Example:
        >>> folder_to_checkpoint(
        ...     "runs/news/best", pathlib.Path("model.pt"), "bertsum"
        ... )  # doctest: +SKIP
        []
    """
    config = read_json(f"{source}/config.json")
    kinds: dict[str, Any] = {"bert_sum_ext": BertSumExt, "bert_sum_abs": BertSumAbs}
    kind = next((kind for name, kind in kinds.items() if name in config), None)
    if kind is None:
        raise CheckpointError(
            f"{source}: is neither a BertSumExt nor a BertSumAbs, which the programs of "
            f"{' and '.join(FLAVOURS)} have; other formats of a BERT are google and hugging-face"
        )
    return write_bertsum(kind.from_pretrained(source), destination, to)
