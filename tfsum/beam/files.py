"""Summarizes files of documents by a pipeline, for `tfsum pipeline summarize`."""

import glob
import json
import pathlib
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, Unpack

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.runners.runner import PipelineResult
from apache_beam.typehints.row_type import RowTypeConstraint

from tfsum.beam.running import file_errors, running
from tfsum.beam.saved_model_handler import MAX_CHARACTERS
from tfsum.beam.transforms import Generate, ReadDocuments, Summarize
from tfsum.errors import DataError, ExportError, require
from tfsum.request import SummaryOptions, SummaryRequest

COUNTS = "counts.json"
FORMATS = ("parquet", "jsonl")
ANSWERS, FAILED = "answers", "dead_letters"
NAMESPACE = "tfsum.files"  # of the counters
Element = TypeVar("Element")


def summarize_files(
    pattern: str,
    output: str,
    *,
    field: str = "text",
    id_field: str | None = None,
    output_format: str = "parquet",
    shards: int = 8,
    model: str | pathlib.Path | None = None,
    max_characters: int = MAX_CHARACTERS,
    runner: str = "DirectRunner",
    pipeline_options: Sequence[str] = (),
    sentences: int | Literal["auto"] | None = None,
    **options: Unpack[SummaryOptions],
) -> dict[str, int]:
    """Summarizes the documents of files by a pipeline.

    Each document has an answer or a line in the dead-letter file. The output is complete when it
    contains `counts.json`. A second call computes everything again and replaces the files, however
    the first call ended. Two calls at the same time need two folders.

    Args:
        pattern: Pattern of files of JSON lines or Parquet, such as "docs/*.jsonl.gz".
        output: Folder of `answers-*`, `dead_letters.jsonl` and `counts.json`.
        field: Field of the text.
        id_field: Field of the key of an answer; None makes the key FILE:LINE.
        output_format: "parquet" or "jsonl".
        shards: Number of files of answers.
        model: Folder of an exported extractive or abstractive model; the shipped extractive model
            by default.
        max_characters: Largest number of characters of a document; longer documents fail.
        runner: Name of a runner of Beam, as for `tfsum.beam.running`.
        pipeline_options: Options of the pipeline and its runner.
        sentences: The most sentences of a summary, or "auto".
        **options: Other fields of `tfsum.SummaryRequest`, but `together`, for an extractive model.

    Returns:
        Numbers of documents, answers and dead_letters.

    Raises:
        DataError: No file matches.
        ExportError: The model does not exist, is corrupt, or writes no summaries.
        Error: The output contains files of other settings, or the pipeline fails.

    Example:
        >>> import tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.jsonl").write_text('{"text": "It rained. It is over."}\\n{}\\n')
        >>> pattern, output = str(folder / "*.jsonl"), str(folder / "out")
        >>> summarize_files(pattern, output, output_format="jsonl", sentences=1)
        {'documents': 2, 'answers': 1, 'dead_letters': 1}
    """
    transform = _transform(model, max_characters, SummaryRequest(sentences=sentences, **options))
    with file_errors(pattern):
        require(
            _matching(pattern),
            f"{pattern}: no file matches; expected files of JSON lines or Parquet",
            DataError,
        )
    with file_errors(output):
        write = WriteAnswers(output, transform.row, output_format, shards)
        _clear(output, output_format, shards)

    with running(runner, pipeline_options) as pipeline:
        read = pipeline | ReadDocuments(pattern, field, id_field, max_characters)
        # one worker reads a file, and all workers share its documents
        answered = read.documents | "Spread documents" >> beam.Reshuffle() | transform
        _ = answered.answers | "Count answers" >> beam.Map(count, "answers") | write
        _ = (
            (read.failed, answered.failed)
            | beam.Flatten()
            | "Count failed" >> beam.Map(count, "dead_letters")
            | "Line" >> beam.Map(json_line).with_output_types(str)
            | beam.io.WriteToText(
                FileSystems.join(output, FAILED),
                file_name_suffix=".jsonl",
                num_shards=1,
                shard_name_template="",
            )
        )

    counts = {name: counted(pipeline.result, name) for name in ("answers", "dead_letters")}
    counts = {"documents": sum(counts.values()), **counts}
    with file_errors(output), FileSystems.create(FileSystems.join(output, COUNTS)) as file:
        file.write((json.dumps(counts) + "\n").encode())
    return counts


def _transform(
    model: str | pathlib.Path | None, max_characters: int, request: SummaryRequest
) -> Summarize | Generate:
    """Makes the transform for the kind of a model."""
    kind, given = "extractive", request.model_dump(exclude_defaults=True)
    if model is not None:
        from tfsum.inference.saved_model import newest, read_description

        kind = read_description(newest(model))["kind"]
    if kind == "extractive":
        return Summarize(model, **given, max_characters=max_characters)
    require(
        kind == "abstractive",
        f"{model}: is of kind {kind!r}, which writes no summary; give an extractive or abstractive"
        " model",
        ExportError,
    )
    require(
        not given,
        f"{', '.join(given)}: {model} is not extractive: it generates its answer; leave them out",
    )
    return Generate(model, max_characters=max_characters)


def _clear(output: str, output_format: str, shards: int) -> None:
    """Removes `counts.json` and the files of a stopped run; rejects answers of other settings."""
    expected = {f"{ANSWERS}-{shard:05d}-of-{shards:05d}.{output_format}" for shard in range(shards)}
    for path in _matching(FileSystems.join(output, f"{ANSWERS}-*")):
        require(
            FileSystems.split(path)[1] in expected,
            f"{path}: is of another run, with another number of shards or another format; choose"
            f" another output, or remove {output}",
        )

    # Beam writes into folders of these names, and leaves them when it is killed.
    for name in (COUNTS, f"beam-temp-{ANSWERS}-*/*", f"beam-temp-{FAILED}-*/*"):
        if paths := _matching(FileSystems.join(output, name)):
            FileSystems.delete(paths)
    # Beam does not find empty folders, which only disks have.
    for folder in glob.glob(f"{glob.escape(output)}/beam-temp-*"):
        FileSystems.delete([folder])


def _matching(pattern: str) -> list[str]:
    (match,) = FileSystems.match([pattern])
    return [file.path for file in match.metadata_list]


class WriteAnswers(beam.PTransform):
    """Writes pairs of key and answer to files `answers-00000-of-00008.parquet` or `.jsonl`.

    Beam writes the files under temporary names and replaces those of an earlier run when all are
    complete.

    Args:
        folder: Folder on any file system of Beam.
        row: Type of the answers, such as `SummaryRow`.
        output_format: "parquet" or "jsonl".
        shards: Number of files.

    Raises:
        Error: The format is unknown, or `shards` is less than 1.

    Example:
        >>> import pathlib, tempfile
        >>> from tfsum.beam import GeneratedRow
        >>> folder = tempfile.mkdtemp()
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     row = GeneratedRow("Rain.", -0.5, 1.0, True, [], "news/1")
        ...     answers = pipeline | beam.Create([("a", row)])
        ...     _ = answers | WriteAnswers(folder, GeneratedRow, "jsonl", shards=1)
        >>> print(pathlib.Path(folder, "answers-00000-of-00001.jsonl").read_text()[:32])
        {"key": "a", "summary": "Rain.",
    """

    def __init__(self, folder: str, row: type, output_format: str, shards: int) -> None:
        super().__init__()
        require(
            output_format in FORMATS,
            f"output_format is {output_format!r}; expected {' or '.join(map(repr, FORMATS))}",
        )
        require(shards > 0, f"shards is {shards}; expected 1 or more")
        self._prefix, self._row = FileSystems.join(folder, ANSWERS), row
        self._format, self._shards = output_format, shards

    def expand(self, answers: beam.PCollection) -> Any:
        fields = [("key", str), *self._row.__annotations__.items()]
        rows = answers | "Key" >> beam.MapTuple(
            lambda key, row: beam.Row(key=str(key), **row._asdict())
        ).with_output_types(RowTypeConstraint.from_fields(fields))

        place = {
            "file_path_prefix": self._prefix,
            "file_name_suffix": f".{self._format}",
            "num_shards": self._shards,
        }

        if self._format == "parquet":
            return rows | beam.io.WriteToParquet(codec="zstd", **place)
        return (
            rows
            | "Line" >> beam.Map(json_line).with_output_types(str)
            | beam.io.WriteToText(**place)
        )


def json_line(row: Any) -> str:
    """Formats a row as a JSON object on one line.

    Args:
        row: Named tuple.

    Returns:
        JSON text without the end of the line.

    Example:
        >>> from tfsum.beam import FailedDocument
        >>> json_line(FailedDocument("a", "empty", ""))
        '{"key": "a", "error": "empty", "excerpt": ""}'
    """
    return json.dumps(row._asdict(), ensure_ascii=False)


def count(element: Element, name: str) -> Element:
    """Adds 1 to a counter and returns the element unchanged.

    Args:
        element: Any element of a collection.
        name: Name of the counter.

    Example:
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     texts = pipeline | beam.Create(["It rained."])
        ...     _ = texts | beam.Map(count, "texts") | "Print" >> beam.Map(print)
        It rained.
    """
    Metrics.counter(NAMESPACE, name).inc()
    return element


def counted(result: PipelineResult, name: str) -> int:
    """Reads a counter of `count` at the end of a pipeline.

    Args:
        result: Result of a finished pipeline.
        name: Name of the counter.

    Returns:
        Number of elements; 0 if there were none.

    Example:
        >>> pipeline = beam.Pipeline(runner="FnApiRunner")
        >>> _ = pipeline | beam.Create(["It rained."]) | beam.Map(count, "texts")
        >>> counted(pipeline.run(), "texts")
        1
    """
    query = MetricsFilter().with_namespace(NAMESPACE).with_name(name)
    return sum(counter.result for counter in result.metrics().query(query)["counters"])
