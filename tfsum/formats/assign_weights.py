"""Assigns the arrays of a file to the weights of a model, once every one of them is checked."""

import os
import warnings
from collections.abc import Sequence

import numpy as np

from tfsum.errors import CheckpointError
from tfsum.formats.weight_names import (
    OTHER_HEADS,
    StoredModel,
    bert_names,
    bert_shapes,
    names_in,
)


def bert_arrays(config: dict, stored: StoredModel) -> dict[str, np.ndarray]:
    """Selects the weights of a `Bert` from a checkpoint, before a model is built.

    A configuration is a few bytes and may ask for more memory than there is; the tensors show
    whether it is that of the file.

    Every weight must be in the checkpoint, and every tensor of the checkpoint be used, except those
    of heads. If the model has more positions than the checkpoint, the last row of the table is
    repeated (nlpyang/PreSumm, `max_pos`). Masked language models are stored without a pooler: it
    is left out, with a warning.

    Args:
        config: Arguments of the `Bert`.
        stored: Contents of a checkpoint.

    Returns:
        Arrays by path, for `assign_arrays`.

    Raises:
        CheckpointError: Names are missing or unknown, or types or shapes differ; the error lists
            all of them.

    Example:
        >>> import tfsum
        >>> from tfsum.formats.weight_names import bert_tensors, variables_by_path
        >>> one, other = tfsum.Bert(10, 8, 1, 2, 16), tfsum.Bert(10, 8, 1, 2, 16)
        >>> one.build(), other.build()
        (None, None)
        >>> stored = StoredModel("one", one.config, bert_tensors(one, "bert."))
        >>> assign_arrays(variables_by_path(other), bert_arrays(other.config, stored))
        >>> bool((one.pooler.kernel.numpy() == other.pooler.kernel.numpy()).all())
        True
    """
    tensors = {k: v for k, v in stored.tensors.items() if not k.startswith(OTHER_HEADS)}

    # positions (P, D): repeat the last row up to the model's number of positions
    name, _ = stored.name("bert.embeddings.position_embeddings.weight", False)
    table = tensors.get(name)
    rows, stored_rows = config["max_position_embeddings"], stored.config["max_position_embeddings"]
    if table is not None and table.ndim == 2 and 0 < len(table) == stored_rows < rows:
        tensors[name] = np.concatenate([table, np.repeat(table[-1:], rows - len(table), 0)])

    # More layers than tensors: some are missing, and the first of them are enough to say so.
    num_layers = min(config["num_hidden_layers"], len(tensors) + 1)
    names = names_in(stored, bert_names(num_layers, "bert."))
    if not any("pooler" in name for name in tensors):
        warnings.warn(
            f"{stored.source}: has no pooler; it is initialized at random and needs training",
            stacklevel=4,
        )
        names = [row for row in names if "pooler" not in row[0]]
    return checked(bert_shapes(config, num_layers), names, tensors, stored.source)


def layer_sizes(stack: str, num_layers: object, kernel: tuple, tensors: dict) -> dict[str, tuple]:
    """Shapes that show the sizes of a stack's layers, for `check_sizes`: those of one kernel each.

    Args:
        stack: Name of the stack in the file, such as "decoder".
        num_layers: Number of layers in the configuration; none are listed if it is no number.
        kernel: Shape of the first kernel of the feed-forward network.
        tensors: Arrays of the file by name.

    Returns:
        Shapes by name; of more layers than there are tensors, one too many.

    Example:
        >>> layer_sizes("decoder", 10**9, (4, 8), {})
        {'decoder.layer_0.feed_forward.inner.kernel': (4, 8)}
    """
    count = min(num_layers, len(tensors) + 1) if isinstance(num_layers, int) else 0
    return {f"{stack}.layer_{i}.feed_forward.inner.kernel": kernel for i in range(count)}


def check_sizes(sizes: dict[str, tuple], tensors: dict, source: str | os.PathLike) -> None:
    """Compares some tensors with the sizes of a configuration, before a model is built.

    Args:
        sizes: Expected shapes by name; together they have every size of the configuration.
        tensors: Arrays of the file by name.
        source: File, for error messages.

    Raises:
        CheckpointError: As `checked`.

    Example:
        >>> check_sizes({"bias": (2,)}, {"bias": np.zeros(2, np.float32)}, "a file")
    """
    found = {name: tensors[name] for name in sizes if name in tensors}
    checked(sizes, [(name, name, False) for name in sizes], found, source)


def assign_arrays(variables: dict, arrays: dict[str, np.ndarray]) -> None:
    """Sets variables from arrays that fit.

    Args:
        variables: Keras variables by path.
        arrays: Arrays by path.

    Example:
        >>> import keras
        >>> from tfsum.formats.weight_names import variables_by_path
        >>> layer = keras.layers.Dense(1, name="score")
        >>> layer.build((None, 2))
        >>> assign_arrays(variables_by_path(layer), {"kernel": np.ones((2, 1), np.float32)})
        >>> float(layer.kernel[1, 0])
        1.0
    """
    for path, value in arrays.items():
        variables[path].assign(value)


def assign(
    variables: dict,
    names: Sequence[tuple[str, str, bool]],
    tensors: dict,
    source: str | os.PathLike,
) -> None:
    """Sets variables from arrays by a table of names, once every array is checked.

    Args:
        variables: Keras variables by path.
        names: Rows (name in the file, path, transposed).
        tensors: Arrays by name.
        source: File, for error messages.

    Raises:
        CheckpointError: As `checked`.

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
    assign_arrays(variables, checked(shapes, names, tensors, source))


def checked(
    shapes: dict[str, tuple[int, ...]],
    names: Sequence[tuple[str, str, bool]],
    tensors: dict,
    source: str | os.PathLike,
) -> dict[str, np.ndarray]:
    """Checks arrays against a table of names: none is missing or unknown, and all fit.

    Args:
        shapes: Expected shapes by path.
        names: Rows (name in the file, path, transposed).
        tensors: Arrays by name.
        source: File, for error messages.

    Returns:
        Arrays by path, transposed where the table says so; views, not copies.

    Raises:
        CheckpointError: Names are missing or unknown, types or shapes differ, or values are not
            finite; the error lists all of them.

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
    found = [row for row in names if row[0] in tensors]
    problems = (
        [f"missing: {name}" for name in sorted(expected - tensors.keys())],
        [f"unknown: {n} {list(tensors[n].shape)}" for n in sorted(tensors.keys() - expected)],
        [
            misfit
            for name, path, transposed in found
            if (misfit := _misfit(name, tensors[name], shapes[path][:: -1 if transposed else 1]))
        ],
    )
    if not any(problems):
        return {path: tensors[n].T if transposed else tensors[n] for n, path, transposed in found}

    cure = "fix config.json or use the file that belongs to it"
    if expected and tensors and not expected & tensors.keys():
        cure = (
            "none has a known name: save the model itself, without what wraps it (DataParallel:"
            " .module)"
        )
    lines = [
        line
        for group in problems
        for line in (*group[:7], *[f"and {len(group) - 7} more"] * (len(group) > 7))
    ]
    raise CheckpointError(
        f"{source}: {sum(map(len, problems))} tensors do not fit the model; {cure}:"
        + "\n  ".join(["", *lines])
    )


def _misfit(name: str, value: np.ndarray, shape: tuple[int, ...]) -> str:
    """The problem of an array that should have this shape, or an empty text."""
    if value.shape != shape:
        return f"shape: {name} is {list(value.shape)}, the config says {list(shape)}"
    if value.dtype.kind != "f":
        return f"type: {name} is {value.dtype}, a weight must be of floats"
    wrong = np.sum(~np.isfinite(value))
    return f"value: {name} has {wrong} that are infinite or no number" if wrong else ""
