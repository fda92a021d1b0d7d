"""Many shards written by one process or by several: interrupted at any moment, the finished ones are kept."""

import concurrent.futures
import contextlib
import functools
import multiprocessing
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from tfsum.data.manifest import Manifest
from tfsum.errors import Error
from tfsum.quiet_tensorflow import load_tensorflow


class ShardWriter(Protocol):
    """What makes a shard of documents."""

    def write(self, path: str, documents: list) -> dict[str, int]:
        """Writes a shard whole; returns its counts, the documents as `read` among them."""


def shard_name(kind: str, shard: int, shards: int) -> str:
    """The file name of a shard of some kind of records, which sorts in order."""
    return f"{kind}-{shard:05d}-of-{shards:05d}.tfrecord"


def write_shards(
    manifest: Manifest,
    names: list[str],
    documents: Iterator,
    size: int,
    make_writer: Callable[[], ShardWriter],
    processes: int,
    progress: bool,
) -> None:
    """Writes the shards that the manifest does not know yet, and notes each as it is done.

    Args:
        manifest: of the folder.
        names: file names of all shards.
        documents: in the order of the shards; each takes as many as another, or one more.
        size: how many documents there are.
        make_writer: makes the writer of a process; it must be picklable where there are several.
        processes: how many work at once; 1 works in this one.
        progress: whether to show a bar on standard error.

    Raises:
        Error: a process died.
    """
    manifest.forget_missing(names)
    work = (
        (str(manifest.folder / name), part)
        for name, part in zip(names, _slices(documents, size, len(names)), strict=True)
        if name not in manifest.shards
    )
    with _bar(size, progress) as bar:
        bar.update(sum(counts["read"] for counts in manifest.shards.values()))
        for path, counts in _run(work, make_writer, processes):
            manifest.add(pathlib.Path(path).name, counts)
            bar.update(counts["read"])


def _slices(documents: Iterator, size: int, shards: int) -> Iterator[list]:
    """The documents of each shard, in order; sizes differ by one at most."""
    for shard in range(shards):
        count = (shard + 1) * size // shards - shard * size // shards
        yield [next(documents) for _ in range(count)]


def _run(
    work: Iterator[tuple[str, list]], make_writer: Callable[[], ShardWriter], processes: int
) -> Iterator[tuple[str, dict[str, int]]]:
    """Writes the shards, in this process or in several; yields (path, counts) as each is done."""
    if processes == 1:
        make_writer = functools.cache(make_writer)
        for path, documents in work:
            yield path, make_writer().write(path, documents)
        return
    pool = concurrent.futures.ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), _start_process, (make_writer,)
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


_writer: Any = None  # how to make the writer of a worker process, cached


def _start_process(make_writer: Callable[[], ShardWriter]) -> None:
    """Readies a worker process: one thread, as others share the machine; an interrupt ends it at once.

    Its writer is made by the first shard, so that an error in it reaches the caller as it is.
    """
    global _writer
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    load_tensorflow()
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    _writer = functools.cache(make_writer)


def _write_in_process(path: str, documents: list) -> dict[str, int]:
    return _writer().write(path, documents)


def _bar(size: int, progress: bool) -> contextlib.AbstractContextManager:
    import tqdm

    return tqdm.tqdm(total=size, unit=" documents", disable=not progress, file=sys.stderr)
