"""Model folders: config.json, model.safetensors, vocab.txt (or tokenizer.json) and tfsum.json."""

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
from tfsum.errors import CheckpointError, Error
from tfsum.json_text import parse_json, read_json_object

# safetensors' own reader for numpy lacks bfloat16, the type of many encoders.
STORED_TYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "I64": np.int64,
    "I32": np.int32,
}
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
        CheckpointError: The file is missing or holds something else.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "config.json").write_text('{"hidden_size": 8}')
        ...     read_json(f"{folder}/config.json")
        {'hidden_size': 8}
    """
    return read_json_object(
        path,
        CheckpointError,
        expected="a model folder has config.json and model.safetensors",
        cure="fetch the file again",
    )


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
    if early.is_file() and not path.exists():
        return early
    return path


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
    config = read_json(path)

    kind, positions = config.get("model_type", "bert"), config.get("position_embedding_type")
    if kind not in ("bert", "bert_sum_ext"):
        raise CheckpointError(f"{path}: model_type is {kind!r}; tfsum reads 'bert'")
    if positions not in (None, "absolute"):
        raise CheckpointError(
            f"{path}: position_embedding_type is {positions!r}; only 'absolute' positions are known"
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

    sizes = {k: config.get(k) for k in FIELDS}
    if wrong := {k: size for k, size in sizes.items() if type(size) is not int or size < 1}:
        raise CheckpointError(
            f"{path}: {', '.join(wrong)} must be there and be whole numbers above 0, found "
            f"{', '.join(map(repr, wrong.values()))}; take the file that belongs to the weights"
        )

    width, heads = config["hidden_size"], config["num_attention_heads"]
    if width % heads:
        raise CheckpointError(
            f"{path}: num_attention_heads is {heads}, hidden_size {width}, and {heads} heads do not"
            f" divide a width of {width}; take the file that belongs to the weights"
        )

    errors = [
        f"{k} is {config[k]!r}"
        for k, kind in OPTIONS.items()
        if k in config
        and (
            not isinstance(config[k], kind)
            or isinstance(config[k], bool)
            or (k == "layer_norm_eps" and config[k] <= 0)
        )
    ]
    if errors:
        raise CheckpointError(
            f"{path}: {', '.join(errors)}; expected a name for hidden_act, numbers for the others, "
            "and for layer_norm_eps one above 0"
        )
    return {k: config[k] for k in (*FIELDS, *OPTIONS) if k in config}


def check_vocabulary(folder: str | os.PathLike, rows: int) -> None:
    """Compares the size of a folder's vocabulary, if it has one, with the word embedding.

    Args:
        folder: Model folder.
        rows: Number of rows of the word embedding.

    Raises:
        CheckpointError: The numbers of pieces and rows differ, or the file is broken.

    Example:
        >>> check_vocabulary("a_folder_without_vocabulary", 8000)
    """
    path = pathlib.Path(folder) / "vocab.txt"
    pieces = read_vocabulary(path)
    if pieces is not None and len(pieces) != rows:
        raise CheckpointError(
            f"{piece_file(path)}: {len(pieces)} word pieces, and vocab_size is {rows}; take the "
            "vocabulary that the model was trained with (rows without a piece are named [unusedN] "
            "at its end)"
        )


def widened(value: np.ndarray) -> np.ndarray:
    """Converts floats to float32, except float64, whose rounding the caller reports.

    Args:
        value: Array of floats.

    Returns:
        float32 or float64 array of the same shape.

    Example:
        >>> widened(np.zeros(2, np.float16)).dtype
        dtype('float32')
    """
    if value.dtype == np.float64:
        return value
    return value.astype(np.float32, copy=False)


def read_vocabulary(path: str | os.PathLike) -> list[str] | None:
    """Reads the word pieces of a vocab.txt, or of the tokenizer.json in its place.

    Args:
        path: Path of the vocab.txt.

    Returns:
        The pieces in the order of their ids; None if there is neither file.

    Example:
        >>> read_vocabulary("no/such/vocab.txt") is None
        True
    """
    path = piece_file(path)
    if path.is_file():
        return read_pieces(path)
    return None


def piece_file(path: str | os.PathLike) -> pathlib.Path:
    """Path of a vocab.txt, or of the tokenizer.json in its folder if only that exists.

    Args:
        path: Path of the vocab.txt.

    Returns:
        The path, which may not exist.

    Example:
        >>> piece_file("no/such/vocab.txt").name
        'vocab.txt'
    """
    path = pathlib.Path(path)
    other = path.with_name("tokenizer.json")
    if path.name == "vocab.txt" and not path.exists() and other.is_file():
        return other
    return path


def read_pieces(path: str | os.PathLike) -> list[str]:
    """Reads the word pieces of a vocabulary.

    Args:
        path: UTF-8 text file with one piece per line, in the order of the ids, or a tokenizer.json
            with a WordPiece model.

    Returns:
        The pieces in the order of their ids.

    Raises:
        CheckpointError: The file cannot be read, or the tokenizer is of another kind.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "vocab.txt").write_text("[PAD]\\nthe\\n##s\\n")
        ...     read_pieces(f"{folder}/vocab.txt")
        ['[PAD]', 'the', '##s']
    """
    path = piece_file(path)
    if path.is_dir():
        raise CheckpointError(
            f"{path}: is a folder, expected the file of its word pieces, such as "
            f"{path / 'vocab.txt'}"
        )
    try:
        text = path.read_bytes().decode("utf-8")
        if path.suffix == ".json":
            return _tokenizer_pieces(parse_json(text), path)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CheckpointError(
            f"{path}: cannot read the vocabulary ({error}); expected a UTF-8 text file, one piece a"
            " line, or in its place the tokenizer.json of a WordPiece"
        ) from error

    # splitlines would also cut at U+2028
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def _tokenizer_pieces(content: Any, path: pathlib.Path) -> list[str]:
    """The pieces of a tokenizer.json and its added tokens, which have embeddings too."""
    match content:
        case {"model": {"vocab": dict(ids), **model}} if (
            model.get("type", "WordPiece") == "WordPiece"
        ):
            ids = ids | {
                token["content"]: token["id"] for token in content.get("added_tokens") or ()
            }
        case _:
            raise CheckpointError(
                f"{path}: holds no WordPiece, and tfsum reads no other vocabulary; for the weights "
                "alone move the file out of the folder"
            )

    pieces = sorted(ids, key=ids.__getitem__)
    if [ids[piece] for piece in pieces] != list(range(len(pieces))):
        raise CheckpointError(
            f"{path}: the ids of its {len(pieces)} pieces are not 0 to {len(pieces) - 1}; take the "
            "vocabulary that the model was trained with"
        )
    return pieces


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

    tensors = {}
    for name, tensor in stored:
        if tensor["dtype"] not in STORED_TYPES:
            raise CheckpointError(
                f"{path}: {name} is of type {tensor['dtype']}; tfsum reads "
                f"{', '.join(STORED_TYPES)}: store it as one of them"
            )
        dtype = np.dtype(STORED_TYPES[tensor["dtype"]])
        value = np.frombuffer(tensor["data"], dtype).reshape(tensor["shape"])
        tensors[name] = value if dtype.kind == "i" else widened(value)
    return tensors


def save_model(
    model: Any,
    folder: str | os.PathLike,
    vocabulary: Sequence[str] | None = None,
    settings: dict | None = None,
    target_vocabulary: Sequence[str] | None = None,
    tensors: dict[str, np.ndarray] | None = None,
) -> None:
    """Writes a model folder; the `save_pretrained` of every model.

    Args:
        model: Keras model with `folder_config()` (the content of config.json) and `tensors()`.
        folder: Directory; created if it does not exist.
        vocabulary: Word pieces, for vocab.txt.
        settings: Content of tfsum.json (text settings under "text", recipe, scores).
        target_vocabulary: Word pieces of the target, for target_vocab.txt, if they differ.
        tensors: Content of model.safetensors, for a model that is not built.

    Raises:
        CheckpointError: A file cannot be written.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_model(tfsum.Bert(2, 8, 1, 2, 16), folder, ["[PAD]", "a"], {"text": {}})
        ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
        ['config.json', 'model.safetensors', 'tfsum.json', 'vocab.txt']
    """
    if tensors is None:
        if not model.built:  # a user's own model may have no `build` without a shape
            model.build()
        tensors = model.tensors()

    vocabularies = {"vocab.txt": vocabulary, "target_vocab.txt": target_vocabulary}
    files = {
        name: "\n".join(pieces) + "\n"
        for name, pieces in vocabularies.items()
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
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(folder, {"model_type": "bert"}, {"bias": np.ones(2, np.float32)})
        ...     read_json(f"{folder}/config.json")
        {'model_type': 'bert'}
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"config.json": json.dumps(config, indent=2) + "\n", **(extra or {})}
    with _written(folder / "model.safetensors") as path, atomic_path(path) as part:
        save_file(tensors, part, metadata={"format": "pt"})
    for name, text in texts.items():
        with _written(folder / name) as path:
            write_atomically(path, text)


@contextlib.contextmanager
def _written(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Context manager that turns the errors of writing a file into a CheckpointError."""
    try:
        yield path
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{path}: cannot be written ({getattr(error, 'strerror', None) or error}); free space"
            " or choose another folder"
        ) from None
