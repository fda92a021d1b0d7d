"""Verifies a SavedModel: its signatures, operations and weights, and its golden answers of the day of export."""

import pathlib
from typing import Any

import tensorflow as tf

from tfsum.errors import ExportError
from tfsum.export import golden
from tfsum.export.allowed_operations import check_operations
from tfsum.inference.saved_model import BROKEN, load_model, read_json


class Report(dict):
    """The report of `tfsum.verify`: a dict; as text, one line per entry.

    Example:
        >>> print(Report(kind="extractive", weights=89))
        kind: extractive
        weights: 89
    """

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.items())


def verify_export(
    folder: str | pathlib.Path, description: dict, task_golden: Any, loaded: Any = None
) -> Report:
    """Checks an exported model: signatures, operations, weights, and the golden answers replayed.

    Args:
        folder: `.../NAME/VERSION`.
        description: the content of its assets.extra/tfsum.json.
        task_golden: the `golden` part of its task.
        loaded: the model, if it is already loaded.

    Returns:
        The report.

    Raises:
        ExportError: the first difference found.

    Example:
        >>> import tfsum
        >>> from tfsum.inference.shipped import shipped_model
        >>> tfsum.verify(shipped_model())["ops"]  # doctest: +SKIP
        'core'
    """
    folder = pathlib.Path(folder)
    weights = check_weights(folder, description["weights"])
    operations = check_operations(folder, description["ops"])
    loaded = load_model(folder, description) if loaded is None else loaded
    signatures = task_golden.signatures(description)
    check_signatures(loaded, signatures, folder)
    recorded = read_json(folder / "assets.extra" / "golden.json")
    worst = golden.replay(loaded, recorded, task_golden.ask, folder)
    return Report(
        model=str(folder),
        kind=description["kind"],
        ops=description["ops"],
        weights=weights,
        operations=len(operations),
        signatures=sorted(signatures),
        golden_answers=len(recorded["answers"]),
        largest_score_difference=worst,
    )


def check_weights(folder: pathlib.Path, expected: dict) -> int:
    """Checks that each weight is stored once and nothing else is.

    Args:
        folder: the SavedModel.
        expected: name -> [dtype, shape] of each weight.

    Returns:
        The number of weights.

    Raises:
        ExportError: the file cannot be read, or does not hold the expected weights.

    Example:
        >>> from tfsum.inference.saved_model import read_description
        >>> from tfsum.inference.shipped import shipped_model
        >>> weights = read_description(shipped_model())["weights"]
        >>> check_weights(shipped_model(), weights) == len(weights)
        True
    """
    try:
        reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    except BROKEN as error:
        raise ExportError(
            f"{folder}/variables: cannot be read ({error}); fetch or export the model again"
        ) from None
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    found = sorted((dtypes[k].name, tuple(v)) for k, v in shapes.items() if dtypes[k] != tf.string)
    wanted = sorted((dtype, tuple(shape)) for dtype, shape in expected.values())
    if found != wanted:
        raise ExportError(
            f"{folder}/variables: {len(found)} arrays, and assets.extra/tfsum.json lists {len(wanted)} "
            "weights of other types or shapes; fetch or export the model again"
        )
    return len(found)


def check_signatures(loaded: Any, signatures: dict[str, dict], folder: str | pathlib.Path) -> None:
    """Checks the signatures and their inputs.

    Args:
        loaded: the loaded SavedModel.
        signatures: name -> input -> dtype.
        folder: of the model, for messages.

    Raises:
        ExportError: one is missing, or takes something else.

    Example:
        >>> from tfsum.inference.saved_model import load_model
        >>> from tfsum.inference.shipped import shipped_model
        >>> loaded = load_model(shipped_model(), {})
        >>> check_signatures(loaded, {"score": {"text": tf.string}}, shipped_model())
    """
    for name, inputs in signatures.items():
        if name not in loaded.signatures:
            raise ExportError(
                f"{folder}: no signature {name!r}; found {', '.join(loaded.signatures)}"
            )
        specs = loaded.signatures[name].structured_input_signature[1]
        found = {key: spec.dtype for key, spec in specs.items()}
        if found != inputs:
            raise ExportError(f"{folder}: signature {name!r} takes {found}; expected {inputs}")
