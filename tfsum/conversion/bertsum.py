"""Checkpoints of BertSum and PreSumm (Liu 2019; Liu and Lapata 2019), read without torch.

Both save `{"model": state_dict, "opt": ..., "optim": ...}`; `tfsum.conversion.bertsum_names` has the names.
"""

import inspect
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tfsum.conversion.bertsum_names import BERT, bertsum_names, named_variables, without_buffers
from tfsum.conversion.bertsum_options import read_options
from tfsum.conversion.bertsum_shapes import bertsum_shapes
from tfsum.errors import CheckpointError
from tfsum.formats import assign_weights, model_folder
from tfsum.formats.torch_file import read_torch_file
from tfsum.models.bert_sum_abs import BertSumAbs
from tfsum.models.bert_sum_ext import BertSumExt

HEADS = ("encoder.", "ext_layer.")
DECODER = "decoder."


def read_bertsum(
    path: str | os.PathLike, bert: dict | None = None, head_heads: int | None = None, **changes: Any
) -> BertSumExt | BertSumAbs:
    """Reads a checkpoint of BertSum or PreSumm: extractive with any head, or abstractive.

    Sizes come from the shapes of the tensors; attention heads and dropout of the sentence layers or the decoder from
    the `opt` in the file. What neither knows is as in the papers: BERT's heads are 64 wide, its activation is the erf
    GELU.

    Args:
        path: the .pt file, zip or legacy; with or without the trainer's `{"model": ...}` around the state_dict.
        bert: arguments of `Bert` (the fields of its config.json) that the shapes do not determine, such as
            `num_attention_heads`; those that they determine must agree.
        head_heads: attention heads of the sentence layers or the decoder, where the file has no `opt`.
        **changes: arguments of `BertSumExt` or `BertSumAbs`, such as `legacy` for the LSTM head as the original
            computes it.

    Returns:
        a built model with the weights of the file; `save_pretrained` makes a model folder of it.

    Raises:
        CheckpointError: no such file or a broken one, no model of BertSum, another head, sizes that are not
            those of `bert`; tensors missing, unknown or of another shape, all of them at once.

    Example:
        >>> model = read_bertsum("model_step_18000.pt")  # doctest: +SKIP
        >>> model.save_pretrained("bertsum")  # doctest: +SKIP
    """
    stored = open_bertsum(path, bert, head_heads, **changes)
    stored.model.build()
    variables = named_variables(stored.model)
    for place, value in stored.weights.items():
        variables[place].assign(value)
    return stored.model


class StoredBertSum(NamedTuple):
    """A checkpoint of BertSum or PreSumm, checked, its weights still in the file.

    Attributes:
        model: with the sizes of the file, not built.
        weights: arrays by the paths of its variables, kernels as (in, out): read-only views of the file.
        notes: what of the file is left out or rounded, one line each.

    Example:
        >>> open_bertsum("model_step_18000.pt").notes  # doctest: +SKIP
        []
    """

    model: BertSumExt | BertSumAbs
    weights: dict[str, np.ndarray]
    notes: list[str]


def open_bertsum(
    path: str | os.PathLike, bert: dict | None = None, head_heads: int | None = None, **changes: Any
) -> StoredBertSum:
    """Checks a checkpoint of BertSum or PreSumm, without the memory of a model.

    Args:
        path, bert, head_heads, **changes: see `read_bertsum`.

    Raises:
        CheckpointError: see `read_bertsum`.

    Example:
        >>> open_bertsum("model_step_18000.pt").model.built  # doctest: +SKIP
        False
    """
    content = read_torch_file(path)
    tensors = content.get("model", content)
    if not isinstance(tensors, Mapping) or not all(
        type(name) is str and isinstance(value, np.ndarray) for name, value in tensors.items()
    ):
        raise CheckpointError(
            f"{path}: 'model' is no state_dict of tensors, as BertSum's trainer saves it"
        )
    prefix, known = _prefix(tensors, path), read_options(content.get("opt"), path)
    if head_heads is not None:
        known |= dict.fromkeys(("heads", "ext_heads", "dec_heads"), head_heads)
    kind: type[BertSumExt] | type[BertSumAbs] = BertSumAbs if prefix == DECODER else BertSumExt
    if unknown := sorted(changes.keys() - inspect.signature(kind).parameters.keys()):
        raise CheckpointError(
            f"{path}: is a {kind.__name__}, which has no {', '.join(unknown)}; leave it out"
        )
    sizes = _bert_arguments(tensors, known, bert or {}, path)
    arguments = (
        _decoder_arguments(tensors, known, path)
        if kind is BertSumAbs
        else _head_arguments(tensors, prefix, known, path)
    )
    with model_folder.errors_named(path):
        model = kind(sizes, **{**arguments, **changes})
    names = bertsum_names(model, prefix)
    weights = without_buffers(dict(tensors), prefix, str(path))
    shapes = bertsum_shapes(model, [place for _, place, _ in names])
    return StoredBertSum(
        model,
        assign_weights.checked(shapes, names, weights, path),
        _notes(content, tensors, weights),
    )


def _notes(content: dict, tensors: Mapping, weights: dict) -> list[str]:
    notes = []
    if left := sorted(tensors.keys() - weights.keys()):
        notes.append(
            "left out, because the original computes them itself, has them twice or never uses them: "
            + ", ".join(left)
        )
    if "model" in content and (others := sorted(map(str, content.keys() - {"model", "opt"}))):
        notes.append(
            f"left out beside the model: {', '.join(others)}; training continues with a new optimizer"
        )
    if rounded := sum(value.dtype == np.float64 for value in weights.values()):
        notes.append(f"{rounded} tensors of float64 are rounded to float32")
    return notes


def _prefix(tensors: Mapping, path: str | os.PathLike) -> str:
    prefixes = [
        prefix for prefix in (*HEADS, DECODER) if any(name.startswith(prefix) for name in tensors)
    ]
    if len(prefixes) != 1 or not any(name.startswith(BERT) for name in tensors):
        found = sorted({str(name).split(".")[0] for name in tensors})
        raise CheckpointError(
            f"{path}: no model of BertSum; one has tensors under {BERT} and one of "
            f"{', '.join((*HEADS, DECODER))}, this file under {', '.join(found[:10])}"
        )
    return prefixes[0]


def _count(tensors: Mapping, pattern: str, path: str | os.PathLike) -> int:
    """The number of layers whose tensors have names of this pattern."""
    numbers = {
        int(match[1][:9]) for match in (re.match(pattern, name) for name in tensors) if match
    }
    if gaps := [number for number in range(len(numbers)) if number not in numbers]:
        raise CheckpointError(
            f"{path}: has no layer {gaps[0]} of those named {pattern.replace(chr(92), '')}, and "
            f"has layer {max(numbers)}; the file is incomplete: save it again"
        )
    return len(numbers)


def _rows(tensors: Mapping, name: str, axis: int, path: str | os.PathLike) -> int:
    if name not in tensors or tensors[name].ndim != 2:
        raise CheckpointError(f"{path}: needs the matrix {name} to know the sizes of the model")
    return tensors[name].shape[axis]


def _bert_arguments(tensors: Mapping, options: dict, given: dict, path: str | os.PathLike) -> dict:
    embeddings = BERT + "embeddings."
    found = {
        "vocab_size": _rows(tensors, embeddings + "word_embeddings.weight", 0, path),
        "hidden_size": _rows(tensors, embeddings + "word_embeddings.weight", 1, path),
        "max_position_embeddings": _rows(
            tensors, embeddings + "position_embeddings.weight", 0, path
        ),
        "type_vocab_size": _rows(tensors, embeddings + "token_type_embeddings.weight", 0, path),
        "num_hidden_layers": _count(tensors, re.escape(BERT) + r"encoder\.layer\.(\d+)\.", path),
        "intermediate_size": _rows(
            tensors, BERT + "encoder.layer.0.intermediate.dense.weight", 0, path
        ),
    }
    wrong = [
        f"{key} is {value} in the file, {given[key]} was given"
        for key, value in found.items()
        if given.get(key, value) != value
    ]
    if wrong:
        raise CheckpointError(f"{path}: {'; '.join(wrong)}; take the config.json of this model")
    if "num_attention_heads" not in given:
        found["num_attention_heads"] = _bert_heads(found["hidden_size"], options, path)
    return {**found, **given}


def _bert_heads(width: int, options: dict, path: str | os.PathLike) -> int:
    if (
        options.get("encoder") == "baseline"
    ):  # a small BERT of the original's own, made with these heads
        return 8 if options.get("task") == "abs" else options.get("ext_heads", 8)
    if width % 64:
        raise CheckpointError(
            f"{path}: does not contain the number of BERT's attention heads, and its width {width} "
            "is none of the published sizes; give it: --heads N, or "
            "bert={'num_attention_heads': N}"
        )
    return width // 64


def _head_arguments(tensors: Mapping, prefix: str, options: dict, path: str | os.PathLike) -> dict:
    if prefix + "linear1.weight" in tensors:
        return {"head": "classifier"}
    presumm = prefix == "ext_layer."
    heads, dropout = ("ext_heads", "ext_dropout") if presumm else ("heads", "dropout")
    found: dict[str, Any] = {"head_dropout": options[dropout]} if dropout in options else {}
    if prefix + "rnn.hidden0.0.weight_ih" in tensors:
        return {"head": "lstm", **found}
    layers = _count(tensors, re.escape(prefix) + r"transformer_inter\.(\d+)\.", path)
    if not layers:
        parts = sorted({name.split(".")[1] for name in tensors if name.startswith(prefix)})
        raise CheckpointError(
            f"{path}: the head has {', '.join(parts[:10])}; tfsum reads the classifier "
            "(linear1), the transformer (transformer_inter) and the LSTM (rnn)"
        )
    found["head_num_heads"] = _heads(options, heads, path)
    width = _rows(tensors, prefix + "transformer_inter.0.feed_forward.w_1.weight", 0, path)
    return {"head": "transformer", "head_layers": layers, "head_feed_forward_width": width, **found}


def _decoder_arguments(tensors: Mapping, options: dict, path: str | os.PathLike) -> dict:
    found = {
        "num_decoder_layers": _count(tensors, r"decoder\.transformer_layers\.(\d+)\.", path),
        "feed_forward_width": _rows(
            tensors, "decoder.transformer_layers.0.feed_forward.w_1.weight", 0, path
        ),
        "num_heads": _heads(options, "dec_heads", path),
    }
    for argument, option in (
        ("dropout", "dec_dropout"),
        ("label_smoothing", "label_smoothing"),
        ("max_length", "max_length"),
    ):
        if option in options:
            found[argument] = options[option]
    return found


def _heads(options: dict, option: str, path: str | os.PathLike) -> int:
    if option not in options:
        raise CheckpointError(
            f"{path}: does not contain the number of attention heads above its BERT (`opt` has no "
            f"{option}); give it: --head-heads N, or head_heads=N (the papers' commands have 8)"
        )
    return options[option]
