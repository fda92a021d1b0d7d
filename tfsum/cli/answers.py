"""Answers as `tfsum summarize` prints them, text, JSON, Markdown or HTML, and the files of
`--output FOLDER/`: one for each answer, named after its document.

`.tfsum-answers` in the folder says how they were asked for, and lists them. No other file there is
written over or taken for an answer: the user's own notes.txt has the name of the answer to notes.
"""

import hashlib
import html
import json
import os
import pathlib
import re
import urllib.parse
from collections.abc import Sequence
from typing import Any

from tfsum.atomic_files import write_atomically
from tfsum.cli.options import json_line, printable
from tfsum.errors import DataError, Error
from tfsum.generation.generated import Generated
from tfsum.inputs.sources import Source
from tfsum.request import Keyword, SummaryAnswer
from tfsum.text.newlines import one_line

Answer = SummaryAnswer | Generated | list[Keyword]
SUFFIXES = {"text": ".txt", "json": ".json", "markdown": ".md", "html": ".html"}
COLOUR, PLAIN = "\x1b[30;43m", "\x1b[0m"
PAGE = (
    '<!doctype html>\n<html>\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
    "<body>\n{body}\n</body>\n</html>"
)
OWN = ".tfsum-answers"
LONGEST = 120  # bytes of a row's name in that of a file
_ESCAPES = {code: f"%{code:02X}" for code in (*range(32), *map(ord, '%/\\:*?"<>|'))}


def answer_line(
    result: Answer, name: str, form: str, heading: bool, names: Sequence[str] | None = None
) -> str:
    """An answer in one of the formats.

    Args:
        result: A `SummaryAnswer`, a `Generated`, or a list of `Keyword`s.
        name: Name of its document.
        form: "text", "json", "markdown" or "html".
        heading: Whether the name stands above the answer; in JSON it always stands in it.
        names: Names of the documents that one summary is of; None for one document.

    Example:
        >>> from tfsum.request import SummaryAnswer
        >>> summary = SummaryAnswer("It rained.", ["It rained."], [0.9], [(0, 10)], 1.0, [])
        >>> print(answer_line(summary, "a.txt", "markdown", True))
        ## a.txt
        <BLANKLINE>
        - It rained.
        <BLANKLINE>
    """
    if form == "json":
        return _json(result, name, names)

    lines = [printable(line) for line in _lines(result, names)]
    name = printable(name)
    if form == "html":
        items = "\n".join(f"<li>{html.escape(line)}</li>" for line in lines)
        above = f"<h2>{html.escape(name)}</h2>\n" if heading else ""
        return f"<article>\n{above}<ul>\n{items}\n</ul>\n</article>"
    if form == "markdown":
        title = [f"## {_marked_down(name)}", ""] if heading else []
        return "\n".join(
            [*title, *(f"- {_marked_down(line)}" for line in lines), *([""] * heading)]
        )
    return "\n".join([f"==> {name} <==", *lines, ""] if heading else lines)


def highlighted(text: str, result: SummaryAnswer, name: str, form: str, heading: bool) -> str:
    """A whole text with the chosen sentences marked, for a terminal or as HTML.

    Args:
        text: The text.
        result: Its `SummaryAnswer`.
        name: Name of the document.
        form: "text" or "html".
        heading: Whether the name stands above it.

    Example:
        >>> from tfsum.request import SummaryAnswer
        >>> summary = SummaryAnswer("It rained.", ["It rained."], [0.9], [(4, 14)], 1.0, [])
        >>> print(highlighted("No. It rained.", summary, "a.txt", "html", False))
        <article>
        <p style="white-space: pre-wrap">No. <mark>It rained.</mark></p>
        </article>
    """
    begin, end = ("<mark>", "</mark>") if form == "html" else (COLOUR, PLAIN)

    def escape(part: str) -> str:
        return html.escape(part) if form == "html" else printable(part)

    shown, at = [], 0
    for first, last in result.offsets:
        shown += [escape(text[at:first]), begin, escape(text[first:last]), end]
        at = last
    marked = "".join([*shown, escape(text[at:])])

    if form == "html":
        title = f"<h2>{html.escape(name)}</h2>\n" if heading else ""
        return f'<article>\n{title}<p style="white-space: pre-wrap">{marked}</p>\n</article>'
    return "\n".join([f"==> {printable(name)} <==", marked, ""] if heading else [marked])


def _lines(result: Answer, names: Sequence[str] | None) -> list[str]:
    """The lines of an answer: its keywords, its sentences, or what was written."""
    if isinstance(result, list):
        return [one_line(keyword.text) for keyword in result]
    if isinstance(result, Generated):
        return result.summary.splitlines()
    lines = [one_line(sentence) for sentence in result.sentences]
    if names is not None and result.documents is not None:
        lines = [f"{line} [{names[i]}]" for line, i in zip(lines, result.documents)]
    return lines


def _json(result: Answer, name: str, names: Sequence[str] | None) -> str:
    if isinstance(result, list):
        return json_line({"file": name, "keywords": _rounded(result)})
    fields = {key: value for key, value in vars(result).items() if value is not None}
    documents = fields.pop("documents", None)
    if names is not None and documents is not None:
        return json_line({"files": [names[i] for i in documents], **_rounded(fields)})
    return json_line({"file": name, **_rounded(fields)})


def _marked_down(text: str) -> str:
    """A text whose marks mean nothing in Markdown, nor what begins a list."""
    return re.sub(r"([\\`*_\[\]<>#|~&]|^[-+]|(?<=^\d)[.)])", r"\\\1", text)


def _rounded(value: object) -> Any:
    """A value as JSON has it, its numbers with six digits."""
    text = json.dumps(value, default=vars)
    return json.loads(text, parse_float=lambda number: round(float(number), 6))


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
        self._folder, self._suffix = pathlib.Path(folder), suffix
        if folder == "-" or (self._folder.exists() and not self._folder.is_dir()):
            raise Error(
                f"--output {folder}: expected a folder, which is made if there is none; leave it"
                " out to write to standard output"
            )
        self.existing = 0
        self._list = self._folder / OWN
        self._options = json.dumps(options, ensure_ascii=False)
        listed = [self._options]
        if self._list.is_file():
            listed = self._list.read_text(encoding="utf-8").splitlines() or listed
        if listed[0] != self._options:
            raise Error(
                f"--output {folder}: holds answers with the options {listed[0]}, and now they are"
                f" {self._options}; choose another folder, or remove this one"
            )
        self._own = set(listed[1:])

        source_of: dict[str, str] = {}
        for source in sources:
            name = _file_name(source)
            if name in source_of:
                raise Error(
                    f"--output: the answers to {source_of[name]} and {source.name} would both be"
                    f" {name}; name their folder with --recursive instead"
                )
            source_of[name] = source.name
        self._names = {source: name for name, source in source_of.items()}

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
                with self._list.open("a", encoding="utf-8") as file:
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
        if path.exists() and path.relative_to(self._folder).as_posix() not in self._own:
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
