"""Rows that people give: JSON Lines, an array, tables, Parquet. A wrong one stops no other."""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import TypeAlias

from tfsum.data.rows import json_row
from tfsum.errors import DataError, install_extra
from tfsum.inputs.kinds import PARQUET
from tfsum.json_text import parse_json

Row: TypeAlias = dict[str, object]
LONGEST = 1000  # lines of a row of a table: a quote that is open for longer is never closed


def read_rows(data: bytes, text: str, name: str) -> Iterator[tuple[int, Row | DataError]]:
    """Reads the rows of a file, its format told from its content.

    Args:
        data: Content of the file; Parquet is read from it.
        text: The same as text, for all other formats.
        name: Name of the file; with `.tsv` or `.csv` it says what parts the cells.

    Yields:
        Number of each row's line (in an array and in Parquet, of the row) and its fields, or what
        is wrong with it.

    Raises:
        DataError: The file has no rows, or they cannot be told apart.

    Example:
        >>> rows = '{"text": "It rained."}\\nnull\\n{"text": "We st'
        >>> for line, row in read_rows(b"", rows, "a.jsonl"):
        ...     print(line, row)
        1 {'text': 'It rained.'}
        2 a.jsonl:2: found a NoneType, expected an object with named fields
        3 a.jsonl:3: not JSON (Unterminated string starting at at column 10: '{"text": "We st'); \
expected one object a line
    """
    if data.startswith(PARQUET):
        return _parquet_rows(data, name)
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "[":
        return _array_rows(text, name)
    is_table = re.search(r"\.[ct]sv(\.gz)?$", name) and start != "{"
    return _table_rows(text, name) if is_table or not _has_json(text) else _json_rows(text, name)


def _has_json(text: str) -> bool:
    """Whether one of the first lines is an object, though wrong ones may come before it."""
    return any(line.lstrip("\ufeff \t").startswith("{") for line in text[:10_000].splitlines())


def _json_rows(text: str, name: str) -> Iterator[tuple[int, Row | DataError]]:
    for line, content in enumerate(io.StringIO(text), start=1):
        if content.strip("\ufeff \t\r\n"):
            try:
                yield line, json_row(f"{name}:{line}", content.lstrip("\ufeff"))
            except DataError as error:
                yield line, error


def _array_rows(text: str, name: str) -> Iterator[tuple[int, Row | DataError]]:
    try:
        rows = parse_json(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{name}:{error.lineno}: not JSON ({error.msg} at column {error.colno}); expected an"
            " array of objects, or an object a line"
        ) from None
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            yield number, row
        else:
            found = type(row).__name__
            yield (
                number,
                DataError(
                    f"{name}:{number}: found a {found}, expected an object with named fields"
                ),
            )


def _parquet_rows(data: bytes, name: str) -> Iterator[tuple[int, Row | DataError]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            f"{name}: is Parquet, which is read with the extra `parquet`:"
            f" {install_extra('parquet')}"
        ) from None
    try:
        batches = pyarrow.parquet.ParquetFile(io.BytesIO(data)).iter_batches()
        yield from enumerate((row for batch in batches for row in batch.to_pylist()), start=1)
    except pyarrow.ArrowException as error:
        raise DataError(f"{name}: cannot be read as Parquet ({error})") from None


def _table_rows(text: str, name: str) -> Iterator[tuple[int, Row | DataError]]:
    lines = list(io.StringIO(text.lstrip("\ufeff"), newline=""))
    first = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    header = lines[first] if lines[first:] else ""
    # a comma, unless there are more semicolons, tabs or bars
    delimiter = max(",;\t|", key=re.sub(r'"[^"]*"', "", header).count)
    if re.search(r"\.tsv(\.gz)?$", name):
        delimiter = "\t"
    names = [cell.strip() for cell in _cells(header, delimiter) or []]

    place = first + 1
    while place < len(lines):
        line, size = place + 1, 1
        if lines[place].strip():
            cells, size = _record(lines, place, delimiter, len(names))
            if cells is not None:
                yield line, dict(zip(names, cells))
            else:
                found = _cells(lines[place], delimiter)
                what = "a quote is open" if found is None else f"found {len(found)} cells"
                yield (
                    line,
                    DataError(
                        f"{name}:{line}: {what}, expected {len(names)} ({', '.join(names)}); quote"
                        " cells that hold the separator or a line break, and double quotes in them"
                    ),
                )
        place += size


def _record(
    lines: list[str], place: int, delimiter: str, width: int
) -> tuple[list[str] | None, int]:
    """The cells of the row that begins with a line, and the number of its lines.

    A row that is wrong is one line, so that the next ones are not lost with it.
    """
    quotes, end = 0, place
    while end < min(len(lines), place + LONGEST):
        quotes += lines[end].count('"')
        end += 1
        if quotes % 2 == 0:
            break
    cells = None if quotes % 2 else _cells("".join(lines[place:end]), delimiter)
    if cells is not None and len(cells) == width:
        return cells, end - place
    plain = lines[place].rstrip("\r\n").split("\t")  # in which a quote is a letter as any other
    return (plain if delimiter == "\t" and len(plain) == width else None), 1


def _cells(line: str, delimiter: str) -> list[str] | None:
    """The cells of one row; None where it is none."""
    csv.field_size_limit(1 << 30)  # the library's own limit is below a long article's size
    try:
        (cells,) = csv.reader(io.StringIO(line, newline=""), delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        return None
    return cells
