"""The documents of `tfsum summarize`: read, answered in groups, and their answers written."""

import argparse
import contextlib
import html
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from tqdm import tqdm

from tfsum.atomic_files import write_atomically
from tfsum.cli.answers import PAGE, Answer, AnswerFiles, answer_line, highlighted
from tfsum.cli.options import printable
from tfsum.errors import DataError, Error
from tfsum.inputs.sources import Document, Source, read_source
from tfsum.request import SummaryAnswer, sentence_of
from tfsum.terminal_size import bar_size

# Documents that are in memory together, and bytes of them: enough to put those of equal length into
# one batch, few enough that the first answers come soon.
DOCUMENTS, CHARACTERS = 128, 1 << 21
PART = 16  # of these, between two movements of the bar
LARGE = 1 << 18  # bytes of a text from which a bar of its own is worth its trial
TRIAL = 20_000  # characters whose time is taken: two seconds or so
SECONDS = 0.5  # between two updates of it

Summarize = Callable[[list[str]], Sequence[Answer]]
Result = tuple[Document, Answer, list[str] | None]  # the last: names of documents together


def answer_sources(
    sources: list[Source],
    arguments: argparse.Namespace,
    together: bool,
    summarize: Summarize,
    files: AnswerFiles | None,
) -> int:
    """Prints or writes the answers to all sources.

    Args:
        sources: Sources of the texts.
        arguments: Parsed arguments of `tfsum summarize`.
        together: Whether there is one answer to all texts.
        summarize: Function from texts to their answers.
        files: Files of the answers, one for each; None to write them to one place.

    Returns:
        The exit status: 1 where a document could not be read.
    """
    failures: list[str] = []
    heading = files is None and (len(sources) > 1 or arguments.field is not None)
    collected: list[str] = []  # what goes to one file, or to one page
    collects = files is None and (arguments.output is not None or arguments.format == "html")

    with documents_bar(None if arguments.field else len(sources)) as bar:
        documents = unanswered(sources, arguments, files, failures, bar)
        if together:
            results = _together(documents, summarize, bar)
        else:
            results = _one_by_one(documents, summarize, bar, in_order=files is None)
        for document, result, names in results:
            warnings = [f"warning: {sentence_of(one)}" for one in getattr(result, "warnings", [])]
            for note in (*document.notes, *warnings):
                bar.write(printable(f"tfsum: {document.name}: {note}"), file=sys.stderr)

            answer = _shown(document, result, names, arguments, heading)
            if files is not None:
                files.write(document.name, _in_page([answer], document.name, arguments) + "\n")
            elif collects:
                collected.append(answer)
            else:
                print(answer)

    if collects:
        title = sources[0].name if len(sources) == 1 else "Summaries"
        page = _in_page(collected, title, arguments)
        if arguments.output is None:
            print(page)
        else:
            _write(arguments.output, page + "\n")
    if files and files.existing:
        were = "answer was" if files.existing == 1 else "answers were"
        print(f"tfsum: {files.existing} {were} in {arguments.output} already", file=sys.stderr)
    if failures:
        print(f"tfsum: {len(failures)} could not be summarized:", file=sys.stderr)
        print(*(printable(f"  {failure}") for failure in failures), sep="\n", file=sys.stderr)
    return int(bool(failures))


def _shown(
    document: Document,
    result: Answer,
    names: list[str] | None,
    arguments: argparse.Namespace,
    heading: bool,
) -> str:
    """An answer in the format that was asked for."""
    form = arguments.format
    is_terminal = arguments.output is None and sys.stdout.isatty()
    if not (arguments.highlight and (form == "html" or is_terminal)):
        return answer_line(result, document.name, form, heading and names is None, names)
    if not isinstance(result, SummaryAnswer):
        raise Error(
            "--highlight: the model writes its answer, which is no part of the text; leave it out"
        )
    return highlighted(document.text, result, document.name, form, heading)


def _together(documents: Iterator[Document], summarize: Summarize, bar: tqdm) -> Iterator[Result]:
    """The answer to all documents, if there are any."""
    every = list(documents)
    if not every:
        return
    bar.update(len(every))
    names = [document.name for document in every]
    notes = [f"{document.name}: {note}" for document in every for note in document.notes]
    (answer,) = summarize([document.text for document in every])
    yield Document(f"{len(every)} texts", "", notes), answer, names


def _one_by_one(
    documents: Iterator[Document], summarize: Summarize, bar: tqdm, in_order: bool
) -> Iterator[Result]:
    """The answer to each document; in the order of the documents, or as they come."""
    for group in groups(documents):
        results: Iterable[tuple[int, Document, Answer]] = answers(group, summarize, bar)
        if in_order:
            results = sorted(results, key=lambda row: row[0])
        yield from ((document, answer, None) for _, document, answer in results)


def _write(path: str, content: str) -> None:
    try:
        write_atomically(path, content)
    except OSError as error:
        raise Error(f"--output {path}: cannot be written ({error.strerror})") from None


def _in_page(answers: list[str], title: str, arguments: argparse.Namespace) -> str:
    """Answers one below another, in a page where they are HTML."""
    body = "\n".join(answers)
    if arguments.format != "html":
        return body
    return PAGE.format(title=html.escape(printable(title)), body=body)


def unanswered(
    sources: list[Source],
    arguments: argparse.Namespace,
    files: AnswerFiles | None,
    failures: list[str],
    bar: tqdm,
) -> Iterator[Document]:
    """The documents that have no answer yet.

    Of several sources, those that cannot be read are added to `failures`.
    """
    rows = arguments.field is not None
    names: set[str] = set()
    for source in sources:
        try:
            if not rows and files and files.is_answered(source, source.name):
                bar.update()
                continue
            for document in read_source(source, arguments.field, arguments.encoding, arguments.id):
                repeated = rows and document.name in names
                names.add(document.name)
                if document.error is not None:
                    failures.append(str(document.error))
                elif repeated:
                    failures.append(
                        f"{document.name}: is the name of a row before it too; name another field"
                        " by --id"
                    )
                elif rows and not document.text.strip():
                    note = printable(f"tfsum: {document.name}: is empty, skipped")
                    bar.write(note, file=sys.stderr)
                elif not (rows and files and files.is_answered(source, document.name)):
                    yield document
                    continue
                bar.update()
        except DataError as error:
            if len(sources) == 1:
                raise
            failures.append(str(error))
            bar.update()


def groups(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Groups documents, at most `DOCUMENTS` and about `CHARACTERS` in each.

    Args:
        documents: Any number of documents.

    Example:
        >>> documents = [Document("a", "x" * CHARACTERS, []), Document("b", "y", [])]
        >>> [len(group) for group in groups(iter(documents))]
        [1, 1]
    """
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document.text)
        if len(group) == DOCUMENTS or size >= CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def answers(
    group: list[Document], summarize: Summarize, bar: tqdm
) -> Iterator[tuple[int, Document, Answer]]:
    """Index, document and result of each of a group, the shortest first.

    Texts of equal length are in one call; `bar` moves after each call.
    """
    order = sorted(range(len(group)), key=lambda i: len(group[i].text))
    for first in range(0, len(order), PART):
        indices = order[first : first + PART]
        texts = [group[i].text for i in indices]
        with large_text_bar(group[indices[-1]].name, texts, summarize):
            results = summarize(texts)

        bar.update(len(indices))
        yield from ((i, group[i], result) for i, result in zip(indices, results))


def documents_bar(total: int | None) -> tqdm:
    """A progress bar on a terminal, for several documents.

    Args:
        total: Number of documents; None where it is not known before they are read.

    Example:
        >>> with documents_bar(3) as bar:
        ...     _ = bar.update()
    """
    return tqdm(
        total=total,
        unit="document",
        disable=total == 1 or not sys.stderr.isatty(),
        file=sys.stderr,
        **bar_size(),
    )


@contextlib.contextmanager
def large_text_bar(
    name: str, texts: Sequence[str], answer: Callable[[list[str]], object]
) -> Iterator[None]:
    """Shows on a terminal how far the model is with a group of texts, one of them large.

    One call of the graph reads a text from beginning to end and reports nothing meanwhile. The bar
    is an estimate, and says so: the time for the beginning of the largest text, scaled to the
    length of all.

    Args:
        name: Name of the largest text.
        texts: Texts of the group.
        answer: Model, called with a list of a text.

    Example:
        >>> with large_text_bar("a.txt", ["It rained."], print):  # not large: nothing is shown
        ...     pass
    """
    largest = max(texts, key=len, default="")
    if len(largest) < LARGE or not sys.stderr.isatty():
        yield
        return

    answer([largest[: TRIAL // 10]])  # the first call takes longer
    begin = time.monotonic()
    answer([largest[:TRIAL]])
    seconds = (time.monotonic() - begin) / TRIAL * sum(map(len, texts))

    done, begin = threading.Event(), time.monotonic()
    bar = tqdm(
        total=round(seconds),
        desc=f"{name}, {len(largest.encode(errors='replace')) / 1e6:.1f} MB (estimated)",
        file=sys.stderr,
        leave=False,
        bar_format="{desc}: {percentage:3.0f}%|{bar}| {n:.0f} of about {total} s",
        **bar_size(),
    )

    def move() -> None:
        while not done.wait(SECONDS):
            bar.n = min(time.monotonic() - begin, 0.99 * seconds)
            bar.refresh()

    thread = threading.Thread(target=move, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        bar.close()
