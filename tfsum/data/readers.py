"""Corpus files of documents with summaries: JSON lines, tables, and files of the papers."""

import hashlib
import itertools
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfsum.data.corpus_files import KINDS, SHARD, STORY, TOKENS, corpus_files, file_kind, open_text
from tfsum.data.documents.corpus_labels import corpus_labels
from tfsum.data.paper_files import read_paper_file
from tfsum.data.rows import file_rows, text_field
from tfsum.errors import DataError

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
    for number, (place, row) in enumerate(_rows(path), start=1):
        document: dict[str, Any] = {
            "id": text_field(place, row, id, default=str(number), number=True),
            "text": text_field(place, row, text),
            "summary": "",
        }
        if summary is not None and (summary in row or labels is None):
            document["summary"] = text_field(place, row, summary)
        if labels is not None:
            document["sentences"], document["labels"] = corpus_labels(place, row, text, labels)
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
        yield tuple(text_field(place, row, name, number=name in numbers) for name in columns)


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

    if kind not in KINDS:
        yield from read_paper_file(path, kind)
        return

    with open_text(path, kind) as (file, read):
        for line, row in file_rows(str(path), file, kind, header):
            yield f"{path}:{line}", row
            read.line = line
