"""Names that a user gives (files, folders, patterns, addresses, `-`) to documents.

The readers of other formats and of addresses are imported where a source needs them: most are plain
texts.
"""

import dataclasses
import glob
import gzip
import io
import os
import pathlib
import sys
import zlib
from collections.abc import Iterator, Sequence

from tfsum.errors import DataError, as_error, require
from tfsum.inputs.documents import Document, documents_of
from tfsum.inputs.kinds import FORMATS, JSON, READ, decode, kind_of
from tfsum.inputs.plain_text import prose
from tfsum.inputs.rows import found_fields, row_documents

ADDRESS = ("http://", "https://")  # how a name begins that is an address of the web
UNPACKED = 256 << 20  # limit of a compressed file
ANSWERS = ".tfsum-answers"  # a file of a folder of answers


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
        recursive: Whether a folder stands for all files in it and below it, hidden ones and folders
            of answers aside.

    Raises:
        DataError: There is no such file, no file in a folder, a folder without `recursive`, or
            standard input twice.

    Example:
        >>> find_sources(["-"])
        [Source(name='-', folder=None)]
    """
    require(list(names).count("-") < 2, "standard input (-) can be read only once", DataError)

    sources, missing = list[Source](), list[str]()
    for name in names:
        if os.path.isdir(name) and name != "-":
            require(
                recursive,
                f"{name}: is a folder, expected a file; `tfsum summarize --recursive` reads all"
                " files in a folder",
                DataError,
            )
            files = [Source(file, name) for file in _files(name)]
            require(files, f"{name}: holds no file; expected texts in it or below it", DataError)
            sources += files
        elif name == "-" or name.startswith(ADDRESS) or os.path.lexists(name):
            sources.append(Source(name))
        elif matches := sorted(glob.glob(name, recursive=True)):
            sources += [Source(match) for match in matches if os.path.isfile(match)]
        else:
            missing.append(name)
    require(
        not missing,
        f"no such file: {', '.join(missing)}; expected files, folders, addresses or patterns",
        DataError,
    )
    return sources


def _files(folder: str) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not (name.startswith(".") or os.path.exists(os.path.join(path, name, ANSWERS)))
        )
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
        raise DataError(
            f"{name}: holds rows ({found_fields(data, name, encoding)}); `tfsum summarize --field"
            " text` reads them, where text is the field that holds it"
        )
    elif kind not in READ:
        cure = "; decompress it first" * kind.endswith("-compressed")
        if kind == JSON:
            cure = "; of an array of objects, `--field text` reads them, where text holds the text"
        raise DataError(
            f"{name}: is {kind}, expected text, HTML, PDF, Word (.docx), OpenDocument, RTF, EPUB,"
            f" mail, Markdown, LaTeX, a notebook, or rows of fields{cure}"
        )
    elif kind == "text":
        text, notes = decode(data, name, encoding)
        yield Document(prose(text), notes, name=name)
    else:
        documents = documents_of(kind, data, name, encoding)
        for number, document in enumerate(documents, start=1):
            label = f"{name}:{number}" if len(documents) > 1 else name
            yield dataclasses.replace(document, name=label)


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
    what, *_ = FORMATS.get(kind, (kind,))
    require(kind in ("text", "mail"), f"{name}: is {what}, expected plain text", DataError)
    return Document(*decode(data, name), name=name)


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    if name.startswith(ADDRESS):
        from tfsum.inputs.fetching import fetch

        return fetch(name)
    with as_error(f"{name}: cannot be read", OSError, kind=DataError):
        return pathlib.Path(name).read_bytes()


def _unpacked(data: bytes, name: str) -> tuple[bytes, str]:
    """The content of a file, or what was compressed to it, and its kind."""
    if (kind := kind_of(data, name)) != "gzip-compressed":
        return data, kind

    failing = as_error(
        f"{name}: cannot be decompressed",
        *(OSError, EOFError, zlib.error),
        kind=DataError,
        cure="; the file is cut or damaged",
    )
    with failing, gzip.open(io.BytesIO(data)) as file:
        unpacked = file.read(UNPACKED + 1)
    require(
        len(unpacked) <= UNPACKED,
        f"{name}: is larger than {UNPACKED >> 20} MB when decompressed, the limit for a compressed"
        " file; decompress it and give the parts that you need",
        DataError,
    )
    return unpacked, kind_of(unpacked, name)
