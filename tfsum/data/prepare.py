"""From a corpus file to sharded TFRecords with oracle labels, in parallel, interruptible and resumable."""

import collections
import concurrent.futures
import contextlib
import functools
import multiprocessing
import os
import pathlib
import signal
import sys
from collections.abc import Iterator

from tfsum.data.manifest import Manifest, digest
from tfsum.data.readers import fingerprint, read_corpus
from tfsum.errors import DataError, Error


def prepare(
    corpus: str | pathlib.Path,
    out_dir: str | pathlib.Path,
    vocabulary: str | pathlib.Path,
    *,
    labels: str = "greedy",
    summary_sentences: int = 3,
    temperature: float = 0.02,
    max_sentences: int = 1000,
    window_length: int = 512,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    newline: str = "sentence",
    shards: int = 8,
    processes: int = 1,
    columns: dict[str, str] | None = None,
    progress: bool = True,
) -> dict[str, int]:
    """Writes a corpus as records for extractive training; a second call goes on where the first was stopped.

    Args:
        corpus: a corpus file (`read_corpus`).
        out_dir: folder of the shards and of `manifest.json`, one folder a corpus.
        vocabulary: a vocab.txt, or the folder that holds one.
        labels: "greedy" (BertSum's, 0 or 1) or "soft" (shares of the best extracts).
        summary_sentences: largest number of sentences in an extract of the oracle.
        temperature: of the soft labels.
        max_sentences: sentences kept of a document.
        window_length: positions of the encoder; a sentence is cut to it, [CLS] and [SEP] included.
        lowercase: whether the word pieces are lower-cased.
        strip_accents: whether they lose their accents; None means as `lowercase`.
        newline: what a new line means to the sentence splitter: "sentence", "paragraph" or "space".
        shards: number of files.
        processes: how many work at once; 1 works in this one.
        columns: names of the corpus's fields, {"id": ..., "text": ..., "summary": ...}.
        progress: whether to show a bar on standard error.

    Returns:
        The counts: documents, sentences, pieces and labelled_sentences written; documents dropped, as empty,
        duplicates or without_summary; sentences_beyond max_sentences; documents relabelled (the oracle of the
        whole document wanted one of those); sentences cut to the window and pieces_cut with them; documents
        without_overlap (no label).

    Raises:
        DataError: if the corpus or the vocabulary cannot be read.
        Error: if an argument is impossible, or `out_dir` was prepared with other settings.
    """
    settings = {
        "labels": labels,
        "summary_sentences": summary_sentences,
        "temperature": temperature if labels == "soft" else None,
        "max_sentences": max_sentences,
        "window_length": window_length,
        "lowercase": lowercase,
        "strip_accents": lowercase if strip_accents is None else strip_accents,
        "newline": newline,
        "shards": shards,
        "columns": columns or {},
    }
    _check(settings, processes)
    vocabulary = vocabulary_file(vocabulary)
    settings |= {"corpus": digest(corpus), "vocabulary": digest(vocabulary)}
    manifest = Manifest.open(out_dir, settings)
    size, left_out = _survey(corpus, columns)
    names = [shard_name(shard, shards) for shard in range(shards)]
    manifest.forget_missing(names)
    work = (
        (str(manifest.folder / name), documents)
        for name, documents in zip(names, _slices(corpus, columns, size, shards), strict=True)
        if name not in manifest.shards
    )
    with _bar(size, progress) as bar:
        bar.update(sum(counts["read"] for counts in manifest.shards.values()))
        for path, counts in _run(work, settings, str(vocabulary), processes):
            manifest.add(pathlib.Path(path).name, counts)
            bar.update(counts["read"])
    return manifest.finish(left_out)


def shard_name(shard: int, shards: int) -> str:
    """The file name of a shard, which sorts in order."""
    return f"documents-{shard:05d}-of-{shards:05d}.tfrecord"


def _check(settings: dict, processes: int) -> None:
    """Raises Error for an argument that cannot be, before anything is read."""
    if settings["labels"] not in ("greedy", "soft"):
        raise Error(f"prepare: labels is {settings['labels']!r}; expected 'greedy' or 'soft'")
    least = {"summary_sentences": 1, "max_sentences": 1, "window_length": 3, "shards": 1}
    for name, smallest in least.items():
        if settings[name] < smallest:
            raise Error(f"prepare: {name} is {settings[name]}; expected {smallest} or more")
    if processes < 1:
        raise Error(f"prepare: processes is {processes}; expected 1 or more")


def vocabulary_file(path: str | pathlib.Path) -> pathlib.Path:
    """The vocab.txt that `path` is, or that lies in the folder `path`; a DataError where there is none."""
    path = pathlib.Path(path)
    file = path / "vocab.txt" if path.is_dir() else path
    if not file.is_file():
        raise DataError(f"{file}: no such vocabulary; expected a vocab.txt or the folder that holds one")
    return file


def _survey(corpus: str | pathlib.Path, columns: dict[str, str] | None) -> tuple[int, dict[str, int]]:
    """How many documents there are to write, and how many are left out, by reason."""
    left_out: collections.Counter = collections.Counter()
    size = sum(1 for _ in _usable(corpus, columns, left_out))
    if not size:
        raise DataError(f"{corpus}: no document with a text and a summary ({dict(left_out)} left out)")
    return size, dict(left_out)


def _usable(
    corpus: str | pathlib.Path, columns: dict[str, str] | None, left_out: collections.Counter
) -> Iterator[dict[str, str]]:
    """The documents with a text and a summary, each once; the others are counted by the first reason."""
    left_out.update(empty=0, without_summary=0, duplicates=0)
    seen: set[bytes] = set()
    for document in read_corpus(corpus, **(columns or {})):
        key = fingerprint(document)
        if not document["text"].strip():
            left_out["empty"] += 1
        elif not document["summary"].strip():
            left_out["without_summary"] += 1
        elif key in seen:
            left_out["duplicates"] += 1
        else:
            seen.add(key)
            yield document


def _slices(
    corpus: str | pathlib.Path, columns: dict[str, str] | None, size: int, shards: int
) -> Iterator[list[dict[str, str]]]:
    """The documents of each shard, in order; sizes differ by one at most."""
    documents = _usable(corpus, columns, collections.Counter())
    for shard in range(shards):
        count = (shard + 1) * size // shards - shard * size // shards
        yield [next(documents) for _ in range(count)]


def _run(
    work: Iterator[tuple[str, list]], settings: dict, vocabulary: str, processes: int
) -> Iterator[tuple[str, dict[str, int]]]:
    """Writes the shards, in this process or in several; yields (path, counts) as each is done."""
    if processes == 1:
        from tfsum.data.document_writer import DocumentWriter

        writer = None
        for path, documents in work:
            writer = writer or DocumentWriter(settings, vocabulary)
            yield path, writer.write(path, documents)
        return
    pool = concurrent.futures.ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), _start_process, (settings, vocabulary)
    )
    waiting: dict[concurrent.futures.Future, str] = {}
    try:
        for path, documents in work:
            waiting[pool.submit(_write_in_process, path, documents)] = path
            # One shard beyond the busy ones is read ahead: the corpus never lies in memory whole.
            if len(waiting) > processes:
                yield from _collect(waiting)
        while waiting:
            yield from _collect(waiting)
    except concurrent.futures.process.BrokenProcessPool as error:
        raise Error(
            "prepare: a worker process died (out of memory, or killed); the finished shards are kept: "
            "call again, with fewer processes or more shards"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _collect(waiting: dict[concurrent.futures.Future, str]) -> Iterator[tuple[str, dict[str, int]]]:
    """Waits for one shard or more, takes them out of `waiting` and yields their counts."""
    done, _ = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


_writer = None  # how to make the DocumentWriter of a worker process, cached


def _start_process(settings: dict, vocabulary: str) -> None:
    """Readies a worker process: one thread, as others share the machine; an interrupt ends it at once.

    Its writer is made by the first shard, so that an error in it reaches the caller as it is.
    """
    global _writer
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    from tfsum.data.document_writer import DocumentWriter

    _writer = functools.cache(lambda: DocumentWriter(settings, vocabulary))


def _write_in_process(path: str, documents: list[dict[str, str]]) -> dict[str, int]:
    return _writer().write(path, documents)


def _bar(size: int, progress: bool) -> contextlib.AbstractContextManager:
    import tqdm

    return tqdm.tqdm(total=size, unit=" documents", disable=not progress, file=sys.stderr)
