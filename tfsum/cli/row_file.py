"""`tfsum summarize ROWS --field text --output FILE`: the rows of a file with their answers.

Answers go to FILE.partial, a line of JSON each, as they come; when all are there, FILE is written
whole. A call that was ended, or killed, is resumed by the same call. Rows that could not be read or
answered are in FILE.errors.jsonl.
"""

import csv
import io
import json
import pathlib
from collections.abc import Set
from typing import Any

from tfsum.atomic_files import atomic_path, follow_no_link, write_atomically
from tfsum.cli.options import json_line
from tfsum.data.rows import Row
from tfsum.errors import Error, install_extra
from tfsum.inputs.sources import Document

FORMATS = (".jsonl", ".json", ".csv", ".tsv", ".parquet")


class RowFile:
    """The answers to rows, until all are there.

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
        >>> row = Document("a.csv:2", "It rained.", [], row={"id": "1", "text": "It rained."})
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
        try:
            self._file = open(self._partial, "a+b", opener=follow_no_link)  # noqa: SIM115 (closed by `finish`)
            self._resume({"options": options})
        except OSError as error:
            raise Error(f"--output {path}: cannot be written ({error.strerror})") from None
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
            if any(any(answer.values()) for answer in self._answers.values()):
                raise Error(
                    f"--output {self.path}: {self._partial.name} holds answers with other options:"
                    f" {json_line(before)}; give the same, or remove that file"
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
        try:
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
        except OSError as error:
            raise Error(f"--output {self.path}: cannot be written ({error.strerror})") from None
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
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise Error(
                f"--output {self.path}: Parquet is written with the extra `parquet`:"
                f" {install_extra('parquet')}"
            ) from None
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
