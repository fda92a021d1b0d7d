"""The way of documents through a pipeline: `ReadDocuments`, then `Summarize`, `Generate` or
`Classify`."""

import gzip
import io
import pathlib
import zlib
from collections.abc import Iterator
from typing import Any, Literal, Unpack

import apache_beam as beam
from apache_beam.io.fileio import EmptyMatchTreatment, MatchAll
from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.ml.inference.base import PredictionResult, RunInference
from apache_beam.typehints import typehints

from tfsum.beam.rows import (
    ClassifiedRow,
    FailedDocument,
    GeneratedRow,
    SummaryRow,
    failed,
    is_pair,
    refusal,
)
from tfsum.beam.saved_model_handler import BATCH_CHARACTERS, MAX_CHARACTERS, SavedModelHandler
from tfsum.data.rows import PARQUET, Row, json_row, parquet_rows, text_field
from tfsum.errors import DataError
from tfsum.request import SummaryOptions, SummaryRequest

ANSWERS, FAILED = "answers", "failed"
LINE_BYTES = 1 << 26  # a longer line is skipped without reading it into memory
CHARACTER_BYTES = 12  # of the longest escape of JSON, that of a surrogate pair
BUFFER = 1 << 20
GZIP = b"\x1f\x8b"


class ReadDocuments(beam.PTransform):
    """Reads the documents of files of JSON lines, plain or compressed by gzip, or of Parquet.

    Returns two collections: `documents`, pairs of a key and a text, and `failed`, with a
    `FailedDocument` for each invalid line or row and for each file that cannot be read to its end.

    Args:
        pattern: Pattern of the files, such as "docs/*.jsonl.gz" or "gs://bucket/docs/*.jsonl".
        field: Field of the text; the strings of a list are joined as lines.
        id_field: Field of the key; None makes the key FILE:LINE, of Parquet FILE:ROW.
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
        self._pattern, self._arguments = pattern, (field, id_field, max_characters)

    def expand(self, begin: beam.pvalue.PBegin) -> Any:
        reader = beam.FlatMap(_read_file, *self._arguments)
        read = (
            begin
            | beam.Create([self._pattern])
            | MatchAll(EmptyMatchTreatment.DISALLOW)
            | "Name" >> beam.Map(lambda file: file.path).with_output_types(str)
            | "Spread files" >> beam.Reshuffle()
            | "Read" >> reader.with_outputs("failed", main="documents")
        )
        read.documents.element_type = tuple[str, str]
        read.failed.element_type = FailedDocument
        return read


def _read_file(path: str, field: str, id_field: str | None, max_characters: int) -> Iterator[Any]:
    """Reads the documents of a file, and tags its failures."""
    number, longest = 0, max(LINE_BYTES, CHARACTER_BYTES * max_characters)
    try:
        for number, line in enumerate(lines(path, longest), start=1):
            place = f"{path}:{number}"
            if line is None:
                yield _failure(
                    place,
                    f"{place}: longer than {longest} bytes; divide the document, or raise"
                    " max_characters",
                    "",
                )
            elif isinstance(line, dict) or line.strip():
                yield _document(place, line, field, id_field, max_characters)
    except DataError as error:
        yield _failure(path, str(error), "")
    except (OSError, EOFError, zlib.error, BeamIOError) as error:
        yield _failure(
            path,
            f"{path}: cannot be read after line {number} ({error}); fetch it again, or look at its"
            " rights",
            "",
        )


def _document(
    place: str, line: bytes | Row, field: str, id_field: str | None, max_characters: int
) -> Any:
    key = place
    try:
        row = line if isinstance(line, dict) else json_row(place, line.decode("utf-8-sig"))
        text = text_field(place, row, field, options="field")
        if id_field is not None:
            key = text_field(place, row, id_field, number=True, options="id_field")
    except UnicodeDecodeError as error:
        return _failure(
            place,
            f"{place}: not UTF-8 ({error.reason} at byte {error.start + 1}); convert the file to"
            " UTF-8",
            line,
        )
    except DataError as error:
        return _failure(place, str(error), line)

    if refused := refusal(text, max_characters):
        return _failure(key, refused, text)
    return key, text


def lines(path: str, longest: int) -> Iterator[bytes | Row | None]:
    """Reads the lines of a file, plain or compressed by gzip, or the rows of Parquet.

    Args:
        path: File on any file system of Beam.
        longest: Largest number of bytes of a line, including its end.

    Yields:
        The line, or None for a longer line; the fields of a row.

    Raises:
        DataError: Parquet is damaged.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
        >>> _ = file.write_bytes(b"{}\\n[" + b"1" * 99 + b"]\\n{}\\n")
        >>> list(lines(str(file), longest=9))
        [b'{}\\n', None, b'{}\\n']
    """
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as opened:
        plain: Any = opened if hasattr(opened, "peek") else io.BufferedReader(opened, BUFFER)
        if plain.peek(4)[:4] == PARQUET:
            yield from (row for _, row in parquet_rows(path, plain))
            return
        file = gzip.GzipFile(fileobj=plain) if plain.peek(2)[:2] == GZIP else plain
        while line := file.readline(longest + 1):
            yield line if len(line) <= longest else None
            while len(line) > longest and not line.endswith(b"\n"):  # skip its rest
                line = file.readline(longest + 1)


def _failure(key: str, error: str, document: str | bytes | Row) -> beam.pvalue.TaggedOutput:
    return beam.pvalue.TaggedOutput("failed", failed(key, error, document))


class _Answer(beam.PTransform):
    """Answers documents by a model of one kind, and separates those that failed."""

    kind: str
    row: type
    call_options: dict[str, Any] = {}  # noqa: RUF012

    def __init__(
        self,
        model: str | pathlib.Path | None,
        *,
        batch_characters: int = BATCH_CHARACTERS,
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        super().__init__()
        self._handler = SavedModelHandler(
            model,
            kind=self.kind,
            batch_characters=batch_characters,
            max_characters=max_characters,
            **self.call_options,
        )

    def expand(self, documents: beam.PCollection) -> Any:
        outputs = (
            documents
            | RunInference(self._handler)
            | "Separate" >> beam.FlatMap(_separated).with_outputs(FAILED, main=ANSWERS)
        )
        outputs.answers.element_type = _answer_type(documents.element_type, self.row)
        outputs.failed.element_type = FailedDocument
        return outputs


def _separated(result: PredictionResult) -> Iterator[Any]:
    """Yields an answer, with the key of the document if it has one, or tags a failed document."""
    if isinstance(result.inference, FailedDocument):
        yield beam.pvalue.TaggedOutput(FAILED, result.inference)
    elif is_pair(result.example):
        yield result.example[0], result.inference
    else:
        yield result.inference


def _answer_type(document_type: Any, row: type) -> Any:
    """The type of the answers to documents: rows, pairs of a key and a row, or unknown."""
    if isinstance(document_type, typehints.TupleConstraint) and len(document_type.tuple_types) == 2:
        return typehints.Tuple[document_type.tuple_types[0], row]
    if document_type is str:
        return row
    return typehints.Any


class Summarize(_Answer):
    """Summarizes documents with an exported extractive model.

    Documents are `str` or `(key, str)`. The transform returns two collections: `answers`, with
    `SummaryRow` or `(key, SummaryRow)`, and `failed`, with a `FailedDocument` for each document
    that has no answer.

    Args:
        model: Folder of the exported model, `.../NAME/VERSION` or `.../NAME`; the shipped model by
            default.
        sentences: The most sentences of a summary, or "auto"; as the model was exported by default.
        batch_characters: Approximate number of characters of a batch.
        max_characters: Largest number of characters of a document; longer documents fail.
        **options: Other fields of `tfsum.SummaryRequest`. With `together` a document is a list of
            texts, or a pair of a key and one, such as `beam.GroupByKey` makes.

    Raises:
        Error: What is asked is not possible.

    Example:
        >>> text = "The bridge was closed on Monday. Engineers found cracks. It rained."
        >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
        ...     documents = pipeline | beam.Create([("a.txt", text)])
        ...     answers, failed = documents | Summarize(sentences=1)
        ...     _ = answers | beam.MapTuple(lambda key, row: print(key, row.summary))
        a.txt The bridge was closed on Monday.
    """

    kind, row = "extractive", SummaryRow

    def __init__(
        self,
        model: str | pathlib.Path | None = None,
        sentences: int | Literal["auto"] | None = None,
        *,
        batch_characters: int = BATCH_CHARACTERS,
        max_characters: int = MAX_CHARACTERS,
        **options: Unpack[SummaryOptions],
    ) -> None:
        request = SummaryRequest(sentences=sentences, **options)
        self.call_options = request.model_dump(exclude_defaults=True)
        super().__init__(
            model,
            batch_characters=batch_characters,
            max_characters=max_characters,
        )


class Generate(_Answer):
    """Generates an answer to each document with an exported abstractive model.

    The answers are `GeneratedRow` or `(key, GeneratedRow)`; everything else is as for `Summarize`.

    Args:
        model: Folder of the exported model, `.../NAME/VERSION` or `.../NAME`.
        batch_characters: Approximate number of characters of a batch.
        max_characters: Largest number of characters of a document; longer documents fail.

    Example:
        >>> answers, failed = texts | Generate("served/my_model")  # doctest: +SKIP
    """

    kind, row = "abstractive", GeneratedRow


class Classify(_Answer):
    """Labels each document with an exported classifier.

    The answers are `ClassifiedRow` or `(key, ClassifiedRow)`; everything else is as for
    `Summarize`.

    Args:
        model: Folder of the exported model, `.../NAME/VERSION` or `.../NAME`.
        batch_characters: Approximate number of characters of a batch.
        max_characters: Largest number of characters of a document; longer documents fail.

    Example:
        >>> answers, failed = texts | Classify("served/my_model")  # doctest: +SKIP
    """

    kind, row = "classifier", ClassifiedRow
