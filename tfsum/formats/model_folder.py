"""The model folders of tfsum and Hugging Face, read and written.

A model folder has config.json, model.safetensors, vocab.txt (or tokenizer.json) and tfsum.json; of
others the weights may be in shards, or in files of torch.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save_file

from tfsum.atomic_files import atomic_path, write_atomically
from tfsum.errors import CheckpointError, as_error, require
from tfsum.formats import config_json, torch_file, weight_names
from tfsum.formats.text_settings import check_vocabulary

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
PACKAGE = "package:"
SUMMARIZERS = {"bert_sum_ext", "bert_sum_abs"}
"""Keys of a config.json whose model is read for its encoder alone."""
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
FETCHED = (
    "config.json",
    "vocab.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
)
TORCH_FILES = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
OLD_ENDING = re.compile(r"(?<=LayerNorm\.)(gamma|beta)\Z")
"""Endings of the first conversions of Google's files, still in bert-base-uncased on the Hub."""
PRESENT_ENDINGS = {"gamma": "weight", "beta": "bias"}


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
    require(
        path.is_file(),
        f"{path}: no such file; a model folder has config.json and model.safetensors",
        CheckpointError,
    )
    with as_error(
        f"{path}: cannot be read",
        *(SafetensorError, OSError, ValueError),
        kind=CheckpointError,
        cure="; the file is broken or cut short: fetch or write it again",
    ):
        stored = deserialize(path.read_bytes())

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

    vocabularies = (("vocab.txt", vocabulary), ("target_vocab.txt", target_vocabulary))
    files = {name: "\n".join(pieces) + "\n" for name, pieces in vocabularies if pieces is not None}
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


def writing_errors(
    place: pathlib.Path, *kinds: type[Exception]
) -> contextlib.AbstractContextManager[None]:
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
    return as_error(
        f"{place}: cannot be written",
        OSError,
        *kinds,
        kind=CheckpointError,
        cure="; free space or choose another place",
    )


def read_hugging_face(source: str | os.PathLike) -> weight_names.StoredModel:
    """Reads a folder of tfsum or Hugging Face.

    The weights are in model.safetensors, in its shards (model.safetensors.index.json), in
    pytorch_model.bin or in its shards. Torch's files are read without torch, and no code in them
    is run.

    Args:
        source: Folder, package folder or name on the Hub, as for `local_folder`.

    Returns:
        The encoder and the heads that the file has, but those of a BertSumExt.

    Raises:
        CheckpointError: A file is missing, broken or of another model, or the vocabulary has
            another size.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfsum.Bert(10, 8, 1, 2, 16).save_pretrained(folder)
        ...     read_hugging_face(folder).tensors["embeddings.word_embeddings.weight"].shape
        (10, 8)
    """
    folder = local_folder(source)
    file = config_json.config_file(folder)
    fields = config_json.read_json(file)
    config = config_json.encoder_arguments(fields, file)
    check_vocabulary(folder, config["vocab_size"])

    tensors = {
        OLD_ENDING.sub(lambda old: PRESENT_ENDINGS[old[0]], name): value
        for name, value in _read_tensors(folder).items()
        if not weight_names.NO_WEIGHT.search(name)
        and (name.startswith("bert.") or not SUMMARIZERS & fields.keys())
    }

    # BertModel alone is saved without it
    prefix = "" if any(name.startswith("bert.") for name in tensors) else "bert."
    return weight_names.StoredModel(
        str(folder),
        config,
        tensors,
        lambda name, transposed: (name.removeprefix(prefix), transposed),
        folder,
        fields,
    )


def local_folder(source: str | os.PathLike) -> pathlib.Path:
    """Finds a model folder, and downloads a model of the Hub.

    Args:
        source: Folder; "package:NAME/FOLDER" for a folder inside an installed Python package, which
            is not imported; or name on the Hub, if huggingface_hub is installed.

    Returns:
        Path of the folder.

    Raises:
        CheckpointError: The source is a file, the package is not installed, or there is no such
            folder or model on the Hub.

    Example:
        >>> local_folder("package:no_such_package/model")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: package:no_such_package/model: the package no_such_package ...
    """
    if str(source).startswith(PACKAGE):
        package, _, inside = str(source).removeprefix(PACKAGE).partition("/")
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise CheckpointError(
                f"{source}: the package {package} is not installed; run "
                f"pip install --no-deps {package.replace('_', '-')}"
            )
        return pathlib.Path(spec.submodule_search_locations[0]) / inside

    folder = pathlib.Path(source)
    require(
        not folder.is_file(),
        f"{source}: is a file; give the model folder that holds it, {folder.parent}",
        CheckpointError,
    )
    # A name whose first part is an existing folder is a path.
    if (
        folder.is_dir()
        or not HUB_NAME.fullmatch(str(source))
        or (folder.parent.name and folder.parent.is_dir())
    ):
        return folder

    cure = (
        f"download config.json, model.safetensors (or pytorch_model.bin) and vocab.txt of {source}"
        " into a folder, and give its path"
    )
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise CheckpointError(
            f"{source}: no such folder; for a name on the hub: pip install huggingface_hub, "
            f"or {cure}"
        ) from None

    try:
        fetched = pathlib.Path(snapshot_download(str(source), allow_patterns=list(FETCHED)))
        if not any(fetched.glob("model*.safetensors*")):
            snapshot_download(str(source), allow_patterns=list(TORCH_FILES))
    except Exception as error:
        # no network, no such name, no permission: errors of many classes
        why = str(error).strip().split("\n")[0]
        raise CheckpointError(
            f"{source}: no such folder, and the hub gave none ({type(error).__name__}: {why}); "
            f"{cure}"
        ) from None
    return fetched


def _read_tensors(folder: pathlib.Path) -> dict[str, np.ndarray]:
    for name, read in (
        ("model.safetensors", read_safetensors),
        ("pytorch_model.bin", _read_torch),
    ):
        if (folder / name).is_file():
            return read(folder / name)
        if (folder / f"{name}.index.json").is_file():
            return _read_shards(folder / f"{name}.index.json", read)
    raise CheckpointError(
        f"{folder}/model.safetensors: no such file, nor its shards (model.safetensors.index.json), "
        "nor pytorch_model.bin; a model folder has config.json and one of them"
    )


def _read_shards(index: pathlib.Path, read: Callable) -> dict[str, np.ndarray]:
    """Reads the shards of an index; each must hold exactly the tensors that the index lists."""
    places = config_json.read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
        raise CheckpointError(
            f"{index}: has no weight_map from tensors to files; fetch the file again"
        )

    files = sorted(set(places.values()))
    if outside := [file for file in files if pathlib.PurePath(file).name != file]:
        raise CheckpointError(
            f"{index}: names the file {outside[0]!r}; shards are beside their index"
        )
    if absent := [file for file in files if not (index.parent / file).is_file()]:
        raise CheckpointError(
            f"{index}: {len(absent)} of the {len(files)} files that it names are not there, the "
            f"first is {absent[0]}; fetch them too"
        )

    tensors: dict[str, np.ndarray] = {}
    for file in files:
        shard = read(index.parent / file)
        expected = {name for name, place in places.items() if place == file}
        if wrong := sorted(expected ^ shard.keys()):
            raise CheckpointError(
                f"{index.parent / file}: {len(wrong)} tensors are not as {index.name} says, the "
                f"first is {wrong[0]}; fetch both files again"
            )
        tensors |= shard
    return tensors


def _read_torch(path: pathlib.Path) -> dict[str, np.ndarray]:
    content = torch_file.read_torch_file(path)
    if others := [name for name, value in content.items() if not isinstance(value, np.ndarray)]:
        raise CheckpointError(
            f"{path}: {others[0]} is {type(content[others[0]]).__name__}; a state_dict of tensors"
            " was expected, as save_pretrained writes it"
        )
    # not a `Parameter`
    return {name: widened(np.asarray(value)) for name, value in content.items()}
