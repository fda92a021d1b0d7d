"""A corpus as shards of records: interruptible at any moment, and everything counted;
and vocabularies that are learned from one."""

import collections
import functools
import itertools
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import tqdm
from filelock import AcquireReturnProxy, FileLock, Timeout

from tfsum.data.corpus_files import file_digests
from tfsum.data.settings import Processes, Shards
from tfsum.data.shards import Manifest, RecordWriter, ShardRunner, ShardWork, run_shards
from tfsum.errors import DataError, Error, require
from tfsum.formats.text_settings import piece_file, read_text_settings
from tfsum.settings import Checked
from tfsum.terminal_size import bar_size

LOCK = ".lock"  # of a folder of records that is being written
FEW = 3  # wrong rows that are printed


def batched(items: Iterable[Any], size: int = 32, unit: str = "") -> Iterator[list[Any]]:
    """Lists of `size` items, the last one of what is left.

    Args:
        items: Items, one after another.
        size: Items of a list at most.
        unit: Name of the items in a progress bar on standard error; without it there is none.

    Example:
        >>> list(batched("abcde", 2))
        [['a', 'b'], ['c', 'd'], ['e']]
    """
    if unit:
        items = tqdm.tqdm(items, unit=f" {unit}", file=sys.stderr, **bar_size())
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch


def pass_over(problem: str) -> None:
    """Does nothing about a wrong row, which another reading of its file counts.

    Args:
        problem: What is wrong with it.

    Example:
        >>> pass_over("a.jsonl:2: found null, expected an object with named fields")
    """


class EachOnce:
    """Passes each document that can be used once, and counts the others by the first reason.

    Args:
        left_out: Counts by reason, to which is added.
        *reasons: All reasons, the one of a repeated document last.

    Example:
        >>> left_out = collections.Counter()
        >>> once = EachOnce(left_out, "empty", "duplicates")
        >>> once.passes(b"a", empty=False), once.passes(b"a", empty=False), dict(left_out)
        (True, False, {'empty': 0, 'duplicates': 1})
    """

    def __init__(self, left_out: collections.Counter, *reasons: str) -> None:
        self._left_out, self._repeated = left_out, reasons[-1]
        self._seen: set[bytes] = set()
        left_out.update(dict.fromkeys(reasons, 0))

    def passes(self, key: bytes, **faults: bool) -> bool:
        """Whether a document can be used and is new.

        Args:
            key: Fingerprint of the document.
            **faults: Reason -> whether it applies.
        """
        faults[self._repeated] = key in self._seen
        reasons = [name for name, applies in faults.items() if applies]
        self._left_out.update(reasons[:1])
        if not reasons:
            self._seen.add(key)
        return not reasons


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
    stored = read_text_settings(vocabulary, lowercase, strip_accents)
    lower = {"lowercase": bool(stored["lowercase"]), "strip_accents": bool(stored["lowercase"])}
    return lower | {name: value for name, value in stored.items() if value is not None}


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
    require(
        file.is_file(),
        f"{file}: no such vocabulary; expected a vocab.txt or the folder that holds one",
        DataError,
    )

    return file


def shard_names(kind: str, shards: int) -> list[str]:
    """The file names of the shards of some kind of records, in order.

    Example:
        >>> shard_names("pairs", 2)
        ['pairs-00000-of-00002.tfrecord', 'pairs-00001-of-00002.tfrecord']
    """
    return [f"{kind}-{shard:05d}-of-{shards:05d}.tfrecord" for shard in range(shards)]


class Preparation(Checked):
    """The options by which a corpus becomes records; each task has its own.

    Attributes:
        shards: Number of files.
        processes: Number of processes that work at once; 1 works in this one.
        progress: Whether to show a bar on standard error.

    Raises:
        Error: An option is unknown or impossible.
    """

    shards: Shards = 8
    processes: Processes = 1
    progress: bool = True

    def write(
        self,
        corpus: str | pathlib.Path,
        out_dir: str | pathlib.Path,
        vocabulary: str | pathlib.Path,
        run: ShardRunner | None = None,
    ) -> dict[str, int]:
        """Writes a corpus as records; a second call continues where the first was stopped.

        Args:
            corpus: A corpus file.
            out_dir: Folder of the shards and of `manifest.json`, one folder for each corpus.
            vocabulary: A vocab.txt, or the folder that holds one.
            run: Writes the shards in the place of `processes`, see `tfsum.beam.prepare`.

        Returns:
            The counts of what was written, cut and left out.

        Raises:
            DataError: The corpus or the vocabulary cannot be read, or no document can be used.
            Error: `out_dir` was prepared with other settings.
        """
        raise NotImplementedError


def write_records(
    preparation: Preparation,
    out_dir: str | pathlib.Path,
    settings: dict[str, Any],
    files: Mapping[str, str | pathlib.Path | None],
    documents: Callable[[collections.Counter, Callable[[str], None]], Iterator[Any]],
    names_for: Callable[[int], list[str]],
    make_writer: Callable[[], RecordWriter],
    nothing: str,
    run: ShardRunner | None,
) -> dict[str, int]:
    """Writes the records of a corpus; a second call continues where the first was stopped.

    A folder that is finished is left as it is, and its counts are those of its manifest.

    Args:
        preparation: Says how many processes work, and whether a bar is shown.
        out_dir: Folder of the shards and of `manifest.json`.
        settings: Everything that decides what the records hold, but for the files.
        files: Files that do, by their name in the settings; None where there is none.
        documents: Reads the documents that are written, counts those left out by reason, and tells
            what is wrong with rows that cannot be read. It is called twice: to count, and to write.
        names_for: Function from the number of documents to the file names of the shards; it raises
            where no record can be made of so many.
        make_writer: Makes the writer of a process; it must be picklable where there are several.
        nothing: Message where no document can be used, with {} for the counts of those left out.
        run: Writes the shards elsewhere than in processes of this machine, such as `tfsum.beam`'s.

    Returns:
        The counts: those of the writer, those left out by reason (`wrong_rows` cannot be read), and
        their sum as `dropped`.

    Raises:
        DataError: A file cannot be read, or no document can be used.
        Error: `out_dir` was prepared with other settings or cannot be written, or a process died.
    """
    settings = settings | file_digests(files)
    manifest = Manifest.open(out_dir, settings)
    if manifest.is_finished():
        return manifest.counts

    # A second call in the same folder waits, and finds the records of the first.
    with _locked(manifest.folder, preparation.progress):
        manifest = Manifest.open(out_dir, settings)
        if manifest.is_finished():
            return manifest.counts

        left_out, wrong = collections.Counter[str](), list[str]()
        size = sum(1 for _ in documents(left_out, wrong.append))
        left_out["wrong_rows"] = len(wrong)
        if not size:
            counted = ", ".join(f"{count} {name}" for name, count in left_out.items())
            found = f"{files['corpus']}: {nothing.format(f'(left out: {counted})')}"
            raise DataError("; ".join([found, *wrong[:1]]))
        names = names_for(size)
        manifest.forget_missing(names)
        work = ShardWork(
            manifest.folder,
            manifest.settings_hash,
            names,
            frozenset(manifest.shards),
            size,
            functools.partial(documents, collections.Counter(), pass_over),
            make_writer,
        )
        with tqdm.tqdm(
            total=size,
            unit=" documents",
            disable=not preparation.progress,
            file=sys.stderr,
            **bar_size(),
        ) as bar:
            bar.update(sum(counts["read"] for counts in manifest.shards.values()))
            write = run or functools.partial(run_shards, processes=preparation.processes)
            for path, counts in write(work):
                manifest.add(pathlib.Path(path).name, counts)
                bar.update(counts["read"])
        if wrong and preparation.progress:
            count = f"tfsum: {len(wrong)} row(s) could not be read, the first:"
            print(count, *wrong[:FEW], sep="\n  ", file=sys.stderr)
        return manifest.finish(left_out)


def _locked(folder: pathlib.Path, progress: bool) -> AcquireReturnProxy:
    """Locks a folder of records, after another process that has it; a `with` block holds it."""
    lock = FileLock(folder / LOCK)
    try:
        return lock.acquire(blocking=False)
    except Timeout:
        if progress:
            print(
                f"{folder}: another process writes these records; waiting for it", file=sys.stderr
            )
        return lock.acquire()
    except OSError as error:
        raise Error(
            f"{folder}: cannot be written ({error.strerror}); choose another folder of records"
        ) from None


def learned_vocabularies(
    folder: str | pathlib.Path,
    settings: dict[str, Any],
    files: Mapping[str, str | pathlib.Path | None],
    vocabularies: Mapping[str, tuple[Iterable[str], int]],
    **options: Any,
) -> list[pathlib.Path]:
    """Learns vocabularies; a second call finds them done.

    Args:
        folder: Directory of the pieces and their manifest.
        settings: Everything that decides what they hold, but for the files.
        files: Files that do, by their name in the settings; None where there is none.
        vocabularies: File name -> texts and number of pieces.
        **options: Arguments of `learn_vocabulary`.

    Returns:
        The files.

    Raises:
        Error: `folder` holds vocabularies that were learned otherwise, or see `learn_vocabulary`.

    Example:
        >>> import tempfile
        >>> vocabularies = {"vocab.txt": (["it rained", "it rained"], 400)}
        >>> (file,) = learned_vocabularies(
        ...     tempfile.mkdtemp(), {"size": 400}, {}, vocabularies, lowercase=True
        ... )
        >>> file.name, file.read_text().split()[0]
        ('vocab.txt', '[PAD]')
    """
    from tfsum.text.vocabulary import learn_vocabulary, write_vocabulary  # loads TensorFlow

    manifest = Manifest.open(folder, file_digests(files) | settings)
    manifest.forget_missing(list(vocabularies))
    for name, (texts, size) in vocabularies.items():
        if name not in manifest.shards:
            pieces = learn_vocabulary(texts, size, **options)
            write_vocabulary(pieces, manifest.folder / name)
            manifest.add(name, {"pieces": len(pieces)}, editable=True)
    if not manifest.counts:
        manifest.finish({})

    return [manifest.folder / name for name in vocabularies]
