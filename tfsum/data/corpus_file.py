"""Opens a corpus file: whether it is compressed and what it holds is read from its content before its name."""

import contextlib
import gzip
import io
import pathlib
import re
import zlib
from collections.abc import Iterator

from tfsum.errors import DataError
from tfsum.formats.torch_file import is_torch_file

KINDS = (".jsonl", ".csv", ".tsv")
"""Tables, of a row a line."""
STORY, CORE_NLP, TOKENS, SHARD = ".story", ".story.json", ".json", ".pt"
"""Files of the summarization papers, see `tfsum.data.story` and `tfsum.data.example_shards`."""
_BEGINS = {
    CORE_NLP: re.compile(
        rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"docId"\s*:\s*"[^"]*"\s*,\s*)?"sentences"\s*:\s*\[\s*\{\s*"index"'
    ),
    TOKENS: re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*[{\]]"),
}
_GZIP = b"\x1f\x8b"
_OBJECT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"|\}\s*$)')


def name_kind(path: pathlib.Path) -> str:
    """The end of a file's name, .gz aside.

    Example:
        >>> name_kind(pathlib.Path("news.jsonl.gz")), name_kind(pathlib.Path("a.txt"))
        ('.jsonl', '.txt')
    """
    return path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix


def file_kind(path: pathlib.Path) -> str | None:
    """What a corpus file holds.

    Args:
        path: the file.

    Returns:
        One of `KINDS`, `STORY`, `CORE_NLP`, `TOKENS` and `SHARD`, by what the file begins with, whatever its name:
        an object in JSON lines, a list of objects, CoreNLP's object, or torch's first bytes; else by its name. None
        for a file of text.

    Example:
        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "news.ndjson"
        >>> _ = path.write_text('{"text": "It rained."}')
        >>> file_kind(path)
        '.jsonl'
    """
    with contextlib.suppress(OSError, EOFError, zlib.error):  # whoever reads the file reports them
        if path.is_file():  # of a pipe nothing can be read twice
            with _open_bytes(path) as file:
                if (kind := _kind_of(file.read(256))) is not None:
                    return kind
    return named if (named := name_kind(path)) in (*KINDS, STORY) else None


def _kind_of(begin: bytes) -> str | None:
    """What the first bytes of a file say of its kind."""
    if is_torch_file(begin):
        return SHARD
    for kind, pattern in _BEGINS.items():
        if pattern.match(begin):
            return kind
    return ".jsonl" if _OBJECT.match(begin) else None


@contextlib.contextmanager
def open_text(path: pathlib.Path, kind: str, newline: str = "") -> Iterator[tuple]:
    """Opens a UTF-8 file, plain or compressed by gzip, for reading.

    Args:
        path: the file.
        kind: what it should be, for messages.
        newline: see `open`.

    Yields:
        The open file, and a function to call with each line that was read (or with none, for the next), so that
        errors name the place.

    Raises:
        DataError: it cannot be read, is cut, or is not UTF-8.

    Example:
        >>> with open_text(pathlib.Path("no_such_file.jsonl"), ".jsonl") as (file, reached):
        ...     pass
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_file.jsonl: cannot be read (No such file or directory); expected a file
    """
    lines = [0]

    def reached(line: int | None = None) -> None:
        lines[0] = lines[0] + 1 if line is None else line

    try:
        opened = _open_bytes(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); expected a file") from error
    try:
        with opened, io.TextIOWrapper(opened, encoding="utf-8-sig", newline=newline) as file:
            yield file, reached
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path}: cannot be read after line {lines[0]} ({error}); expected a whole {kind} file"
        ) from error
    except UnicodeDecodeError as error:
        found = error.object[error.start : error.end]
        raise DataError(
            f"{path}:{_broken_line(path)}: not UTF-8 ({error.reason} at {found!r}); convert the file to "
            "UTF-8"
        ) from error


def _open_bytes(path: pathlib.Path) -> io.BufferedReader | gzip.GzipFile:
    """The open file, decompressed."""
    file = path.open("rb")
    if not path.is_file() or file.peek(2)[:2] != _GZIP:
        return file
    file.close()
    return gzip.open(path, "rb")


def _broken_line(path: pathlib.Path) -> int:
    """The number of the first line that is not UTF-8; the file is decoded in blocks, which end in no line's end."""
    with _open_bytes(path) as file:
        return next(line for line, content in enumerate(file, start=1) if not _is_utf8(content))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
