"""Corpus files of documents with summaries: JSON lines, CSV and TSV, plain or gzip."""

import collections
import csv
import gzip
import hashlib
import json
import pathlib
import sys
from collections.abc import Iterator

from tfsum.errors import DataError

_KINDS = (".jsonl", ".csv", ".tsv")


def read_corpus(
    path: str | pathlib.Path,
    *,
    id: str = "id",
    text: str = "text",
    summary: str | None = "summary",
    counts: collections.Counter | None = None,
) -> Iterator[dict[str, str]]:
    """Reads the documents of a corpus file in order, one at a time.

    `.jsonl` holds an object a line, whose text and summary are strings or lists of strings (lines). `.csv`
    and `.tsv` (tab) start with a header line and quote as spreadsheets do. Each may end in `.gz`. UTF-8, with
    or without a mark.

    Args:
        path: the file.
        id: name of the field with the document's name; without one a document is called by its number, from
            1.
        text: name of the field with the document.
        summary: name of the field with its summary; None for a corpus without summaries (they come out
            empty).
        counts: filled with `documents`, `empty` (no text but blanks), `without_summary` and `duplicates`
            (text and summary seen before); such documents are counted, not left out.

    Yields:
        {"id", "text", "summary"} strings.

    Raises:
        DataError: naming file, line, field, what was found and what was expected.
    """
    path = pathlib.Path(path)
    counts = collections.Counter() if counts is None else counts
    counts.update(documents=0, empty=0, without_summary=0, duplicates=0)
    seen: set[bytes] = set()
    for line, row in _rows(path):
        document = {
            "id": _field(path, line, row, id, default=str(counts["documents"] + 1)),
            "text": _field(path, line, row, text),
            "summary": "" if summary is None else _field(path, line, row, summary),
        }
        _count(document, counts, seen)
        yield document


def fingerprint(document: dict[str, str]) -> bytes:
    """A short hash of what makes two documents the same: text and summary, blanks at the ends aside."""
    content = f"{document['text'].strip()}\0{document['summary'].strip()}"
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _count(document: dict[str, str], counts: collections.Counter, seen: set[bytes]) -> None:
    counts["documents"] += 1
    counts["empty"] += not document["text"].strip()
    counts["without_summary"] += not document["summary"].strip()
    key = fingerprint(document)
    counts["duplicates"] += key in seen
    seen.add(key)


def _rows(path: pathlib.Path) -> Iterator[tuple[int, dict]]:
    """(line number, fields) of each document."""
    kind = path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    if kind not in _KINDS:
        raise DataError(
            f"{path}: the name ends in {path.suffix!r}, and a corpus is one of "
            f"{', '.join(_KINDS)}, each also with .gz; rename the file or convert it to JSON lines"
        )
    opener = gzip.open if path.suffix == ".gz" else open
    line = 0
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            rows = _json_rows(path, file) if kind == ".jsonl" else _table_rows(path, file, kind)
            for line, row in rows:
                yield line, row
    except (OSError, EOFError) as error:
        raise DataError(
            f"{path}: cannot be read after line {line} ({error}); expected a whole {kind} file"
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: bytes after line {line} are not UTF-8 "
            f"({error.reason} at {error.object[error.start : error.end]!r}); "
            "convert the file to UTF-8"
        ) from error


def _json_rows(path: pathlib.Path, file) -> Iterator[tuple[int, dict]]:
    for line, content in enumerate(file, start=1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}:{line}: not JSON ({error.msg} at column {error.colno}: {content[:60].rstrip()!r}); "
                "expected one object a line"
            ) from error
        if not isinstance(row, dict):
            raise DataError(
                f"{path}:{line}: found a {type(row).__name__}, expected an object with named fields"
            )
        yield line, row


def _table_rows(path: pathlib.Path, file, kind: str) -> Iterator[tuple[int, dict]]:
    csv.field_size_limit(sys.maxsize)  # the library's own limit of 128 KB is below a long article's size
    reader = csv.reader(file, dialect="excel-tab" if kind == ".tsv" else "excel", strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not header:
            raise DataError(
                f"{path}:1: the file is empty, expected a header line with the names of its columns"
            )
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{path}:{reader.line_num}: found {len(cells)} cells, "
                    f"expected {len(header)} ({', '.join(header)}); "
                    "quote cells that hold the separator or a line break"
                )
            yield reader.line_num, dict(zip(header, cells))
    except csv.Error as error:
        raise DataError(
            f"{path}:{reader.line_num}: {error}; quote cells, double the quotes in them"
        ) from error


def _field(path: pathlib.Path, line: int, row: dict, name: str, default: str | None = None) -> str:
    """The field's string; a list of strings becomes lines; a number serves as a name."""
    value = row.get(name, default)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if default is not None and isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        found = (
            f"found {type(value).__name__} {value!r:.40}" if name in row else f"found fields {', '.join(row)}"
        )
        raise DataError(
            f"{path}:{line}: field {name!r}: {found}, expected a string (or a list of strings); "
            "fill it in, or name the right field"
        )
    return value
