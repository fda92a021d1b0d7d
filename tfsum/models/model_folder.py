"""Model folders: config.json, model.safetensors, vocab.txt and tfsum.json, named as Hugging Face names them.

The tables below are the whole correspondence between the names in the file and the variables of a `Bert`; they
are read in both directions. Dense kernels are (in, out) in Keras and (out, in) in the file.
"""

import json
import os
import pathlib
import re

import ml_dtypes
import numpy as np

from tfsum.errors import CheckpointError

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
OTHER_HEADS = ("cls.", "classifier.", "qa_outputs.")  # heads of other tasks, which an encoder leaves unread


def bert_names(num_layers: int) -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path of the variable below the model, transposed) for a `Bert`."""
    parts = [(file, path, kinds) for file, path, kinds in TOP]
    for i in range(num_layers):
        parts += [(f"encoder.layer.{i}.{f}", f"encoder/layer_{i}/{p}", kinds) for f, p, kinds in LAYER]
    return [(f"{file}.{a}", f"{path}/{b}", t) for file, path, kinds in parts for a, b, t in kinds]


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
    variables = variables_by_path(bert)
    tensors = {}
    for name, path, transposed in bert_names(bert.config["num_hidden_layers"]):
        value = np.asarray(variables[path])
        tensors[prefix + name] = np.ascontiguousarray(value.T if transposed else value)
    return tensors


def load_bert(cls, folder, changes: dict):
    """Builds a `Bert` of class `cls` from a folder; see `Bert.from_pretrained`."""
    config = {**bert_config(folder), **changes}
    tensors = {k: v for k, v in read_tensors(folder).items() if not k.startswith(OTHER_HEADS)}
    bert = cls(**config)
    bert.build()
    assign_bert(bert, tensors, folder)
    return bert


def assign_bert(bert, tensors: dict[str, np.ndarray], source) -> None:
    """Sets the weights of a built `Bert`; every tensor must be used, every weight be set.

    Args:
        bert: the model.
        tensors: arrays by Hugging Face's names, with or without the prefix `bert.`.
        source: what the errors call the file.

    Raises:
        CheckpointError: names missing, names unknown or shapes that differ, all of them at once.
    """
    tensors = {k.removeprefix("bert."): v for k, v in tensors.items() if not NO_WEIGHT.search(k)}
    assign(variables_by_path(bert), bert_names(bert.config["num_hidden_layers"]),
           _longer_positions(tensors, bert.config["max_position_embeddings"]), source)


def _longer_positions(tensors, rows):
    name = "embeddings.position_embeddings.weight"
    table = tensors.get(name)
    if table is not None and table.ndim == 2 and 0 < len(table) < rows:
        tensors = {**tensors, name: np.concatenate([table, np.repeat(table[-1:], rows - len(table), 0)])}
    return tensors


def assign(variables: dict, names: list[tuple[str, str, bool]], tensors: dict, source) -> None:
    """Sets variables from arrays by a table of names, after checking all of them.

    Raises:
        CheckpointError: names missing or unknown, or shapes that differ, all of them at once.
    """
    expected = {name for name, _, _ in names}
    wrong = [f"missing: {n}" for n in sorted(expected - tensors.keys())]
    wrong += [f"unknown: {n} {list(tensors[n].shape)}" for n in sorted(tensors.keys() - expected)]
    values = {}
    for name, path, transposed in names:
        if name in tensors:
            value = tensors[name].T if transposed else tensors[name]
            if value.shape != tuple(variables[path].shape):
                want = tuple(variables[path].shape)[:: -1 if transposed else 1]
                wrong.append(f"shape: {name} is {list(tensors[name].shape)}, the config says {list(want)}")
            values[path] = value
    if wrong:
        shown = "\n  ".join(wrong[:20]) + (f"\n  and {len(wrong) - 20} more" if len(wrong) > 20 else "")
        raise CheckpointError(f"{source}: {len(wrong)} tensors do not fit the model; mend config.json or take the "
                              f"file that belongs to it:\n  {shown}")
    for path, value in values.items():
        variables[path].assign(value)


def bert_config(folder) -> dict:
    """Reads the arguments of `Bert` from a folder's config.json.

    Raises:
        CheckpointError: no file, no JSON, another kind of model, or a field that is missing or no number.
    """
    path = pathlib.Path(folder) / "config.json"
    config = read_json(path)
    if config.get("model_type", "bert") not in ("bert", "bert_sum_ext"):
        raise CheckpointError(f"{path}: model_type is {config['model_type']!r}; tfsum reads 'bert'")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise CheckpointError(f"{path}: position_embedding_type is {config['position_embedding_type']!r}; "
                              "only 'absolute' positions are known")
    needed = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
              "max_position_embeddings", "type_vocab_size")
    missing = [k for k in needed if not isinstance(config.get(k), int)]
    if missing:
        raise CheckpointError(f"{path}: {', '.join(missing)} must be there and be whole numbers")
    optional = ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range",
                "layer_norm_eps")
    return {k: config[k] for k in needed + tuple(k for k in optional if k in config)}


def read_json(path) -> dict:
    """Reads a JSON object; a CheckpointError says what is wrong with it."""
    try:
        value = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such file; a model folder has config.json and model.safetensors") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path}: not JSON ({error}); fetch the file again") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: holds a {type(value).__name__}; a JSON object was expected")
    return value


def read_tensors(folder) -> dict[str, np.ndarray]:
    """Reads model.safetensors of a folder as float32 arrays.

    Raises:
        CheckpointError: no file, or one that is truncated or broken.
    """
    from safetensors import SafetensorError, deserialize

    path = pathlib.Path(folder) / "model.safetensors"
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
        tensors[name] = value if kind.kind == "i" else value.astype(np.float32)
    return tensors


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
        part = folder / f"{name}.part"
        try:
            part.write_bytes(content)
            os.replace(part, folder / name)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise CheckpointError(f"{folder / name}: cannot be written ({error.strerror}); free space or choose "
                                  "another folder") from None
