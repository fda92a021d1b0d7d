"""The names of BERT's weights in files, as Hugging Face names them, and in Keras.

The tables are the whole correspondence between the tensors of a file and the variables of a `Bert`,
for reading and for writing. Dense kernels are (in, out) in Keras and (out, in) in the file.
"""

import pathlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

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
# A buffer of older versions of transformers: 0, 1, 2, ...
NO_WEIGHT = re.compile(r"(^|\.)embeddings\.position_ids$")
# Heads of other tasks, which an encoder ignores: Hugging Face's names and Google's.
OTHER_HEADS = ("cls.", "classifier.", "qa_outputs.", "cls/", "output_weights", "output_bias")
# Tensors that Hugging Face may store a second time, and those that they must equal.
TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


class Built(Protocol):
    """A built Keras model or layer."""

    name: str
    variables: Sequence


class BuiltBert(Built, Protocol):
    """A built `Bert`."""

    config: dict[str, Any]


class StoredModel(NamedTuple):
    """The contents of a BERT checkpoint of any format.

    Attributes:
        source: Name of the checkpoint in errors.
        config: Arguments of `Bert`.
        tensors: Arrays by the file's own names.
        name: Function that converts Hugging Face's full name (`bert.`, `cls.`), and whether the
            tensor is transposed, to those of the file.
        folder: Folder that holds it.
        fields: Content of its config.json.

    Example:
        >>> stored = StoredModel(
        ...     "a file", {}, dict.fromkeys(["bert.pooler.dense.bias", "cls.predictions.bias"])
        ... )
        >>> stored.parts()
        'bert, cls'
    """

    source: str
    config: dict
    tensors: dict[str, np.ndarray]
    name: Callable[[str, bool], tuple[str, bool]] = lambda name, transposed: (name, transposed)
    folder: pathlib.Path = pathlib.Path()
    fields: Mapping[str, Any] = {}

    def has(self, name: str) -> bool:
        """Whether the file has the tensor that Hugging Face names so."""
        return self.name(name, True)[0] in self.tensors

    def parts(self) -> str:
        """The first parts of the tensor names, for error messages."""
        return ", ".join(sorted({re.split("[./]", name)[0] for name in self.tensors}))


def bert_names(num_layers: int, prefix: str = "") -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path of the variable below the model, transposed) for a `Bert`.

    Args:
        num_layers: Number of encoder layers.
        prefix: Prefix of the names in the file.

    Returns:
        A row for each weight.

    Example:
        >>> bert_names(1, "bert.")[0]
        ('bert.embeddings.word_embeddings.weight', 'word_embeddings/embeddings', False)
    """
    layers = rows_of_layers(num_layers, LAYER, f"{prefix}encoder.layer.", "encoder/")
    return rows_of(TOP, prefix) + layers


def bert_shapes(config: dict, num_layers: int) -> dict[str, tuple[int, ...]]:
    """Computes the shapes of the weights of a `Bert`, before there is a model of these sizes.

    Args:
        config: Arguments of `Bert`.
        num_layers: Number of encoder layers, in place of the configuration's.

    Returns:
        Shapes by the paths of `bert_names`.

    Example:
        >>> config = {
        ...     "vocab_size": 9,
        ...     "hidden_size": 4,
        ...     "intermediate_size": 8,
        ...     "max_position_embeddings": 6,
        ...     "type_vocab_size": 2,
        ... }
        >>> bert_shapes(config, 1)["encoder/layer_0/feed_forward/inner/kernel"]
        (4, 8)
    """
    width, inner = config["hidden_size"], config["intermediate_size"]
    rows = {
        "word_embeddings": config["vocab_size"],
        "position_embeddings": config["max_position_embeddings"],
        "segment_embeddings": config["type_vocab_size"],
    }
    kernels = {"inner": (width, inner), "outer": (inner, width)}

    shapes: dict[str, tuple[int, ...]] = {}
    for _, path, _ in bert_names(num_layers):
        layer, weight = path.split("/")[-2:]
        kernel = kernels.get(layer, (rows.get(layer, width), width))
        shapes[path] = kernel[1:] if weight in ("bias", "gamma", "beta") else kernel
    return shapes


def rows_of(
    parts: Iterable[tuple[str, str, tuple[tuple[str, str, bool], ...]]],
    file_prefix: str = "",
    path_prefix: str = "",
) -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path of the variable, transposed) of the weights of some layers.

    Args:
        parts: Rows (name of the layer in the file, its path, its weights such as `DENSE`).
        file_prefix: Beginning of the names in the file.
        path_prefix: Beginning of the paths.

    Example:
        >>> rows_of([("wo", "score", DENSE)], "encoder.", "head/")[0]
        ('encoder.wo.weight', 'head/score/kernel', True)
    """
    return [
        (f"{file_prefix}{file}.{weight}", f"{path_prefix}{path}/{variable}", transposed)
        for file, path, weights in parts
        for weight, variable, transposed in weights
    ]


def rows_of_layers(
    number: int,
    parts: Iterable[tuple[str, str, tuple[tuple[str, str, bool], ...]]],
    file_prefix: str,
    path_prefix: str,
) -> list[tuple[str, str, bool]]:
    """`rows_of` for each layer of a stack, which files number and Keras calls `layer_0` and so on.

    Args:
        number: Number of layers.
        parts: As for `rows_of`.
        file_prefix: Beginning of the names in the file, before the number of the layer.
        path_prefix: Path of the stack.

    Example:
        >>> rows_of_layers(2, [("wo", "score", DENSE)], "layer.", "encoder/")[2]
        ('layer.1.wo.weight', 'encoder/layer_1/score/kernel', True)
    """
    prefixes = [(f"{file_prefix}{i}.", f"{path_prefix}layer_{i}/") for i in range(number)]
    return [row for file, path in prefixes for row in rows_of(parts, file, path)]


def variables_by_path(model: Built) -> dict:
    """Maps the path of each weight below `model` to its variable, without the seeds of dropout.

    Variables of a layer that was built before it was given to `model` have its path alone.

    Args:
        model: Built Keras model or layer.

    Returns:
        Variables by path.

    Example:
        >>> import tfsum
        >>> bert = tfsum.Bert(10, 8, 1, 2, 16)
        >>> bert.build()
        >>> tuple(variables_by_path(bert)["pooler/kernel"].shape)
        (8, 8)
    """
    weights = [v for v in model.variables if not v.path.endswith("seed_generator_state")]
    paths = {f"/{v.path}".partition(f"/{model.name}/")[2] or v.path: v for v in weights}
    assert len(paths) == len(weights), "two weights of one path"
    return paths


def dotted_names(variables: dict) -> list[tuple[str, str, bool]]:
    """Lists (name in the file, path, transposed) of weights whose names are their paths.

    Args:
        variables: Variables by path.

    Returns:
        A row for each weight.

    Example:
        >>> dotted_names({"head/score/bias": None})
        [('head.score.bias', 'head/score/bias', False)]
    """
    return [(path.replace("/", "."), path, False) for path in variables]


def bert_tensors(bert: BuiltBert, prefix: str = "") -> dict[str, np.ndarray]:
    """Collects the weights of a built `Bert` under the names of Hugging Face.

    Args:
        bert: Built `Bert`.
        prefix: Prefix of the names, "bert." for a model with a head.

    Returns:
        float32 arrays by name, kernels as (out, in).

    Example:
        >>> import tfsum
        >>> bert = tfsum.Bert(10, 8, 1, 2, 16)
        >>> bert.build()
        >>> bert_tensors(bert)["encoder.layer.0.intermediate.dense.weight"].shape
        (16, 8)
    """
    return named_tensors(
        variables_by_path(bert), bert_names(bert.config["num_hidden_layers"], prefix)
    )


def named_tensors(variables: dict, names: Sequence[tuple[str, str, bool]]) -> dict[str, np.ndarray]:
    """Collects variables under the names of a file; the opposite of `assign_weights.assign`.

    Args:
        variables: Arrays or variables by path.
        names: Rows (name in the file, path, transposed).

    Returns:
        Arrays by name.

    Example:
        >>> tensors = named_tensors({"kernel": np.zeros((2, 3))}, [("weight", "kernel", True)])
        >>> tensors["weight"].shape
        (3, 2)
    """
    arrays = {name: np.asarray(variables[path]) for name, path, _ in names}
    return {
        name: np.ascontiguousarray(arrays[name].T if transposed else arrays[name])
        for name, _, transposed in names
    }


def names_in(
    stored: StoredModel, names: Sequence[tuple[str, str, bool]]
) -> list[tuple[str, str, bool]]:
    """Replaces Hugging Face's names by those of a file in a table of names.

    Args:
        stored: Contents of a checkpoint.
        names: Rows (Hugging Face's name, path, transposed).

    Returns:
        Rows (name in the file, path, transposed).

    Example:
        >>> from tfsum.formats.google import google_name
        >>> stored = StoredModel("a file", {}, {}, google_name)
        >>> names_in(stored, [("bert.pooler.dense.weight", "pooler/kernel", True)])
        [('bert/pooler/dense/kernel', 'pooler/kernel', False)]
    """
    rows = [(stored.name(full, transposed), path) for full, path, transposed in names]
    return [(name, path, transposed) for (name, transposed), path in rows]
