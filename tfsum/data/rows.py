"""Rows of a file, each a mapping of its fields: JSON lines, and tables."""

import csv
import itertools
import json
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping
from typing import IO, Any

from tfsum.errors import DataError
from tfsum.json_text import parse_json

MAX_ROW = 1 << 26  # characters of a JSON line; a file of 1 MB may be compressed from 1 GB
COLUMNS = "--text, --summary and the like, in a recipe [data] text, summary"
"""Options that name the fields of a corpus, for messages."""


def file_rows(
    name: str, file: IO[str], kind: str, header: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Reads the rows of an open file: JSON lines, or a table.

    Args:
        name: Name of the file, for messages.
        file: Its lines; of a table with their ends as they are.
        kind: ".jsonl", ".tsv" for a table with tabs, or anything else for one whose first line
            shows what parts its cells.
        header: Whether a table begins with the names of its columns; without one they are called
            "1", "2" and so on, and a quote in a table with tabs is text.

    Yields:
        Number of the line and fields of each row.

    Raises:
        DataError: Naming file, line, what was found and what was expected.

    Example:
        >>> import io
        >>> list(file_rows("a.csv", io.StringIO("id,text\\n1,It rained.\\n"), ".csv"))
        [(2, {'id': '1', 'text': 'It rained.'})]
    """
    if kind != ".jsonl":
        yield from _table_rows(name, file, kind, header)
        return

    for line, content in enumerate(iter(lambda: file.readline(MAX_ROW), ""), start=1):
        if len(content) == MAX_ROW and not content.endswith("\n"):
            raise DataError(
                f"{name}:{line}: the line has more than {MAX_ROW} characters; expected a document"
                " a line"
            )
        if content.strip():
            yield line, json_row(f"{name}:{line}", content)


def json_row(place: str, content: str) -> dict[str, Any]:
    """Parses a line as a JSON object.

    Args:
        place: File and number of the line, for messages.
        content: The line.

    Raises:
        DataError: The line is not JSON, or not an object.

    Example:
        >>> json_row("a.jsonl:1", '{"text": "It rained."}')
        {'text': 'It rained.'}
    """
    try:
        row = parse_json(content)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{place}: not JSON ({error.msg} at column {error.colno}: {content[:60].rstrip()!r});"
            " expected one object a line"
        ) from error
    if not isinstance(row, dict):
        raise DataError(
            f"{place}: found a {type(row).__name__}, expected an object with named fields"
        )
    return row


def _table_rows(
    name: str, file: IO[str], kind: str, header: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    # the library's own limit of 128 KB is below a long article's size
    csv.field_size_limit(sys.maxsize)
    begin = next(file, "")
    # what parts the cells: a comma, unless there are more semicolons, tabs or bars
    delimiter = max(",;\t|", key=re.sub(r'"[^"]*"', "", begin).count)
    if kind == ".tsv":
        delimiter = "\t"
    plain = not header and kind != ".csv"
    reader = csv.reader(
        itertools.chain([begin], file),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        strict=True,
    )

    try:
        rows: Iterator[list[str]] = filter(None, reader)
        first = next(rows, [])
        names = [cell.strip() for cell in first]
        if not names:
            expected = "header line with the names of its columns" if header else "row of cells"
            raise DataError(f"{name}:1: the file is empty, expected a {expected}")

        if not header:
            rows = itertools.chain([first], rows)
            names = [str(number + 1) for number in range(len(first))]
        for cells in rows:
            if len(cells) != len(names):
                raise DataError(
                    f"{name}:{reader.line_num}: found {len(cells)} cells, "
                    f"expected {len(names)} ({', '.join(names)}); "
                    "quote cells that hold the separator or a line break"
                )
            yield reader.line_num, dict(zip(names, cells))
    except csv.Error as error:
        raise DataError(
            f"{name}:{reader.line_num}: {error}; quote cells, double the quotes in them"
        ) from error


def text_field(
    place: str,
    row: Mapping[str, Any],
    name: str,
    *,
    default: str | None = None,
    number: bool = False,
    options: str = COLUMNS,
) -> str:
    """The text in a field of a row.

    Args:
        place: File and line of the row, for messages.
        row: Its fields.
        name: Name of the field.
        default: Text of a row without the field; None if each must have it.
        number: Whether the field may also hold a whole number.
        options: Options that name the field, for messages.

    Returns:
        The text; the strings of a list become lines.

    Raises:
        DataError: The field is missing or holds no text, or the text cannot be written as UTF-8.

    Example:
        >>> text_field("a.jsonl:1", {"text": ["It rained.", "It is over."]}, "text")
        'It rained.\\nIt is over.'
    """
    value = row.get(name, default)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = "\n".join(value)
    if number and isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        problem = f"found fields {', '.join(row)}"
        if name in row:
            problem = f"found {type(value).__name__} {value!r:.40}"
        raise DataError(
            f"{place}: field {name!r}: {problem}, expected a string (or a list of"
            f" strings{', or a whole number' * number}); fill it in, or name the field that holds"
            f" it ({options}; a number from 1 in a table without a header line)"
        )

    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:  # JSON can say it: "\\ud800"
        raise DataError(
            f"{place}: field {name!r}: character {error.start + 1} is {value[error.start]!r}, half "
            "of a pair that UTF-8 cannot hold; write the whole character, or take it out"
        ) from None
    return value


def name_kind(name: str) -> str:
    """The end of a file's name, .gz aside.

    Example:
        >>> name_kind("news.jsonl.gz"), name_kind("a.txt")
        ('.jsonl', '.txt')
    """
    return pathlib.PurePath(name.removesuffix(".gz")).suffix
