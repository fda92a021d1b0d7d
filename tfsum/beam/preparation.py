"""Prepares a corpus by a pipeline, with the functions of `tfsum.prepare`."""

import functools
import json
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam

import tfsum
from tfsum.atomic_files import write_atomically
from tfsum.beam.running import running
from tfsum.data.shards import ShardWork
from tfsum.loading import load_tensorflow


def prepare(
    corpus: str | pathlib.Path,
    out_dir: str | pathlib.Path,
    vocabulary: str | pathlib.Path,
    task_name: str = "bert_sum_ext",
    *,
    runner: str = "DirectRunner",
    pipeline_options: Sequence[str] = (),
    **options: Any,
) -> dict[str, int]:
    """Writes a corpus as training records by a pipeline.

    Shards, manifest and counts are those of `tfsum.prepare`. All workers must reach the corpus and
    the folder. One worker reads the corpus. Each shard is written by one worker, which holds its
    documents in memory, so that `shards` limits the number of workers. A second call continues
    where the first was stopped.

    Args:
        corpus: Corpus, as for `tfsum.prepare`.
        out_dir: Folder of the records.
        vocabulary: Vocabulary, as for `tfsum.prepare`.
        task_name: Name of the task, as for `tfsum.prepare`.
        runner: Name of a runner of Beam, as for `tfsum.beam.running`.
        pipeline_options: Options of the pipeline and its runner.
        **options: Options of the task's `prepare`.

    Returns:
        Counts of what was written, cut and left out.

    Raises:
        DataError: The corpus or the vocabulary cannot be read.
        Error: An option is unknown or invalid, `out_dir` was prepared with other settings, or the
            pipeline fails.

    Example:
        >>> prepare("no_such_corpus.jsonl", "records", "vocab.txt")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors...
    """
    run = functools.partial(write_shards, runner=runner, pipeline_options=pipeline_options)
    return tfsum.prepare(
        corpus, out_dir, vocabulary, task_name, run=run, **{"progress": False, **options}
    )


def write_shards(
    work: ShardWork, runner: str, pipeline_options: Sequence[str]
) -> Iterator[tuple[str, dict[str, int]]]:
    """Writes the unfinished shards by a pipeline.

    Args:
        work: Shards to write.
        runner: Name of a runner of Beam, as for `tfsum.beam.running`.
        pipeline_options: Options of the pipeline and its runner.

    Yields:
        Path and counts of each shard.

    Raises:
        Error: The pipeline fails; finished shards are kept.

    Example:
        >>> import types
        >>> list(write_shards(types.SimpleNamespace(names=[]), "DirectRunner", []))
        []
    """
    shards = [
        shard
        for shard, name in enumerate(work.names)
        if name not in work.done and _read_counts(work, name) is None
    ]
    if shards:
        with running(runner, pipeline_options) as pipeline:
            _ = (
                pipeline
                | beam.Create([None])
                | "Read" >> beam.FlatMap(_numbered, work, shards)
                | beam.GroupByKey()
                | "Write" >> beam.ParDo(_WriteShard(work))
            )

    for name in work.names:
        if name not in work.done and (counts := _read_counts(work, name)) is not None:
            yield str(work.folder / name), counts
            _counts_file(work, name).unlink()


def _numbered(_: None, work: ShardWork, shards: list[int]) -> Iterator[tuple[int, tuple[int, Any]]]:
    """Yields (shard, (number, document)) for the documents of some shards.

    The number -1 begins each shard, so that one without documents is written too.
    """
    yield from ((shard, (-1, None)) for shard in shards)
    shard = 0
    for number, document in enumerate(work.documents()):
        while number >= work.end(shard):
            shard += 1
        if shard in shards:
            yield shard, (number, document)


class _WriteShard(beam.DoFn):
    """Writes a shard, then its counts to a file beside it, which `write_shards` collects."""

    def __init__(self, work: ShardWork) -> None:
        self._work = work

    def setup(self) -> None:
        load_tensorflow()
        self._writer = self._work.make_writer()

    def process(self, group: tuple[int, Iterable[tuple[int, Any]]]) -> None:
        shard, numbered = group
        name = self._work.names[shard]
        documents = [document for _, document in sorted(numbered, key=lambda pair: pair[0])[1:]]

        counts = self._writer.write(str(self._work.folder / name), documents)
        write_atomically(
            _counts_file(self._work, name), json.dumps([self._work.settings_hash, counts])
        )


def _counts_file(work: ShardWork, name: str) -> pathlib.Path:
    return work.folder / f".{name}.counts.json"


def _read_counts(work: ShardWork, name: str) -> dict[str, int] | None:
    """The counts of a shard that a pipeline wrote with the same settings, or None."""
    file = _counts_file(work, name)
    if not file.is_file() or not (work.folder / name).is_file():
        return None
    settings_hash, counts = json.loads(file.read_text(encoding="utf-8"))
    if settings_hash == work.settings_hash:
        return counts
    return None
