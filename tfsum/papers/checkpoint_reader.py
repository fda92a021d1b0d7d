"""Checkpoints of BertSum and PreSumm (Liu 2019; Liu and Lapata 2019), read without torch.

Both save `{"model": state_dict, "opt": ..., "optim": ...}`, where `opt` has the arguments of the
training command; `tfsum.papers.checkpoint_names` has the names. The sizes of a model come from its
tensors and its `opt`.
"""

import argparse
import dataclasses
import inspect
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfsum.data.preparation import vocabulary_file
from tfsum.errors import CheckpointError, require
from tfsum.formats import assign_weights, config_json, text_settings, torch_file
from tfsum.models import BertSumAbs, BertSumExt
from tfsum.papers.checkpoint_names import (
    BERT,
    bertsum_names,
    named_variables,
    without_buffers,
)

START, END = "[unused0]", "[unused1]"
"""PreSumm's tokens before and after a summary (train_abstractive.py)."""
HEADS = {"encoder.": "", "ext_layer.": "ext_"}
"""Beginning of a head's names -> that of its options in the `opt`."""
DECODER = "decoder."
DECODER_OPTIONS = {
    "dropout": "dec_dropout",
    "label_smoothing": "label_smoothing",
    "max_length": "max_length",
}
"""Argument of `BertSumAbs` -> its name in the `opt`."""
COUNTS = ("heads", "ext_heads", "dec_heads", "max_length")
RATES = ("dropout", "ext_dropout", "dec_dropout", "label_smoothing")


def read_bertsum(
    path: str | os.PathLike, bert: dict | None = None, head_heads: int | None = None, **changes: Any
) -> tuple[BertSumExt | BertSumAbs, list[str]]:
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
        A built model with the weights of the file, and notes of what of the file is left out or
        rounded.

    Raises:
        CheckpointError: No such file or a broken one, no model of BertSum, another head, sizes that
            are not those of `bert`; tensors missing, unknown or of another shape, all of them at
            once.
    """
    content = torch_file.read_torch_file(path)
    tensors = content.get("model", content)
    require(
        isinstance(tensors, Mapping)
        and all(
            type(name) is str and isinstance(value, np.ndarray) for name, value in tensors.items()
        ),
        f"{path}: 'model' is no state_dict of tensors, as BertSum's trainer saves it",
        CheckpointError,
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
    with config_json.errors_named(path):
        model = kind(encoder, **(arguments | changes))
        model.build()

    weights = without_buffers(tensors, model, prefix, str(path))
    assign_weights.assign(named_variables(model), bertsum_names(model, prefix), weights, path)
    return model, _notes(content, tensors, weights)


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
    pieces = text_settings.read_pieces(file)
    model, notes = read_bertsum(source, bert, **changes)
    rows = model.bert.config["vocab_size"]
    require(
        len(pieces) == rows,
        f"{file}: {len(pieces)} word pieces, and {source} has {rows} rows for them; give the "
        "vocabulary of its BERT",
        CheckpointError,
    )

    if isinstance(model, BertSumAbs):
        ids = {piece: i for i, piece in enumerate(pieces)}
        special = [ids.get(token) for token in (START, END)]
        require(
            special == [model.start_id, model.end_id],
            f"{file}: {START} and {END} have the ids {special}, and PreSumm's summaries begin"
            f" with {model.start_id} and end with {model.end_id}; give the vocabulary of its"
            " BERT",
            CheckpointError,
        )

    text = text_settings.read_text_settings(vocabulary, lowercase)
    model.save_pretrained(destination, pieces, {"text": text})
    return notes


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


def read_options(options: object, path: str | os.PathLike) -> dict[str, Any]:
    """Checks the `opt` of a file, and returns it as a dict, empty where there is none."""
    if options is None:
        return {}
    require(
        isinstance(options, argparse.Namespace | dict),
        f"{path}: 'opt' is {type(options).__name__}; expected an argparse.Namespace or a dict"
        " of the arguments of the training command, or none",
        CheckpointError,
    )

    known = dict(options if isinstance(options, dict) else vars(options))
    if wrong := [
        f"{name} is {known[name]!r}, expected a whole number above 0"
        for name in COUNTS
        if name in known and (type(known[name]) is not int or known[name] < 1)
    ] + [
        f"{name} is {known[name]!r}, expected a number of at least 0 and below 1"
        for name in RATES
        if name in known and not (type(known[name]) in (int, float) and 0 <= known[name] < 1)
    ]:
        raise CheckpointError(
            f"{path}: 'opt' does not describe a model: {'; '.join(wrong)}; save the file again, or "
            "save its state_dict alone and give what is asked for"
        )
    return known


def head_prefix(tensors: Mapping[str, np.ndarray], path: str | os.PathLike) -> str:
    """The beginning of the names above the encoder: one of `HEADS`, or `DECODER`."""
    known = (*HEADS, DECODER)
    prefixes = [prefix for prefix in known if any(name.startswith(prefix) for name in tensors)]
    if len(prefixes) != 1 or not any(name.startswith(BERT) for name in tensors):
        roots = sorted({str(name).split(".")[0] for name in tensors})
        raise CheckpointError(
            f"{path}: no model of BertSum; one has tensors under {BERT} and one of "
            f"{', '.join(known)}, this file under {', '.join(roots[:10])}"
        )
    return prefixes[0]


@dataclasses.dataclass(frozen=True)
class CheckpointSizes:
    """What a checkpoint says of the arguments of its model.

    Attributes:
        path: File, for error messages.
        tensors: The state_dict.
        options: The `opt`, see `read_options`.
        prefix: Beginning of the names above the encoder, see `head_prefix`.
    """

    path: str | os.PathLike
    tensors: Mapping[str, np.ndarray]
    options: dict[str, Any]
    prefix: str

    def bert(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of `Bert`, with those that were given."""
        embeddings = BERT + "embeddings."
        found = {
            "vocab_size": self._size(embeddings + "word_embeddings.weight", 0),
            "hidden_size": self._size(embeddings + "word_embeddings.weight", 1),
            "max_position_embeddings": self._size(embeddings + "position_embeddings.weight", 0),
            "type_vocab_size": self._size(embeddings + "token_type_embeddings.weight", 0),
            "num_hidden_layers": self._layers(BERT + "encoder.layer."),
            "intermediate_size": self._size(BERT + "encoder.layer.0.intermediate.dense.weight", 0),
        }
        if wrong := [
            f"{key} is {value} in the file, {given[key]} was given"
            for key, value in found.items()
            if given.get(key, value) != value
        ]:
            raise CheckpointError(
                f"{self.path}: {'; '.join(wrong)}; take the config.json of this model"
            )
        if "num_attention_heads" not in given:
            found["num_attention_heads"] = self._bert_heads(found["hidden_size"])
        return {**found, **given}

    def head(self) -> dict[str, Any]:
        """The arguments of a `BertSumExt` beside those of its `Bert`."""
        if self.prefix + "linear1.weight" in self.tensors:
            return {"head": "classifier"}

        of_program = HEADS[self.prefix]
        arguments = self._stored({"head_dropout": f"{of_program}dropout"})
        if self.prefix + "rnn.hidden0.0.weight_ih" in self.tensors:
            return {"head": "lstm", **arguments}

        layers = self._layers(self.prefix + "transformer_inter.")
        if not layers:
            parts = sorted(
                {name.split(".")[1] for name in self.tensors if name.startswith(self.prefix)}
            )
            raise CheckpointError(
                f"{self.path}: the head has {', '.join(parts[:10])}; tfsum reads the classifier "
                "(linear1), the transformer (transformer_inter) and the LSTM (rnn)"
            )
        return {
            "head": "transformer",
            "head_layers": layers,
            "head_num_heads": self._heads(f"{of_program}heads"),
            "head_feed_forward_width": self._size(
                f"{self.prefix}transformer_inter.0.feed_forward.w_1.weight", 0
            ),
            **arguments,
        }

    def decoder(self) -> dict[str, Any]:
        """The arguments of a `BertSumAbs` beside those of its `Bert`."""
        return {
            "num_decoder_layers": self._layers("decoder.transformer_layers."),
            "feed_forward_width": self._size(
                "decoder.transformer_layers.0.feed_forward.w_1.weight", 0
            ),
            "num_heads": self._heads("dec_heads"),
            **self._stored(DECODER_OPTIONS),
        }

    def _stored(self, names: dict[str, str]) -> dict[str, Any]:
        """The arguments that the `opt` has, by a table of its names for them."""
        return {
            argument: self.options[name] for argument, name in names.items() if name in self.options
        }

    def _layers(self, prefix: str) -> int:
        """The number of layers whose tensors are named by this prefix and the layer's number."""
        parts = [
            name.removeprefix(prefix).split(".")[0]
            for name in self.tensors
            if name.startswith(prefix)
        ]
        numbers = {int(part[:9]) for part in parts if part.isdecimal()}
        if gaps := [number for number in range(len(numbers)) if number not in numbers]:
            raise CheckpointError(
                f"{self.path}: has no layer {gaps[0]} of those named {prefix}N, and has layer"
                f" {max(numbers)}; the file is incomplete: save it again"
            )
        return len(numbers)

    def _size(self, name: str, axis: int) -> int:
        """The size of a matrix along an axis."""
        require(
            name in self.tensors and self.tensors[name].ndim == 2,
            f"{self.path}: needs the matrix {name} to know the sizes of the model",
            CheckpointError,
        )
        return self.tensors[name].shape[axis]

    def _bert_heads(self, width: int) -> int:
        # a small BERT of the original's own, made with these heads
        if self.options.get("encoder") == "baseline":
            return 8 if self.options.get("task") == "abs" else self.options.get("ext_heads", 8)
        require(
            width % 64 == 0,
            f"{self.path}: does not contain the number of BERT's attention heads, and its width"
            f" {width} is none of the published sizes; give it: --heads N, or "
            "bert={'num_attention_heads': N}",
            CheckpointError,
        )
        return width // 64

    def _heads(self, option: str) -> int:
        require(
            option in self.options,
            f"{self.path}: does not contain the number of attention heads above its BERT (`opt`"
            f" has no {option}); give it: --head-heads N, or head_heads=N (the papers' commands"
            " have 8)",
            CheckpointError,
        )
        return self.options[option]
