"""Model folders: config.json, model.safetensors, vocab.txt and tfsum.json, named as Hugging Face names them.

The tables below are the whole correspondence between the names in the file and the variables of a `Bert`; they
are read in both directions. Dense kernels are (in, out) in Keras and (out, in) in the file.
"""

import contextlib
import json
import os
import pathlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from tfsum.atomic_files import atomic_path, write_atomically
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
# safetensors' own reader for numpy lacks bfloat16, in which many encoders are stored.
STORED_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
                "I64": np.int64, "I32": np.int32}
# Heads of other tasks, which an encoder ignores: Hugging Face's names and Google's.
OTHER_HEADS = ("cls.", "classifier.", "qa_outputs.", "cls/", "output_weights", "output_bias")
# What Hugging Face may store a second time, and the tensor that it must equal.
TIED = {"cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias"}


def full_name(name: str, transposed: bool) -> tuple[str, bool]:
    """Hugging Face's own name of a tensor, for a `StoredModel`.

    Args:
        name: the name.
        transposed: whether the array is (out, in).

    Example:
        >>> full_name("bert.pooler.dense.weight", True)
        ('bert.pooler.dense.weight', True)
    """
    return name, transposed


class StoredModel(NamedTuple):
    """The contents of a BERT checkpoint of any format.

    Attributes:
        source: its name in errors.
        config: the arguments of `Bert`.
        tensors: arrays by the file's own names.
        name: turns one of Hugging Face's full names (`bert.`, `cls.`), and whether the array is transposed, into
            those of the file.

    Example:
        >>> stored = StoredModel("a file", {}, dict.fromkeys(["bert.pooler.dense.bias", "cls.predictions.bias"]))
        >>> stored.parts()
        'bert, cls'
    """

    source: str
    config: dict
    tensors: dict[str, np.ndarray]
    name: Callable[[str, bool], tuple[str, bool]] = full_name

    def parts(self) -> str:
        """The first parts of the tensor names, for an error."""
        return ", ".join(sorted({re.split("[./]", name)[0] for name in self.tensors}))


def bert_names(num_layers: int, prefix: str = "") -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path of the variable below the model, transposed) for a `Bert`.

    Args:
        num_layers: number of encoder layers.
        prefix: of the names in the file.

    Example:
        >>> bert_names(1, "bert.")[0]
        ('bert.embeddings.word_embeddings.weight', 'word_embeddings/embeddings', False)
    """
    parts = [(file, path, kinds) for file, path, kinds in TOP]
    for i in range(num_layers):
        parts += [(f"encoder.layer.{i}.{f}", f"encoder/layer_{i}/{p}", kinds) for f, p, kinds in LAYER]
    return [(f"{prefix}{file}.{a}", f"{path}/{b}", t) for file, path, kinds in parts for a, b, t in kinds]


def variables_by_path(model: Any) -> dict:
    """Maps each weight's path below `model` to its variable; seeds of dropout are no weights.

    Args:
        model: a built Keras model or layer.

    Example:
        >>> import tfsum
        >>> bert = tfsum.Bert(10, 8, 1, 2, 16)
        >>> bert.build()
        >>> tuple(variables_by_path(bert)["pooler/kernel"].shape)
        (8, 8)
    """
    weights = [v for v in model.variables if not v.path.endswith("seed_generator_state")]
    paths = {}
    for variable in weights:
        parts = variable.path.split("/")
        paths["/".join(parts[parts.index(model.name) + 1:])] = variable
    assert len(paths) == len(weights), "two weights of one path"
    return paths


def bert_tensors(bert: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Collects the weights of a built `Bert` under the names of Hugging Face.

    Args:
        bert: a built `Bert`.
        prefix: of the names, "bert." for a model with a head.

    Returns:
        float32 arrays by name, kernels as (out, in).

    Example:
        >>> import tfsum
        >>> bert = tfsum.Bert(10, 8, 1, 2, 16)
        >>> bert.build()
        >>> bert_tensors(bert)["encoder.layer.0.intermediate.dense.weight"].shape
        (16, 8)
    """
    return named_tensors(variables_by_path(bert), bert_names(bert.config["num_hidden_layers"], prefix))


def named_tensors(variables: dict, names: Sequence[tuple[str, str, bool]]) -> dict[str, np.ndarray]:
    """Collects variables under the names of a file, by a table of names; the opposite of `assign`.

    Args:
        variables: arrays or variables by path.
        names: (name in the file, path, transposed) of each.

    Returns:
        Arrays by name.

    Example:
        >>> named_tensors({"kernel": np.zeros((2, 3))}, [("weight", "kernel", True)])["weight"].shape
        (3, 2)
    """
    arrays = {name: np.asarray(variables[path]) for name, path, _ in names}
    return {name: np.ascontiguousarray(arrays[name].T if transposed else arrays[name]) for name, _, transposed in names}


@contextlib.contextmanager
def errors_named(source: str | os.PathLike) -> Iterator[None]:
    """Adds the source to an error of a model's sizes: any `Error` in the block becomes a CheckpointError.

    Args:
        source: the file or folder with the sizes.

    Raises:
        CheckpointError: an `Error` was raised in the block.

    Example:
        >>> with errors_named("config.json"):
        ...     raise Error("65 columns for 8 heads")
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: config.json: 65 columns for 8 heads
    """
    try:
        yield
    except Error as error:
        raise CheckpointError(f"{source}: {error}") from None


def assign_bert(bert: Any, stored: StoredModel) -> None:
    """Sets the weights of a built `Bert`; every weight must be set, and every tensor except those of heads be used.

    Where the model was built with more positions than the file's config says, the last row of the table is
    repeated (nlpyang/PreSumm, `max_pos`). Models of masked words alone are stored without a pooler: it is initialized
    at random, with a warning.

    Args:
        bert: a built `Bert`.
        stored: the contents of a checkpoint.

    Raises:
        CheckpointError: names missing, names unknown, types or shapes that differ, all of them at once.

    Example:
        >>> import tfsum
        >>> one, other = tfsum.Bert(10, 8, 1, 2, 16), tfsum.Bert(10, 8, 1, 2, 16)
        >>> one.build(), other.build()
        (None, None)
        >>> assign_bert(other, StoredModel("one", one.config, bert_tensors(one, "bert.")))
        >>> bool((one.pooler.kernel.numpy() == other.pooler.kernel.numpy()).all())
        True
    """
    tensors = {k: v for k, v in stored.tensors.items() if not k.startswith(OTHER_HEADS)}
    name, _ = stored.name("bert.embeddings.position_embeddings.weight", False)
    table, rows = tensors.get(name), bert.config["max_position_embeddings"]
    stored_rows = stored.config["max_position_embeddings"]
    if table is not None and table.ndim == 2 and 0 < len(table) == stored_rows < rows:
        tensors[name] = np.concatenate([table, np.repeat(table[-1:], rows - len(table), 0)])
    names = names_in(stored, bert_names(bert.config["num_hidden_layers"], "bert."))
    if not any("pooler" in name for name in tensors):
        warnings.warn(f"{stored.source}: has no pooler; it is initialized at random and needs training", stacklevel=4)
        names = [row for row in names if "pooler" not in row[0]]
    assign(variables_by_path(bert), names, tensors, stored.source)


def assign_head(head: Any, names: Sequence[tuple[str, str, bool]], stored: StoredModel) -> None:
    """Sets the weights of a built head, whose tensors `assign_bert` leaves unread (`OTHER_HEADS`).

    Args:
        head: the layer.
        names: (Hugging Face's name, path of the variable below `head`, transposed) of each weight.
        stored: the contents of a checkpoint.

    Raises:
        CheckpointError: the file lacks one of them, or it has another shape.

    Example:
        >>> import keras
        >>> head = keras.layers.Dense(2, name="tagger")
        >>> head.build((None, 3))
        >>> stored = StoredModel("a file", {}, {"weight": np.ones((2, 3)), "bias": np.ones(2)})
        >>> assign_head(head, [("weight", "kernel", True), ("bias", "bias", False)], stored)
        >>> float(head.kernel[0, 0])
        1.0
    """
    rows = names_in(stored, names)
    tensors = {name: stored.tensors[name] for name, _, _ in rows if name in stored.tensors}
    assign(variables_by_path(head), rows, tensors, stored.source)


def names_in(stored: StoredModel, names: Sequence[tuple[str, str, bool]]) -> list[tuple[str, str, bool]]:
    """The rows of a table of names, with the names of a file instead of Hugging Face's.

    Args:
        stored: the contents of a checkpoint.
        names: rows with Hugging Face's names.

    Example:
        >>> from tfsum.formats.google import google_name
        >>> stored = StoredModel("a file", {}, {}, google_name)
        >>> names_in(stored, [("bert.pooler.dense.weight", "pooler/kernel", True)])
        [('bert/pooler/dense/kernel', 'pooler/kernel', False)]
    """
    rows = [(stored.name(full, transposed), path) for full, path, transposed in names]
    return [(name, path, transposed) for (name, transposed), path in rows]


def assign(variables: dict, names: Sequence[tuple[str, str, bool]], tensors: dict, source: str | os.PathLike) -> None:
    """Sets variables from arrays by a table of names, after checking all of them.

    Args:
        variables: Keras variables by path.
        names: (name in the file, path, transposed) of each.
        tensors: arrays by name.
        source: the file, for messages.

    Raises:
        CheckpointError: see `checked`.

    Example:
        >>> import keras
        >>> bias = keras.Variable([0.0, 0.0])
        >>> assign({"bias": bias}, [("b", "bias", False)], {"b": np.array([1.0, 2.0], np.float32)}, "a file")
        >>> bias.numpy().tolist()
        [1.0, 2.0]
    """
    shapes = {path: tuple(variables[path].shape) for _, path, _ in names}
    for path, value in checked(shapes, names, tensors, source).items():
        variables[path].assign(value)


def checked(shapes: dict[str, tuple[int, ...]], names: Sequence[tuple[str, str, bool]], tensors: dict,
            source: str | os.PathLike) -> dict[str, np.ndarray]:
    """Checks arrays by a table of names: all of them are there, and no others, and fit.

    Args:
        shapes: what is expected, by path.
        names: (name in the file, path, transposed) of each.
        tensors: arrays by name.
        source: the file, for messages.

    Returns:
        the arrays by path, transposed where the table says so; views, not copies.

    Raises:
        CheckpointError: names missing or unknown, types or shapes that differ, values that are not finite, all of
            them at once.

    Example:
        >>> checked({"bias": (2,)}, [("b", "bias", False)], {"b": np.array([1.0, 2.0], np.float32)}, "a file")
        {'bias': array([1., 2.], dtype=float32)}
    """
    expected = {name for name, _, _ in names}
    missing = [f"missing: {n}" for n in sorted(expected - tensors.keys())]
    unknown = [f"unknown: {n} {list(tensors[n].shape)}" for n in sorted(tensors.keys() - expected)]
    rows = [(name, path, transposed) for name, path, transposed in names if name in tensors]
    found = [_misfit(name, tensors[name], shapes[path], transposed) for name, path, transposed in rows]
    if kinds := [kind for kind in (missing, unknown, [line for line in found if line]) if kind]:
        lines = [line for kind in kinds
                 for line in (kind if len(kind) < 9 else [*kind[:7], f"and {len(kind) - 7} more"])]
        cure = "fix config.json or use the file that belongs to it"
        if expected and tensors and not expected & tensors.keys():
            cure = "none has a known name: save the model itself, without what wraps it (DataParallel: .module)"
        raise CheckpointError(f"{source}: {sum(map(len, kinds))} tensors do not fit the model; {cure}:\n  "
                              + "\n  ".join(lines))
    return {path: tensors[name].T if transposed else tensors[name] for name, path, transposed in rows}


def _misfit(name: str, value: np.ndarray, shape: tuple[int, ...], transposed: bool) -> str | None:
    """What is wrong with an array, in a line; None if nothing is."""
    if value.shape != (wanted := shape[:: -1 if transposed else 1]):
        return f"shape: {name} is {list(value.shape)}, the config says {list(wanted)}"
    if value.dtype.kind != "f":
        return f"type: {name} is {value.dtype}, a weight must be of floats"
    if not (finite := np.isfinite(value)).all():
        return f"value: {name} has {np.sum(~finite)} that are infinite or no number"
    return None


def read_json(path: str | os.PathLike) -> dict:
    """Reads a JSON object.

    Args:
        path: of the file.

    Raises:
        CheckpointError: the file is missing or holds something else.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "config.json").write_text('{"hidden_size": 8}')
        ...     read_json(f"{folder}/config.json")
        {'hidden_size': 8}
    """
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


def check_vocabulary(folder: str | os.PathLike, rows: int) -> None:
    """Compares a folder's vocabulary, if it has one, with the rows of the word embedding.

    Args:
        folder: path of the folder.
        rows: of the word embedding.

    Raises:
        CheckpointError: more or fewer pieces than rows, or a broken file.

    Example:
        >>> check_vocabulary("a_folder_without_vocabulary", 8000)
    """
    from tfsum.formats.piece_file import piece_file

    path = pathlib.Path(folder) / "vocab.txt"
    pieces = read_vocabulary(path)
    if pieces is not None and len(pieces) != rows:
        raise CheckpointError(f"{piece_file(path)}: {len(pieces)} word pieces, and vocab_size is {rows}; take the "
                              "vocabulary that the model was trained with (rows without a piece are named [unusedN] "
                              "at its end)")


def widened(value: np.ndarray) -> np.ndarray:
    """Floats as float32; float64 unchanged, so that the caller can report the rounding.

    Args:
        value: an array of floats.

    Example:
        >>> widened(np.zeros(2, np.float16)).dtype
        dtype('float32')
    """
    return value if value.dtype == np.float64 else value.astype(np.float32, copy=False)


def read_vocabulary(path: str | os.PathLike) -> list[str] | None:
    """The pieces of a vocab.txt or of the file that replaces it (`read_pieces`); None where there is neither.

    Args:
        path: of the vocab.txt.

    Example:
        >>> read_vocabulary("no/such/vocab.txt") is None
        True
    """
    from tfsum.formats.piece_file import piece_file, read_pieces

    path = piece_file(path)
    return read_pieces(path) if path.is_file() else None


def read_safetensors(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Reads a safetensors file as arrays, half precision floats as float32.

    Args:
        path: of the file.

    Returns:
        Arrays by name.

    Raises:
        CheckpointError: no file, or one that is truncated or broken.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(folder, {}, {"bias": np.ones(2, np.float32)})
        ...     read_safetensors(f"{folder}/model.safetensors")
        {'bias': array([1., 1.], dtype=float32)}
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


def save_model(model: Any, folder: str | os.PathLike, vocabulary: Sequence[str] | None = None,
               settings: dict | None = None, target_vocabulary: Sequence[str] | None = None,
               tensors: dict[str, np.ndarray] | None = None) -> None:
    """Writes the folder of a model: the `save_pretrained` of every class.

    Args:
        model: a Keras model with `folder_config()` (the content of config.json) and `tensors()`.
        folder: path; created if it does not exist.
        vocabulary: the word pieces, for vocab.txt.
        settings: the content of tfsum.json (text settings under "text", recipe, scores).
        target_vocabulary: the word pieces of the target if they differ, for target_vocab.txt.
        tensors: the content of model.safetensors, where the model itself is not built.

    Raises:
        CheckpointError: a file cannot be written.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(tfsum.Bert(2, 8, 1, 2, 16), folder, ["[PAD]", "a"], {"text": {"lowercase": True}})
        ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
        ['config.json', 'model.safetensors', 'tfsum.json', 'vocab.txt']
    """
    if tensors is None:
        if not model.built:
            model.build()
        tensors = model.tensors()
    files = {name: "\n".join(pieces) + "\n" for name, pieces in
             (("vocab.txt", vocabulary), ("target_vocab.txt", target_vocabulary)) if pieces is not None}
    if settings is not None:
        files["tfsum.json"] = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    save(folder, model.folder_config(), tensors, files)


def save(folder: str | os.PathLike, config: dict, tensors: dict[str, np.ndarray],
         extra: dict[str, str] | None = None) -> None:
    """Writes a model folder, each file under a temporary name and renamed when whole.

    Args:
        folder: path; made if it does not exist.
        config: the content of config.json.
        tensors: the content of model.safetensors.
        extra: further files, name to text.

    Raises:
        CheckpointError: a file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(folder, {"model_type": "bert"}, {"bias": np.ones(2, np.float32)})
        ...     read_json(f"{folder}/config.json")
        {'model_type': 'bert'}
    """
    from safetensors.numpy import save_file

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"config.json": json.dumps(config, indent=2) + "\n", **(extra or {})}
    with _written(folder / "model.safetensors") as path, atomic_path(path) as part:
        save_file(tensors, part, metadata={"format": "pt"})  # from where they are, without a copy
    for name, text in texts.items():
        with _written(folder / name) as path:
            write_atomically(path, text)


@contextlib.contextmanager
def _written(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Context manager that turns the errors of writing a file into a CheckpointError."""
    from safetensors import SafetensorError

    try:
        yield path
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error}); free space or "
                              "choose another folder") from None
