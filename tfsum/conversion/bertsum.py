"""Extractive checkpoints of BertSum and PreSumm (Liu 2019; Liu and Lapata 2019), read without torch.

Both save `{"model": state_dict, "opt": ..., "optim": ...}`: BERT under `bert.model.` with Hugging Face's
names, the head under `encoder.` (nlpyang/BertSum) or `ext_layer.` (nlpyang/PreSumm).
"""

import argparse
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfsum.errors import CheckpointError
from tfsum.formats import model_folder
from tfsum.formats.model_folder import DENSE, NORM
from tfsum.formats.torch_file import read_torch_file
from tfsum.layers.positional_encoding import positional_encoding
from tfsum.models.bert_sum_ext import BertSumExt

BERT = "bert.model."
HEADS = ("encoder.", "ext_layer.")
CLASSIFIER = (("linear1", "score", DENSE),)
TRANSFORMER = (("layer_norm", "encoder/final_norm", NORM), ("wo", "score", DENSE))
SENTENCE_LAYER = (
    ("self_attn.linear_query", "attention/query", DENSE),
    ("self_attn.linear_keys", "attention/key", DENSE),
    ("self_attn.linear_values", "attention/value", DENSE),
    ("self_attn.final_linear", "attention/output", DENSE),
    ("feed_forward.layer_norm", "feed_forward_norm", NORM),
    ("feed_forward.w_1", "feed_forward/inner", DENSE),
    ("feed_forward.w_2", "feed_forward/outer", DENSE),
    ("layer_norm", "attention_norm", NORM),
)
UNUSED = ("transformer_inter.0.layer_norm.weight", "transformer_inter.0.layer_norm.bias")
"""In the file, but the original's first layer never applies it: it attends on what it is given."""
POSITIONS, POSITION_ROWS = "pos_emb.pe", 5000  # a buffer of the original
POSITION_ERROR = 2e-3
"""The original took the angles of 5000 positions in float32, which are wrong by up to 5e-4 there."""


def read_bertsum(path: str | os.PathLike, bert: dict | None = None, **changes: Any) -> BertSumExt:
    """Reads an extractive checkpoint of BertSum or PreSumm, with the classifier or the transformer head.

    Sizes come from the shapes of the tensors, heads and dropout of the sentence layers from the `opt` in the
    file. What neither knows is as in the papers: BERT's heads are 64 wide, its activation is the erf GELU.

    Args:
        path: the .pt file, zip or legacy.
        bert: arguments of `Bert` (the fields of its config.json) that the shapes do not determine, such as
            `num_attention_heads`; those that they determine must agree.
        **changes: arguments of `BertSumExt`, such as `head_num_heads` where the file has no `opt`.

    Returns:
        a built `BertSumExt` with the weights of the file; `save_pretrained` makes a model folder of it.

    Raises:
        CheckpointError: no such file or a broken one, no extractive model, another head, sizes that are not
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
    model = BertSumExt(sizes, **{**_head_arguments(tensors, prefix, known, path), **changes})
    model.build()
    weights = _without_buffers(tensors, prefix, path)
    model_folder.assign(_variables(model), bertsum_names(model, prefix), weights, path)
    return model


def bertsum_tensors(model: BertSumExt, prefix: str = "encoder.") -> dict:
    """Gives the weights under the original's names: the state_dict that its `load_state_dict` takes.

    Args:
        model: a built model.
        prefix: "encoder." for BertSum, "ext_layer." for PreSumm.

    Returns:
        float32 arrays by name, kernels as (out, in); the normalization that the original never applies is
        1 and 0.

    Example:
        >>> model = BertSumExt({"vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        ...                     "intermediate_size": 16}, head="classifier")
        >>> model.build()
        >>> bertsum_tensors(model)["encoder.linear1.weight"].shape
        (1, 8)
    """
    tensors = model_folder.named_tensors(_variables(model), bertsum_names(model, prefix))
    if model.config["head"] == "transformer":
        width = model.bert.config["hidden_size"]
        tensors[prefix + POSITIONS] = np.asarray(positional_encoding(POSITION_ROWS, width))[None]
        tensors[prefix + UNUSED[0]] = np.ones(width, np.float32)
        tensors[prefix + UNUSED[1]] = np.zeros(width, np.float32)
    return tensors


def bertsum_names(model: BertSumExt, prefix: str) -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path of the variable below the model, transposed) of all weights.

    Args:
        model: a built model.
        prefix: of the head's names, see `bertsum_tensors`.

    Example:
        >>> model = BertSumExt({"vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        ...                     "intermediate_size": 16}, head="classifier")
        >>> bertsum_names(model, "encoder.")[-1]
        ('encoder.linear1.bias', 'head/score/bias', False)
    """
    encoder = model_folder.bert_names(model.bert.config["num_hidden_layers"])
    if model.config["head"] == "classifier":
        parts = list(CLASSIFIER)
    else:
        parts = list(TRANSFORMER)
        for i in range(model.config["head_layers"]):
            file, path = f"transformer_inter.{i}.", f"encoder/layer_{i}/"
            parts += [(file + f, path + p, kinds) for f, p, kinds in SENTENCE_LAYER]
    head = [(f"{file}.{a}", f"head/{path}/{b}", t) for file, path, kinds in parts for a, b, t in kinds]
    names = [(BERT + file, f"bert/{path}", t) for file, path, t in encoder]
    return names + [(prefix + file, path, t) for file, path, t in head if file not in UNUSED]


def _variables(model: BertSumExt) -> dict:
    rooms = {"bert": model.bert, "head": model.head}
    return {f"{room}/{path}": variable for room, part in rooms.items()
            for path, variable in model_folder.variables_by_path(part).items()}


def _prefix(tensors: Mapping, path: str | os.PathLike) -> str:
    prefixes = [prefix for prefix in HEADS if any(name.startswith(prefix) for name in tensors)]
    if len(prefixes) != 1 or not any(name.startswith(BERT) for name in tensors):
        found = sorted({str(name).split(".")[0] for name in tensors})
        what = "an abstractive model" if "decoder" in found else "no model of BertSum"
        raise CheckpointError(f"{path}: {what}; an extractive one has tensors under {BERT} and one of "
                              f"{', '.join(HEADS)}, this file under {', '.join(found[:10])}")
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
        return options.get("ext_heads", 8)
    if width % 64:
        raise CheckpointError(f"{path}: BERT of width {width} is none of the published sizes; "
                              "give the number of heads: bert={'num_attention_heads': ...}")
    return width // 64


def _head_arguments(tensors: Mapping, prefix: str, options: dict, path: str | os.PathLike) -> dict:
    if prefix + "linear1.weight" in tensors:
        return {"head": "classifier"}
    layers = _count(tensors, re.escape(prefix) + r"transformer_inter\.(\d+)\.")
    if not layers:
        parts = sorted({name.split(".")[1] for name in tensors if name.startswith(prefix)})
        raise CheckpointError(f"{path}: the head has {', '.join(parts[:10])}; tfsum reads the classifier "
                              "(linear1) and the transformer (transformer_inter)")
    width = _rows(tensors, prefix + "transformer_inter.0.feed_forward.w_1.weight", 0, path)
    found: dict[str, Any] = {"head": "transformer", "head_layers": layers, "head_feed_forward_width": width}
    ours = ("ext_heads", "ext_dropout") if prefix == "ext_layer." else ("heads", "dropout")
    for argument, option in zip(("head_num_heads", "head_dropout"), ours, strict=True):
        if option in options:
            found[argument] = options[option]
    return found


def _without_buffers(tensors: Mapping, prefix: str, path: str | os.PathLike) -> dict:
    """Checks the tensors that are no weights of ours, and leaves them out."""
    weights = {name: value for name, value in tensors.items() if not model_folder.NO_WEIGHT.search(name)}
    positions = weights.pop(prefix + POSITIONS, None)
    if positions is not None:
        sound = positions.ndim == 3 and len(positions) == 1
        expected = np.asarray(positional_encoding(*positions.shape[1:]))[None] if sound else None
        if expected is None or np.abs(positions - expected).max(initial=0.0) > POSITION_ERROR:
            raise CheckpointError(f"{path}: {prefix}{POSITIONS} {list(positions.shape)} is not the table of "
                                  "sines and cosines that BertSum adds to its sentences")
    return {name: value for name, value in weights.items() if name.removeprefix(prefix) not in UNUSED}
