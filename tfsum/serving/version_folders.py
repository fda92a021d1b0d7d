"""Folders NAME/VERSION of exported models: which exist, which are complete, which a policy serves,
how one is loaded, with a look at its answers, and how it is warmed up."""

import logging
import pathlib
import re
import threading
from collections.abc import Iterable, Iterator

from tfsum.errors import ExportError, as_error, require
from tfsum.export.golden import Ask, Golden, check_answers
from tfsum.inference.c_session import CallError, can_open
from tfsum.inference.exported_model import open_model
from tfsum.inference.saved_model import numbered
from tfsum.serving.servable import Servable
from tfsum.serving.tensor_proto import from_proto
from tfsum.tasks import task_of_export
from tfsum.tensorflow_messages import message

LOG = logging.getLogger("tfsum.serving")

LENGTH, CHECKSUM = 8, 4  # bytes: of the length of a record, and after it and the record
SHARD = re.compile(r"variables/variables\.data-\d{5}-of-(\d{5})", re.ASCII)

# (path, bytes, nanoseconds of the last change) of each file of a folder
Fingerprint = tuple[tuple[str, int, int], ...]


def find_models(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Finds the models of a folder.

    Args:
        folder: Directory with folders NAME/VERSION, or one NAME with folders VERSION.

    Returns:
        Name -> folder of the model.

    Raises:
        Error: There is no such folder.

    Example:
        >>> from tfsum.shipped_files import SAVED_MODELS
        >>> "bert_sum_ext_news_en" in find_models(SAVED_MODELS)
        True
        >>> list(find_models(SAVED_MODELS / "bert_sum_ext_news_en"))
        ['bert_sum_ext_news_en']
    """
    require(
        folder.is_dir(),
        f"{folder}: no such folder; expected one with folders NAME/VERSION of exported models",
    )
    if numbered(folder):
        return {folder.resolve().name: folder}

    return {
        path.name: path for path in sorted(folder.iterdir()) if path.is_dir() and numbered(path)
    }


def fingerprint(folder: pathlib.Path) -> Fingerprint:
    """Lists the files of a version; a different result means that a file has changed.

    Args:
        folder: Folder NAME/VERSION.

    Returns:
        Path, size in bytes and time in nanoseconds of each file; empty if the folder is not a
        complete SavedModel.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> [path for path, _, _ in fingerprint(shipped_model())][-1]
        'variables/variables.index'
    """
    try:
        stats = {
            file.relative_to(folder).as_posix(): file.stat()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
    except OSError:
        return ()

    complete = "saved_model.pb" in stats
    if (folder / "variables").is_dir():
        # the files of the weights end in -00000-of-00002, -00001-of-00002
        counts = [int(match[1]) for match in map(SHARD.fullmatch, stats) if match]
        complete &= "variables/variables.index" in stats and counts[:1] == [len(counts)]
    if "assets.extra/golden.json" in stats:  # tfsum wrote it
        complete &= "assets.extra/tfsum.json" in stats
    if not complete:
        return ()
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items())


def select_versions(versions: Iterable[int], policy: str) -> set[int]:
    """The versions that a policy serves.

    Args:
        versions: Numbers of the versions that exist.
        policy: "latest:N", "all" or "specific:N,M".

    Example:
        >>> sorted(select_versions([17, 30, 33, 42], "latest:3"))
        [30, 33, 42]
        >>> sorted(select_versions([17, 30], "specific:17,99"))
        [17]
    """
    kind, _, text = policy.partition(":")
    if kind == "specific":
        return {int(number) for number in text.split(",") if number} & set(versions)
    if kind == "latest":
        versions = sorted(versions)[-int(text or "1") :]
    return set(versions)


def load_servable(
    name: str, version: int, path: pathlib.Path, compute: str = "float32"
) -> Servable:
    """Loads a version, and verifies its answers in float32 by the signatures that a server calls.

    Args:
        name: Name of the model.
        version: Number of the version.
        path: Folder `.../NAME/VERSION`.
        compute: "float32" or "bfloat16"; a model without core operations computes in float32.

    Raises:
        ExportError: One of these fails.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> load_servable("fr", 1, shipped_model("transformer_tatoeba_en_fr")).version
        1
    """
    servable = Servable(name, version, path)
    task = task_of_export(servable.description)
    part = task.golden() if task and task.golden else None
    if part is not None:
        # Wrong weights show in the answers. `tfsum verify` asks all signatures, and reads the list
        # of weights.
        causes = (ValueError, LookupError, CallError)
        with as_error(f"{path}: cannot be verified", *causes, kind=ExportError):
            check_answers(path, servable.description, part, servable.model, _ask_of(part))

    if compute != "float32" and can_open(servable.description):
        del servable.model  # frees its weights
        servable.model = open_model(path, servable.description, compute)
        if part is not None:  # the first call of a signature takes a second
            _ask_of(part)(servable.model, part.requests(servable.description)[:1])
    return servable


def _ask_of(part: Golden) -> Ask:
    """The function that asks a model by the signatures that a server calls."""
    return getattr(part, "ask_served", part.ask)


def warm_up(servable: Servable, stopped: threading.Event) -> None:
    """Runs the requests of assets.extra/tf_serving_warmup_requests, if there are any.

    The first call of a signature takes a second, whatever its texts are, in which TensorFlow begins
    no other call of the model. A request that fails is logged: a version answers without.

    Args:
        servable: Loaded model.
        stopped: Whether to leave out the requests that are left.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> servable = Servable("fr", 1, shipped_model("transformer_tatoeba_en_fr"))
        >>> warm_up(servable, threading.Event())
    """
    file = servable.path / "assets.extra" / "tf_serving_warmup_requests"
    count = 0
    try:
        for record in read_records(file) if file.is_file() else ():
            if stopped.is_set():
                return
            request = message("PredictionLog").FromString(record).predict_log.request
            servable.run(
                request.model_spec.signature_name or "serving_default",
                {name: from_proto(tensor) for name, tensor in request.inputs.items()},
            )
            count += 1
    except Exception as error:  # whatever is wrong with the file, the server goes on
        LOG.error(
            "model %s version %d answers, and is not warmed up: request %d of %s fails (%s); export"
            " the model again",
            servable.name,
            servable.version,
            count,
            file,
            error,
        )


def read_records(file: pathlib.Path) -> Iterator[bytes]:
    """Reads the records of a small TFRecord file, without a look at their checksums.

    Args:
        file: Path of the file.

    Yields:
        Bytes of a record.

    Raises:
        ValueError: The file ends within a record.

    Source: tensorflow/core/lib/io/record_writer.h.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> file = shipped_model() / "assets.extra" / "tf_serving_warmup_requests"
        >>> len([*read_records(file)])
        10
    """
    content, end = file.read_bytes(), 0
    while end < len(content):
        begin = end + LENGTH + CHECKSUM
        size = int.from_bytes(content[end : end + LENGTH], "little")
        end = begin + size + CHECKSUM
        if end > len(content):
            raise ValueError("truncated record")
        yield content[begin : begin + size]
