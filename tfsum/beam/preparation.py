"""The preparation of a corpus as a pipeline: the functions of `tfsum.prepare`, a shard a worker."""

import collections
import functools
import json
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam

import tfsum
from tfsum.atomic_files import write_atomically
from tfsum.beam.running import running
from tfsum.data.preparation import RecordWriter, ShardWork
from tfsum.quiet_tensorflow import load_tensorflow


def prepare(
    corpus: str | pathlib.Path,
    out_dir: str | pathlib.Path,
    vocabulary: str | pathlib.Path,
    task_name: str = "extractive",
    *,
    runner: str = "DirectRunner",
    pipeline_options: Sequence[str] = (),
    **options: Any,
) -> dict[str, int]:
    """Writes a corpus as records for training by a pipeline; shards, manifest and counts are those of `tfsum.prepare`.

    The corpus and the folder must be where all workers reach them. One worker reads the corpus; each shard is written
    by one, so that `shards` says how many work at once, and one holds a shard's documents in memory. A second call
    continues where the first was stopped.

    Args:
        corpus, out_dir, vocabulary, task_name: see `tfsum.prepare`.
        runner: name of Beam's runner, see `tfsum.beam.running`.
        pipeline_options: options of the pipeline and its runner.
        **options: those of the task's own `prepare`.

    Returns:
        The counts of what was written, cut and left out.

    Raises:
        DataError: the corpus or the vocabulary cannot be read.
        Error: an option is unknown or invalid, `out_dir` was prepared with other settings, or the pipeline fails.

    Example:
        >>> prepare(
        ...     "train.jsonl.gz", "records/train", "minilm/vocab.txt", shards=64
        ... )  # doctest: +SKIP
        {'documents': 1000, 'sentences': 20000, ...}
    """
    run = functools.partial(write_shards, runner=runner, pipeline_options=pipeline_options)
    return tfsum.prepare(
        corpus, out_dir, vocabulary, task_name, run=run, **{"progress": False, **options}
    )


def write_shards(
    work: ShardWork, runner: str, pipeline_options: Sequence[str]
) -> Iterator[tuple[str, dict[str, int]]]:
    """Writes the shards that are not finished by a pipeline.

    Args:
        work: what is to be written.
        runner, pipeline_options: see `prepare`.

    Yields:
        The path and the counts of each shard.

    Raises:
        Error: the pipeline fails; the shards that were finished are kept.

    Example:
        >>> list(write_shards(work, "DirectRunner", []))  # doctest: +SKIP
        [('records/train/documents-00000-of-00001.tfrecord', {'documents': 1000, ...})]
    """
    shards = [
        shard
        for shard, name in enumerate(work.names)
        if name not in work.done and _read_counts(work, name) is None
    ]
    if shards:
        with running(runner, pipeline_options, []) as pipeline:
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
    """The documents of some shards: (shard, (number, document)); number -1 begins each, also one without documents."""
    yield from ((shard, (-1, None)) for shard in shards)
    shard = 0
    for number, document in enumerate(work.documents(collections.Counter())):
        while number >= work.end(shard):
            shard += 1
        if shard in shards:
            yield shard, (number, document)


class _WriteShard(beam.DoFn):
    """Writes a shard whole, then its counts beside it, where whoever started the pipeline collects them."""

    def __init__(self, work: ShardWork) -> None:
        self._work = work
        self._writer: RecordWriter | None = None

    def process(self, group: tuple[int, Iterable[tuple[int, Any]]]) -> None:
        shard, numbered = group
        name = self._work.names[shard]
        documents = [document for _, document in sorted(numbered, key=lambda pair: pair[0])[1:]]
        if self._writer is None:
            load_tensorflow()
            self._writer = self._work.make_writer()
        counts = self._writer.write(str(self._work.folder / name), documents)
        write_atomically(
            _counts_file(self._work, name), json.dumps([self._work.settings_hash, counts])
        )


def _counts_file(work: ShardWork, name: str) -> pathlib.Path:
    return work.folder / f".{name}.counts.json"


def _read_counts(work: ShardWork, name: str) -> dict[str, int] | None:
    """The counts of a shard that a pipeline has written by these settings; None where there is none."""
    file = _counts_file(work, name)
    if not file.is_file() or not (work.folder / name).is_file():
        return None
    settings_hash, counts = json.loads(file.read_text(encoding="utf-8"))
    return counts if settings_hash == work.settings_hash else None
