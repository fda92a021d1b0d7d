"""Files of a corpus: one, those of a folder or pattern, or stories of listed addresses.

The content of a file tells its kind and compression before its name does.
"""

import contextlib
import glob
import gzip
import hashlib
import io
import pathlib
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import IO

from tfsum.data.rows import name_kind
from tfsum.data.shards import digest
from tfsum.errors import DataError, as_error, require
from tfsum.formats.torch_file import is_torch_file

KINDS = (".jsonl", ".csv", ".tsv")
"""Tables, of a row a line."""
STORY, CORE_NLP, TOKENS, SHARD = ".story", ".story.json", ".json", ".pt"
"""Files of the summarization papers, see `tfsum.data.paper_files`."""
_BEGINS = {
    CORE_NLP: re.compile(
        rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"docId"\s*:\s*"[^"]*"\s*,\s*)?"sentences"\s*:\s*\[\s*\{\s*"index"'
    ),
    TOKENS: re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*[{\]]"),
    ".jsonl": re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*(?:"|\}\s*$)'),
}
_GZIP = b"\x1f\x8b"
IN_FOLDERS = (".story", ".json", ".pt", *KINDS)
_ADDRESS = (b"http://", b"https://")


def corpus_files(corpus: str | pathlib.Path) -> list[pathlib.Path]:
    """The files of a corpus, in the order in which they are read.

    Args:
        corpus: A file; a folder, whose files are all of one kind; a pattern such as
            `cnndm.train.*.pt`; or a text file of the addresses of news stories, one a line. The
            name of a story is the SHA-1 of its address, as in the files of Hermann et al. 2015, and
            its file is in the folder of the list, or in a folder below.

    Returns:
        The files: of a folder and of a pattern by name, of a list in its order.

    Raises:
        DataError: A folder or a pattern has no file of a corpus, or files of several kinds; or
            stories are missing.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `hashhex` and `format_to_lines`.

    Example:
        >>> import tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "08bf018473aacbd6e9c698630d0d04a695c82f5c.story").write_text("It rained.")
        >>> _ = (folder / "test_urls.txt").write_text("http://www.cnn.com/a\\n")
        >>> [file.suffix for file in corpus_files(folder / "test_urls.txt")]
        ['.story']
    """
    path = pathlib.Path(corpus)
    if path.is_dir():
        return _in_folder(path)
    if _begin(path).lower().startswith(_ADDRESS):
        return _stories(path)
    if path.exists() or not glob.has_magic(str(corpus)):
        return [path]

    if matches := sorted(glob.glob(str(corpus))):
        return list(map(pathlib.Path, matches))
    raise DataError(
        f"{corpus}: no file has a name of this pattern; look at the folder, or name one file"
    )


def corpus_digest(corpus: str | pathlib.Path) -> str:
    """Returns the SHA-256 of a corpus: of its file, or of the names and contents of its files."""
    files = corpus_files(corpus)
    if files == [pathlib.Path(corpus)]:
        return digest(files[0])
    names = "\n".join(f"{digest(file)} {file.name}" for file in files)
    return hashlib.sha256(names.encode()).hexdigest()


def file_digests(files: Mapping[str, str | pathlib.Path | None]) -> dict[str, str | None]:
    """Returns the digest of each corpus, by name; None where there is none."""
    return {name: corpus_digest(file) if file else None for name, file in files.items()}


def _in_folder(folder: pathlib.Path) -> list[pathlib.Path]:
    files = sorted(file for file in folder.iterdir() if name_kind(file.name) in IN_FOLDERS)
    kinds = sorted({name_kind(file.name) for file in files})
    found = f"files of several kinds ({', '.join(kinds)})" if kinds else "no file of a corpus"
    require(
        len(kinds) == 1,
        f"{folder}: found {found}, expected files of one of the kinds {', '.join(IN_FOLDERS)}; name"
        f" a file, or those that are meant by a pattern such as {folder / '*.story'}",
        DataError,
    )
    return files


def _stories(path: pathlib.Path) -> list[pathlib.Path]:
    with open_text(path, "text") as file:
        addresses = [line.strip() for line in file if line.strip()]
    by_hash = {hashlib.sha1(address.encode()).hexdigest(): address for address in addresses}
    # `NAME.story.json` of CoreNLP comes before `NAME.story`
    stories = {file.name.split(".", 1)[0]: file for file in sorted(path.parent.rglob("*.story*"))}
    if missing := [name for name in by_hash if name not in stories]:
        raise DataError(
            f"{path}: {len(missing)} of its {len(by_hash)} stories are not in {path.parent} or a"
            f" folder below, such as {missing[0]}.story of {by_hash[missing[0]]}; unpack the"
            " stories there, or take the addresses out"
        )

    return [stories[name] for name in by_hash]


def file_kind(path: pathlib.Path) -> str | None:
    """What a corpus file holds.

    Args:
        path: The file.

    Returns:
        One of `KINDS`, `STORY`, `CORE_NLP`, `TOKENS` and `SHARD`, by what the file begins with,
        whatever its name: an object in JSON lines, a list of objects, CoreNLP's object, or torch's
        first bytes; else by its name. None for a file of text.

    Example:
        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "news.ndjson"
        >>> _ = path.write_text('{"text": "It rained."}')
        >>> file_kind(path)
        '.jsonl'
    """
    begin = _begin(path)
    if is_torch_file(begin):
        return SHARD
    for kind, pattern in _BEGINS.items():
        if pattern.match(begin):
            return kind
    named = name_kind(path.name)
    if named in (*KINDS, STORY):
        return named
    return None


@contextlib.contextmanager
def open_text(
    path: pathlib.Path, kind: str, newline: str = "", errors: str = "strict"
) -> Iterator[IO[str]]:
    """Opens a UTF-8 file, plain or compressed by gzip, for reading.

    Args:
        path: The file.
        kind: Expected kind, for messages.
        newline: Argument of `open`.
        errors: Argument of `open`; "surrogateescape" leaves bytes that are not UTF-8 to
            `tfsum.data.rows.require_utf8`, which refuses the row alone.

    Yields:
        The open file.

    Raises:
        DataError: It cannot be read, is cut, or is not UTF-8.

    Example:
        >>> path = pathlib.Path("no_such_file.jsonl")
        >>> with open_text(path, ".jsonl") as opened:  # doctest: +ELLIPSIS
        ...     pass
        Traceback (most recent call last):
        tfsum.errors.DataError: no_such_file.jsonl: cannot be read (No such file or directory); ...
    """
    with as_error(f"{path}: cannot be read", OSError, kind=DataError, cure="; expected a file"):
        opened = _open_bytes(path)

    try:
        with opened, io.TextIOWrapper(opened, "utf-8-sig", errors, newline) as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{path}: cannot be read after line {_lines_to_error(path)} ({error}); expected a whole"
            f" {kind} file"
        ) from error
    except UnicodeDecodeError as error:
        wrong = error.object[error.start : error.end]
        raise DataError(
            f"{path}:{_lines_to_error(path)}: not UTF-8 ({error.reason} at {wrong!r}); convert the"
            " file to UTF-8"
        ) from error


def _begin(path: pathlib.Path) -> bytes:
    """What a file begins with, decompressed; nothing of one that cannot be read, which whoever
    reads it reports, or of a pipe, which cannot be read twice."""
    with contextlib.suppress(OSError, EOFError, zlib.error):
        if path.is_file():
            with _open_bytes(path) as file:
                return file.read(256)
    return b""


def _open_bytes(path: pathlib.Path) -> io.BufferedReader | gzip.GzipFile:
    """The open file, decompressed."""
    file = path.open("rb")
    if not path.is_file() or file.peek(2)[:2] != _GZIP:
        return file
    file.close()
    return gzip.open(path, "rb")


def _lines_to_error(path: pathlib.Path) -> int:
    """The number of lines up to an error in reading a file, or in decoding one of them: the file is
    read in blocks, which end in no line's end."""
    lines = 0
    with (
        contextlib.suppress(OSError, EOFError, zlib.error, UnicodeDecodeError),
        _open_bytes(path) as file,
    ):
        for line in file:
            lines += 1
            line.decode()
    return lines
