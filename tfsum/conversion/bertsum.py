"""Checkpoints of BertSum and PreSumm (Liu 2019; Liu and Lapata 2019), read without torch.

Both save `{"model": state_dict, "opt": ..., "optim": ...}`; `tfsum.conversion.bertsum_names` has the names.
"""

import argparse
import inspect
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfsum.conversion.bertsum_names import BERT, bertsum_names, named_variables, without_buffers
from tfsum.errors import CheckpointError
from tfsum.formats import model_folder
from tfsum.formats.torch_file import read_torch_file
from tfsum.models.bert_sum_abs import BertSumAbs
from tfsum.models.bert_sum_ext import BertSumExt

HEADS = ("encoder.", "ext_layer.")
DECODER = "decoder."


def read_bertsum(path: str | os.PathLike, bert: dict | None = None, head_heads: int | None = None,
                 **changes: Any) -> BertSumExt | BertSumAbs:
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
    content = read_torch_file(path)
    tensors, options = content.get("model", content), content.get("opt", argparse.Namespace())
    if not isinstance(tensors, Mapping) or not all(isinstance(v, np.ndarray) for v in tensors.values()):
        raise CheckpointError(f"{path}: 'model' is no state_dict of tensors, as BertSum's trainer saves it")
    prefix = _prefix(tensors, path)
    known = vars(options) if isinstance(options, argparse.Namespace) else dict(options)
    sizes = _bert_arguments(tensors, known, bert or {}, path)
    if head_heads is not None:
        known |= dict.fromkeys(("heads", "ext_heads", "dec_heads"), head_heads)
    kind: type[BertSumExt] | type[BertSumAbs] = BertSumAbs if prefix == DECODER else BertSumExt
    if unknown := sorted(changes.keys() - inspect.signature(kind).parameters.keys()):
        raise CheckpointError(f"{path}: is a {kind.__name__}, which has no {', '.join(unknown)}; leave it out")
    arguments = _decoder_arguments(tensors, known, path) if kind is BertSumAbs else _head_arguments(tensors, prefix,
                                                                                                   known, path)
    with model_folder.errors_named(path):
        model = kind(sizes, **{**arguments, **changes})
    model.build()
    weights = without_buffers(dict(tensors), prefix, str(path))
    model_folder.assign(named_variables(model), bertsum_names(model, prefix), weights, path)
    return model


def _prefix(tensors: Mapping, path: str | os.PathLike) -> str:
    prefixes = [prefix for prefix in (*HEADS, DECODER) if any(name.startswith(prefix) for name in tensors)]
    if len(prefixes) != 1 or not any(name.startswith(BERT) for name in tensors):
        found = sorted({str(name).split(".")[0] for name in tensors})
        raise CheckpointError(f"{path}: no model of BertSum; one has tensors under {BERT} and one of "
                              f"{', '.join((*HEADS, DECODER))}, this file under {', '.join(found[:10])}")
    return prefixes[0]


def _count(tensors: Mapping, pattern: str) -> int:
    numbers = [int(match[1]) for match in (re.match(pattern, name) for name in tensors) if match]
    return max(numbers, default=-1) + 1


def _rows(tensors: Mapping, name: str, axis: int, path: str | os.PathLike) -> int:
    if name not in tensors or tensors[name].ndim != 2:
        raise CheckpointError(f"{path}: needs the matrix {name} to know the sizes of the model")
    return tensors[name].shape[axis]


def _bert_arguments(tensors: Mapping, options: dict, given: dict, path: str | os.PathLike) -> dict:
    embeddings = BERT + "embeddings."
    found = {
        "vocab_size": _rows(tensors, embeddings + "word_embeddings.weight", 0, path),
        "hidden_size": _rows(tensors, embeddings + "word_embeddings.weight", 1, path),
        "max_position_embeddings": _rows(tensors, embeddings + "position_embeddings.weight", 0, path),
        "type_vocab_size": _rows(tensors, embeddings + "token_type_embeddings.weight", 0, path),
        "num_hidden_layers": _count(tensors, re.escape(BERT) + r"encoder\.layer\.(\d+)\."),
        "intermediate_size": _rows(tensors, BERT + "encoder.layer.0.intermediate.dense.weight", 0, path),
    }
    wrong = [f"{key} is {value} in the file, {given[key]} was given" for key, value in found.items()
             if given.get(key, value) != value]
    if wrong:
        raise CheckpointError(f"{path}: {'; '.join(wrong)}; take the config.json of this model")
    if "num_attention_heads" not in given:
        found["num_attention_heads"] = _bert_heads(found["hidden_size"], options, path)
    return {**found, **given}


def _bert_heads(width: int, options: dict, path: str | os.PathLike) -> int:
    if options.get("encoder") == "baseline":  # a small BERT of the original's own, made with these heads
        return 8 if options.get("task") == "abs" else options.get("ext_heads", 8)
    if width % 64:
        raise CheckpointError(f"{path}: does not contain the number of BERT's attention heads, and its width {width} "
                              "is none of the published sizes; give it: --heads N, or "
                              "bert={'num_attention_heads': N}")
    return width // 64


def _head_arguments(tensors: Mapping, prefix: str, options: dict, path: str | os.PathLike) -> dict:
    if prefix + "linear1.weight" in tensors:
        return {"head": "classifier"}
    presumm = prefix == "ext_layer."
    heads, dropout = ("ext_heads", "ext_dropout") if presumm else ("heads", "dropout")
    found: dict[str, Any] = {"head_dropout": options[dropout]} if dropout in options else {}
    if prefix + "rnn.hidden0.0.weight_ih" in tensors:
        return {"head": "lstm", **found}
    layers = _count(tensors, re.escape(prefix) + r"transformer_inter\.(\d+)\.")
    if not layers:
        parts = sorted({name.split(".")[1] for name in tensors if name.startswith(prefix)})
        raise CheckpointError(f"{path}: the head has {', '.join(parts[:10])}; tfsum reads the classifier "
                              "(linear1), the transformer (transformer_inter) and the LSTM (rnn)")
    found["head_num_heads"] = _heads(options, heads, path)
    width = _rows(tensors, prefix + "transformer_inter.0.feed_forward.w_1.weight", 0, path)
    return {"head": "transformer", "head_layers": layers, "head_feed_forward_width": width, **found}


def _decoder_arguments(tensors: Mapping, options: dict, path: str | os.PathLike) -> dict:
    found = {"num_decoder_layers": _count(tensors, r"decoder\.transformer_layers\.(\d+)\."),
             "feed_forward_width": _rows(tensors, "decoder.transformer_layers.0.feed_forward.w_1.weight", 0, path),
             "num_heads": _heads(options, "dec_heads", path)}
    for argument, option in (("dropout", "dec_dropout"), ("label_smoothing", "label_smoothing"),
                             ("max_length", "max_length")):
        if option in options:
            found[argument] = options[option]
    return found


def _heads(options: dict, option: str, path: str | os.PathLike) -> int:
    if option not in options:
        raise CheckpointError(f"{path}: does not contain the number of attention heads above its BERT (`opt` has no "
                              f"{option}); give it: --head-heads N, or head_heads=N (the papers' commands have 8)")
    return options[option]
