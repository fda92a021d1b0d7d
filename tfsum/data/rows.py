"""Rows of a file, each a mapping of its fields: JSON lines, tables, Parquet."""

import collections
import csv
import itertools
import json
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping
from typing import IO, Any, Literal, TypeAlias

from tfsum.errors import DataError, as_error, install_extra
from tfsum.json_text import parse_json

Row: TypeAlias = dict[str, Any]
Rows = Iterator[tuple[str, Mapping[str, Any] | DataError]]
"""The place of each row, for messages, and its fields or what is wrong with it."""
LONGEST = 100_000  # lines of a row of a table: a quote that is open for longer is never closed
PARQUET = b"PAR1"  # how a file of it begins
ROWS_AT_ONCE = 1000  # of Parquet
MAX_ROW = 1 << 26  # characters of a JSON line; a file of 1 MB may be compressed from 1 GB
COLUMNS = "--text, --summary and the like, in a recipe [data] text, summary"
"""Options that name the fields of a corpus, for messages."""


def file_rows(
    name: str, file: IO[str], kind: str, header: bool = True
) -> Iterator[tuple[int, Row | DataError]]:
    """Reads the rows of an open file: JSON lines, or a table. A wrong one stops no other.

    Args:
        name: Name of the file, for messages.
        file: Its lines; of a table with their ends as they are.
        kind: ".jsonl", ".tsv" for a table with tabs, or anything else for one whose first line
            shows what parts its cells.
        header: Whether a table begins with the names of its columns; without one they are called
            "1", "2" and so on, and a quote in a table with tabs is text.

    Yields:
        Number of each row's first line, and its fields or what is wrong with it: file, line, what
        was found and what was expected.

    Raises:
        DataError: A table is empty, or its first line is wrong.

    Example:
        >>> import io
        >>> table = io.StringIO("id,text\\n1,It rained.\\n2\\n")
        >>> for line, row in file_rows("a.csv", table, ".csv"):
        ...     print(line, row)
        2 {'id': '1', 'text': 'It rained.'}
        3 a.csv:3: found 1 cells, expected 2 (id, text); quote cells that hold the separator or a \
line break, and double the quotes in them
    """
    if kind != ".jsonl":
        yield from _table_rows(name, file, kind, header)
        return

    for line, content in enumerate(iter(lambda: file.readline(MAX_ROW), ""), start=1):
        try:
            if len(content) == MAX_ROW and not content.endswith("\n"):
                while (rest := file.readline(MAX_ROW)) and not rest.endswith("\n"):
                    pass
                raise DataError(
                    f"{name}:{line}: the line has more than {MAX_ROW} characters; expected a"
                    " document a line"
                )
            if content := content.strip("\ufeff \t\r\n"):
                yield line, json_row(f"{name}:{line}", content)
        except DataError as error:
            yield line, error


def json_row(place: str, content: str) -> Row:
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
    return checked_row(place, row)


def checked_row(place: str, value: object) -> Row:
    """A value of JSON, which must be an object.

    Args:
        place: File and number of the row, for messages.
        value: The value.

    Raises:
        DataError: It is something else.

    Example:
        >>> checked_row("a.jsonl:1", None)
        Traceback (most recent call last):
        tfsum.errors.DataError: a.jsonl:1: found null, expected an object with named fields
    """
    if not isinstance(value, dict):
        found = json.dumps(value, ensure_ascii=False)
        raise DataError(f"{place}: found {found:.40}, expected an object with named fields")
    return value


def _table_rows(
    name: str, file: IO[str], kind: str, header: bool
) -> Iterator[tuple[int, Row | DataError]]:
    line = 1
    while (begin := file.readline()).isspace():
        line += 1
    # what parts the cells: a comma, unless there are more semicolons, tabs or bars
    delimiter = max(",;\t|", key=re.sub(r'"[^"]*"', "", begin).count)
    if kind == ".tsv":
        delimiter = "\t"
    is_quoted = header or kind == ".csv"
    records = _records(collections.deque([begin]), file, line, delimiter, is_quoted)
    line, names, problem = next(records, (line, [], "the file is empty"))
    if problem:
        expected = "header line with the names of its columns" if header else "row of cells"
        raise DataError(f"{name}:{line}: {problem}, expected a {expected}")

    if header:
        require_utf8(f"{name}:{line}: the header line", begin)
        names = [cell.strip() for cell in names]
    else:
        records = itertools.chain([(line, names, "")], records)
        names = [str(number + 1) for number in range(len(names))]
    for line, cells, problem in records:
        if problem:
            yield (
                line,
                DataError(
                    f"{name}:{line}: {problem}, expected {len(names)} ({', '.join(names)}); quote"
                    " cells that hold the separator or a line break, and double the quotes in them"
                ),
            )
        else:
            yield line, dict(zip(names, cells))


def _records(
    ahead: collections.deque[str], file: IO[str], line: int, delimiter: str, is_quoted: bool
) -> Iterator[tuple[int, list[str], str]]:
    """The rows of a table: number of the first line, cells, and what is wrong with them.

    A row that is wrong is one line, so that the next ones are not lost with it.

    Args:
        ahead: Lines that are read already.
        file: The other lines.
        line: Number of the first line.
        delimiter: What parts cells.
        is_quoted: Whether quotes are no part of the text.
    """
    csv.field_size_limit(sys.maxsize)  # the library's own, 128 KB, is below a long article's size
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    taken: list[str] = []
    width = 0

    def following() -> Iterator[str]:
        while len(taken) < LONGEST and (one := ahead.popleft() if ahead else file.readline()):
            taken.append(one)
            yield one

    while True:
        taken.clear()
        reader = csv.reader(following(), delimiter=delimiter, quoting=quoting, strict=True)
        try:
            cells, problem = next(reader, []), ""
        except csv.Error as error:
            cells, problem = [], str(error)
        if not taken:
            return

        if problem or len(cells) != width > 0:
            ahead.extendleft(reversed(taken[1:]))
            del taken[1:]
            is_open = is_quoted and taken[0].count('"') % 2
            problem = "a quote is open" if is_open else problem or f"found {len(cells)} cells"
            plain = taken[0].rstrip("\r\n").split("\t")  # in which a quote is a letter
            if delimiter == "\t" and len(plain) == width:
                cells, problem = plain, ""
        if taken[0].strip(" \r\n"):
            yield line, cells, problem
            width = width or len(cells)
        line += len(taken)


def parquet_rows(name: str, file: IO[bytes]) -> Iterator[tuple[int, Row]]:
    """Reads the rows of Parquet.

    Args:
        name: Name of the file, for messages.
        file: The open file, in which one can seek.

    Yields:
        Number of each row, from 1, and its fields.

    Raises:
        DataError: It is damaged, or pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            f"{name}: is Parquet, which is read with the extra `parquet`:"
            f" {install_extra('parquet')}"
        ) from None
    with as_error(f"{name}: cannot be read as Parquet", pyarrow.ArrowException, kind=DataError):
        batches = pyarrow.parquet.ParquetFile(file).iter_batches(ROWS_AT_ONCE)
        yield from enumerate((row for batch in batches for row in batch.to_pylist()), start=1)


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

    require_utf8(f"{place}: field {name!r}", value)
    return value


def require_utf8(place: str, text: str) -> None:
    """Refuses a text that cannot be written as UTF-8.

    Args:
        place: File, line and field, for messages.
        text: The text. JSON can say half of a pair ("\\ud800"), and `open_text` reads as one what
            was a byte of another encoding.

    Raises:
        DataError: It cannot be written.

    Example:
        >>> require_utf8("a.csv:2", "Caf\\udce9")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.DataError: a.csv:2: not UTF-8 (character 4 is '\\udce9', half of a pair or ...
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"{place}: not UTF-8 (character {error.start + 1} is {text[error.start]!r}, half of a"
            " pair or a byte of another encoding); convert the file to UTF-8, or write the whole"
            " character"
        ) from None


def corpus_labels(
    place: str, row: Mapping[str, Any], text: str, labels: str
) -> tuple[list[str], list[float]]:
    """The sentences of a row that carries its own labels, and their labels.

    Args:
        place: Place of the row, for messages.
        row: Row with the sentences as a list of strings, and the labels: a number from 0 to 1 for
            each sentence, or the numbers of the sentences that make the summary, from 0. (Two
            sentences with the labels [0, 1] are labelled one by one.)
        text, labels: The names of the two fields.

    Returns:
        The sentences, each in one line, blank ones left out; and a label for each.

    Raises:
        DataError: A field is missing or of another form.

    Example:
        >>> corpus_labels(
        ...     "a.jsonl:1",
        ...     {"text": ["It rained.", "It rains.", "Rain."], "labels": [2]},
        ...     "text",
        ...     "labels",
        ... )
        (['It rained.', 'It rains.', 'Rain.'], [0.0, 0.0, 1.0])
    """
    sentences: Any = row.get(text)
    marks: Any = row.get(labels)
    if not isinstance(sentences, list) or not all(
        isinstance(sentence, str) for sentence in sentences
    ):
        raise DataError(
            f"{place}: field {text!r} is a {type(sentences).__name__}; expected a list of"
            f" sentences, which the labels in {labels!r} are of"
        )

    size = len(sentences)
    numbers = isinstance(marks, list) and all(type(label) in (int, float) for label in marks)
    if numbers and len(marks) == size and all(0 <= label <= 1 for label in marks):
        values = [float(label) for label in marks]
    elif numbers and len(set(marks)) == len(marks) and set(marks) <= set(range(size)):
        values = [float(number in marks) for number in range(size)]
    else:
        raise DataError(
            f"{place}: field {labels!r} is {marks!r:.60} for {size} sentences; expected a list of"
            f" {size} numbers from 0 to 1, or of different numbers of sentences, from 0 to"
            f" {size - 1}"
        )

    kept = [i for i, sentence in enumerate(sentences) if sentence.strip()]
    return [" ".join(sentences[i].split()) for i in kept], [values[i] for i in kept]


def name_kind(name: str) -> str:
    """The end of a file's name, .gz aside.

    Example:
        >>> name_kind("news.jsonl.gz"), name_kind("a.txt")
        ('.jsonl', '.txt')
    """
    return pathlib.PurePath(name.removesuffix(".gz")).suffix
