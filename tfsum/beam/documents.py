"""Reads documents from files of JSON lines, on any file system of Beam."""

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.io.fileio import EmptyMatchTreatment, MatchAll
from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems

from tfsum.beam.rows import FailedDocument, failed, refusal
from tfsum.beam.saved_model_handler import MAX_CHARACTERS
from tfsum.data.rows import json_row, text_field
from tfsum.errors import DataError

LINE_BYTES = 1 << 26  # a longer line is skipped without reading it into memory
CHARACTER_BYTES = 12  # of the longest escape of JSON, that of a surrogate pair
BUFFER = 1 << 20
GZIP = b"\x1f\x8b"


class ReadDocuments(beam.PTransform):
    """Reads the documents of files of JSON lines, plain or compressed by gzip.

    Returns two collections: `documents`, pairs of a key and a text, and `failed`, with a
    `FailedDocument` for each invalid line and for each file that cannot be read to its end.

    Args:
        pattern: Pattern of the files, such as "docs/*.jsonl.gz" or "gs://bucket/docs/*.jsonl".
        field: Field of the text; the strings of a list are joined as lines.
        id_field: Field of the key; None makes the key FILE:LINE.
        max_characters: Largest number of characters of a document; longer documents fail. Lines of
            more than 12 bytes per character, and of more than 64 MB, fail without being read.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "news.jsonl"
        >>> _ = file.write_text('{"id": "a", "text": "It rained."}')
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     documents, failed = pipeline | ReadDocuments(str(file), id_field="id")
        ...     _ = documents | beam.Map(print)
        ('a', 'It rained.')
    """

    def __init__(
        self,
        pattern: str,
        field: str = "text",
        id_field: str | None = None,
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        super().__init__()
        self._pattern, self._reader = pattern, _ReadFile(field, id_field, max_characters)

    def expand(self, begin: beam.pvalue.PBegin) -> Any:
        files = (
            begin
            | beam.Create([self._pattern])
            | MatchAll(EmptyMatchTreatment.DISALLOW)
            | "Name" >> beam.Map(lambda file: file.path).with_output_types(str)
            | "Spread files" >> beam.Reshuffle()
        )

        read = files | "Read" >> beam.ParDo(self._reader).with_outputs("failed", main="documents")
        read.documents.element_type = tuple[str, str]
        read.failed.element_type = FailedDocument
        return read


class _ReadFile(beam.DoFn):
    """Reads the documents of a file, and tags its failures."""

    def __init__(self, field: str, id_field: str | None, max_characters: int) -> None:
        self._field, self._id_field, self._max_characters = field, id_field, max_characters
        self._longest = max(LINE_BYTES, CHARACTER_BYTES * max_characters)

    def process(self, path: str) -> Iterator[Any]:
        number = 0

        try:
            for number, line in enumerate(lines(path, self._longest), start=1):
                place = f"{path}:{number}"
                if line is None:
                    limit = f"longer than {self._longest} bytes"
                    cure = "divide the document, or raise max_characters"
                    yield _failure(place, f"{place}: {limit}; {cure}", "")
                elif line.strip():
                    yield self._document(place, line)
        except (OSError, EOFError, zlib.error, BeamIOError) as error:
            found = f"cannot be read after line {number} ({error})"
            yield _failure(path, f"{path}: {found}; fetch it again, or look at its rights", "")

    def _document(self, place: str, line: bytes) -> Any:
        key = place
        try:
            row = json_row(place, line.decode("utf-8-sig"))
            text = text_field(place, row, self._field, options="field")
            if self._id_field is not None:
                key = text_field(place, row, self._id_field, number=True, options="id_field")
        except UnicodeDecodeError as error:
            found = f"not UTF-8 ({error.reason} at byte {error.start + 1})"
            return _failure(place, f"{place}: {found}; convert the file to UTF-8", line)
        except DataError as error:
            return _failure(place, str(error), line)

        if reason := refusal(text, self._max_characters):
            return _failure(key, reason, text)
        return key, text


def lines(path: str, longest: int) -> Iterator[bytes | None]:
    """Reads the lines of a file, plain or compressed by gzip.

    Args:
        path: File on any file system of Beam.
        longest: Largest number of bytes of a line, including its end.

    Yields:
        The line, or None for a longer line.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
        >>> _ = file.write_bytes(b"{}\\n[" + b"1" * 99 + b"]\\n{}\\n")
        >>> list(lines(str(file), longest=9))
        [b'{}\\n', None, b'{}\\n']
    """
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as opened:
        plain: Any = opened if hasattr(opened, "peek") else io.BufferedReader(opened, BUFFER)
        file = gzip.GzipFile(fileobj=plain) if plain.peek(2)[:2] == GZIP else plain
        while line := file.readline(longest + 1):
            yield line if len(line) <= longest else None
            while len(line) > longest and not line.endswith(b"\n"):  # skip its rest
                line = file.readline(longest + 1)


def _failure(key: str, error: str, document: str | bytes) -> beam.pvalue.TaggedOutput:
    return beam.pvalue.TaggedOutput("failed", failed(key, error, document))
