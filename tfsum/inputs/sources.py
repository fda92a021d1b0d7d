"""Names that a user gives (files, folders, patterns, addresses, `-`) to documents.

The readers of other formats and of addresses are imported where a source needs them: most are plain
texts.
"""

import dataclasses
import glob
import gzip
import io
import itertools
import os
import pathlib
import re
import sys
import zlib
from collections.abc import Iterator, Sequence

from tfsum.data.rows import PARQUET, Row, text_field
from tfsum.errors import DataError
from tfsum.inputs.broken_words import whole_lines
from tfsum.inputs.kinds import FORMATS, JSON, READ, decode, kind_of
from tfsum.inputs.rows import read_rows
from tfsum.inputs.spoken import spoken_text

ADDRESS = ("http://", "https://")  # how a name begins that is an address of the web
LOOK = 100  # rows, one of which has the field of the text
UNPACKED = 256 << 20  # limit of a compressed file
# A line with `|`, a line of dashes for each column, and the lines with `|` that follow.
_DASHES = r"[^\S\r\n]*+:*+-[-:]*+[^\S\r\n]*+"
_TABLE = re.compile(
    r"(?<![^\r\n])[^|\r\n]*+\|[^\r\n]*+(?:\r\n|\r|\n)"
    rf"(?=[^|\r\n]*+\|)[^\S\r\n]*+\|*+{_DASHES}(?:\|{_DASHES})*+\|*+[^\S\r\n]*+"
    r"(?:(?:\r\n|\r|\n)[^|\r\n]*+\|[^\r\n]*+)*+(?=[\r\n]|\Z)"
)


@dataclasses.dataclass(frozen=True)
class Document:
    """A text to be read.

    Attributes:
        name: Name of its source, with the row in it, such as "news.jsonl:3".
        text: The text.
        notes: Remarks for its reader, such as on its encoding.
        error: What is wrong with a row, which has no text then.
        left_out: Text that a reader of the file would see, and the model will not.
        row: All fields of a row.

    Example:
        >>> Document("a.txt", "It rained.", []).text
        'It rained.'
    """

    name: str
    text: str
    notes: list[str]
    error: DataError | None = None
    left_out: str = ""
    row: Row | None = None


@dataclasses.dataclass(frozen=True)
class Source:
    """A file, an address or standard input.

    Attributes:
        name: Name in messages and results; "-" is standard input.
        folder: Directory that the user named, if any; the names of results leave it out.

    Example:
        >>> Source("texts/a.txt").name
        'texts/a.txt'
    """

    name: str
    folder: str | None = None


def find_sources(names: Sequence[str], recursive: bool = False) -> list[Source]:
    """Finds what the names mean, without reading it.

    Args:
        names: Files, folders, patterns (`*.txt`, where no shell has replaced them), addresses, or
            "-".
        recursive: Whether a folder stands for all files in it and below it, hidden ones aside.

    Raises:
        DataError: There is no such file, a folder without `recursive`, or standard input twice.

    Example:
        >>> find_sources(["-"])
        [Source(name='-', folder=None)]
    """
    if list(names).count("-") > 1:
        raise DataError("standard input (-) can be read only once")

    sources, missing = list[Source](), list[str]()
    for name in names:
        if os.path.isdir(name) and name != "-":
            if not recursive:
                raise DataError(
                    f"{name}: is a folder, expected a file; `tfsum summarize --recursive` reads all"
                    " files in a folder"
                )
            sources += [Source(file, name) for file in _files(name)]
        elif name == "-" or name.startswith(ADDRESS) or os.path.lexists(name):
            sources.append(Source(name))
        elif matches := sorted(glob.glob(name, recursive=True)):
            sources += [Source(match) for match in matches if os.path.isfile(match)]
        else:
            missing.append(name)
    if missing:
        raise DataError(
            f"no such file: {', '.join(missing)}; expected files, folders, addresses or patterns"
        )
    return sources


def _files(folder: str) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(path, name) for name in sorted(files) if not name.startswith("."))


def read_source(
    source: Source, field: str | None = None, encoding: str | None = None, id: str | None = None
) -> Iterator[Document]:
    """Reads the documents of a source: one, or of a file of rows one a row.

    What is neither plain text nor rows is read in a process of its own (`tfsum.inputs.apart`).

    Args:
        source: Source from `find_sources`.
        field: Field of a row (JSON lines, CSV, TSV) that holds the text; None for a file that is
            one text.
        encoding: Python's name of the encoding; None recognizes it.
        id: Field that names a row; None for its line.

    Raises:
        DataError: It cannot be read, is no text, or is rows and no field was given.

    Example:
        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
        >>> _ = path.write_text("It rained.")
        >>> [document.text for document in read_source(Source(str(path)))]
        ['It rained.']
    """
    name = source.name
    data, kind = _unpacked(_bytes(name), name)
    if kind in FORMATS:
        from tfsum.inputs.apart import read_apart

        for fields in read_apart(data, name, UNPACKED, encoding):
            yield Document(**fields)
    else:
        yield from _documents(kind, data, name, field, encoding, id)


def read_content(
    data: bytes,
    name: str,
    field: str | None = None,
    encoding: str | None = None,
    id: str | None = None,
) -> Iterator[Document]:
    """Reads the documents of a file's content.

    Args:
        data: Content of the file.
        name: Name of the file.
        field: As in `read_source`; so are the arguments below.
        encoding: Python's name of the encoding.
        id: Field that names a row.

    Raises:
        DataError: As in `read_source`.

    Example:
        >>> [document.text for document in read_content(b"It rained.", "a.txt")]
        ['It rained.']
    """
    data, kind = _unpacked(data, name)
    yield from _documents(kind, data, name, field, encoding, id)


def _documents(
    kind: str, data: bytes, name: str, field: str | None, encoding: str | None, id: str | None
) -> Iterator[Document]:
    if field is not None and kind in ("text", "rows", JSON):
        yield from row_documents(data, name, field, id, encoding)
    elif kind == "rows":
        found = found_fields(data, name, encoding)
        raise DataError(
            f"{name}: holds rows ({found}); `tfsum summarize --field text`"
            " reads them, where text is the field that holds it"
        )
    elif kind not in READ:
        raise DataError(
            f"{name}: is {kind}, expected text, HTML, PDF, Word (.docx), OpenDocument, RTF, EPUB,"
            f" mail, Markdown, LaTeX, a notebook, or rows of fields{_cure(kind)}"
        )
    elif kind == "text":
        text, notes = decode(data, name, encoding)
        said = spoken_text(text)
        yield Document(name, whole_lines(without_tables(text)) if said is None else said, notes)
    else:
        from tfsum.inputs.formats import contents_of

        contents = contents_of(kind, data, name, encoding)
        for number, content in enumerate(contents, start=1):
            label = f"{name}:{number}" if len(contents) > 1 else name
            yield Document(label, content.text, content.notes, left_out=content.left_out)


def _cure(kind: str) -> str:
    if kind.endswith("-compressed"):
        return "; decompress it first"
    if kind == JSON:
        return "; of an array of objects, `--field text` reads them, where text holds the text"
    return ""


def read_plain(name: str) -> Document:
    """Reads a file that must be plain text, such as one of texts, a line each.

    Args:
        name: Path of the file.

    Raises:
        DataError: It cannot be read, or is something else.

    Example:
        >>> read_plain("no_such_file.txt")
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_file.txt: cannot be read (No such file or directory)
    """
    data = _bytes(name)
    kind = kind_of(data)
    if kind not in ("text", "mail"):
        what, _ = FORMATS.get(kind, (kind, ""))
        raise DataError(f"{name}: is {what}, expected plain text")
    return Document(name, *decode(data, name))


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        if name.startswith(ADDRESS):
            from tfsum.inputs.fetching import fetch

            return fetch(name)
        return pathlib.Path(name).read_bytes()
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from None


def _unpacked(data: bytes, name: str) -> tuple[bytes, str]:
    """The content of a file, or what was compressed to it, and its kind."""
    if (kind := kind_of(data, name)) != "gzip-compressed":
        return data, kind

    try:
        with gzip.open(io.BytesIO(data)) as file:
            unpacked = file.read(UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{name}: cannot be decompressed ({error}); the file is cut or damaged"
        ) from None
    if len(unpacked) > UNPACKED:
        raise DataError(
            f"{name}: is larger than {UNPACKED >> 20} MB when decompressed, the limit for a"
            " compressed file; decompress it and give the parts that you need"
        )
    return unpacked, kind_of(unpacked, name)


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
    rows, notes = _rows(data, name, encoding)
    first = list(itertools.islice(rows, LOOK))
    fields = [row for _, row in first if isinstance(row, dict)]
    for wanted, option in ((field, "--field"), (id, "--id")):
        if wanted is not None and fields and not any(wanted in row for row in fields):
            raise DataError(
                f"{name}: no row has the field {wanted!r}; the first has the fields"
                f" {', '.join(fields[0])}; {option} names one of them"
            )
    if not first:
        raise DataError(f"{name}: holds no row; expected JSON lines, or a table with a header line")

    for line, row in itertools.chain(first, rows):
        place = f"{name}:{line}"
        try:
            if isinstance(row, DataError):
                raise row
            value = row.get(field, "")
            is_empty = value is None or value != value  # NaN is not itself
            text = "" if is_empty else text_field(place, row, field, options="--field")
            label = line if id is None else text_field(place, row, id, number=True, options="--id")
            yield Document(f"{name}:{label}", text, notes, row=row)
        except DataError as error:
            yield Document(place, "", [], error)


def _rows(
    data: bytes, name: str, encoding: str | None
) -> tuple[Iterator[tuple[int, Row | DataError]], list[str]]:
    """The rows of a file, and notes on its encoding."""
    text, notes = ("", list[str]()) if data.startswith(PARQUET) else decode(data, name, encoding)
    return read_rows(data, text, name), notes


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
    _, row = next(_rows(data, name, encoding)[0], (0, None))
    if not isinstance(row, dict):
        return "the first cannot be read"
    return f"the first has the fields {', '.join(row)}"


def without_tables(text: str) -> str:
    """A text with spaces in place of its tables, so that all else keeps its offset.

    A table is a line with `|`, below it a line of dashes for each column, and the lines with `|`
    that follow (GitHub Flavored Markdown, section 4.10); its rows are no sentences.

    Args:
        text: Text, which need not be Markdown.

    Example:
        >>> without_tables(
        ...     "It rained.\\n\\n| day | mm |\\n|---|--:|\\n| Monday | 12 |\\nIt stopped."
        ... )
        'It rained.\\n\\n            \\n         \\n               \\nIt stopped.'
    """
    return _TABLE.sub(lambda table: re.sub(r"[^\r\n]", " ", table[0]), text)
