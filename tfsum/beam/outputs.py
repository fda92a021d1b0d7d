"""Answers and failed documents as files: Parquet or JSON lines, complete or not at all."""

import json
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems

from tfsum.beam.rows import KEYED
from tfsum.errors import Error

FORMATS = ("parquet", "jsonl")
ANSWERS, FAILED = "answers", "dead_letters"


class WriteAnswers(beam.PTransform):
    """Writes pairs of key and answer to files `answers-00000-of-00008.parquet` or `.jsonl`.

    Beam writes each file under a temporary name; those of an earlier run are replaced when all are whole.

    Args:
        folder: where they go, on any file system that Beam writes.
        row: the type of the answers, such as `SummaryRow`.
        output_format: "parquet" or "jsonl".
        shards: number of files.

    Raises:
        Error: the format is unknown, or there is no file.

    Example:
        >>> import pathlib, tempfile
        >>> from tfsum.beam import GeneratedRow
        >>> folder = tempfile.mkdtemp()
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     answers = pipeline | beam.Create(
        ...         [("a", GeneratedRow("Rain.", -0.5, 1.0, True, [], "news/1"))]
        ...     )
        ...     _ = answers | WriteAnswers(folder, GeneratedRow, "jsonl", shards=1)
        >>> print(pathlib.Path(folder, "answers-00000-of-00001.jsonl").read_text()[:32])
        {"key": "a", "summary": "Rain.",
    """

    def __init__(self, folder: str, row: type, output_format: str, shards: int) -> None:
        super().__init__()
        if output_format not in FORMATS:
            raise Error(
                f"output_format is {output_format!r}; expected {' or '.join(map(repr, FORMATS))}"
            )
        if shards < 1:
            raise Error(f"shards is {shards}; expected 1 or more")
        self._prefix, self._row = FileSystems.join(folder, ANSWERS), row
        self._format, self._shards = output_format, shards

    def expand(self, answers: beam.PCollection) -> Any:
        keyed = KEYED[self._row]
        rows = answers | "Key" >> beam.MapTuple(
            lambda key, row: keyed(str(key), *row)
        ).with_output_types(keyed)
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


class WriteFailed(beam.PTransform):
    """Writes failed documents to the file `dead_letters.jsonl`, a line each.

    Args:
        folder: where it goes.

    Example:
        >>> import pathlib, tempfile
        >>> from tfsum.beam import FailedDocument
        >>> folder = tempfile.mkdtemp()
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     failed = pipeline | beam.Create([FailedDocument("a", "empty", "")])
        ...     _ = failed | WriteFailed(folder)
        >>> print(pathlib.Path(folder, "dead_letters.jsonl").read_text(), end="")
        {"key": "a", "error": "empty", "excerpt": ""}
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._prefix = FileSystems.join(folder, FAILED)

    def expand(self, failed: beam.PCollection) -> Any:
        return (
            failed
            | "Line" >> beam.Map(json_line).with_output_types(str)
            | beam.io.WriteToText(
                self._prefix, file_name_suffix=".jsonl", num_shards=1, shard_name_template=""
            )
        )


def json_line(row: Any) -> str:
    """A row as an object of JSON in one line.

    Example:
        >>> from tfsum.beam import FailedDocument
        >>> json_line(FailedDocument("a", "empty", ""))
        '{"key": "a", "error": "empty", "excerpt": ""}'
    """
    return json.dumps(row._asdict(), ensure_ascii=False)
