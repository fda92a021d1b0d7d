"""Checkpoints of BertSum and PreSumm (Liu 2019; Liu and Lapata 2019), read without torch.

Both save `{"model": state_dict, "opt": ..., "optim": ...}`, where `opt` has the arguments of the
training command; `tfsum.papers.checkpoint_names` has the names.
"""

import inspect
import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tfsum.data.preparation import vocabulary_file
from tfsum.errors import CheckpointError
from tfsum.formats import assign_weights, model_folder, text_settings, torch_file, weight_names
from tfsum.formats.config_json import errors_named
from tfsum.formats.piece_files import read_pieces
from tfsum.models import BertSumAbs, BertSumExt
from tfsum.papers.checkpoint_names import (
    bertsum_names,
    bertsum_shapes,
    named_variables,
    without_buffers,
)
from tfsum.papers.checkpoint_sizes import DECODER, CheckpointSizes, head_prefix, read_options

START, END = "[unused0]", "[unused1]"
"""PreSumm's tokens before and after a summary (train_abstractive.py)."""


def read_bertsum(
    path: str | os.PathLike, bert: dict | None = None, head_heads: int | None = None, **changes: Any
) -> BertSumExt | BertSumAbs:
    """Reads a checkpoint of BertSum or PreSumm: extractive with any head, or abstractive.

    Sizes come from the shapes of the tensors; attention heads and dropout of the sentence layers or
    the decoder from the `opt` in the file. What neither knows is as in the papers: BERT's heads are
    64 wide, its activation is the erf GELU.

    Args:
        path: The .pt file, zip or legacy; with or without the trainer's `{"model": ...}` around the
            state_dict.
        bert: Arguments of `Bert` (the fields of its config.json) that the shapes do not determine,
            such as `num_attention_heads`; those that they determine must agree.
        head_heads: Attention heads of the sentence layers or the decoder, where the file has no
            `opt`.
        **changes: Arguments of `BertSumExt` or `BertSumAbs`, such as `legacy` for the LSTM head as
            the original computes it.

    Returns:
        a built model with the weights of the file; `save_pretrained` makes a model folder of it.

    Raises:
        CheckpointError: No such file or a broken one, no model of BertSum, another head, sizes that
            are not those of `bert`; tensors missing, unknown or of another shape, all of them at
            once.
    """
    stored = open_bertsum(path, bert, head_heads, **changes)
    stored.model.build()
    assign_weights.assign_arrays(named_variables(stored.model), stored.weights)
    return stored.model


class StoredBertSum(NamedTuple):
    """A checkpoint of BertSum or PreSumm, checked, its weights still in the file.

    Attributes:
        model: Model with the sizes of the file, not built.
        weights: Arrays by the paths of its variables, kernels as (in, out): read-only views of the
            file.
        notes: What of the file is left out or rounded, one line each.
    """

    model: BertSumExt | BertSumAbs
    weights: dict[str, np.ndarray]
    notes: list[str]


def open_bertsum(
    path: str | os.PathLike, bert: dict | None = None, head_heads: int | None = None, **changes: Any
) -> StoredBertSum:
    """Checks a checkpoint of BertSum or PreSumm, without the memory of a model.

    Args:
        path: Path of the .pt file.
        bert: Arguments of `Bert`, as in `read_bertsum`.
        head_heads: Attention heads above the encoder.
        **changes: Arguments of the model, as in `read_bertsum`.

    Raises:
        CheckpointError: See `read_bertsum`.
    """
    content = torch_file.read_torch_file(path)
    tensors = content.get("model", content)
    if not isinstance(tensors, Mapping) or not all(
        type(name) is str and isinstance(value, np.ndarray) for name, value in tensors.items()
    ):
        raise CheckpointError(
            f"{path}: 'model' is no state_dict of tensors, as BertSum's trainer saves it"
        )

    prefix, known = head_prefix(tensors, path), read_options(content.get("opt"), path)
    if head_heads is not None:
        known |= dict.fromkeys(("heads", "ext_heads", "dec_heads"), head_heads)

    kind: type[BertSumExt] | type[BertSumAbs] = BertSumAbs if prefix == DECODER else BertSumExt
    if unknown := sorted(changes.keys() - inspect.signature(kind).parameters.keys()):
        raise CheckpointError(
            f"{path}: is a {kind.__name__}, which has no {', '.join(unknown)}; leave it out"
        )

    sizes = CheckpointSizes(path, tensors, known, prefix)
    encoder = sizes.bert(bert or {})
    arguments = sizes.decoder() if kind is BertSumAbs else sizes.head()
    with errors_named(path):
        model = kind(encoder, **(arguments | changes))

    names = bertsum_names(model, prefix)
    weights = without_buffers(dict(tensors), prefix, str(path))
    shapes = bertsum_shapes(model, [place for _, place, _ in names])

    return StoredBertSum(
        model,
        assign_weights.checked(shapes, names, weights, path),
        _notes(content, tensors, weights),
    )


def checkpoint_to_folder(
    source: str | os.PathLike,
    destination: pathlib.Path,
    vocabulary: str | os.PathLike | None,
    lowercase: bool | None = None,
    bert: dict[str, Any] | None = None,
    **changes: Any,
) -> list[str]:
    """Writes a checkpoint as a model folder.

    `evaluate`, `export`, `summarize` and `[model] start` take such a folder.

    Args:
        source: The .pt file.
        destination: A new folder.
        vocabulary: The word pieces of its BERT, which the file does not contain: vocab.txt, or a
            folder with it.
        lowercase: Whether its tokenizer lower-cases; by default as the vocabulary's folder or the
            vocabulary says.
        bert: Arguments of `Bert`, as in `read_bertsum`.
        **changes: Arguments of the model, as in `read_bertsum`.

    Returns:
        Notes, one line each: what of the file is left out or rounded.

    Raises:
        CheckpointError: File cannot be read, or the vocabulary does not fit.
        DataError: There is no such vocabulary.
    """
    if vocabulary is None:
        raise CheckpointError(
            f"{source}: a checkpoint does not contain its word pieces; give the vocabulary of its "
            "BERT: --vocabulary vocab.txt, or the folder that holds it"
        )

    file = vocabulary_file(os.fspath(vocabulary))
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
                f"{file}: {START} and {END} have the ids {special}, and PreSumm's summaries begin"
                f" with {model.start_id} and end with {model.end_id}; give the vocabulary of its"
                " BERT"
            )

    settings = {"text": text_settings.read_text_settings(vocabulary, lowercase)}
    model_folder.save_model(model, destination, pieces, settings, tensors=_tensors(stored))

    return stored.notes


def _tensors(stored: StoredBertSum) -> dict[str, np.ndarray]:
    """The weights by the names of a model folder; those of BERT are as they are in the checkpoint,
    and not copied."""
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


def _notes(content: dict, tensors: Mapping, weights: dict) -> list[str]:
    left = sorted(tensors.keys() - weights.keys())
    others = sorted(map(str, content.keys() - {"model", "opt"}))
    rounded = sum(value.dtype == np.float64 for value in weights.values())
    notes = {
        "left out, because the original computes them itself, has them twice or never uses"
        f" them: {', '.join(left)}": left,
        f"left out beside the model: {', '.join(others)}; training continues with a new"
        " optimizer": "model" in content and others,
        f"{rounded} tensors of float64 are rounded to float32": rounded,
    }
    return [note for note, applies in notes.items() if applies]
