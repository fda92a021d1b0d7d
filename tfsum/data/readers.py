"""Corpus files of documents with summaries: JSON lines, tables, and files of the papers."""

import collections
import csv
import hashlib
import io
import itertools
import json
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from tfsum.data.corpus_files import (
    CORE_NLP,
    KINDS,
    SHARD,
    STORY,
    TOKENS,
    corpus_files,
    file_kind,
    name_kind,
    open_text,
)
from tfsum.data.documents.corpus_labels import corpus_labels
from tfsum.data.paper_files import read_core_nlp, read_shard, read_story, read_token_examples
from tfsum.errors import DataError
from tfsum.json_text import parse_json

MAX_ROW = 1 << 26  # characters of a JSON line; a file of 1 MB may be compressed from 1 GB

Corpus = str | pathlib.Path | Iterable[Mapping[str, Any]]
"""A corpus: a file, several files (`tfsum.data.corpus_files`), or rows in memory, each a mapping of
its columns."""


def corpus_name(corpus: Corpus) -> str:
    """What messages call a corpus.

    Example:
        >>> corpus_name("news.jsonl"), corpus_name([{"text": "It rained."}])
        ('news.jsonl', 'rows')
    """
    return str(corpus) if isinstance(corpus, str | pathlib.Path) else "rows"


def read_corpus(
    path: Corpus,
    *,
    id: str = "id",
    text: str = "text",
    summary: str | None = "summary",
    counts: collections.Counter | None = None,
    labels: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Reads the documents of a corpus in order, one at a time.

    `.jsonl` (and any file that begins with an object) holds an object a line, whose text and
    summary are strings or lists of strings (lines). `.csv` and `.tsv` (tab) start with a header
    line and quote as spreadsheets do. A `.story` of CNN or the Daily Mail and CoreNLP's JSON of one
    are a document; BertSum's JSON of tokens and `.pt` shards hold many, a sentence a line
    (`tfsum.data.paper_files`). Each may be compressed by gzip, but for shards. UTF-8, with or
    without a mark.

    Args:
        path: The file, or a folder, a pattern or a list of addresses, see `corpus_files`; or its
            rows in memory.
        id: Name of the field with the document's name; without one a document is called by its
            number, from 1.
        text: Name of the field with the document.
        summary: Name of the field with its summary; None for a corpus without summaries (they come
            out empty).
        counts: Filled with `documents`, `empty` (no text but blanks), `without_summary` and
            `duplicates` (text and summary seen before); such documents are counted, not left out.
        labels: Name of the field that says which sentences make the summary, see `corpus_labels`;
            the text is a list of sentences then, and the summary may be missing.

    Yields:
        {"id", "text", "summary"} strings; with `labels` also "sentences", a list of strings, and
        "labels", of floats.

    Raises:
        DataError: Naming file, line, field, what was found and what was expected.

    Example:
        >>> list(read_corpus([{"text": "It rained.", "summary": "Rain."}]))
        [{'id': '1', 'text': 'It rained.', 'summary': 'Rain.'}]
    """
    counts = collections.Counter() if counts is None else counts
    counts.update(documents=0, empty=0, without_summary=0, duplicates=0)
    seen: set[bytes] = set()
    for place, row in _rows(path):
        document: dict[str, Any] = {
            "id": _field(place, row, id, default=str(counts["documents"] + 1)),
            "text": _field(place, row, text),
            "summary": (
                ""
                if summary is None or (labels and summary not in row)
                else _field(place, row, summary)
            ),
        }
        if labels is not None:
            document["sentences"], document["labels"] = corpus_labels(place, row, text, labels)
        key = fingerprint(document["text"], document["summary"])
        counts.update(
            documents=1,
            empty=not document["text"].strip(),
            without_summary=not document["summary"].strip(),
            duplicates=key in seen,
        )
        seen.add(key)
        yield document


def read_columns(
    path: Corpus, columns: Sequence[str], numbers: Sequence[str] = ()
) -> Iterator[tuple[str, ...]]:
    """Reads some fields of a corpus file's rows in order, each as `read_corpus` does.

    Args:
        path: Corpus, as in `read_corpus`.
        columns: Names of the fields. Numbers from 1 mean a table without a header line; a `.tsv` of
            that kind is plain: a tab ends a cell and a quote is text.
        numbers: The fields among them that may hold a whole number in JSON, which becomes a string.

    Yields:
        A tuple of strings a row, one a column.

    Raises:
        DataError: Naming file, line, field, what was found and what was expected.

    Example:
        >>> list(
        ...     read_columns(
        ...         [{"text": "It rained.", "label": 1}], ("text", "label"), numbers=("label",)
        ...     )
        ... )
        [('It rained.', '1')]
    """
    header = not all(name.isdecimal() for name in columns)
    for place, row in _rows(path, header):
        yield tuple(_field(place, row, name, number=name in numbers) for name in columns)


def read_lines(path: str | pathlib.Path) -> Iterator[str]:
    """Reads the lines of a UTF-8 text file, plain or `.gz`; only a new line ends one.

    Raises:
        DataError: If the file cannot be read.

    Example:
        >>> import tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = file.write_text("one\\ntwo\\n")
        >>> list(read_lines(file))
        ['one', 'two']
    """
    path = pathlib.Path(path)
    with open_text(path, "text", newline="\n") as (file, read):
        for line in file:
            yield line.removesuffix("\n").removesuffix("\r")
            read.line += 1


def read_documents(path: str | pathlib.Path, text: str) -> Iterator[str]:
    """Reads the texts of a corpus in order, one at a time.

    Args:
        path: A file as `read_columns` reads it; one of any other name is plain text, plain or
            `.gz`, whose documents are parted by empty lines (google-research/bert's format, which
            has a sentence a line).
        text: Name of the field with the text, see `read_columns`.

    Raises:
        DataError: Naming file, line, field, what was found and what was expected.

    Example:
        >>> import tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = file.write_text("It rained.\\nIt stopped.\\n\\nA dog ran.\\n")
        >>> list(read_documents(file, "text"))
        ['It rained.\\nIt stopped.', 'A dog ran.']
    """
    path = pathlib.Path(path)
    if file_kind(path):
        yield from (document for (document,) in read_columns(path, (text,)))
        return
    for blank, lines in itertools.groupby(read_lines(path), key=lambda line: not line.strip()):
        if not blank:
            yield "\n".join(lines)


class RereadTexts:
    """Texts that are read again with each loop.

    Args:
        read: Function that begins to read them.

    Example:
        >>> texts = RereadTexts(lambda: iter(["It rained."]))
        >>> list(texts), list(texts)
        (['It rained.'], ['It rained.'])
    """

    def __init__(self, read: Callable[[], Iterator[str]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[str]:
        return self._read()


def read_texts(paths: Sequence[str | pathlib.Path], columns: Sequence[str]) -> Iterator[str]:
    """Reads the texts of corpus files one after another.

    Args:
        paths: Files as `read_columns` reads them; those of other names hold a text a line.
        columns: The fields, see `read_columns`.

    Raises:
        DataError: Naming file, line, field, what was found and what was expected.

    Example:
        >>> import tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = file.write_text("one\\ntwo\\n")
        >>> list(read_texts([file], ["text"]))
        ['one', 'two']
    """
    for path in paths:
        if file_kind(pathlib.Path(path)):
            yield from itertools.chain.from_iterable(read_columns(path, columns))
        else:
            yield from read_lines(path)


def read_rows(
    text: str, name: str, field: str, id: str | None = None
) -> Iterator[tuple[str, str | DataError]]:
    """Reads one field of the rows of a text: JSON lines, or a table with a header line.

    Args:
        text: The content of a file.
        name: Name of the file, for messages; `.tsv` is a table with tabs.
        field: Name of the field.
        id: Name of the field that names a row; None for the number of its line, from 1.

    Yields:
        The row's name, and the field: "" where it is null or NaN, or the error that names
        the line, what was found and what was expected.

    Raises:
        DataError: The rows cannot be told apart.

    Example:
        >>> list(read_rows('{"text": "It rained."}', "a.jsonl", "text"))
        [('1', 'It rained.')]
    """
    for line, row in _text_rows(text, name):
        place = f"{name}:{line}"
        value = row.get(field, "missing")
        is_empty = value is None or value != value  # NaN
        try:
            label = str(line)
            if id is not None:
                label = _field(place, row, id, number=True, options="--id")
            yield label, "" if is_empty else _field(place, row, field, options="--field")
        except DataError as error:
            yield str(line), error


def first_fields(text: str, name: str) -> list[str]:
    """The names of the first row's fields, see `read_rows`; none where it cannot be read.

    Example:
        >>> first_fields("id;text\\n1;It rained.", "a.csv")
        ['id', 'text']
    """
    try:
        return list(next(_text_rows(text, name))[1])
    except (DataError, StopIteration):
        return []


def _text_rows(text: str, name: str) -> Iterator[tuple[int, dict]]:
    path = pathlib.Path(name)
    kind = ".jsonl" if text.lstrip().startswith("{") else name_kind(path)
    return _table_rows(path, io.StringIO(text, newline=""), kind)


def fingerprint(text: str, summary: str = "") -> bytes:
    """Hashes what makes two documents the same: text and summary, stripped.

    Example:
        >>> fingerprint("It rained. ") == fingerprint("It rained."), len(fingerprint("It rained."))
        (True, 16)
    """
    content = f"{text.strip()}\0{summary.strip()}"
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _rows(corpus: Corpus, header: bool = True) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(place for messages, fields) of each document."""
    if isinstance(corpus, str | pathlib.Path):
        for path in corpus_files(corpus):
            yield from _file_rows(path, header)
        return

    for number, row in enumerate(corpus, start=1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"rows:{number}: found a {type(row).__name__}, expected a dict with the names of"
                " columns"
            )
        yield f"rows:{number}", row


def _file_rows(path: pathlib.Path, header: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    kind = file_kind(path)
    if kind is None:
        raise DataError(
            f"{path}: the name ends in {path.suffix!r} and the file does not hold JSON lines; a"
            f" corpus is one of {', '.join(KINDS)}, each also with .gz, or {STORY}, BertSum's"
            f" {TOKENS} or {SHARD}; rename the file or convert it to JSON lines"
        )

    if kind == SHARD:
        yield from read_shard(path)
        return
    with open_text(path, kind) as (file, read):
        if kind == TOKENS:
            yield from read_token_examples(str(path), file.read())
        elif kind not in KINDS:  # a story has the name of its file
            text = file.read()
            story = read_core_nlp(str(path), text) if kind == CORE_NLP else read_story(text)
            yield str(path), {"id": path.name.split(".", 1)[0], **story}
        else:
            for line, row in _table_rows(path, file, kind, header):
                yield f"{path}:{line}", row
                read.line = line


def _table_rows(
    path: pathlib.Path, file: IO[str], kind: str, header: bool = True
) -> Iterator[tuple[int, dict]]:
    """(number of the line, fields) of each row."""
    if kind == ".jsonl":
        return _json_rows(path, file)
    return _csv_rows(path, file, kind, header)


def _json_rows(path: pathlib.Path, file: IO[str]) -> Iterator[tuple[int, dict]]:
    for line, content in enumerate(iter(lambda: file.readline(MAX_ROW), ""), start=1):
        if not content.strip():
            continue
        if len(content) == MAX_ROW and not content.endswith("\n"):
            raise DataError(
                f"{path}:{line}: the line has more than {MAX_ROW} characters; expected a document"
                " a line"
            )
        try:
            row = parse_json(content)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}:{line}: not JSON ({error.msg} at column {error.colno}:"
                f" {content[:60].rstrip()!r}); expected one object a line"
            ) from error
        if not isinstance(row, dict):
            raise DataError(
                f"{path}:{line}: found a {type(row).__name__}, expected an object with named fields"
            )
        yield line, row


def _csv_rows(
    path: pathlib.Path, file: IO[str], kind: str, header: bool
) -> Iterator[tuple[int, dict]]:
    # the library's own limit of 128 KB is below a long article's size
    csv.field_size_limit(sys.maxsize)
    begin = next(file, "")
    plain = not header and kind != ".csv"
    reader = csv.reader(
        itertools.chain([begin], file),
        delimiter="\t" if kind == ".tsv" else _delimiter(begin),
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        strict=True,
    )

    try:
        first = next(reader, [])
        if not first:
            raise DataError(
                f"{path}:1: the file is empty, expected a "
                + ("header line with the names of its columns" if header else "row of cells")
            )
        names = [name.strip() for name in first]
        rows: Iterator[list[str]] = reader
        if not header:
            names = [str(i + 1) for i in range(len(first))]
            rows = itertools.chain([first], reader)
        for cells in filter(None, rows):
            if len(cells) != len(names):
                raise DataError(
                    f"{path}:{reader.line_num}: found {len(cells)} cells, "
                    f"expected {len(names)} ({', '.join(names)}); "
                    "quote cells that hold the separator or a line break"
                )
            yield reader.line_num, dict(zip(names, cells))
    except csv.Error as error:
        raise DataError(
            f"{path}:{reader.line_num}: {error}; quote cells, double the quotes in them"
        ) from error


def _delimiter(line: str) -> str:
    """What parts the cells of a table's first line: a comma, unless there are more semicolons, tabs
    or bars."""
    bare = re.sub(r'"[^"]*"', "", line)
    return max(",;\t|", key=bare.count)


def _field(
    place: str,
    row: Mapping[str, Any],
    name: str,
    default: str | None = None,
    number: bool = False,
    options: str = "--text, --summary and the like, in a recipe [data] text, summary",
) -> str:
    """The field's string; a list of strings becomes lines; a whole number serves as a name or where
    it may."""
    value = row.get(name, default)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = "\n".join(value)
    if (number or default is not None) and isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        problem = f"found fields {', '.join(row)}"
        if name in row:
            problem = f"found {type(value).__name__} {value!r:.40}"
        raise DataError(
            f"{place}: field {name!r}: {problem}, expected a string (or a list of"
            f" strings{', or a whole number' if number else ''}); fill it in, or name the field"
            f" that holds it ({options}; a number from 1 in a table without a header line)"
        )

    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:  # JSON can say it: "\\ud800"
        raise DataError(
            f"{place}: field {name!r}: character {error.start + 1} is {value[error.start]!r}, half "
            "of a pair that UTF-8 cannot hold; write the whole character, or take it out"
        ) from None

    return value
