"""Model folders: config.json, model.safetensors, vocab.txt and tfsum.json, named as Hugging Face names them."""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tfsum.atomic_files import atomic_path, write_atomically
from tfsum.errors import CheckpointError, Error

# safetensors' own reader for numpy lacks bfloat16, in which many encoders are stored.
STORED_TYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "I64": np.int64,
    "I32": np.int32,
}


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
        what = (
            "no such file"
            if isinstance(error, FileNotFoundError)
            else f"cannot be read ({error.strerror})"
        )
        raise CheckpointError(
            f"{path}: {what}; a model folder has config.json and model.safetensors"
        ) from None
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
        raise CheckpointError(
            f"{piece_file(path)}: {len(pieces)} word pieces, and vocab_size is {rows}; take the "
            "vocabulary that the model was trained with (rows without a piece are named [unusedN] "
            "at its end)"
        )


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
    tensors = {}
    for name, tensor in stored:
        if tensor["dtype"] not in STORED_TYPES:
            raise CheckpointError(
                f"{path}: {name} is of type {tensor['dtype']}; tfsum reads "
                f"{', '.join(STORED_TYPES)}: store it as one of them"
            )
        kind = np.dtype(STORED_TYPES[tensor["dtype"]])
        value = np.frombuffer(tensor["data"], kind).reshape(tensor["shape"])
        tensors[name] = value if kind.kind == "i" else widened(value)
    return tensors


def save_model(
    model: Any,
    folder: str | os.PathLike,
    vocabulary: Sequence[str] | None = None,
    settings: dict | None = None,
    target_vocabulary: Sequence[str] | None = None,
    tensors: dict[str, np.ndarray] | None = None,
) -> None:
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
        ...     save_model(
        ...         tfsum.Bert(2, 8, 1, 2, 16),
        ...         folder,
        ...         ["[PAD]", "a"],
        ...         {"text": {"lowercase": True}},
        ...     )
        ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
        ['config.json', 'model.safetensors', 'tfsum.json', 'vocab.txt']
    """
    if tensors is None:
        if not model.built:
            model.build()
        tensors = model.tensors()
    files = {
        name: "\n".join(pieces) + "\n"
        for name, pieces in (("vocab.txt", vocabulary), ("target_vocab.txt", target_vocabulary))
        if pieces is not None
    }
    if settings is not None:
        files["tfsum.json"] = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    save(folder, model.folder_config(), tensors, files)


def save(
    folder: str | os.PathLike,
    config: dict,
    tensors: dict[str, np.ndarray],
    extra: dict[str, str] | None = None,
) -> None:
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
        raise CheckpointError(
            f"{path}: cannot be written ({getattr(error, 'strerror', None) or error}); free space or "
            "choose another folder"
        ) from None
