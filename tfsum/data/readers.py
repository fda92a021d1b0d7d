"""Readers of corpora: documents with summaries or labels, pairs of texts, columns and lines."""

import dataclasses
import hashlib
import itertools
import pathlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tfsum.data.corpus_files import KINDS, SHARD, STORY, TOKENS, corpus_files, file_kind, open_text
from tfsum.data.paper_files import read_paper_file
from tfsum.data.rows import Rows, corpus_labels, file_rows, text_field
from tfsum.errors import DataError

Corpus = str | pathlib.Path | Iterable[Mapping[str, Any]]
"""A corpus: a file, several files (`tfsum.data.corpus_files`), or rows in memory, each a mapping of
its columns."""
WrongRow = Callable[[str], None]  # is told what is wrong with each row that cannot be read
LENIENT = "surrogateescape"  # how `open_text` reads rows
Item = TypeVar("Item")


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
    wrong: WrongRow | None = None,
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
        wrong: Function that is told what is wrong with a row, which is passed over; None raises it.

    Yields:
        {"id", "text", "summary"} strings; with `labels` also "sentences", a list of strings, and
        "labels", of floats.

    Raises:
        DataError: Naming file, line, field, what was found and what was expected.

    Example:
        >>> list(read_corpus([{"text": "It rained.", "summary": "Rain."}]))
        [{'id': '1', 'text': 'It rained.', 'summary': 'Rain.'}]
    """

    def read(number: int, place: str, row: Mapping[str, Any]) -> dict[str, Any]:
        document: dict[str, Any] = {
            "id": text_field(place, row, id, default=str(number), number=True),
            "text": text_field(place, row, text),
            "summary": "",
        }
        if summary is not None and (summary in row or labels is None):
            document["summary"] = text_field(place, row, summary)
        if labels is not None:
            document["sentences"], document["labels"] = corpus_labels(place, row, text, labels)
        return document

    return _each(_rows(path), read, wrong)


def read_columns(
    path: Corpus,
    columns: Sequence[str],
    numbers: Sequence[str] = (),
    wrong: WrongRow | None = None,
) -> Iterator[tuple[str, ...]]:
    """Reads some fields of a corpus file's rows in order, each as `read_corpus` does.

    Args:
        path: Corpus, as in `read_corpus`.
        columns: Names of the fields. Numbers from 1 mean a table without a header line; a `.tsv` of
            that kind is plain: a tab ends a cell and a quote is text.
        numbers: The fields among them that may hold a whole number in JSON, which becomes a string.
        wrong: As in `read_corpus`.

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
    return _columns(_rows(path, header), columns, numbers, wrong)


def _columns(
    rows: Rows, columns: Sequence[str], numbers: Sequence[str], wrong: WrongRow | None
) -> Iterator[tuple[str, ...]]:
    def read(_: int, place: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(text_field(place, row, name, number=name in numbers) for name in columns)

    return _each(rows, read, wrong)


def read_lines(path: str | pathlib.Path, errors: str = "strict") -> Iterator[str]:
    """Reads the lines of a UTF-8 text file, plain or `.gz`; only a new line ends one.

    Args:
        path: The file.
        errors: Argument of `open_text`.

    Raises:
        DataError: If the file cannot be read.

    Example:
        >>> import tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = file.write_text("one\\ntwo\\n")
        >>> list(read_lines(file))
        ['one', 'two']
    """
    with open_text(pathlib.Path(path), "text", "\n", errors) as file:
        for line in file:
            yield line.removesuffix("\n").removesuffix("\r")


def read_documents(
    path: str | pathlib.Path, text: str, wrong: WrongRow | None = None
) -> Iterator[str]:
    """Reads the texts of a corpus in order, one at a time.

    Args:
        path: A file as `read_columns` reads it; one of any other name is plain text, plain or
            `.gz`, whose documents are parted by empty lines (google-research/bert's format, which
            has a sentence a line).
        text: Name of the field with the text, see `read_columns`.
        wrong: As in `read_corpus`.

    Raises:
        DataError: Naming file, line, field, what was found and what was expected.

    Example:
        >>> import tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = file.write_text("It rained.\\nIt stopped.\\n\\nA dog ran.\\n")
        >>> list(read_documents(file, "text"))
        ['It rained.\\nIt stopped.', 'A dog ran.']
    """
    if file_kind(pathlib.Path(path)):
        columns = read_columns(path, (text,), wrong=wrong)
    else:
        columns = _columns(_passages(path, text), (text,), (), wrong)
    return (document for (document,) in columns)


def _passages(path: str | pathlib.Path, text: str) -> Rows:
    """The passages of a plain text, which empty lines part, as rows with one field."""
    lines = enumerate(read_lines(path, LENIENT), start=1)
    for blank, group in itertools.groupby(lines, key=lambda line: not line[1].strip()):
        if not blank:
            numbers, passage = zip(*group)
            yield f"{path}:{numbers[0]}", {text: "\n".join(passage)}


@dataclasses.dataclass(frozen=True)
class RereadTexts:
    """Texts that are read again with each loop.

    Attributes:
        read: Function that begins to read them.

    Example:
        >>> texts = RereadTexts(lambda: iter(["It rained."]))
        >>> list(texts), list(texts)
        (['It rained.'], ['It rained.'])
    """

    read: Callable[[], Iterator[str]]

    def __iter__(self) -> Iterator[str]:
        return self.read()


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


def _each(
    rows: Rows, read: Callable[[int, str, Mapping[str, Any]], Item], wrong: WrongRow | None
) -> Iterator[Item]:
    """What `read` makes of the number, from 1, the place and the fields of each row."""
    for number, (place, row) in enumerate(rows, start=1):
        try:
            if isinstance(row, DataError):
                raise row
            item = read(number, place, row)
        except DataError as error:
            if wrong is None:
                raise
            wrong(str(error))
        else:
            yield item


def _rows(corpus: Corpus, header: bool = True) -> Rows:
    """The rows of a corpus."""
    if isinstance(corpus, str | pathlib.Path):
        for path in corpus_files(corpus):
            yield from _file_rows(path, header)
        return

    for number, row in enumerate(corpus, start=1):
        place = f"rows:{number}"
        if isinstance(row, Mapping):
            yield place, row
        else:
            found = f"found a {type(row).__name__}, expected a dict with the names of columns"
            yield place, DataError(f"{place}: {found}")


def _file_rows(path: pathlib.Path, header: bool) -> Rows:
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

    with open_text(path, kind, errors=LENIENT) as file:
        for line, row in file_rows(str(path), file, kind, header):
            yield f"{path}:{line}", row


def read_pairs(
    corpus: Corpus,
    target_corpus: str | pathlib.Path | None = None,
    *,
    source: str = "source",
    target: str = "target",
    wrong: WrongRow | None = None,
) -> Iterator[tuple[str, str]]:
    """Reads pairs of texts in order, one at a time, in NFC, without blanks at their ends.

    Args:
        corpus: A `.jsonl`, `.csv` or `.tsv` file with both texts, or its rows in memory; or, beside
            `target_corpus`, a file of source texts, one a line. Each may end in `.gz`.
        target_corpus: A file of as many target texts.
        source: Name of the column with the source; a number from 1 in a table without a header
            line.
        target: Name of the column with the target, likewise.
        wrong: As in `read_corpus`.

    Yields:
        (source, target).

    Raises:
        DataError: A file cannot be read, a field is missing, or parallel files differ in their
            numbers of lines.

    Example:
        >>> list(read_pairs([{"source": " the cat ", "target": "le chat"}]))
        [('the cat', 'le chat')]
    """
    if target_corpus is None:
        pairs = read_columns(corpus, (source, target), wrong=wrong)
    elif isinstance(corpus, str | pathlib.Path):
        pairs = _columns(_parallel(corpus, target_corpus), ("source", "target"), (), wrong)
    else:
        raise DataError(
            f"{target_corpus}: holds the targets of a file of sources, and the corpus is rows in"
            " memory; give a file, or rows with both texts and no target_corpus"
        )

    for texts in pairs:
        first, second = (unicodedata.normalize("NFC", text).strip() for text in texts)
        yield first, second


def _parallel(corpus: str | pathlib.Path, target_corpus: str | pathlib.Path) -> Rows:
    both = itertools.zip_longest(*(read_lines(file, LENIENT) for file in (corpus, target_corpus)))
    for line, texts in enumerate(both, start=1):
        if None in texts:
            short, long = (corpus, target_corpus) if texts[0] is None else (target_corpus, corpus)
            raise DataError(
                f"{short}: ends after line {line - 1} and {long} goes on; expected as many lines in"
                " both, the same line of each a pair"
            )
        yield f"{corpus} and {target_corpus}:{line}", dict(zip(("source", "target"), texts))
