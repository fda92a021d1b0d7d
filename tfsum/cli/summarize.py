"""Summarize texts, from files, folders or standard input.

The model is the shipped one, or another extractive or abstractive model. Text, HTML, PDF, Word
(.docx) and mail are read, and with --field the rows of JSON lines and CSV.
"""

import argparse
import html
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfsum.atomic_files import write_atomically
from tfsum.cli.answer_files import AnswerFiles
from tfsum.cli.answers import PAGE, SUFFIXES, answer_line, highlighted
from tfsum.cli.asking import connect, load
from tfsum.cli.parser import Options, number_or_auto, positive, printable, share
from tfsum.cli.progress import documents_bar, large_text_bar
from tfsum.errors import DataError, Error
from tfsum.inference.compute import TYPES
from tfsum.inputs.document import Document
from tfsum.inputs.sources import Source, find_sources, read_source
from tfsum.tasks.bert_sum_ext.limits import QUERY_WEIGHT, Limits

EXAMPLES = """examples:
  tfsum summarize article.txt
  cat article.txt | tfsum summarize --words 60 --format json
  tfsum summarize minutes.docx --query 'What will it cost?' --words 100
  tfsum summarize report.pdf https://example.org/news.html   # with the extra `documents`
  tfsum summarize --recursive papers -o summaries/  # a file for each; the same command resumes
  tfsum summarize monday.txt tuesday.txt --together --words 80
  tfsum summarize article.txt --keywords 8
  tfsum summarize news.jsonl --field text --format json
  echo 'I am cold.' | tfsum summarize --model served/translator
  tfsum summarize --server http://news.example.org:8501 article.txt  # needs the extra `client`
"""

# Documents that are in memory together, and bytes of them: enough to put those of equal length into
# one batch, few enough that the first answers come soon.
DOCUMENTS, CHARACTERS = 128, 1 << 21
PART = 16  # of these, between two movements of the bar

OPTIONS: Options = {
    "": {
        "files": {
            "nargs": "*",
            "metavar": "FILE",
            "help": "files, addresses or folders; standard input where none or -",
        },
        "-n --sentences": {
            "type": number_or_auto,
            "metavar": "N",
            "help": (
                "of an extractive model: sentences at most, or auto for two to four (default: as it"
                " was exported, and from a server 3; the shipped gives two to four, and up to 10);"
                " a model is exported with more by `tfsum export --max-sentences`, and for auto"
                " with --selection expected_rouge"
            ),
        },
        "--words": {
            "type": positive,
            "metavar": "N",
            "help": (
                "of an extractive model: the most words of a summary; as many sentences as there is"
                " room for, unless -n is given too (the shortest one where there is none)"
            ),
        },
        "--characters": {
            "type": positive,
            "metavar": "N",
            "help": "of an extractive model: the most characters of a summary",
        },
        "--share": {
            "type": share,
            "metavar": "S",
            "help": "of an extractive model: the largest share of the text's words, such as 0.2",
        },
        "--min-score": {
            "type": share,
            "metavar": "S",
            "help": "of an extractive model: the lowest score of a sentence, from 0 to 1",
        },
        "--query": {
            "metavar": "TEXT",
            "help": (
                "of an extractive model: a question or a title that the sentences are to be about;"
                " one that shares no word with the text changes nothing"
            ),
        },
        "--query-weight": {
            "type": share,
            "metavar": "S",
            "help": (
                "how much the query counts beside what matters in general, from 0 to 1"
                f" (default: {QUERY_WEIGHT})"
            ),
        },
        "at most one of": {
            "--keywords": {
                "type": positive,
                "metavar": "N",
                "help": (
                    "of an extractive model: instead of a summary, the N words and phrases that say"
                    " most"
                ),
            },
            "--all": {
                "action": "store_true",
                "help": "of an extractive model: every sentence, with --format json its score",
            },
            "--together": {
                "action": "store_true",
                "help": (
                    "of an extractive model: one summary of all texts, which says a thing once,"
                    " each sentence with its text"
                ),
            },
        },
        "--newline": {
            "choices": ("auto", "sentence", "paragraph", "space"),
            "help": (
                "of an extractive model: what a new line means: the end of a sentence, part of a"
                " paragraph, or white space alone; auto tells hard-wrapped texts from others by the"
                " widths of their lines (default: as the model was exported; the shipped decides)"
            ),
        },
        "--field": {
            "metavar": "NAME",
            "help": "of JSON lines, CSV and TSV: the field that holds the text",
        },
        "--encoding": {
            "metavar": "NAME",
            "help": "of the texts, such as cp1252 (default: recognized)",
        },
        "-r --recursive": {
            "action": "store_true",
            "help": "read all files of a folder and of those in it",
        },
        "--id": {
            "metavar": "NAME",
            "help": "of rows: the field that names a row in the answers (default: its line)",
        },
        "-o --output": {
            "metavar": "PATH",
            "help": (
                "write the answers to this file, which is replaced, or, where it ends with a slash"
                " or is a folder, each into a file of that folder, which remembers the options; a"
                " document whose answer exists there and is not older than it is skipped; no file"
                " is written over there that tfsum did not write"
            ),
        },
        "--model": {
            "metavar": "FOLDER",
            "help": (
                "a SavedModel that tfsum exported (default: the shipped), or a model folder "
                "(which is exported for the occasion); with --server the name of a model on it; a"
                " model is a program: take it from people whom you trust"
            ),
        },
        "--compute": {
            "choices": TYPES,
            "default": "float32",
            "help": (
                "type that an exported model of this machine computes in: bfloat16 is faster and"
                " rounds more; auto is bfloat16 where the processor has instructions for it"
                " (default: float32)"
            ),
        },
        "--server": {
            "metavar": "URL",
            "help": (
                "ask `tfsum serve` or TensorFlow Serving at http://HOST:PORT, "
                "https://HOST:PORT or grpc://HOST:PORT, and load no model here (default: what the"
                " environment variable TFSUM_SERVER names, unless --model or --newline is given)"
            ),
        },
        "--token-file": {
            "metavar": "FILE",
            "help": "holds the token that the server needs",
        },
        "--format": {
            "choices": tuple(SUFFIXES),
            "default": "text",
            "help": (
                "text: a sentence a line; json: a document a line, with scores and character"
                " offsets; markdown: a list; html: a page"
            ),
        },
        "--highlight": {
            "action": "store_true",
            "help": (
                "on a terminal and in html: the whole text with the sentences marked (elsewhere the"
                " sentences alone)"
            ),
        },
    },
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.server is None and arguments.model is None and arguments.newline is None:
        arguments.server = os.environ.get("TFSUM_SERVER") or None
    if arguments.token_file and not arguments.server:
        arguments.parser.error("--token-file: is for --server; name the server too")
    try:
        sources = find_sources(arguments.files or ["-"], arguments.recursive)
    except DataError as error:
        arguments.parser.reject(str(error))
    if [source.name for source in sources] == ["-"] and sys.stdin.isatty():
        print("tfsum: reading standard input; end it with Ctrl-D, or name a file", file=sys.stderr)

    _check_modes(arguments)
    _check_output(arguments.output, arguments.parser, sources)

    files = None
    if arguments.output and (
        arguments.output[-1] in "/" + os.sep or os.path.isdir(arguments.output)
    ):
        if arguments.together:
            arguments.parser.error("--together: is one answer; give --output a file")
        files = AnswerFiles(
            arguments.output, sources, SUFFIXES[arguments.format], _answer_options(arguments)
        )

    with (load if arguments.server is None else connect)(arguments) as answer:
        return summarize_all(arguments, sources, files, answer)


def _check_modes(arguments: argparse.Namespace) -> None:
    """Rejects options that have no meaning beside each other."""
    mode = next((m for m in ("keywords", "all", "together") if getattr(arguments, m)), None)
    unused = [
        f"--{name.replace('_', '-')}"
        for name in ("sentences", "newline", *Limits.__annotations__)
        if mode in ("keywords", "all") and getattr(arguments, name) is not None
    ]
    if unused:
        arguments.parser.error(f"--{mode}: takes no {', '.join(unused)}; leave out one of them")
    if arguments.highlight and (
        mode in ("keywords", "together") or arguments.format not in ("text", "html")
    ):
        arguments.parser.error(
            "--highlight: is for the sentences of one text, as text or html; leave it out"
        )
    if arguments.share == 0:
        arguments.parser.error("--share 0: expected a share of the text above 0")
    if arguments.query is None and arguments.query_weight is not None:
        arguments.parser.error("--query-weight: is for a query; give --query too")
    if arguments.query is not None and not arguments.query.strip():
        arguments.parser.error("--query: is empty; leave it out, or give a question or a title")
    if arguments.id and not arguments.field:
        arguments.parser.error("--id: is for rows; name the field of the text with --field too")


def _check_output(output: str | None, parser: Any, sources: list[Source]) -> None:
    """Rejects an output that cannot be written, or that would take the place of a text."""
    if output in ("-", ""):
        parser.error(f"--output {output!r}: leave it out to write to standard output")
    if output is None:
        return
    if not output.endswith(("/", os.sep)) and not os.path.isdir(os.path.dirname(output) or "."):
        parser.error(f"--output {output}: there is no folder {os.path.dirname(output)}; make it")
    place = os.path.realpath(output)
    if place in {os.path.realpath(source.name) for source in sources if source.name != "-"}:
        parser.error(
            f"--output {output}: is a text to be read, which the answers would take the place of;"
            " choose another file"
        )


def _answer_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that decide what an answer is, by which a folder of answers knows its own."""
    names = ("sentences", *Limits.__annotations__, "keywords", "all", "newline", "field", "id")
    names = (*names, "encoding", "model", "compute", "server", "format", "highlight")
    given = {name: getattr(arguments, name) for name in names}
    return {k: value for k, value in given.items() if value is not None and value is not False}


def summarize_all(
    arguments: argparse.Namespace,
    sources: list[Source],
    files: AnswerFiles | None,
    summarize: Callable,
) -> int:
    """Prints or writes the answers to all sources, and gives the exit status."""
    failures: list[str] = []
    heading = files is None and (len(sources) > 1 or arguments.field is not None)
    marks = arguments.highlight and (arguments.format == "html" or _is_terminal(arguments))
    together: list[str] = []  # what goes to one file, or to one page
    collects = files is None and (arguments.output is not None or arguments.format == "html")

    with documents_bar(None if arguments.field else len(sources)) as bar:
        documents = unanswered(sources, arguments, files, failures, bar)
        for document, result, names in _results_of(documents, arguments, files, summarize, bar):
            warnings = [f"warning: {warning}" for warning in getattr(result, "warnings", [])]
            for note in (*document.notes, *warnings):
                bar.write(printable(f"tfsum: {document.name}: {note}"), file=sys.stderr)

            if marks and not hasattr(result, "offsets"):
                raise Error(
                    "--highlight: the model writes its answer, which is no part of the text; leave"
                    " it out"
                )
            if marks:
                answer = highlighted(
                    document.text, result, document.name, arguments.format, heading
                )
            else:
                above = heading and names is None
                answer = answer_line(result, document.name, arguments.format, above, names)
            if files is not None:
                files.write(document.name, _in_page([answer], document.name, arguments) + "\n")
            elif collects:
                together.append(answer)
            else:
                print(answer)

    if collects:
        title = sources[0].name if len(sources) == 1 else "Summaries"
        page = _in_page(together, title, arguments)
        if arguments.output is None:
            print(page)
        else:
            _write_file(arguments.output, page + "\n")
    if files and files.existing:
        were = "answer was" if files.existing == 1 else "answers were"
        print(f"tfsum: {files.existing} {were} in {arguments.output} already", file=sys.stderr)
    if failures:
        print(f"tfsum: {len(failures)} could not be summarized:", file=sys.stderr)
        print(*(printable(f"  {failure}") for failure in failures), sep="\n", file=sys.stderr)
    return int(bool(failures))


def _results_of(
    documents: Iterator[Document],
    arguments: argparse.Namespace,
    files: AnswerFiles | None,
    summarize: Callable,
    bar: Any,
) -> Iterator[tuple[Document, Any, list[str] | None]]:
    """Each document, its answer, and None; or of all together their names."""
    if arguments.together:
        every = list(documents)
        if not every:
            return
        bar.update(len(every))
        names = [document.name for document in every]
        notes = [f"{document.name}: {note}" for document in every for note in document.notes]
        result = summarize([document.text for document in every])
        yield Document(f"{len(every)} texts", "", notes), result, names
        return

    for group in groups(documents):
        results: Iterable = answers(group, summarize, bar)
        if files is None:  # one after another, in the order of the documents
            results = sorted(results, key=lambda row: row[0])
        yield from ((document, result, None) for _, document, result in results)


def _is_terminal(arguments: argparse.Namespace) -> bool:
    return arguments.output is None and sys.stdout.isatty()


def _write_file(path: str, content: str) -> None:
    """Writes all answers into one file."""
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
    bar: Any,
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
                if document.error is not None:
                    failures.append(str(document.error))
                elif rows and document.name in names:
                    failures.append(
                        f"{document.name}: is the name of a row before it too; name another field"
                        " by --id"
                    )
                elif rows and not document.text.strip():
                    note = printable(f"tfsum: {document.name}: is empty, skipped")
                    bar.write(note, file=sys.stderr)
                elif rows and files and files.is_answered(source, document.name):
                    pass
                else:
                    names.add(document.name)
                    yield document
                    continue
                names.add(document.name)
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
    group: list[Document], summarize: Callable, bar: Any
) -> Iterator[tuple[int, Document, Any]]:
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
