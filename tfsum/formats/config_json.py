"""The config.json of model folders: the arguments of a `Bert`, checked."""

import contextlib
import inspect
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from tfsum.errors import CheckpointError, Error, require
from tfsum.json_text import read_json_object

# Arguments of `Bert` in config.json.
FIELDS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
OPTIONS: dict[str, type | tuple[type, ...]] = {
    "hidden_act": str,
    "hidden_dropout_prob": (int, float),
    "attention_probs_dropout_prob": (int, float),
    "initializer_range": (int, float),
    "layer_norm_eps": (int, float),
}
DECODER = ("is_decoder", "add_cross_attention")


@contextlib.contextmanager
def errors_named(source: str | os.PathLike) -> Iterator[None]:
    """Context manager that turns an `Error` into a CheckpointError that names the source.

    Args:
        source: File or folder with the sizes of the model.

    Raises:
        CheckpointError: The block raised an `Error`.

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
        path: JSON file.

    Returns:
        The object.

    Raises:
        CheckpointError: The file or its folder is missing, or it holds something else.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "config.json").write_text('{"hidden_size": 8}')
        ...     read_json(f"{folder}/config.json")
        {'hidden_size': 8}
    """
    folder = pathlib.Path(path).parent
    require(
        folder.is_dir(),
        f"{folder}: no such folder; expected a model folder, which has config.json and"
        " model.safetensors, such as `best` of a training",
        CheckpointError,
    )
    return read_json_object(
        path,
        CheckpointError,
        expected="a model folder has config.json and model.safetensors",
        cure="fetch the file again",
    )


def with_defaults(kind: type, arguments: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Completes the stored arguments of a model's class by its defaults.

    Args:
        kind: Class.
        arguments: Arguments by name.
        where: File, and section of it, for error messages.

    Returns:
        All arguments by name.

    Raises:
        CheckpointError: A name is no argument of the class.

    Example:
        >>> from fractions import Fraction
        >>> with_defaults(Fraction, {"depth": 3}, "config.json: bert_sum_ext")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: config.json: bert_sum_ext has depth; the fields must be ...
    """
    known = inspect.signature(kind).parameters
    if unknown := arguments.keys() - known.keys():
        raise CheckpointError(
            f"{where} has {', '.join(sorted(unknown))}; the fields must be arguments of"
            f" {kind.__name__}"
        )
    return {name: argument.default for name, argument in known.items()} | dict(arguments)


def config_file(folder: str | os.PathLike) -> pathlib.Path:
    """Path of a folder's config.json, or of the bert_config.json of early torch archives.

    Args:
        folder: Model folder.

    Returns:
        The path, which may not exist.

    Example:
        >>> config_file("a_folder").name
        'config.json'
    """
    path = pathlib.Path(folder) / "config.json"
    early = path.with_name("bert_config.json")
    return early if early.is_file() and not path.exists() else path


def read_bert_config(folder: str | os.PathLike) -> dict:
    """Reads the arguments of `Bert` from a folder of tfsum or Hugging Face.

    Args:
        folder: Model folder.

    Returns:
        Arguments by name.

    Raises:
        CheckpointError: The file is missing, is not JSON or describes another kind of model, or a
            field is missing or invalid.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfsum.Bert(10, 8, 1, 2, 16).save_pretrained(folder)
        ...     read_bert_config(folder)["hidden_size"]
        8
    """
    path = config_file(folder)
    return encoder_arguments(read_json(path), path)


def encoder_arguments(config: dict, path: pathlib.Path) -> dict:
    """Selects the arguments of `Bert` from a configuration of tfsum or Hugging Face.

    Args:
        config: Content of the file.
        path: File, for error messages.

    Returns:
        Arguments by name; further keys are left out.

    Raises:
        CheckpointError: Another kind of model, or a field is missing or invalid.

    Example:
        >>> encoder_arguments({"model_type": "gpt2"}, pathlib.Path("config.json"))
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: config.json: model_type is 'gpt2'; tfsum reads 'bert'
    """
    kind, positions = config.get("model_type", "bert"), config.get("position_embedding_type")
    require(
        kind in ("bert", "bert_sum_ext"),
        f"{path}: model_type is {kind!r}; tfsum reads 'bert'",
        CheckpointError,
    )
    require(
        positions in (None, "absolute"),
        f"{path}: position_embedding_type is {positions!r}; only 'absolute' positions are known",
        CheckpointError,
    )
    if decoder_keys := [key for key in DECODER if config.get(key)]:
        raise CheckpointError(
            f"{path}: {', '.join(decoder_keys)} is true: a decoder, whose tokens attend only to "
            "earlier ones; tfsum's Bert is an encoder, use a model that was trained as one"
        )
    return bert_arguments(config, path)


def bert_arguments(config: dict, path: pathlib.Path) -> dict:
    """Selects the arguments of `Bert` from a configuration.

    Args:
        config: Content of the file.
        path: File, for error messages.

    Returns:
        Arguments by name; further keys are left out.

    Raises:
        CheckpointError: A field is missing or has another type.

    Example:
        >>> config = dict.fromkeys(FIELDS, 2) | {"architectures": ["BertModel"]}
        >>> sorted(bert_arguments(config, pathlib.Path("config.json")))[:2]
        ['hidden_size', 'intermediate_size']
    """
    if not any(k in config for k in FIELDS):
        cure = "take the file that belongs to the weights"
        if inside := sorted(str(other.parent) for other in path.parent.glob("*/config.json")):
            cure = f"it may be in a folder beside it: {', '.join(inside)}"
        raise CheckpointError(
            f"{path}: is no BERT's configuration, it has none of {', '.join(FIELDS)}; {cure}"
        )

    if wrong := {
        k: config.get(k) for k in FIELDS if type(config.get(k)) is not int or config[k] < 1
    }:
        raise CheckpointError(
            f"{path}: {', '.join(wrong)} must be there and be whole numbers above 0, found "
            f"{', '.join(map(repr, wrong.values()))}; take the file that belongs to the weights"
        )

    if errors := [
        f"{k} is {config[k]!r}"
        for k, kind in OPTIONS.items()
        if k in config
        and (
            not isinstance(config[k], kind)
            or isinstance(config[k], bool)
            or (k == "layer_norm_eps" and config[k] <= 0)
        )
    ]:
        raise CheckpointError(
            f"{path}: {', '.join(errors)}; expected a name for hidden_act, numbers for the others, "
            "and for layer_norm_eps one above 0"
        )
    return {k: config[k] for k in (*FIELDS, *OPTIONS) if k in config}
