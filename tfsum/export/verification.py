"""Does a SavedModel still say what it said on the day of export, with nothing in it that a host may lack?"""

import json
import pathlib

import tensorflow as tf
from google.protobuf.message import DecodeError

from tfsum.errors import ExportError
from tfsum.export import golden
from tfsum.export.allowed_operations import check_operations

SIGNATURES = {
    "extractive": {
        "serving_default": {"text": tf.string},
        "summarize": {"text": tf.string, "max_sentences": tf.int32, "block_trigrams": tf.bool},
        "score": {"text": tf.string},
        "score_ids": {"token_ids": tf.int32, "segment_ids": tf.int32, "sentence_starts": tf.int32},
    },
    "abstractive": {
        "serving_default": {"text": tf.string},
        "generate_ids": {"source_ids": tf.int32},
        "attend": {"text": tf.string},
    },
    "classifier": {"serving_default": {"text": tf.string}},
}


# What TensorFlow raises for a file that is missing, cut short or not what it should be.
BROKEN = (tf.errors.OpError, OSError, ValueError, LookupError, RuntimeError, DecodeError)


class Report(dict):
    """What `verify` found, a dict for JSON; as text, a line each."""

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.items())


def read_description(folder) -> dict:
    """Reads assets.extra/tfsum.json of an exported model.

    Raises:
        ExportError: no SavedModel, or none that tfsum wrote, or of a kind that it does not know.
    """
    path = pathlib.Path(folder)
    if not (path / "saved_model.pb").is_file():
        raise ExportError(
            f"{path}: no SavedModel (saved_model.pb is missing); expected a folder NAME/VERSION that "
            "`tfsum export` wrote"
        )
    description = _read_json(path / "assets.extra" / "tfsum.json")
    if description.get("kind") not in SIGNATURES:
        raise ExportError(
            f"{path}: its kind is {description.get('kind')!r}; this tfsum knows {', '.join(SIGNATURES)}: take a newer "
            "tfsum, or fetch or export the model again"
        )
    return description


def verify(folder, loaded=None) -> Report:
    """Checks an exported model: signatures, operations, weights, and the golden answers replayed.

    Args:
        folder: `.../NAME/VERSION`.
        loaded: the model, if it is loaded already.

    Returns:
        What was found.

    Raises:
        ExportError: the first thing that is not as it was or should be.
    """
    folder = pathlib.Path(folder)
    description = read_description(folder)
    weights = check_weights(folder, description["weights"])
    operations = check_operations(folder, description["ops"])
    loaded = load_model(folder, description) if loaded is None else loaded
    signatures = signatures_of(description)
    check_signatures(loaded, signatures, folder)
    recorded = _read_json(folder / "assets.extra" / "golden.json")
    worst = golden.replay(loaded, recorded, description["kind"], folder)
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


def load_model(folder, description: dict):
    """Loads a SavedModel, its op libraries first.

    Raises:
        ExportError: a file is broken or missing, or TF Text, whose operations it needs.
    """
    if description.get("ops") == "text":
        try:
            import tensorflow_text  # noqa: F401  registers the three ops
        except ImportError as error:
            raise ExportError(
                f"{folder}: needs TF Text's operations ({error}); pip install tensorflow-text, or "
                'export with ops="core"'
            ) from None
    try:
        return tf.saved_model.load(str(folder))
    except BROKEN as error:
        raise ExportError(
            f"{folder}: cannot be loaded ({str(error).partition(chr(10))[0]}); a file is broken or "
            "missing: fetch or export it again"
        ) from error


def check_weights(folder: pathlib.Path, expected: dict) -> int:
    """Each weight lies in the file once, and nothing else does: the number of weights.

    Raises:
        ExportError: the file cannot be read, or does not hold the weights expected.
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


def signatures_of(description: dict) -> dict[str, dict]:
    """The signatures that the design has for a model, by name, with their inputs."""
    signatures = SIGNATURES[description["kind"]]
    if description["text"].get("pair"):
        signatures = {name: {**inputs, "text_pair": tf.string} for name, inputs in signatures.items()}
    return signatures


def check_signatures(loaded, signatures: dict[str, dict], folder) -> None:
    """Each of the signatures is there, with its inputs.

    Raises:
        ExportError: one is missing, or takes something else.
    """
    for name, inputs in signatures.items():
        if name not in loaded.signatures:
            raise ExportError(f"{folder}: no signature {name!r}; found {', '.join(loaded.signatures)}")
        specs = loaded.signatures[name].structured_input_signature[1]
        found = {key: spec.dtype for key, spec in specs.items()}
        if found != inputs:
            raise ExportError(f"{folder}: signature {name!r} takes {found}; expected {inputs}")


def _read_json(path: pathlib.Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExportError(f"{path}: no such file; expected a SavedModel that `tfsum export` wrote") from None
    except (OSError, ValueError) as error:
        raise ExportError(f"{path}: cannot be read ({error}); fetch or export the model again") from None
