"""The files of `tfsum summarize --output FOLDER/`: one for each answer, named after its document.

`.tfsum-answers` in the folder says how they were asked for, and lists them. No other file there is
written over or taken for an answer: the user's own notes.txt has the name of the answer to notes.
"""

import hashlib
import json
import os
import pathlib
import urllib.parse
from typing import Any

from tfsum.atomic_files import follow_no_link, write_atomically
from tfsum.errors import DataError, Error
from tfsum.inputs.sources import Source

OWN = ".tfsum-answers"
LONGEST = 120  # bytes of a row's name in that of a file
_ESCAPES = {code: f"%{code:02X}" for code in (*range(32), *map(ord, '%/\\:*?"<>|'))}


class AnswerFiles:
    """The files that answers are written to.

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
        if self._folder.exists() and not self._folder.is_dir():
            raise Error(f"--output {folder}: expected a folder, which is made if there is none")

        self._list, self._options = self._folder / OWN, json.dumps(options, ensure_ascii=False)
        listed = self._list.read_text(encoding="utf-8") if self._list.is_file() else ""
        before, *own = listed.splitlines() or [self._options]
        if before != self._options:
            raise Error(
                f"--output {folder}: holds answers with the options {before}, and now they are"
                f" {self._options}; choose another folder, or remove this one"
            )
        self._own = set(own)

        self._names: dict[str, str] = {}  # source -> file
        source_of: dict[str, str] = {}
        for source in sources:
            name = self._names[source.name] = _file_name(source)
            if (other := source_of.setdefault(name, source.name)) != source.name:
                raise Error(
                    f"--output: the answers to {other} and {source.name} would both be {name}; name"
                    " their folder with --recursive instead"
                )

    def write(self, document: str, answer: str) -> None:
        """Writes the answer to a document.

        Args:
            document: Name of the document, with `:LINE` or `:ID` for a row of a file.
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
            document: Name of the document, with `:LINE` or `:ID` for a row of a file.

        Raises:
            DataError: There is a file of its name that tfsum did not write.
        """
        if document in self._names:
            name = self._names[document]
        else:  # a row of a file, whose name may hold what a file's name may not
            source = next(name for name in self._names if document.startswith(f"{name}:"))
            name = f"{self._names[source]}.{_row_name(document.removeprefix(f'{source}:'))}"

        path = self._folder / f"{name}{self._suffix}"
        if os.path.lexists(path) and path.relative_to(self._folder).as_posix() not in self._own:
            raise DataError(
                f"{path}: is no answer that tfsum wrote, and the answer to {document} would take"
                " its place; choose another --output"
            )
        return path

    def is_answered(self, source: Source, document: str) -> bool:
        """Whether there is an answer that is no older than its source; counts those there are.

        Args:
            source: Source of the document.
            document: Name of the document.
        """
        answer = self.path(document)
        text = pathlib.Path(source.name)  # no file where the source is an address or "-"
        if not answer.exists() or (text.exists() and text.stat().st_mtime > answer.stat().st_mtime):
            return False
        self.existing += 1
        return True


def _row_name(row: str) -> str:
    """A name of a row that may stand in a file's name, and no longer than one may be."""
    name = row.translate(_ESCAPES)
    if len(name.encode()) <= LONGEST:
        return name
    digest = hashlib.sha256(row.encode()).hexdigest()[:16]
    return f"{name.encode()[: LONGEST - 17].decode(errors='ignore')}-{digest}"


def _file_name(source: Source) -> str:
    if source.name == "-":
        return "stdin"
    if source.folder:
        return os.path.relpath(source.name, source.folder)
    if "://" in source.name:
        return urllib.parse.quote(source.name, safe="")
    return os.path.basename(source.name)
