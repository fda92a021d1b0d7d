"""The names of BERT's weights: in files, as Hugging Face names them, and in Keras.

The tables below are the whole correspondence between the names in a file and the variables of a `Bert`; they are
read in both directions. Dense kernels are (in, out) in Keras and (out, in) in the file.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
NO_WEIGHT = re.compile(
    r"(^|\.)embeddings\.position_ids$"
)  # a buffer of older transformers: 0, 1, 2, ...
# Heads of other tasks, which an encoder ignores: Hugging Face's names and Google's.
OTHER_HEADS = ("cls.", "classifier.", "qa_outputs.", "cls/", "output_weights", "output_bias")
# What Hugging Face may store a second time, and the tensor that it must equal.
TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


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
        >>> stored = StoredModel(
        ...     "a file", {}, dict.fromkeys(["bert.pooler.dense.bias", "cls.predictions.bias"])
        ... )
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
        parts += [
            (f"encoder.layer.{i}.{f}", f"encoder/layer_{i}/{p}", kinds) for f, p, kinds in LAYER
        ]
    return [
        (f"{prefix}{file}.{a}", f"{path}/{b}", t)
        for file, path, kinds in parts
        for a, b, t in kinds
    ]


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
        paths["/".join(parts[parts.index(model.name) + 1 :])] = variable
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
    return named_tensors(
        variables_by_path(bert), bert_names(bert.config["num_hidden_layers"], prefix)
    )


def named_tensors(variables: dict, names: Sequence[tuple[str, str, bool]]) -> dict[str, np.ndarray]:
    """Collects variables under the names of a file, by a table of names; the opposite of `assign_weights.assign`.

    Args:
        variables: arrays or variables by path.
        names: (name in the file, path, transposed) of each.

    Returns:
        Arrays by name.

    Example:
        >>> named_tensors({"kernel": np.zeros((2, 3))}, [("weight", "kernel", True)])[
        ...     "weight"
        ... ].shape
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
