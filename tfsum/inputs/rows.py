"""Rows that people give: JSON Lines, an array, tables, Parquet. A wrong one stops no other."""

import io
import json
import re
from collections.abc import Iterator

from tfsum.data.rows import PARQUET, Row, checked_row, file_rows, name_kind, parquet_rows
from tfsum.errors import DataError

_VALUE = re.compile(r"[^\s,\[\]]")  # begins one of an array
_OBJECT = re.compile(r"(?<=\})[\s,]+\{")  # behind another


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
        2 a.jsonl:2: found null, expected an object with named fields
        3 a.jsonl:3: not JSON (Unterminated string starting at at column 10: '{"text": "We st'); \
expected one object a line
    """
    if data.startswith(PARQUET):
        return parquet_rows(name, io.BytesIO(data))
    text = text.lstrip("\ufeff")
    start = text.lstrip()[:1]
    if start == "[":
        return _array_rows(text, name)
    kind = name_kind(name)
    is_table = (kind in (".csv", ".tsv") and start != "{") or not _has_json(text)
    return file_rows(name, io.StringIO(text, newline=""), kind if is_table else ".jsonl")


def _has_json(text: str) -> bool:
    """Whether one of the first lines is an object, though wrong ones may come before it."""
    return bool(re.search(r"^[ \t\ufeff]*\{", text[:10_000], re.M))


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
