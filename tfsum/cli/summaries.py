"""The documents of `tfsum summarize`: read, answered in groups, and their answers written as text,
JSON, Markdown or HTML."""

import collections
import contextlib
import dataclasses
import io
import itertools
import json
import math
import pathlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence

from tqdm import tqdm

from tfsum import html_page
from tfsum.atomic_files import write_atomically
from tfsum.cli.answer_files import AnswerFiles, RowFile
from tfsum.cli.options import Arguments, json_line, printable
from tfsum.errors import DataError, Error, as_error
from tfsum.generation.generator import Generated
from tfsum.inference.texts import batches, one_line
from tfsum.inputs.documents import Document
from tfsum.inputs.sources import Source, read_source
from tfsum.request import Keyword, SummaryAnswer, sentence_of
from tfsum.terminal_size import bar_size

# Documents that are in memory together: enough to put those of equal length into one call, few
# enough that the first answers come soon.
DOCUMENTS = 64
LARGE = 1 << 18  # characters of a text that takes many seconds
FEW = 3  # rows of which a remark of one kind is printed

Answer = SummaryAnswer | Generated | list[Keyword]
Summarize = Callable[[list[str]], Sequence[Answer]]
Result = tuple[Document, Answer, list[str] | None]  # the last: names of documents together


MARKS_OF_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~&]|^[-+]|(?<=^\d)[.)])")  # and of its lists
# Format -> how it writes any text, a line of an answer, the name of a document above it, and the
# beginning and the end of a chosen sentence in the whole text.
ESCAPED: dict[str, Callable[[str], str]] = {
    "text": printable,
    "markdown": lambda text: MARKS_OF_MARKDOWN.sub(r"\\\1", printable(text)),
    "html": lambda text: html_page.escape(printable(text)),
}
LINES = {"text": "{}", "markdown": "- {}", "html": "<li>{}</li>"}
HEADINGS = {"text": "==> {} <==", "markdown": "## {}\n", "html": "<h2>{}</h2>"}
MARKS = {"text": ("\x1b[30;43m", "\x1b[0m"), "html": ("<mark>", "</mark>")}


def answer_sources(
    sources: list[Source],
    arguments: Arguments,
    together: bool,
    summarize: Summarize,
    files: AnswerFiles | RowFile | None,
) -> int:
    """Prints or writes the answers to all sources.

    Args:
        sources: Sources of the texts.
        arguments: Parsed arguments of `tfsum summarize`.
        together: Whether there is one answer to all texts.
        summarize: Function from texts to their answers.
        files: Files of the answers, one for each, or the file of rows with theirs; None to write
            them to one place.

    Returns:
        The exit status: 1 where a document could not be read.
    """
    form, failures = arguments.format, list[str]()
    heading = files is None and (len(sources) > 1 or arguments.field is not None)
    collected = io.StringIO()  # what goes to one file, or to one page
    collects = files is None and (arguments.output is not None or form == "html")

    counts = (count_rows(sources), FEW) if arguments.field else (len(sources), math.inf)
    with _progress(*counts) as (bar, remark):
        documents = unanswered(sources, arguments, files, failures, bar, remark)
        if together:
            results = _together(documents, summarize, bar)
        else:
            results = _one_by_one(documents, summarize, bar, files)
        for document, result, names in results:
            if document.left_out and isinstance(result, SummaryAnswer):
                result = _of_the_file(result, document)
            for note in document.notes:
                remark(document.name, note, note)
            for warning in getattr(result, "warnings", []):
                remark(
                    document.name,
                    f"warning: {sentence_of(warning)}",
                    f"the warning {warning['code']!r}",
                )

            if isinstance(files, RowFile):
                files.write(document.name, _fields(result, form, arguments.into))
                continue
            answer = _shown(document, result, names, arguments, heading)
            if files is not None:
                files.write(document.name, _in_page(f"{answer}\n", document.name, form))
            else:
                print(answer, file=collected if collects else sys.stdout)

    if collects:
        title = sources[0].name if len(sources) == 1 else "Summaries"
        page = _in_page(collected.getvalue(), title, form)
        if arguments.output is None:
            print(page, end="")
        else:
            with as_error(f"--output {arguments.output}: cannot be written", OSError):
                write_atomically(arguments.output, page)
    if isinstance(files, RowFile):
        files.finish()
    if files and files.existing:
        print(f"tfsum: {files.existing} answer(s) in {arguments.output} already", file=sys.stderr)
    if failures:
        listed = f" ({files.failed} has them)" if isinstance(files, RowFile) else ""
        print(f"tfsum: {len(failures)} could not be summarized{listed}:", file=sys.stderr)
        print(*(printable(f"  {failure}") for failure in failures), sep="\n", file=sys.stderr)
    return int(bool(failures))


@contextlib.contextmanager
def _progress(
    total: int | None, most: float
) -> Iterator[tuple[tqdm, Callable[[str, str, str], None]]]:
    """A block with a bar of so many documents, and a function that prints a remark above it.

    The arguments of the function are the name of a document, the remark, and what remarks of its
    kind have in common, of which the first ones alone are printed.
    """
    counts = collections.Counter[str]()
    bar = tqdm(
        total=total,
        unit="document",
        file=sys.stderr,
        disable=total == 1 or not sys.stderr.isatty(),
        **bar_size(),
    )

    def remark(name: str, text: str, kind: str) -> None:
        counts[kind] += 1
        if counts[kind] <= most:
            bar.write(printable(f"tfsum: {name}: {text}"), file=sys.stderr)

    try:
        with bar:
            yield bar, remark
    finally:
        for kind, count in counts.items():
            if count > most:
                print(printable(f"tfsum: {count - most} more rows: {kind}"), file=sys.stderr)


def count_rows(sources: list[Source]) -> int | None:
    """About how many rows there are, where they can be counted cheaply: by the lines of files.

    Args:
        sources: Sources of rows.

    Returns:
        The number of lines; None where a source is no file, or has no row a line.

    Example:
        >>> count_rows([Source("-")]) is None
        True
    """
    files = [pathlib.Path(source.name) for source in sources]
    if not all(file.suffix in (".jsonl", ".csv", ".tsv") and file.is_file() for file in files):
        return None
    return sum(file.read_bytes().count(b"\n") for file in files)


def _of_the_file(answer: SummaryAnswer, document: Document) -> SummaryAnswer:
    """An answer whose coverage is of what a reader of the file sees."""
    read, left_out = (len("".join(text.split())) for text in (document.text, document.left_out))
    return dataclasses.replace(answer, coverage=answer.coverage * read / max(1, read + left_out))


def unanswered(
    sources: list[Source],
    arguments: Arguments,
    files: AnswerFiles | RowFile | None,
    failures: list[str],
    bar: tqdm,
    remark: Callable[[str, str, str], None],
) -> Iterator[Document]:
    """The documents that have no answer yet.

    Of several sources, those that cannot be read are added to `failures`.
    """
    rows = arguments.field is not None
    own = files if isinstance(files, AnswerFiles) else None
    id = None if isinstance(files, RowFile) else arguments.id  # a row keeps its own columns
    names: set[str] = set()
    for source in sources:
        try:
            if own and own.is_answered(source):
                bar.update()
                continue
            for document in read_source(source, arguments.field, arguments.encoding, id):
                repeated = rows and document.name in names
                names.add(document.name)
                if isinstance(files, RowFile) and not repeated:
                    files.add(document)
                if document.error is not None:
                    failures.append(str(document.error))
                elif repeated:
                    failures.append(
                        f"{document.name}: is the name of a row before it too; name another field"
                        " by --id"
                    )
                elif rows and not document.text.strip():
                    remark(document.name, "is empty, skipped", "is empty, skipped")
                    if isinstance(files, RowFile):
                        files.write(document.name, {arguments.into: ""})
                else:
                    yield document
                    continue
                bar.update()
        except DataError as error:
            if len(sources) == 1:
                raise
            failures.append(str(error))
            bar.update()


def _together(documents: Iterator[Document], summarize: Summarize, bar: tqdm) -> Iterator[Result]:
    """The answer to all documents, if there are any."""
    every = list(documents)
    if not every:
        return

    bar.update(len(every))
    notes = [f"{document.name}: {note}" for document in every for note in document.notes]
    (answer,) = summarize([document.text for document in every])
    yield (
        Document("", notes, name=f"{len(every)} texts"),
        answer,
        [each.name for each in every],
    )


def _one_by_one(
    documents: Iterator[Document],
    summarize: Summarize,
    bar: tqdm,
    files: AnswerFiles | RowFile | None,
) -> Iterator[Result]:
    """The answer to each document, in the order of the documents, or as they come where each has
    its file: texts of equal length are in one call, the shortest first.

    Groups of rows whose answers are all there are left out, and no rows of others, so that a text
    is in the same call in a run that was resumed.
    """
    while group := list(itertools.islice(documents, DOCUMENTS)):
        if isinstance(files, RowFile) and all(files.has(document.name) for document in group):
            bar.update(len(group))
            continue
        found: dict[int, Answer] = {}
        for part in batches([len(document.text) for document in group]):
            texts = [group[i].text for i in part]
            if len(texts[-1]) >= LARGE and sys.stderr.isatty():
                name = printable(group[part[-1]].name)
                bar.write(f"tfsum: {name}: is large and takes a while", file=sys.stderr)
            found |= zip(part, summarize(texts))
            bar.update(len(part))
            if isinstance(files, AnswerFiles):
                yield from ((group[i], found.pop(i), None) for i in part)
        yield from ((group[i], found[i], None) for i in sorted(found))


def _shown(
    document: Document,
    result: Answer,
    names: list[str] | None,
    arguments: Arguments,
    heading: bool,
) -> str:
    """An answer in the format that was asked for, or the whole text with its sentences marked."""
    form, name = arguments.format, document.name
    is_terminal = arguments.output is None and sys.stdout.isatty()
    if arguments.highlight and (form == "html" or is_terminal):
        if not isinstance(result, SummaryAnswer):
            raise Error(
                "--highlight: the model writes its answer, which is no part of the text; leave it"
                " out"
            )
        return _article(_highlighted(document.text, result, form), name, form, heading)
    if form == "json":
        return _json(result, name, names)

    lines = [LINES[form].format(ESCAPED[form](line)) for line in _lines(result, names)]
    if form == "html":
        lines = ["<ul>", *lines, "</ul>"]
    return _article(lines, name, form, heading and names is None)


def _fields(result: Answer, form: str, into: str) -> dict[str, object]:
    """What a row has more with its answer."""
    if isinstance(result, SummaryAnswer) and form == "json":
        record = result.record()
        return {into: record.pop("summary"), **record}
    if isinstance(result, list):
        return {into: ", ".join(keyword.text for keyword in result)}
    return {into: result.summary}


def _lines(result: Answer, names: list[str] | None) -> list[str]:
    """The lines of an answer: its keywords, its sentences, or what was written."""
    if isinstance(result, list):
        return [one_line(keyword.text) for keyword in result]
    if isinstance(result, Generated):
        return result.summary.splitlines()
    lines = [one_line(sentence) for sentence in result.sentences]
    if names is not None and result.documents is not None:
        lines = [f"{line} [{names[i]}]" for line, i in zip(lines, result.documents)]
    return lines


def _highlighted(text: str, result: SummaryAnswer, form: str) -> list[str]:
    """The lines of a text whose chosen sentences are marked."""
    (begin, end), escaped = MARKS[form], ESCAPED[form]
    shown, at = "", 0
    for first, last in result.offsets:
        shown += escaped(text[at:first]) + begin + escaped(text[first:last]) + end
        at = last
    shown += escaped(text[at:])
    return ['<p class="text">' + shown + "</p>"] if form == "html" else [shown]


def _article(lines: list[str], name: str, form: str, heading: bool) -> str:
    """The lines of an answer, below the name of its document where there are several."""
    if heading:
        lines = [HEADINGS[form].format(ESCAPED[form](name)), *lines, ""]
    if form == "html":
        lines = ["<article>", *lines, "</article>"]
    return "\n".join(lines)


def _json(result: Answer, name: str, names: list[str] | None) -> str:
    """A line of JSON, its numbers with six digits."""
    documents = getattr(result, "documents", None)
    place: dict[str, object] = {"file": name}
    if names is not None and documents is not None:
        place = {"files": [names[i] for i in documents]}

    fields = {"keywords": result} if isinstance(result, list) else vars(result)
    given = {
        key: value for key, value in fields.items() if value is not None and key != "documents"
    }
    text = json.dumps(place | given, default=vars)
    return json_line(json.loads(text, parse_float=lambda number: round(float(number), 6)))


def _in_page(answers: str, title: str, form: str) -> str:
    """Answers one below another, in a page where they are HTML."""
    if form != "html":
        return answers
    return html_page.page(printable(title), answers)
