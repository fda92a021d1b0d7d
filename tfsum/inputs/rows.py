"""Rows that people give: JSON Lines, an array, tables, Parquet. A wrong one stops no other."""

import io
import itertools
import json
import re
from collections.abc import Iterator

from tfsum.data.rows import (
    PARQUET,
    Row,
    checked_row,
    file_rows,
    name_kind,
    parquet_rows,
    text_field,
)
from tfsum.errors import DataError, require
from tfsum.inputs.documents import Document
from tfsum.inputs.kinds import decode

LOOK = 100  # rows, one of which has the field of the text

_VALUE = re.compile(r"[^\s,\[\]]")  # begins one of an array
_OBJECT = re.compile(r"(?<=\})[\s,]+\{")  # behind another


def row_documents(
    data: bytes, name: str, field: str, id: str | None, encoding: str | None
) -> Iterator[Document]:
    """Reads the documents of rows.

    Args:
        data: Content of a file: JSON Lines, an array, a table, or Parquet.
        name: Name of the file.
        field: Field that holds a document.
        id: Field that names a row; None for its line.
        encoding: Python's name of the encoding; None recognizes it.

    Yields:
        A document a row; null and NaN are an empty text, anything else but text an error.

    Raises:
        DataError: The rows cannot be told apart, there is none, or none has the field.

    Example:
        >>> rows = b'{"text": "It rained."}'
        >>> for document in row_documents(rows, "a.jsonl", "text", None, None):
        ...     print(document.name, document.text)
        a.jsonl:1 It rained.
    """
    rows, notes = read_rows(data, name, encoding, field)
    first = list(itertools.islice(rows, LOOK))
    fields = [row for _, row in first if isinstance(row, dict)]
    for wanted, option in ((field, "--field"), (id, "--id")):
        if wanted is not None and fields and not any(wanted in row for row in fields):
            raise DataError(
                f"{name}: no row has the field {wanted!r}; the first has the fields"
                f" {', '.join(fields[0])}; {option} names one of them"
            )
    require(
        first,
        f"{name}: holds no row; expected JSON lines, or a table with a header line",
        DataError,
    )

    for line, row in itertools.chain(first, rows):
        place = f"{name}:{line}"
        try:
            if isinstance(row, DataError):
                raise row
            value = row.get(field, "")
            is_empty = value is None or value != value  # NaN is not itself
            text = "" if is_empty else text_field(place, row, field, options="--field")
            label = line if id is None else text_field(place, row, id, number=True, options="--id")
            yield Document(text, notes, name=f"{name}:{label}", row=row)
        except DataError as error:
            yield Document("", name=place, error=error)


def found_fields(data: bytes, name: str, encoding: str | None) -> str:
    """Says what the first row of a file holds, for messages.

    Args:
        data: Content of the file.
        name: Name of the file.
        encoding: Python's name of the encoding; None recognizes it.

    Example:
        >>> found_fields(b"id;text\\n1;It rained.", "a.csv", None)
        'the first has the fields id, text'
    """
    _, row = next(read_rows(data, name, encoding)[0], (0, None))
    if not isinstance(row, dict):
        return "the first cannot be read"
    return f"the first has the fields {', '.join(row)}"


def read_rows(
    data: bytes, name: str, encoding: str | None = None, field: str = ""
) -> tuple[Iterator[tuple[int, Row | DataError]], list[str]]:
    """Reads the rows of a file, its format told from its content.

    Args:
        data: Content of the file.
        name: Name of the file; with `.tsv` or `.csv` it says what parts the cells.
        encoding: Python's name of the encoding; None recognizes it.
        field: Field that the first line of a file names whose name is no table's: of prose every
            line would be a wrong row.

    Returns:
        Number of each row's line (in an array and in Parquet, of the row) and its fields, or what
        is wrong with it; and notes on the encoding.

    Raises:
        DataError: The file has no rows, or they cannot be told apart.

    Example:
        >>> rows = b'{"text": "It rained."}\\nnull\\n{"text": "We st'
        >>> for line, row in read_rows(rows, "a.jsonl")[0]:
        ...     print(line, row)
        1 {'text': 'It rained.'}
        2 a.jsonl:2: found null, expected an object with named fields
        3 a.jsonl:3: not JSON (Unterminated string starting at at column 10: '{"text": "We st'); \
expected one object a line
    """
    if data.startswith(PARQUET):
        return parquet_rows(name, io.BytesIO(data)), []
    text, notes = decode(data, name, encoding)
    text = text.lstrip("\ufeff")
    start = text.lstrip()[:1]
    if start == "[":
        return _array_rows(text, name), notes
    kind = name_kind(name)
    # one of the first lines is an object, though wrong ones may come before it
    has_json = re.search(r"^[ \t\ufeff]*\{", text[:10_000], re.M)
    if has_json and (kind not in (".csv", ".tsv") or start == "{"):
        kind = ".jsonl"
    header, *_ = text.split("\n", 1)
    require(
        field in header or kind in (".jsonl", ".csv", ".tsv"),
        f"{name}: is text, and its first line ({header[:40]!r}) does not name the field {field!r};"
        " expected JSON lines, or a table with a header line; without --field a file is one text",
        DataError,
    )
    return file_rows(name, io.StringIO(text, newline=""), kind), notes


def _array_rows(text: str, name: str) -> Iterator[tuple[int, Row | DataError]]:
    """The objects of an array, or of several; after a wrong one goes on with the next."""
    decode = json.JSONDecoder().raw_decode
    number, place, is_whole = 0, 0, text.rstrip().endswith("]")
    while begin := _VALUE.search(text, place):
        number += 1
        try:
            value, place = decode(text, begin.start())
            yield number, checked_row(f"{name}:{number}", value)
        except DataError as error:
            yield number, error
        except (ValueError, RecursionError) as error:
            following = _OBJECT.search(text, begin.end())
            place = following.start() if following else len(text)
            is_whole = is_whole or not following
            yield number, _no_json(f"{name}:{number}", str(error))
    if not is_whole:
        yield number + 1, _no_json(f"{name}:{number + 1}", "the array has no end")


def _no_json(place: str, problem: str) -> DataError:
    return DataError(
        f"{place}: not JSON ({problem}); expected an array of objects, or an object a line"
    )
