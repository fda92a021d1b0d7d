"""Verifies the signatures, operations, weights and golden answers of a SavedModel."""

import pathlib

import tensorflow as tf

from tfsum.errors import ExportError
from tfsum.export import golden
from tfsum.inference.allowed_operations import check_operations
from tfsum.inference.exported_model import UNREADABLE, open_model
from tfsum.inference.saved_model import read_json


class VerificationReport(dict):
    """The report of `tfsum.verify`: a dict; its text has one line per entry.

    Example:
        >>> print(VerificationReport(kind="extractive", weights=89))
        kind: extractive
        weights: 89
    """

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.items())


def verify_export(
    folder: str | pathlib.Path,
    description: dict,
    task_golden: golden.Golden,
    model: golden.Asked | None = None,
) -> VerificationReport:
    """Checks the signatures, operations and weights of an export, and repeats its golden requests.

    Args:
        folder: Folder `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json.
        task_golden: Part of its task.
        model: The opened model; None opens it.

    Returns:
        The report.

    Raises:
        ExportError: The export differs from its description or its golden answers.

    Example:
        >>> verify_export("no_such_folder/1", {"weights": {}}, None)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.ExportError: no_such_folder/1/variables: cannot be read ...
    """
    folder = pathlib.Path(folder)
    weights = check_weights(folder, description["weights"])
    operations = check_operations(folder, description["ops"])
    if model is None:
        model = open_model(folder, description)
    difference = golden.check_answers(folder, description, task_golden, model)

    return VerificationReport(
        model=str(folder),
        kind=description["kind"],
        ops=description["ops"],
        weights=weights,
        operations=len(operations),
        signatures=sorted(task_golden.signatures(description)),
        golden_answers=len(read_json(folder / "assets.extra" / "golden.json")["answers"]),
        largest_score_difference=difference,
    )


def check_weights(folder: pathlib.Path, expected: dict) -> int:
    """Checks that each weight is stored once and nothing else is.

    Args:
        folder: SavedModel, `.../NAME/VERSION`.
        expected: Pairs [dtype, shape] of the weights by name.

    Returns:
        Number of weights.

    Raises:
        ExportError: The file cannot be read, or does not hold the expected weights.

    Example:
        >>> from tfsum.inference.saved_model import read_description
        >>> from tfsum.inference.saved_model import shipped_model
        >>> weights = read_description(shipped_model())["weights"]
        >>> check_weights(shipped_model(), weights) == len(weights)
        True
    """
    try:
        reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    except (tf.errors.OpError, *UNREADABLE) as error:
        raise ExportError(
            f"{folder}/variables: cannot be read ({error}); fetch or export the model again"
        ) from None

    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    stored = sorted((dtypes[k].name, tuple(v)) for k, v in shapes.items() if dtypes[k] != tf.string)
    if stored != sorted((dtype, tuple(shape)) for dtype, shape in expected.values()):
        raise ExportError(
            f"{folder}/variables: {len(stored)} arrays, and assets.extra/tfsum.json lists"
            f" {len(expected)} weights of other types or shapes; fetch or export the model again"
        )
    return len(stored)
