"""The shards of a corpus: the manifest of the finished ones, and the writing of the others, by one
process or by several.

No TensorFlow is loaded with this module: a worker process imports it before it settles how
TensorFlow works.
"""

import collections
import concurrent.futures
import dataclasses
import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pydantic

from tfsum.atomic_files import remove_parts, write_atomically
from tfsum.errors import DataError, Error, as_error
from tfsum.loading import load_tensorflow

FILE_NAME = "manifest.json"


class Manifest(pydantic.BaseModel):
    """What `manifest.json` says.

    Attributes:
        folder: The folder.
        settings: Everything that decides what the records hold, file digests included.
        shards: Counts of each finished shard, by file name.
        files: Size in bytes and SHA-256 of each finished shard, by file name; those of folders that
            are older than these checks are missing.
        counts: The total, once all shards are finished.

    Example:
        >>> import tempfile
        >>> manifest = Manifest.open(tempfile.mkdtemp(), {"shards": 1})
        >>> _ = (manifest.folder / "a.tfrecord").write_bytes(b"records")
        >>> manifest.add("a.tfrecord", {"documents": 5, "read": 6})
        >>> manifest.finish({"empty": 2})
        {'empty': 2, 'documents': 5, 'dropped': 2}
        >>> Manifest.open(manifest.folder, {"shards": 2})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.Error: ...: was prepared with other settings: shards 1 (now 2); choose ...
    """

    folder: pathlib.Path = pathlib.Path()
    settings: dict[str, Any]
    shards: dict[str, dict[str, int]]
    counts: dict[str, int] = {}
    files: dict[str, list] = {}

    @classmethod
    def open(cls, folder: str | pathlib.Path, settings: dict[str, Any]) -> "Manifest":
        """Reads the manifest of `folder`, or makes a new one.

        Raises:
            DataError: If the file is no manifest.
            Error: If it was made with other settings, or the folder cannot be made.
        """
        folder = pathlib.Path(folder)
        with as_error(
            f"{folder}: cannot be made a folder of records", OSError, cure="; choose another"
        ):
            folder.mkdir(parents=True, exist_ok=True)

        file = folder / FILE_NAME
        if not file.exists():
            return cls(folder=folder, settings=settings, shards={})
        try:
            manifest = cls.model_validate_json(file.read_bytes())
        except pydantic.ValidationError as error:
            raise DataError(
                f"{file}: not a manifest of tfsum prepare ({error.errors()[0]['msg']}); remove it"
                " to start over"
            ) from error

        stored = manifest.settings
        if names := sorted(n for n in settings | stored if settings.get(n) != stored.get(n)):
            changes = ", ".join(
                f"{name} {stored.get(name)!r} (now {settings.get(name)!r})" for name in names
            )
            raise Error(
                f"{folder}: was prepared with other settings: {changes}; choose another folder "
                "(of a recipe: --set data.records=FOLDER) or remove it"
            )

        manifest.folder, manifest.settings = folder, settings
        return manifest

    @property
    def settings_hash(self) -> str:
        """SHA-256 of the settings."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    def is_finished(self) -> bool:
        """Whether all shards were finished and are still as they were written."""
        return bool(self.counts) and all(map(self._is_whole, self.shards))

    def forget_missing(self, names: list[str]) -> None:
        """Drops shards whose file is gone or changed, and half-written files of a killed run."""
        self.shards = {
            name: counts
            for name, counts in self.shards.items()
            if name in names and self._is_whole(name)
        }
        for name in names:
            remove_parts(self.folder / name)

    def add(self, name: str, counts: dict[str, int], editable: bool = False) -> None:
        """Notes a finished shard, or a file that users may edit, which then is not checked."""
        self.shards[name] = counts
        if not editable:
            self.files[name] = self._size_and_digest(name)
        self._write({})

    def finish(self, left_out: dict[str, int]) -> dict[str, int]:
        """Adds up the shards and what the corpus left out.

        Args:
            left_out: Documents left out of all shards, by reason.

        Returns:
            The total counts, as written in the file under `counts`.
        """
        total = collections.Counter(left_out)
        for counts in self.shards.values():
            total.update(counts)

        total.pop("read", None)
        total["dropped"] = sum(total[reason] for reason in left_out)
        self._write(dict(total))

        return self.counts

    def _is_whole(self, name: str) -> bool:
        return (self.folder / name).is_file() and (
            name not in self.files or self.files[name] == self._size_and_digest(name)
        )

    def _size_and_digest(self, name: str) -> list:
        path = self.folder / name
        return [path.stat().st_size, digest(path)]

    def _write(self, counts: dict[str, int]) -> None:
        """Writes the file whole; `counts` is empty until all shards are done."""
        self.counts = counts
        content = {
            "format": 1,
            "settings": self.settings,
            "settings_hash": self.settings_hash,
            "counts": counts,
            "shards": dict(sorted(self.shards.items())),
            "files": {name: self.files[name] for name in sorted(self.shards) if name in self.files},
        }
        file = self.folder / FILE_NAME
        with as_error(
            f"{file}: cannot be written",
            OSError,
            cure=(
                "; make room, or choose another folder, and call again: the finished shards are"
                " kept"
            ),
        ):
            write_atomically(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def digest(path: str | pathlib.Path) -> str:
    """SHA-256 of a file, so that a corpus or vocabulary is known by what it holds.

    Raises:
        DataError: If the file cannot be read.
    """
    reading = as_error(f"{path}: cannot be read", OSError, kind=DataError, cure="; expected a file")
    with reading, open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class RecordWriter:
    """Makes records of documents and writes them as shards; one a process.

    A subclass gives `count_names` and `records`.

    Args:
        settings: Settings that the task's `prepare` collects; `lowercase` and `strip_accents` are
            those of the tokenizers.
            `newline`, where there is one, that of the sentence splitter.
        vocabularies: Files of their word pieces.

    Attributes:
        count_names: Names of the counts, in the order of the manifest.
        settings: Settings of the preparation.
        word_pieces: A tokenizer for each vocabulary.
        splitter: A `SentenceSplitter`.

    Example:
        >>> import tempfile
        >>> class Bytes(RecordWriter):
        ...     count_names = ("bytes",)
        ...
        ...     def records(self, name, documents, counts):
        ...         for document in documents:
        ...             counts["bytes"] += len(document)
        ...             yield document
        >>> writer = Bytes({"lowercase": True, "strip_accents": True}, [])
        >>> writer.write(tempfile.mkdtemp() + "/a.tfrecord", [b"abc", b"d"])
        {'bytes': 4, 'read': 2}
    """

    count_names: tuple[str, ...] = ()

    def __init__(self, settings: Mapping[str, Any], vocabularies: Sequence[str]) -> None:
        from tfsum.text.sentence_splitter import SentenceSplitter
        from tfsum.text.word_piece import WordPiece

        self.settings = settings
        case = {name: settings[name] for name in ("lowercase", "strip_accents")}
        self.word_pieces = [WordPiece.from_file(file, **case) for file in vocabularies]
        self.splitter = SentenceSplitter(newline=settings.get("newline", "sentence"))

    def records(
        self, name: str, documents: Iterator[Any], counts: collections.Counter
    ) -> Iterator[bytes]:
        """Makes the records of a shard.

        Args:
            name: The file name of the shard.
            documents: Documents of the shard.
            counts: Counts to add to.

        Yields:
            Serialized records.
        """
        raise NotImplementedError

    def write(self, path: str, documents: Iterable[Any]) -> dict[str, int]:
        """Writes a shard whole; returns its counts, the documents as `read` among them."""
        from tfsum.data.records import write_shard

        counts = collections.Counter(dict.fromkeys((*self.count_names, "read"), 0))

        def read() -> Iterator[Any]:
            for document in documents:
                counts["read"] += 1
                yield document

        write_shard(path, self.records(pathlib.Path(path).name, read(), counts))
        return dict(counts)


@dataclasses.dataclass(frozen=True)
class ShardWork:
    """The shards of a corpus that are still to be written.

    Attributes:
        folder: Directory of the shards.
        settings_hash: Hash of everything that decides what the records hold.
        names: The file names of all shards.
        done: File names of the finished shards.
        size: Number of documents.
        documents: Reads the documents in order.
        make_writer: Makes the writer of a process.

    Example:
        >>> folder, read = pathlib.Path("records"), lambda: iter("12345")
        >>> work = ShardWork(folder, "", ["a", "b"], frozenset(), 5, read, None)
        >>> [(name, list(documents)) for name, documents in work.parts()]
        [('records/a', ['1', '2']), ('records/b', ['3', '4', '5'])]
    """

    folder: pathlib.Path
    settings_hash: str
    names: list[str]
    done: frozenset[str]
    size: int
    documents: Callable[[], Iterator[Any]]
    make_writer: Callable[[], RecordWriter]

    def end(self, shard: int) -> int:
        """Returns the number of documents in the shards up to this one.

        Sizes differ by one at most.
        """
        return (shard + 1) * self.size // len(self.names)

    def parts(self) -> Iterator[tuple[str, Iterator[Any]]]:
        """The path and the documents of each shard, in order, to be read before the next one's."""
        documents = self.documents()
        for shard, name in enumerate(self.names):
            part = itertools.islice(documents, self.end(shard) - self.end(shard - 1))
            if name not in self.done:
                yield str(self.folder / name), part
            collections.deque(part, maxlen=0)  # those of a shard that is finished are passed over


ShardRunner = Callable[[ShardWork], Iterator[tuple[str, dict[str, int]]]]
"""Writes shards; yields the path and the counts of each as it is done."""


def run_shards(work: ShardWork, processes: int) -> Iterator[tuple[str, dict[str, int]]]:
    """Writes the shards on this machine.

    Args:
        work: Shards to write.
        processes: Number of processes that work at once; 1 works in this one.

    Yields:
        Path and counts of each shard, as it is done.

    Raises:
        Error: A process died; the finished shards are kept.
    """
    if processes == 1:
        writer = functools.cache(work.make_writer)
        for path, documents in work.parts():
            yield path, writer().write(path, documents)
        return

    pool = concurrent.futures.ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), _start_process, (work.make_writer,)
    )
    waiting: dict[concurrent.futures.Future, str] = {}
    parts = work.parts()
    try:
        while True:
            # One shard more than the busy ones is read ahead: the corpus is never in memory whole.
            for path, documents in itertools.islice(parts, processes + 1 - len(waiting)):
                waiting[pool.submit(_write_in_process, path, list(documents))] = path
            if not waiting:
                return
            done, _ = concurrent.futures.wait(
                waiting, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in done:
                yield waiting.pop(future), future.result()
    except concurrent.futures.process.BrokenProcessPool as error:
        raise Error(
            "prepare: a worker process died (out of memory, or killed); the finished shards are"
            " kept: call again, with fewer processes or more shards"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_writer: Any = None  # how to make the writer of a worker process, cached


def _start_process(make_writer: Callable[[], RecordWriter]) -> None:
    """Prepares a worker process: one thread, as others share the machine; an interrupt ends it at
    once.

    Its writer is made with the first shard, so that an error in it reaches the caller as it is.
    """
    global _writer
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    load_tensorflow()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    _writer = functools.cache(make_writer)


def _write_in_process(path: str, documents: list[Any]) -> dict[str, int]:
    return _writer().write(path, documents)
