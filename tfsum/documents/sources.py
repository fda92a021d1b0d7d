"""From the names that a user gives (files, folders, patterns, addresses, `-`) to documents."""

import dataclasses
import glob
import gzip
import os
import pathlib
import sys
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator, Sequence

from tfsum.data.readers import first_fields, read_rows
from tfsum.documents.encoding import decode
from tfsum.documents.formats import text_of
from tfsum.documents.kinds import READ, WORDS, kind_of
from tfsum.errors import DataError

SECONDS, BYTES = 30, 100 << 20  # of a page that is fetched


@dataclasses.dataclass(frozen=True)
class Source:
    """A file, an address or standard input.

    Attributes:
        name: as messages and results call it; "-" is standard input.
        folder: the folder that it was found in, where the user named that; its part of the name is left out of the
            names of results.

    Example:
        >>> Source("texts/a.txt").name
        'texts/a.txt'
    """

    name: str
    folder: str | None = None


@dataclasses.dataclass(frozen=True)
class Document:
    """A text to be read.

    Attributes:
        name: of its source, and of the row in it, such as "news.jsonl:3".
        text: the text.
        notes: what its reader should know, such as an encoding.

    Example:
        >>> Document("a.txt", "It rained.", []).text
        'It rained.'
    """

    name: str
    text: str
    notes: list[str]


def is_address(name: str) -> bool:
    """Whether a name is an address of the web.

    Example:
        >>> is_address("https://example.org/a.html"), is_address("a.html")
        (True, False)
    """
    return name.startswith(("http://", "https://"))


def find_sources(names: Sequence[str], recursive: bool = False) -> list[Source]:
    """Finds what the names mean, without reading it.

    Args:
        names: files, folders, patterns (`*.txt`, where no shell has replaced them), addresses, or "-".
        recursive: whether a folder stands for all files in it and below it, hidden ones aside.

    Raises:
        DataError: there is no such file, a folder without `recursive`, or standard input twice.

    Example:
        >>> find_sources(["-"])
        [Source(name='-', folder=None)]
        >>> find_sources(["no_such_file.txt"])
        Traceback (most recent call last):
        tfsum.errors.DataError: no such file: no_such_file.txt
    """
    if list(names).count("-") > 1:
        raise DataError("standard input (-) can be read only once")
    found: list[Source] = []
    missing: list[str] = []
    for name in names:
        if name == "-" or is_address(name):
            found.append(Source(name))
        elif os.path.isdir(name):
            if not recursive:
                raise DataError(
                    f"{name}: is a folder, expected a file; `tfsum summarize --recursive` reads all files "
                    "in a folder"
                )
            found += [Source(file, name) for file in _files(name)]
        elif os.path.lexists(name):
            found.append(Source(name))
        elif matches := sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []:
            found += [Source(match) for match in matches if os.path.isfile(match)]
        else:
            missing.append(name)
    if missing:
        raise DataError(f"no such file: {', '.join(missing)}")
    return found


def _files(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(files) if not name.startswith("."))


def read_source(
    source: Source, field: str | None = None, encoding: str | None = None
) -> Iterator[Document]:
    """Reads the documents of a source: one, or of a file of rows one a row.

    Args:
        source: from `find_sources`.
        field: the field of a row (JSON lines, CSV, TSV) that holds the text; with it a file is read as rows.
        encoding: of a text; None recognizes it.

    Raises:
        DataError: it cannot be read, is no text, or is rows and no field was given.

    Example:
        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
        >>> _ = path.write_text("It rained.")
        >>> [document.text for document in read_source(Source(str(path)))]
        ['It rained.']
    """
    name = source.name
    data = _bytes(name)
    kind = kind_of(data, name)
    if kind == "gzip-compressed":
        data = _unzipped(data, name)
        kind = kind_of(data, name.removesuffix(".gz"))
    if field is not None and kind in ("text", "rows"):
        yield from _rows(data, name, field, encoding)
    elif kind == "rows":
        raise DataError(
            f"{name}: holds rows ({_fields(data, name, encoding)}); `tfsum summarize --field text` reads "
            "them, where text is the field that holds it"
        )
    elif kind not in READ:
        raise DataError(
            f"{name}: is {kind}, expected text, HTML, PDF, Word (.docx), mail, or rows of fields"
            + ("; decompress it first" if kind.endswith("-compressed") else "")
        )
    elif kind == "text":
        text, notes = decode(data, name, encoding)
        yield Document(name, text, notes)
    else:
        yield Document(name, text_of(kind, data, name), [])


def read_plain(name: str) -> Document:
    """Reads a file that must be plain text, such as one of texts, a line each.

    Raises:
        DataError: it cannot be read, or is something else.

    Example:
        >>> read_plain("no_such_file.txt")
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_file.txt: cannot be read (No such file or directory)
    """
    data = _bytes(name)
    if (kind := kind_of(data)) not in ("text", "mail"):
        raise DataError(f"{name}: is {WORDS.get(kind, kind)}, expected plain text")
    return Document(name, *decode(data, name))


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        if is_address(name):
            request = urllib.request.Request(name, headers={"User-Agent": "tfsum"})
            with urllib.request.urlopen(request, timeout=SECONDS) as page:
                data = page.read(BYTES + 1)
            if len(data) > BYTES:
                raise DataError(f"{name}: is larger than {BYTES >> 20} MB")
            return data
        return pathlib.Path(name).read_bytes()
    except urllib.error.URLError as error:
        raise DataError(f"{name}: cannot be fetched ({getattr(error, 'reason', error)})") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from None


def _rows(data: bytes, name: str, field: str, encoding: str | None) -> Iterator[Document]:
    text, notes = decode(data, name, encoding)
    if text.lstrip().startswith("["):
        raise DataError(
            f"{name}: holds one JSON array; expected JSON lines: an object a line, without brackets and "
            "commas around them"
        )
    found = False
    for line, value in read_rows(text, name, field):
        found = True
        yield Document(f"{name}:{line}", value, notes)
    if not found:
        raise DataError(f"{name}: holds no row; expected JSON lines, or a table with a header line")


def _unzipped(data: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{name}: cannot be decompressed ({error}); the file is cut or damaged"
        ) from None


def _fields(data: bytes, name: str, encoding: str | None) -> str:
    """The fields of the first row, for a message."""
    fields = first_fields(decode(data, name, encoding)[0], name)
    return f"the first has the fields {', '.join(fields)}" if fields else "the first cannot be read"
