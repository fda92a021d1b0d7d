"""The weights of model folders, and the writing of such folders whole.

A model folder has config.json, model.safetensors, vocab.txt (or tokenizer.json) and tfsum.json.
"""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save_file

from tfsum.atomic_files import atomic_path, write_atomically
from tfsum.errors import CheckpointError

# safetensors' own reader for numpy lacks bfloat16, the type of many encoders.
STORED_TYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "I64": np.int64,
    "I32": np.int32,
}
HALF = (np.float16, ml_dtypes.bfloat16)


def widened(value: np.ndarray) -> np.ndarray:
    """Converts floats of half precision to float32; float64 stays, whose rounding is reported.

    Args:
        value: Array.

    Returns:
        Array of the same shape.

    Example:
        >>> widened(np.zeros(2, np.float16)).dtype
        dtype('float32')
    """
    return value.astype(np.float32) if value.dtype in HALF else value


def read_safetensors(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Reads the arrays of a safetensors file; half precision becomes float32.

    Args:
        path: Safetensors file.

    Returns:
        Arrays by name.

    Raises:
        CheckpointError: The file is missing, truncated or broken.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(folder, {}, {"bias": np.ones(2, np.float32)})
        ...     read_safetensors(f"{folder}/model.safetensors")
        {'bias': array([1., 1.], dtype=float32)}
    """
    path = pathlib.Path(path)
    if not path.is_file():
        raise CheckpointError(
            f"{path}: no such file; a model folder has config.json and model.safetensors"
        )
    try:
        stored = deserialize(path.read_bytes())
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(
            f"{path}: cannot be read ({error}); the file is broken or cut short: "
            "fetch or write it again"
        ) from None

    if others := [row for row in stored if row[1]["dtype"] not in STORED_TYPES]:
        name, tensor = others[0]
        raise CheckpointError(
            f"{path}: {name} is of type {tensor['dtype']}; tfsum reads "
            f"{', '.join(STORED_TYPES)}: store it as one of them"
        )
    return {
        name: widened(
            np.frombuffer(tensor["data"], STORED_TYPES[tensor["dtype"]]).reshape(tensor["shape"])
        )
        for name, tensor in stored
    }


def save_model(
    model: Any,
    folder: str | os.PathLike,
    vocabulary: Sequence[str] | None = None,
    settings: dict | None = None,
    target_vocabulary: Sequence[str] | None = None,
) -> None:
    """Writes a model folder; the `save_pretrained` of every model.

    Args:
        model: Keras model with `folder_config()` (the content of config.json) and `tensors()`.
        folder: Directory; created if it does not exist.
        vocabulary: Word pieces, for vocab.txt.
        settings: Content of tfsum.json (text settings under "text", recipe, scores).
        target_vocabulary: Word pieces of the target, for target_vocab.txt, if they differ.

    Raises:
        CheckpointError: A file cannot be written.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(tfsum.Bert(2, 8, 1, 2, 16), folder, ["[PAD]", "a"], {"text": {}})
        ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
        ['config.json', 'model.safetensors', 'tfsum.json', 'vocab.txt']
    """
    if not model.built:  # a user's own model may have no `build` without a shape
        model.build()

    vocabularies = {"vocab.txt": vocabulary, "target_vocab.txt": target_vocabulary}
    files = {
        name: "\n".join(pieces) + "\n"
        for name, pieces in vocabularies.items()
        if pieces is not None
    }
    if settings is not None:
        files["tfsum.json"] = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    save(folder, model.folder_config(), model.tensors(), files)


def save(
    folder: str | os.PathLike,
    config: dict,
    tensors: dict[str, np.ndarray],
    extra: dict[str, str] | None = None,
) -> None:
    """Writes the files of a model folder, each one atomically.

    Args:
        folder: Directory; created if it does not exist.
        config: Content of config.json.
        tensors: Content of model.safetensors.
        extra: Texts of further files by name.

    Raises:
        CheckpointError: A file cannot be written.

    Example:
        >>> import tempfile
        >>> from tfsum.formats.config_json import read_json
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(folder, {"model_type": "bert"}, {"bias": np.ones(2, np.float32)})
        ...     read_json(f"{folder}/config.json")
        {'model_type': 'bert'}
    """
    folder = pathlib.Path(folder)
    texts = {"config.json": json.dumps(config, indent=2) + "\n", **(extra or {})}
    with writing_errors(folder, SafetensorError):
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(folder / "model.safetensors") as part:
            save_file(tensors, part, metadata={"format": "pt"})
        for name, text in texts.items():
            write_atomically(folder / name, text)


@contextlib.contextmanager
def writing_errors(place: pathlib.Path, *kinds: type[Exception]) -> Iterator[None]:
    """Context manager that turns the errors of writing into a CheckpointError.

    Args:
        place: Folder or file that is written.
        *kinds: Classes of errors beside `OSError`.

    Raises:
        CheckpointError: The block raised one of these errors.

    Example:
        >>> with writing_errors(pathlib.Path("model")):
        ...     raise OSError(28, "No space left on device")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: model: cannot be written (No space left on device); free ...
    """
    try:
        yield
    except (OSError, *kinds) as error:  # type: ignore[misc]
        raise CheckpointError(
            f"{place}: cannot be written ({getattr(error, 'strerror', None) or error}); free space"
            " or choose another place"
        ) from None
