"""The folder of an exported model: its newest version, its description, the SavedModel itself."""

import json
import pathlib
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError

from tfsum.errors import ExportError

# What TensorFlow raises for a file that is missing, truncated or corrupt.
BROKEN = (tf.errors.OpError, OSError, ValueError, LookupError, RuntimeError, DecodeError)


def newest(path: str | pathlib.Path) -> pathlib.Path:
    """The folder `.../NAME/VERSION` of an exported model.

    Args:
        path: that folder, or `.../NAME` for its newest version.

    Raises:
        ExportError: there is no version in it.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> newest(shipped_model().parent) == shipped_model()
        True
    """
    path = pathlib.Path(path)
    if (path / "saved_model.pb").is_file() or not path.is_dir():
        return path
    versions = [
        p
        for p in path.iterdir()
        if p.name.isascii() and p.name.isdigit() and (p / "saved_model.pb").is_file()
    ]
    if not versions and (path / "best" / "config.json").is_file():
        raise ExportError(f"{path}: is the folder of a run; its model is {path / 'best'}")
    if not versions and (path / "config.json").is_file():
        raise ExportError(
            f"{path}: is a model folder, expected an exported model; export it first: "
            f"`tfsum export {path} DESTINATION`"
        )
    if not versions:
        raise ExportError(
            f"{path}: holds no SavedModel and no version of one; expected NAME or NAME/VERSION that "
            "`tfsum export` wrote"
        )
    return max(versions, key=lambda p: int(p.name))


def read_description(folder: str | pathlib.Path) -> dict:
    """Reads assets.extra/tfsum.json of an exported model.

    Args:
        folder: `.../NAME/VERSION`.

    Raises:
        ExportError: no SavedModel, or none that tfsum wrote.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> read_description(shipped_model())["kind"]
        'extractive'
    """
    path = pathlib.Path(folder)
    if not path.exists():
        raise ExportError(
            f"{path}: no such folder; expected NAME or NAME/VERSION that `tfsum export` wrote"
        )
    if not (path / "saved_model.pb").is_file():
        raise ExportError(
            f"{path}: no SavedModel (saved_model.pb is missing); expected a folder NAME/VERSION that "
            "`tfsum export` wrote"
        )
    return read_json(path / "assets.extra" / "tfsum.json")


def load_model(folder: str | pathlib.Path, description: dict) -> Any:
    """Loads a SavedModel, its op libraries first.

    Args:
        folder: `.../NAME/VERSION`.
        description: the content of its assets.extra/tfsum.json.

    Returns:
        The object of `tf.saved_model.load`.

    Raises:
        ExportError: a file is broken or missing, or TF Text, whose operations it needs.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> sorted(load_model(shipped_model(), {"ops": "core"}).signatures)
        ['score', 'score_ids', 'serving_default', 'summarize']
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


def read_json(path: pathlib.Path) -> dict:
    """Reads a JSON file of an exported model.

    Args:
        path: of the file.

    Raises:
        ExportError: the file is missing or broken.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> read_json(shipped_model() / "assets.extra" / "tfsum.json")["format_version"]
        1
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExportError(
            f"{path}: no such file; expected a SavedModel that `tfsum export` wrote"
        ) from None
    except (OSError, ValueError) as error:
        raise ExportError(
            f"{path}: cannot be read ({error}); fetch or export the model again"
        ) from None
