"""A corpus as shards of records: in parallel, interruptible at any moment, and everything counted.

No TensorFlow is loaded with this module: a worker process imports it before it settles how
TensorFlow works.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import itertools
import multiprocessing
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import tqdm
from filelock import FileLock, Timeout

from tfsum.data.corpus_files import corpus_digest
from tfsum.data.manifest import Manifest
from tfsum.errors import DataError, Error
from tfsum.formats.piece_files import piece_file
from tfsum.formats.text_settings import read_text_settings
from tfsum.quiet_tensorflow import load_tensorflow
from tfsum.terminal_size import bar_size

LOCK = ".lock"  # of a folder of records that is being written


class RecordWriter:
    """Makes records of documents and writes them as shards; one a process.

    A subclass gives `count_names` and `records`.

    Args:
        settings: Settings that the task's `prepare` collects; `lowercase` and `strip_accents` are
            those of the tokenizers.
        vocabularies: Files of their word pieces.

    Attributes:
        count_names: Names of the counts, in the order of the manifest.
        settings: Settings of the preparation.
        word_pieces: A tokenizer for each vocabulary.

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
        from tfsum.text.word_piece import WordPiece

        self.settings = settings
        case = {name: settings[name] for name in ("lowercase", "strip_accents")}
        self.word_pieces = [WordPiece.from_file(file, **case) for file in vocabularies]

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


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of `size` items, the last one of what is left.

    Example:
        >>> list(batched("abcde", 2))
        [['a', 'b'], ['c', 'd'], ['e']]
    """
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch


def check_settings(
    settings: Mapping[str, Any], least: Mapping[str, int], known: Mapping[str, Sequence[str | None]]
) -> None:
    """Checks arguments of a `prepare` before anything is read.

    Args:
        settings: Settings by name.
        least: The smallest value of some; None is always allowed.
        known: The values that others may have.

    Raises:
        Error: One is impossible.

    Example:
        >>> check_settings({"shards": 0}, {"shards": 1}, {})
        Traceback (most recent call last):
        tfsum.errors.Error: prepare: shards is 0; expected 1 or more
    """
    for name, smallest in least.items():
        if settings[name] is not None and settings[name] < smallest:
            raise Error(f"prepare: {name} is {settings[name]}; expected {smallest} or more")
    for name, values in known.items():
        if settings[name] not in values:
            *first, last = map(repr, values)
            raise Error(
                f"prepare: {name} is {settings[name]!r}; expected {', '.join(first)} or {last}"
            )


def case_settings(
    vocabulary: pathlib.Path, lowercase: bool | None, strip_accents: bool | None
) -> dict[str, bool]:
    """Settles how texts are lower-cased: as the caller says, or as the vocabulary was made.

    Args:
        vocabulary: The vocab.txt.
        lowercase: Argument of `prepare`.
        strip_accents: Argument of `prepare`.

    Returns:
        `lowercase` and `strip_accents`.

    Raises:
        CheckpointError: A file beside the vocabulary is broken.

    Example:
        >>> import tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "vocab.txt"
        >>> _ = file.write_text("[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\nRain\\n")
        >>> case_settings(file, None, None)
        {'lowercase': False, 'strip_accents': False}
    """
    stored = read_text_settings(vocabulary, lowercase)
    if strip_accents is None:
        strip_accents = stored["strip_accents"]
    lower = bool(stored["lowercase"])
    return {"lowercase": lower, "strip_accents": lower if strip_accents is None else strip_accents}


def vocabulary_file(path: str | pathlib.Path) -> pathlib.Path:
    """The file of pieces that `path` is, or the `piece_file` of the folder `path`.

    Raises:
        DataError: There is none.

    Example:
        >>> import tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "vocab.txt").write_text("[PAD]")
        >>> vocabulary_file(folder) == folder / "vocab.txt"
        True
    """
    path = pathlib.Path(path)
    file = piece_file(path / "vocab.txt" if path.is_dir() else path)
    if not file.is_file():
        raise DataError(
            f"{file}: no such vocabulary; expected a vocab.txt or the folder that holds one"
        )

    return file


def shard_names(kind: str, shards: int) -> list[str]:
    """The file names of the shards of some kind of records, in order.

    Example:
        >>> shard_names("pairs", 2)
        ['pairs-00000-of-00002.tfrecord', 'pairs-00001-of-00002.tfrecord']
    """
    return [f"{kind}-{shard:05d}-of-{shards:05d}.tfrecord" for shard in range(shards)]


@dataclasses.dataclass(frozen=True)
class ShardWork:
    """The shards of a corpus that are still to be written.

    Attributes:
        folder: Directory of the shards.
        settings_hash: Hash of everything that decides what the records hold.
        names: The file names of all shards.
        done: File names of the finished shards.
        size: Number of documents.
        documents: Reads the documents in order, and counts those left out.
        make_writer: Makes the writer of a process.

    Example:
        >>> folder, read = pathlib.Path("records"), lambda left_out: iter("12345")
        >>> work = ShardWork(folder, "", ["a", "b"], frozenset(), 5, read, None)
        >>> [(name, list(documents)) for name, documents in work.parts()]
        [('records/a', ['1', '2']), ('records/b', ['3', '4', '5'])]
    """

    folder: pathlib.Path
    settings_hash: str
    names: list[str]
    done: frozenset[str]
    size: int
    documents: Callable[[collections.Counter], Iterator[Any]]
    make_writer: Callable[[], RecordWriter]

    def end(self, shard: int) -> int:
        """Returns the number of documents in the shards up to this one.

        Sizes differ by one at most.
        """
        return (shard + 1) * self.size // len(self.names)

    def parts(self) -> Iterator[tuple[str, Iterator[Any]]]:
        """The path and the documents of each shard, in order, to be read before the next one's."""
        documents = self.documents(collections.Counter())
        for shard, name in enumerate(self.names):
            part = itertools.islice(documents, self.end(shard) - self.end(shard - 1))
            if name not in self.done:
                yield str(self.folder / name), part
            collections.deque(part, maxlen=0)  # those of a shard that is finished are passed over


ShardRunner = Callable[[ShardWork], Iterator[tuple[str, dict[str, int]]]]
"""Writes shards; yields the path and the counts of each as it is done."""


def write_records(
    out_dir: str | pathlib.Path,
    settings: dict[str, Any],
    files: Mapping[str, str | pathlib.Path | None],
    documents: Callable[[collections.Counter], Iterator[Any]],
    names_for: Callable[[int], list[str]],
    make_writer: Callable[[], RecordWriter],
    *,
    processes: int,
    progress: bool,
    needed: str,
    cure: str,
    run: ShardRunner | None = None,
) -> dict[str, int]:
    """Writes the records of a corpus; a second call continues where the first was stopped.

    A folder that is finished is left as it is, and its counts are those of its manifest.

    Args:
        out_dir: Folder of the shards and of `manifest.json`.
        settings: Everything that decides what the records hold, but for the files.
        files: Files that do, by their name in the settings; None where there is none.
        documents: Reads the documents that are written, and counts those left out by reason. It is
            called twice: to count, and to write.
        names_for: Function from the number of documents to the file names of the shards; it raises
            where no record can be made of so many.
        make_writer: Makes the writer of a process; it must be picklable where there are several.
        processes: Number of processes that work at once; 1 works in this one.
        progress: Whether to show a bar on standard error.
        needed, cure: What a document must have, and what helps where none has it, for the message.
        run: Writes the shards elsewhere than in processes of this machine, such as `tfsum.beam`'s.

    Returns:
        The counts: those of the writer, those left out by reason, and their sum as `dropped`.

    Raises:
        DataError: A file cannot be read, or no document can be used.
        Error: `out_dir` was prepared with other settings or cannot be written, or a process died.

    Example:
        See the `prepare` of a task, such as `tfsum.data.documents.prepare.prepare`.

    Example:
        >>> from tfsum.data.documents.prepare import prepare  # calls it
        >>> prepare("train.jsonl.gz", "records/train", "minilm/vocab.txt")  # doctest: +SKIP
        {'documents': 1000, 'sentences': 20000, ...}
    """
    digests = {name: None if file is None else corpus_digest(file) for name, file in files.items()}
    manifest = Manifest.open(out_dir, settings | digests)
    if manifest.is_finished():
        return manifest.counts

    # A second call in the same folder waits, and finds the records of the first.
    with _locked(manifest.folder, progress):
        manifest = Manifest.open(out_dir, settings | digests)
        if manifest.is_finished():
            return manifest.counts

        left_out: collections.Counter = collections.Counter()
        size = sum(1 for _ in documents(left_out))
        if not size:
            counted = ", ".join(f"{count} {name}" for name, count in left_out.items())
            raise DataError(
                f"{files['corpus']}: no document with {needed} (left out: {counted}); {cure}"
            )
        names = names_for(size)
        manifest.forget_missing(names)
        work = ShardWork(
            manifest.folder,
            manifest.settings_hash,
            names,
            frozenset(manifest.shards),
            size,
            documents,
            make_writer,
        )
        with tqdm.tqdm(
            total=size, unit=" documents", disable=not progress, file=sys.stderr, **bar_size()
        ) as bar:
            bar.update(sum(counts["read"] for counts in manifest.shards.values()))
            for path, counts in run(work) if run else _run(work, processes):
                manifest.add(pathlib.Path(path).name, counts)
                bar.update(counts["read"])
        return manifest.finish(left_out)


@contextlib.contextmanager
def _locked(folder: pathlib.Path, progress: bool) -> Iterator[None]:
    """Holds the lock of a folder of records inside the block; waits where another process has
    it."""
    lock = FileLock(folder / LOCK)
    try:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            if progress:
                print(
                    f"{folder}: another process writes these records; waiting for it",
                    file=sys.stderr,
                )
            lock.acquire()
    except OSError as error:
        raise Error(
            f"{folder}: cannot be written ({error.strerror}); choose another folder of records"
        ) from None

    try:
        yield
    finally:
        lock.release()


def _run(work: ShardWork, processes: int) -> Iterator[tuple[str, dict[str, int]]]:
    """Writes the shards, in this process or in several; yields (path, counts) as each is done."""
    if processes == 1:
        writer = functools.cache(work.make_writer)
        for path, documents in work.parts():
            yield path, writer().write(path, documents)
        return

    pool = concurrent.futures.ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), _start_process, (work.make_writer,)
    )
    waiting: dict[concurrent.futures.Future, str] = {}
    try:
        for path, documents in work.parts():
            waiting[pool.submit(_write_in_process, path, list(documents))] = path
            # One shard more than the busy ones is read ahead: the corpus is never in memory whole.
            if len(waiting) > processes:
                yield from _collect(waiting)
        while waiting:
            yield from _collect(waiting)
    except concurrent.futures.process.BrokenProcessPool as error:
        raise Error(
            "prepare: a worker process died (out of memory, or killed); the finished shards are"
            " kept: call again, with fewer processes or more shards"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _collect(waiting: dict[concurrent.futures.Future, str]) -> Iterator[tuple[str, dict[str, int]]]:
    """Waits for one shard or more, takes them out of `waiting` and yields their counts."""
    done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


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
