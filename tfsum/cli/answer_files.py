"""The files of `tfsum summarize --output`: a folder of answers, or the rows of a file with theirs;
the same call resumes one that was ended."""

import csv
import io
import json
import os
import pathlib
import urllib.parse
from collections.abc import Set
from typing import Any

from tfsum.atomic_files import atomic_path, follow_no_link, write_atomically
from tfsum.cli.options import json_line
from tfsum.data.rows import Row
from tfsum.errors import DataError, Error, as_error, needs_extra, require
from tfsum.inputs.documents import Document
from tfsum.inputs.sources import ANSWERS, Source

FORMATS = (".jsonl", ".json", ".csv", ".tsv", ".parquet")  # of rows


class AnswerFiles:
    """A folder of answers: a file for each, named after its document.

    `.tfsum-answers` in the folder says how they were asked for, and lists them. No other file there
    is written over or taken for an answer: the user's own notes.txt has the name of the answer to
    notes.

    Args:
        folder: Directory of the answers, made if there is none.
        sources: What is read.
        suffix: End of the files' names, such as ".json".
        options: What decides the answers: a folder holds those of the same options.

    Attributes:
        existing: Number of answers that an earlier call has written.

    Raises:
        Error: Two sources have the same name, `folder` is a file, or it holds answers of other
            options.

    Example:
        >>> import tempfile
        >>> AnswerFiles(tempfile.mkdtemp(), [Source("texts/a.txt")], ".txt", {}).path(
        ...     "texts/a.txt"
        ... ).name
        'a.txt.txt'
    """

    def __init__(
        self, folder: str, sources: list[Source], suffix: str, options: dict[str, Any]
    ) -> None:
        self._folder, self._suffix, self.existing = pathlib.Path(folder), suffix, 0
        require(
            self._folder.is_dir() or not self._folder.exists(),
            f"--output {folder}: expected a folder, which is made if there is none",
        )
        self._list, self._options = self._folder / ANSWERS, json.dumps(options, ensure_ascii=False)
        listed = self._list.read_text(encoding="utf-8") if self._list.is_file() else ""
        before, *own = listed.splitlines() or [self._options]
        require(
            before == self._options,
            f"--output {folder}: holds answers with the options {before}, and now they are"
            f" {self._options}; choose another folder, or remove this one",
        )
        self._own = set(own)

        self._names: dict[str, str] = {}  # source -> file
        source_of: dict[str, str] = {}
        for source in sources:
            name = self._names[source.name] = _file_name(source)
            other = source_of.setdefault(name, source.name)
            require(
                other == source.name,
                f"--output: the answers to {other} and {source.name} would both be {name}; name"
                " their folder with --recursive instead",
            )

    def write(self, document: str, answer: str) -> None:
        """Writes the answer to a document.

        Args:
            document: Name of the document, with `:NUMBER` for a mail of a mailbox.
            answer: Content of the file.

        Raises:
            Error: It cannot be written, or there is a file of its name that tfsum did not write.
        """
        path = self.path(document)
        name = path.relative_to(self._folder).as_posix()
        if name not in self._own:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                is_new = not self._list.is_file()
                with open(self._list, "a", encoding="utf-8", opener=follow_no_link) as file:
                    file.write(f"{self._options}\n" * is_new + f"{name}\n")
            except OSError as error:
                raise Error(
                    f"{error.filename}: cannot be made ({error.strerror}); choose another --output"
                ) from None
            self._own.add(name)
        write_atomically(path, answer)

    def path(self, document: str) -> pathlib.Path:
        """The file of a document's answer.

        Args:
            document: Name of the document, with `:NUMBER` for a mail of a mailbox.

        Raises:
            DataError: There is a file of its name that tfsum did not write.
        """
        if document in self._names:
            name = self._names[document]
        else:
            source, _, number = document.rpartition(":")
            name = f"{self._names[source]}.{number}"

        path = self._folder / f"{name}{self._suffix}"
        require(
            path.relative_to(self._folder).as_posix() in self._own or not os.path.lexists(path),
            f"{path}: is no answer that tfsum wrote, and the answer to {document} would take its"
            " place; choose another --output",
            DataError,
        )
        return path

    def is_answered(self, source: Source) -> bool:
        """Whether there is an answer that is no older than its source; counts those there are.

        Args:
            source: Source of the document.
        """
        answer = self.path(source.name)
        text = pathlib.Path(source.name)  # no file where the source is an address or "-"
        if not answer.exists() or (text.exists() and text.stat().st_mtime > answer.stat().st_mtime):
            return False
        self.existing += 1
        return True


def _file_name(source: Source) -> str:
    if source.name == "-":
        return "stdin"
    if source.folder:
        return os.path.relpath(source.name, source.folder)
    if "://" in source.name:
        return urllib.parse.quote(source.name, safe="")
    return os.path.basename(source.name)


class RowFile:
    """The rows of a file with their answers, until all are there.

    Answers go to FILE.partial, a line of JSON each, as they come; when all are there, FILE is
    written whole. A call that was ended, or killed, is resumed by the same call. Rows that could
    not be read or answered are in FILE.errors.jsonl.

    Args:
        path: File to write; its end is one of `FORMATS`.
        options: What decides the answers: a file holds those of the same options.

    Attributes:
        existing: Number of answers that an earlier call has written.
        failed: File of the rows that have none.

    Raises:
        Error: The file holds answers of other options, or cannot be written.

    Example:
        >>> import tempfile
        >>> file = RowFile(f"{tempfile.mkdtemp()}/a.csv", {})
        >>> row = Document("It rained.", name="a.csv:2", row={"id": "1", "text": "It rained."})
        >>> file.add(row)
        >>> file.write(row.name, {"summary": "It rained."})
        >>> file.finish()
        >>> print(file.path.read_text(), end="")
        id,text,summary
        1,It rained.,It rained.
    """

    def __init__(self, path: str, options: dict[str, Any]) -> None:
        self.path = pathlib.Path(path)
        self.failed = self.path.with_name(f"{self.path.name}.errors.jsonl")
        self._partial = self.path.with_name(f"{self.path.name}.partial")
        self._into = {options.get("into")}
        self._rows: dict[str, Row] = {}
        self._answers: dict[str, dict[str, Any]] = {}
        self._errors: dict[str, str] = {}
        with as_error(f"--output {path}: cannot be written", OSError):
            self._file = open(self._partial, "a+b", opener=follow_no_link)  # noqa: SIM115 (closed by `finish`)
            self._resume({"options": options})
        self.existing = len(self._answers)

    def _resume(self, head: dict[str, Any]) -> None:
        """Reads what an earlier call has written; a line that was cut as it was killed goes."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        before, *lines = map(json.loads, content[:whole].splitlines() or [json_line(head).encode()])
        for line in lines:
            self._answers |= line.get("answers", {})
            self._errors |= line.get("errors", {})
        if before != head:
            require(
                not any(any(answer.values()) for answer in self._answers.values()),
                f"--output {self.path}: {self._partial.name} holds answers with other options:"
                f" {json_line(before)}; give the same, or remove that file",
            )
            whole, self._answers, self._errors = 0, {}, {}  # nothing that took time is lost
        self._file.truncate(whole)
        if not whole:
            self._append(head)

    def _append(self, line: dict[str, Any]) -> None:
        self._file.write(f"{json_line(line)}\n".encode())
        self._file.flush()

    def add(self, document: Document) -> None:
        """Adds a row, in the order of the file.

        Args:
            document: Row with its fields, or with what is wrong with it.

        Raises:
            Error: It has a field of the name of the summary's already.
        """
        if document.error is not None:
            if document.name not in self._errors:
                self._errors[document.name] = str(document.error)
                self._append({"errors": {document.name: str(document.error)}})
        elif document.row is not None:
            self._rows[document.name] = document.row
            self._refuse_taken(document.name, self._into)

    def has(self, name: str) -> bool:
        """Whether there is an answer to a row.

        Args:
            name: Name of the row.
        """
        return name in self._answers

    def write(self, name: str, answer: dict[str, Any]) -> None:
        """Adds the answer to a row, if there is none.

        Args:
            name: Name of the row.
            answer: Fields that are added to those of the row.

        Raises:
            Error: The row has one of them already.
        """
        if not self.has(name):
            self._refuse_taken(name, answer.keys())
            self._answers[name] = answer
            self._append({"answers": {name: answer}})

    def finish(self) -> None:
        """Writes the file of all rows, and that of the errors; the partial one goes.

        Raises:
            Error: The file cannot be written.
        """
        rows = [row | self._answers[name] for name, row in self._rows.items()]
        with as_error(f"--output {self.path}: cannot be written", OSError):
            if self.path.suffix == ".parquet":
                self._write_parquet(rows)
            else:
                write_atomically(self.path, _text_of(self.path.suffix, rows))
            self.failed.unlink(missing_ok=True)
            if self._errors:
                lines = [
                    json_line({"row": name, "error": error}) for name, error in self._errors.items()
                ]
                write_atomically(self.failed, "\n".join([*lines, ""]))
        self.close()
        self._partial.unlink()

    def close(self) -> None:
        """Closes the partial file, which keeps its answers."""
        self._file.close()

    def _refuse_taken(self, name: str, fields: Set[str | None]) -> None:
        if taken := self._rows[name].keys() & fields:
            raise Error(
                f"{name}: has the field {', '.join(sorted(taken))} already; name another for the"
                " summary with --into"
            )

    def _write_parquet(self, rows: list[Row]) -> None:
        with needs_extra("parquet", f"--output {self.path}: Parquet"):
            import pyarrow
            import pyarrow.parquet
        with atomic_path(self.path) as part:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), part)


def _text_of(suffix: str, rows: list[Row]) -> str:
    """The content of a file of rows."""
    if suffix == ".jsonl":
        return "".join(f"{_line(row)}\n" for row in rows)
    if suffix == ".json":
        return "[\n" + ",\n".join(map(_line, rows)) + "\n]\n"
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = io.StringIO(newline="")
    delimiters = {".csv": ",", ".tsv": "\t"}
    writer = csv.DictWriter(table, columns, delimiter=delimiters[suffix], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        nested = {name: value for name, value in row.items() if isinstance(value, (list, dict))}
        writer.writerow(row | {name: _line(value) for name, value in nested.items()})
    return table.getvalue()


def _line(value: object) -> str:
    """A value as JSON; dates and the like of Parquet as their text."""
    return json.dumps(value, ensure_ascii=False, default=str)
