"""Model folders: config.json, model.safetensors, vocab.txt and tfsum.json, named as Hugging Face names them.

The tables below are the whole correspondence between the names in the file and the variables of a `Bert`; they
are read in both directions. Dense kernels are (in, out) in Keras and (out, in) in the file.
"""

import contextlib
import json
import pathlib
import re
import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple

import ml_dtypes
import numpy as np

from tfsum.atomic_files import write_atomically
from tfsum.errors import CheckpointError, Error

DENSE = (("weight", "kernel", True), ("bias", "bias", False))
NORM = (("weight", "gamma", False), ("bias", "beta", False))
TABLE = (("weight", "embeddings", False),)
TOP = (
    ("embeddings.word_embeddings", "word_embeddings", TABLE),
    ("embeddings.position_embeddings", "position_embeddings", TABLE),
    ("embeddings.token_type_embeddings", "segment_embeddings", TABLE),
    ("embeddings.LayerNorm", "embedding_norm", NORM),
    ("pooler.dense", "pooler", DENSE),
)
LAYER = (
    ("attention.self.query", "attention/query", DENSE),
    ("attention.self.key", "attention/key", DENSE),
    ("attention.self.value", "attention/value", DENSE),
    ("attention.output.dense", "attention/output", DENSE),
    ("attention.output.LayerNorm", "attention_norm", NORM),
    ("intermediate.dense", "feed_forward/inner", DENSE),
    ("output.dense", "feed_forward/outer", DENSE),
    ("output.LayerNorm", "feed_forward_norm", NORM),
)
NO_WEIGHT = re.compile(r"(^|\.)embeddings\.position_ids$")  # a buffer of older transformers: 0, 1, 2, ...
# safetensors' own reader for numpy knows no bfloat16, in which many encoders are stored.
STORED_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
                "I64": np.int64, "I32": np.int32}
# Heads of other tasks, which an encoder leaves unread: Hugging Face's names and Google's.
OTHER_HEADS = ("cls.", "classifier.", "qa_outputs.", "cls/", "output_weights", "output_bias")
# What Hugging Face may store a second time, and the tensor that it must equal.
TIED = {"cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias"}


def full_name(name: str, transposed: bool) -> tuple[str, bool]:
    """Hugging Face's own name of a tensor, for a `Stored`."""
    return name, transposed


class Stored(NamedTuple):
    """A BERT as it lies in a file of some format.

    Attributes:
        source: what the errors call it.
        config: the arguments of `Bert`.
        tensors: arrays by the file's own names.
        name: turns one of Hugging Face's full names (`bert.`, `cls.`), and whether the array lies transposed, into
            those of the file.
    """

    source: str
    config: dict
    tensors: dict[str, np.ndarray]
    name: Callable[[str, bool], tuple[str, bool]] = full_name

    def parts(self) -> str:
        """What the names of the tensors begin with, for an error."""
        return ", ".join(sorted({re.split("[./]", name)[0] for name in self.tensors}))


def bert_names(num_layers: int, prefix: str = "") -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path of the variable below the model, transposed) for a `Bert`."""
    parts = [(file, path, kinds) for file, path, kinds in TOP]
    for i in range(num_layers):
        parts += [(f"encoder.layer.{i}.{f}", f"encoder/layer_{i}/{p}", kinds) for f, p, kinds in LAYER]
    return [(f"{prefix}{file}.{a}", f"{path}/{b}", t) for file, path, kinds in parts for a, b, t in kinds]


def variables_by_path(model) -> dict:
    """Maps each weight's path below `model` to its variable; seeds of dropout are no weights."""
    weights = [v for v in model.variables if not v.path.endswith("seed_generator_state")]
    paths = {}
    for variable in weights:
        parts = variable.path.split("/")
        paths["/".join(parts[parts.index(model.name) + 1:])] = variable
    assert len(paths) == len(weights), "two weights of one path"
    return paths


def bert_tensors(bert, prefix: str = "") -> dict[str, np.ndarray]:
    """Collects the weights of a built `Bert` under the names of Hugging Face."""
    return tensors_by_name(bert, bert_names(bert.config["num_hidden_layers"], prefix))


def tensors_by_name(model, names: Iterable[tuple[str, str, bool]]) -> dict[str, np.ndarray]:
    """Collects the weights of a built model or layer by a table of names, the way back of `assign`.

    Args:
        model: the model, or a layer of it such as its head.
        names: (name in the file, path of the variable below `model`, transposed) of each.
    """
    variables = variables_by_path(model)
    return {name: np.ascontiguousarray(np.asarray(variables[path]).T if transposed else np.asarray(variables[path]))
            for name, path, transposed in names}


@contextlib.contextmanager
def errors_named(source):
    """Names the file in an error of the sizes that it gives a model: any `Error` becomes a CheckpointError."""
    try:
        yield
    except Error as error:
        raise CheckpointError(f"{source}: {error}") from None


def assign_bert(bert, stored: Stored) -> None:
    """Sets the weights of a built `Bert`; every weight must be set, and every tensor be used but those of heads.

    Where the model was built with more positions than the file's config says, the last row of the table is
    repeated (nlpyang/PreSumm, `max_pos`). Models of masked words alone are stored without a pooler: it begins anew,
    which a warning says.

    Raises:
        CheckpointError: names missing, names unknown, types or shapes that differ, all of them at once.
    """
    tensors = {k: v for k, v in stored.tensors.items() if not k.startswith(OTHER_HEADS)}
    name, _ = stored.name("bert.embeddings.position_embeddings.weight", False)
    table, rows = tensors.get(name), bert.config["max_position_embeddings"]
    stored_rows = stored.config["max_position_embeddings"]
    if table is not None and table.ndim == 2 and 0 < len(table) == stored_rows < rows:
        tensors[name] = np.concatenate([table, np.repeat(table[-1:], rows - len(table), 0)])
    names = names_in(stored, bert_names(bert.config["num_hidden_layers"], "bert."))
    if not any("pooler" in name for name in tensors):
        warnings.warn(f"{stored.source}: has no pooler; it begins anew, to be trained", stacklevel=4)
        names = [row for row in names if "pooler" not in row[0]]
    assign(variables_by_path(bert), names, tensors, stored.source)


def assign_head(head, names: list[tuple[str, str, bool]], stored: Stored) -> None:
    """Sets the weights of a built head, whose tensors `assign_bert` leaves unread (`OTHER_HEADS`).

    Args:
        head: the layer.
        names: (Hugging Face's name, path of the variable below `head`, transposed) of each weight.
        stored: the file.

    Raises:
        CheckpointError: the file lacks one of them, or it has another shape.
    """
    names = names_in(stored, names)
    tensors = {name: stored.tensors[name] for name, _, _ in names if name in stored.tensors}
    assign(variables_by_path(head), names, tensors, stored.source)


def names_in(stored: Stored, names: list[tuple[str, str, bool]]) -> list[tuple[str, str, bool]]:
    """The rows of a table of names, with the names of a file in the place of Hugging Face's."""
    rows = [(stored.name(full, transposed), path) for full, path, transposed in names]
    return [(name, path, transposed) for (name, transposed), path in rows]


def assign(variables: dict, names: list[tuple[str, str, bool]], tensors: dict, source) -> None:
    """Sets variables from arrays by a table of names, after checking all of them.

    Raises:
        CheckpointError: names missing or unknown, types or shapes that differ, values that are no numbers, all of
            them at once.
    """
    expected = {name for name, _, _ in names}
    missing = [f"missing: {n}" for n in sorted(expected - tensors.keys())]
    unknown = [f"unknown: {n} {list(tensors[n].shape)}" for n in sorted(tensors.keys() - expected)]
    wrong, values = [], {}
    for name, path, transposed in names:
        if name in tensors:
            value = tensors[name].T if transposed else tensors[name]
            if value.shape != tuple(variables[path].shape):
                want = tuple(variables[path].shape)[:: -1 if transposed else 1]
                wrong.append(f"shape: {name} is {list(tensors[name].shape)}, the config says {list(want)}")
            elif value.dtype.kind != "f":
                wrong.append(f"type: {name} is {value.dtype}, a weight must be of floats")
            elif not np.isfinite(value).all():
                wrong.append(f"value: {name} has {np.sum(~np.isfinite(value))} that are infinite or no number")
            values[path] = value
    if kinds := [kind for kind in (missing, unknown, wrong) if kind]:
        lines = [line for kind in kinds
                 for line in (kind if len(kind) < 9 else [*kind[:7], f"and {len(kind) - 7} more"])]
        cure = "mend config.json or take the file that belongs to it"
        if expected and tensors and not expected & tensors.keys():
            cure = "none has a name that it knows: save the model itself, without what wraps it (DataParallel: .module)"
        raise CheckpointError(f"{source}: {sum(map(len, kinds))} tensors do not fit the model; {cure}:\n  "
                              + "\n  ".join(lines))
    for path, value in values.items():
        variables[path].assign(value)


def read_json(path) -> dict:
    """Reads a JSON object; a CheckpointError says what is wrong with it."""
    try:
        value = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        what = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise CheckpointError(f"{path}: {what}; a model folder has config.json and model.safetensors") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path}: not JSON ({error}); fetch the file again") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: holds a {type(value).__name__}; a JSON object was expected")
    return value


def check_vocabulary(folder, rows: int) -> None:
    """Compares a folder's vocabulary, where it has one, with the rows of the word embedding.

    Raises:
        CheckpointError: more or fewer pieces than rows, or a broken file.
    """
    from tfsum.formats.piece_file import piece_file

    path = pathlib.Path(folder) / "vocab.txt"
    pieces = read_vocabulary(path)
    if pieces is not None and len(pieces) != rows:
        raise CheckpointError(f"{piece_file(path)}: {len(pieces)} word pieces, and vocab_size is {rows}; take the "
                              "vocabulary that the model was trained with (rows without a piece are named [unusedN] "
                              "at its end)")


def widened(value: np.ndarray) -> np.ndarray:
    """Floats as float32; float64 as it is, so that who rounds it can say so."""
    return value if value.dtype == np.float64 else value.astype(np.float32, copy=False)


def read_vocabulary(path) -> list[str] | None:
    """The pieces of a vocab.txt or of what stands in its place (`read_pieces`); None where there is neither."""
    from tfsum.formats.piece_file import piece_file, read_pieces

    path = piece_file(path)
    return read_pieces(path) if path.is_file() else None


def read_safetensors(path) -> dict[str, np.ndarray]:
    """Reads a safetensors file as arrays, its half precision floats as float32.

    Raises:
        CheckpointError: no file, or one that is truncated or broken.
    """
    from safetensors import SafetensorError, deserialize

    path = pathlib.Path(path)
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; a model folder has config.json and model.safetensors")
    try:
        stored = deserialize(path.read_bytes())
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read ({error}); the file is broken or cut short: "
                              "fetch or write it again") from None
    tensors = {}
    for name, tensor in stored:
        if tensor["dtype"] not in STORED_TYPES:
            raise CheckpointError(f"{path}: {name} is of type {tensor['dtype']}; tfsum reads "
                                  f"{', '.join(STORED_TYPES)}: store it as one of them")
        kind = np.dtype(STORED_TYPES[tensor["dtype"]])
        value = np.frombuffer(tensor["data"], kind).reshape(tensor["shape"])
        tensors[name] = value if kind.kind == "i" else widened(value)
    return tensors


def text_files(vocabulary: list[str] | None, settings: dict | None) -> dict[str, str]:
    """vocab.txt and tfsum.json of a model folder for `save`, those of them that are given."""
    settings = None if settings is None else json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    vocabulary = None if vocabulary is None else "\n".join(vocabulary) + "\n"
    return {name: text for name, text in (("vocab.txt", vocabulary), ("tfsum.json", settings)) if text is not None}


def save(folder, config: dict, tensors: dict[str, np.ndarray], extra: dict[str, str] | None = None) -> None:
    """Writes a model folder, each file under a temporary name and renamed when whole.

    Args:
        folder: path; made if it does not exist.
        config: the content of config.json.
        tensors: the content of model.safetensors.
        extra: further files, name to text.
    """
    from safetensors.numpy import save as to_bytes

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {"model.safetensors": to_bytes(tensors, metadata={"format": "pt"}),
             "config.json": (json.dumps(config, indent=2) + "\n").encode()}
    files |= {name: text.encode() for name, text in (extra or {}).items()}
    for name, content in files.items():
        try:
            write_atomically(folder / name, content)
        except OSError as error:
            raise CheckpointError(f"{folder / name}: cannot be written ({error.strerror}); free space or choose "
                                  "another folder") from None
