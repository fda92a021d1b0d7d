"""The arrays of a file become the weights of a model: after a check of all of them, so that none is left out."""

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfsum.errors import CheckpointError
from tfsum.formats.weight_names import (
    OTHER_HEADS,
    StoredModel,
    bert_names,
    names_in,
    variables_by_path,
)


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
        >>> from tfsum.formats.weight_names import bert_tensors
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
        warnings.warn(
            f"{stored.source}: has no pooler; it is initialized at random and needs training",
            stacklevel=4,
        )
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


def assign(
    variables: dict,
    names: Sequence[tuple[str, str, bool]],
    tensors: dict,
    source: str | os.PathLike,
) -> None:
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
        >>> assign(
        ...     {"bias": bias},
        ...     [("b", "bias", False)],
        ...     {"b": np.array([1.0, 2.0], np.float32)},
        ...     "a file",
        ... )
        >>> bias.numpy().tolist()
        [1.0, 2.0]
    """
    shapes = {path: tuple(variables[path].shape) for _, path, _ in names}
    for path, value in checked(shapes, names, tensors, source).items():
        variables[path].assign(value)


def checked(
    shapes: dict[str, tuple[int, ...]],
    names: Sequence[tuple[str, str, bool]],
    tensors: dict,
    source: str | os.PathLike,
) -> dict[str, np.ndarray]:
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
        >>> checked(
        ...     {"bias": (2,)},
        ...     [("b", "bias", False)],
        ...     {"b": np.array([1.0, 2.0], np.float32)},
        ...     "a file",
        ... )
        {'bias': array([1., 2.], dtype=float32)}
    """
    expected = {name for name, _, _ in names}
    missing = [f"missing: {n}" for n in sorted(expected - tensors.keys())]
    unknown = [f"unknown: {n} {list(tensors[n].shape)}" for n in sorted(tensors.keys() - expected)]
    rows = [(name, path, transposed) for name, path, transposed in names if name in tensors]
    found = [
        _misfit(name, tensors[name], shapes[path], transposed) for name, path, transposed in rows
    ]
    if kinds := [kind for kind in (missing, unknown, [line for line in found if line]) if kind]:
        lines = [
            line
            for kind in kinds
            for line in (kind if len(kind) < 9 else [*kind[:7], f"and {len(kind) - 7} more"])
        ]
        cure = "fix config.json or use the file that belongs to it"
        if expected and tensors and not expected & tensors.keys():
            cure = "none has a known name: save the model itself, without what wraps it (DataParallel: .module)"
        raise CheckpointError(
            f"{source}: {sum(map(len, kinds))} tensors do not fit the model; {cure}:\n  "
            + "\n  ".join(lines)
        )
    return {
        path: tensors[name].T if transposed else tensors[name] for name, path, transposed in rows
    }


def _misfit(name: str, value: np.ndarray, shape: tuple[int, ...], transposed: bool) -> str | None:
    """What is wrong with an array, in a line; None if nothing is."""
    if value.shape != (wanted := shape[:: -1 if transposed else 1]):
        return f"shape: {name} is {list(value.shape)}, the config says {list(wanted)}"
    if value.dtype.kind != "f":
        return f"type: {name} is {value.dtype}, a weight must be of floats"
    if not (finite := np.isfinite(value)).all():
        return f"value: {name} has {np.sum(~finite)} that are infinite or no number"
    return None
