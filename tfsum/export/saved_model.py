"""Writes a model as a SavedModel folder `NAME/VERSION`, atomically."""

import contextlib
import hashlib
import json
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Protocol

import tensorflow as tf

import tfsum
from tfsum.atomic_files import new_path
from tfsum.errors import ExportError, require
from tfsum.export import golden
from tfsum.export.compact_graph import compact_graph
from tfsum.export.model_card import CardOf, write_card
from tfsum.export.stored_weights import StoredWeights
from tfsum.formats.config_json import read_json
from tfsum.formats.text_settings import piece_file, read_pieces, read_text_settings
from tfsum.inference.exported_model import EagerModel
from tfsum.inference.saved_model import numbered
from tfsum.tensorflow_messages import message
from tfsum.text.word_piece import WordPiece

FORMAT_VERSION = 1
VOCABULARIES = ("vocab.txt", "target_vocab.txt")  # the second if the target has its own


class ExportedModule(Protocol):
    """A `tf.Module` that can be exported."""

    weights: StoredWeights

    def signatures(self) -> dict[str, Callable]:
        """Returns the functions of the SavedModel by their names."""


def write_export(
    module: ExportedModule,
    golden_part: golden.Golden,
    card: CardOf,
    source: pathlib.Path,
    destination: pathlib.Path,
    settings: dict,
    exported: dict,
) -> pathlib.Path:
    """Writes a module as a SavedModel with its assets, and verifies it before it gets its name.

    Args:
        module: Graph to be exported.
        golden_part: Requests of the task that verify and warm up the export.
        card: Function that makes the task's part of the model card.
        source: Model folder, whose vocabularies are copied.
        destination: Folder to write, `.../NAME/VERSION`.
        settings: Result of `read_settings`.
        exported: Settings of the export for assets.extra/tfsum.json: `kind`, `ops`, `storage`,
            `text` and those of the task.

    Returns:
        The destination.

    Raises:
        ExportError: The export cannot be written or verified.

    Example:
        >>> import tfsum
        >>> tfsum.export_model("no_such_folder", "served/news")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors...
    """
    description = _describe(module, source, settings, exported)
    with whole_or_nothing(destination) as part:
        tf.saved_model.save(module, str(part), signatures=module.signatures())
        compact_graph(part)

        for name in VOCABULARIES:
            file = piece_file(source / name)
            if file.suffix == ".json":
                lines = "\n".join(read_pieces(file)) + "\n"
                (part / "assets" / name).write_text(lines, encoding="utf-8", newline="\n")
            elif file.is_file():
                shutil.copyfile(file, part / "assets" / name)

        extra = part / "assets.extra"
        extra.mkdir()
        write_json(extra / "tfsum.json", description)

        loaded = EagerModel(part, description)
        recorded = golden.record(
            loaded,
            golden_part.requests(description),
            golden_part.ask,
            getattr(golden_part, "SEARCHED", ()),
        )
        write_json(extra / "golden.json", recorded)

        # one text and two, since a server may merge requests
        with tf.io.TFRecordWriter(str(extra / "tf_serving_warmup_requests")) as file:
            for texts in (golden.TEXTS[:1], golden.TEXTS[:2]):
                for signature, inputs in golden_part.warmup(description, list(texts)):
                    file.write(warmup_request(destination.parent.name, signature, inputs))

        golden.verify_export(part, description, golden_part, loaded)
        write_card(destination, description, source, card)
    return destination


def version_folder(destination: str | pathlib.Path) -> pathlib.Path:
    """Resolves the destination of an export.

    Args:
        destination: Folder `.../NAME/VERSION`, or `.../NAME` for the next integer.

    Returns:
        Path `.../NAME/VERSION`, which does not exist.

    Raises:
        ExportError: The version exists already.

    Example:
        >>> version_folder("a_new_model").name
        '1'
    """
    path = pathlib.Path(destination)
    if not (path.name.isascii() and path.name.isdigit()):
        require(
            not path.exists() or path.is_dir(),
            f"{path}: is a file; expected a folder NAME or NAME/VERSION",
            ExportError,
        )
        path = path / str(max(numbered(path), default=0) + 1)

    require(
        not path.exists(),
        f"{path}: already exists; a version never changes: give another number, or "
        f"{path.parent} alone for the next one",
        ExportError,
    )
    return path


def read_settings(source: pathlib.Path) -> dict:
    """Reads the settings of a model folder.

    Text settings that tfsum.json lacks are read from the other files of the folder.

    Args:
        source: Model folder.

    Returns:
        Content of tfsum.json with the section "text".

    Raises:
        ExportError: The folder has no vocabulary.
        CheckpointError: A file with text settings is broken.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "vocab.txt").write_text("[PAD]\\nthe\\n")
        ...     read_settings(pathlib.Path(folder))
        {'text': {'lowercase': True, 'strip_accents': None}}
    """
    require(
        piece_file(source / "vocab.txt").is_file(),
        f"{source}: has no vocab.txt (nor tokenizer.json); an export needs a whole model folder"
        " (config.json, model.safetensors, vocab.txt, tfsum.json)",
        ExportError,
    )

    path = source / "tfsum.json"
    settings = read_json(path) if path.exists() else {}
    return {**settings, "text": {**read_text_settings(source), **(settings.get("text") or {})}}


def read_word_piece(source: pathlib.Path, text: dict, ops: str, rows: int) -> WordPiece:
    """Reads the tokenizer of a model folder.

    Args:
        source: The model folder.
        text: Text settings.
        ops: Operations of the tokenizer, "core" or "text".
        rows: Rows of the model's embedding table.

    Raises:
        ExportError: The vocabulary has more pieces than the table has rows.
    """
    file = source / "vocab.txt"
    case = {name: text[name] for name in ("lowercase", "strip_accents")}
    word_piece = WordPiece.from_file(file, ops=ops, **case)
    if len(word_piece.vocabulary) > rows:
        check_rows(file, len(word_piece.vocabulary), rows)
    return word_piece


def check_rows(path: pathlib.Path, pieces: int, rows: int) -> None:
    """Checks that a vocabulary has as many pieces as an embedding table has rows.

    Args:
        path: File of the vocabulary.
        pieces: Number of its pieces.
        rows: Number of rows of the model's table.

    Raises:
        ExportError: The numbers differ.

    Example:
        >>> check_rows(pathlib.Path("vocab.txt"), 8, 8)
    """
    require(
        pieces == rows,
        f"{path}: {pieces} word pieces, and the model has {rows} rows for them; take the"
        " vocabulary that it was trained with",
        ExportError,
    )


def window_of(source: pathlib.Path, text: dict, longest: int) -> int:
    """The tokens of a window: those of training, or the most that the model reads.

    Args:
        source: The model folder, which the message names.
        text: Text settings.
        longest: Tokens that the model reads.

    Raises:
        ExportError: The model does not read as many.

    Example:
        >>> window_of(pathlib.Path("best"), {"window_length": 128}, 512)
        128
    """
    window = int(text.get("window_length") or longest)
    require(
        window <= longest,
        f"{source}/tfsum.json: window_length is {window}; the model reads {longest}",
        ExportError,
    )
    return window


def _describe(module: ExportedModule, source: pathlib.Path, settings: dict, exported: dict) -> dict:
    """The content of assets.extra/tfsum.json: settings of the model folder and of the export."""
    recipe = json.dumps(settings["recipe"], sort_keys=True) if "recipe" in settings else None
    return {
        **settings,
        "format_version": FORMAT_VERSION,
        "tfsum": tfsum.__version__,
        "tensorflow": tf.__version__,
        **exported,
        "recipe_sha256": hashlib.sha256(recipe.encode()).hexdigest() if recipe else None,
        "config": json.loads((source / "config.json").read_text(encoding="utf-8")),
        "weights": module.weights.table(),
    }


def warmup_request(name: str, signature: str, inputs: dict) -> bytes:
    """Serializes one request that TensorFlow Serving runs before it serves a model.

    Args:
        name: Name of the model on the server.
        signature: Name of the signature to call.
        inputs: Name -> array, the batch as dimension 0.

    Returns:
        Bytes of a `PredictionLog`, a record of the file tf_serving_warmup_requests.

    Source: tensorflow_serving/servables/tensorflow/saved_model_warmup.cc.

    Example:
        >>> log = message("PredictionLog").FromString(
        ...     warmup_request("news", "score", {"text": ["a"]})
        ... )
        >>> log.predict_log.request.model_spec.signature_name
        'score'
    """
    log = message("PredictionLog")()
    predict = log.predict_log.request
    predict.model_spec.name = name
    predict.model_spec.signature_name = signature
    for key, value in inputs.items():
        predict.inputs[key].ParseFromString(tf.make_tensor_proto(value).SerializeToString())
    return log.SerializeToString()


def write_json(path: pathlib.Path, value: dict) -> None:
    """Writes an object as indented JSON.

    Args:
        path: File to write.
        value: Object to write.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_json(pathlib.Path(folder, "a.json"), {"text": "안녕"})
        ...     pathlib.Path(folder, "a.json").read_text(encoding="utf-8").split()
        ['{', '"text":', '"안녕"', '}']
    """
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@contextlib.contextmanager
def whole_or_nothing(destination: pathlib.Path) -> Iterator[pathlib.Path]:
    """Context manager of a temporary folder that becomes `destination`, or is removed on failure.

    Args:
        destination: Folder to write.

    Yields:
        The temporary folder.

    Raises:
        ExportError: The folder cannot be written; errors of tfsum pass through.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with whole_or_nothing(pathlib.Path(folder, "model", "1")) as part:
        ...         _ = (part / "file").write_text("content")
        ...     pathlib.Path(folder, "model", "1", "file").read_text()
        'content'
    """
    try:
        # a server that watches NAME ignores names that are no integers, as that of this path is not
        with new_path(destination) as part:
            part.mkdir()
            yield part
    except (OSError, tf.errors.OpError) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise ExportError(
            f"{destination}: cannot be written ({reason}); nothing was left behind. Free space"
            " or choose another folder"
        ) from error
