"""Summarize texts, from files, folders or standard input.

The model is the shipped one, or another extractive or abstractive model. Text, HTML, PDF, Word
(.docx) and mail are read, and with --field the rows of JSON lines and CSV.
"""

import argparse
import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tqdm import tqdm

import tfsum
from tfsum.cli.answer_files import AnswerFiles
from tfsum.cli.parser import (
    Options,
    json_line,
    number_or_auto,
    positive,
    printable,
    selection_options,
    share,
)
from tfsum.errors import DataError, Error
from tfsum.inference.compute import TYPES
from tfsum.inference.shipped import DEFAULT_MODEL
from tfsum.inputs.sources import Document, Source, find_sources, read_source
from tfsum.tasks.bert_sum_ext.limits import QUERY_WEIGHT
from tfsum.terminal_size import bar_size

EXAMPLES = """examples:
  tfsum summarize article.txt
  cat article.txt | tfsum summarize --words 60 --format json
  tfsum summarize minutes.docx --query 'What will it cost?' --words 100
  tfsum summarize report.pdf https://example.org/news.html   # with the extra `documents`
  tfsum summarize --recursive papers --output summaries  # a file for each; the same command resumes
  tfsum summarize news.jsonl --field text --format json
  echo 'I am cold.' | tfsum summarize --model served/translator
  tfsum summarize --server http://news.example.org:8501 article.txt  # needs the extra `client`
"""

# Documents that are in memory together, and bytes of them: enough to put those of equal length into
# one batch, few enough that the first answers come soon.
DOCUMENTS, CHARACTERS = 128, 1 << 21
PART = 16  # of these, between two movements of the bar
LARGE = 1 << 18  # bytes of a text from which a bar of its own is worth its trial
TRIAL = 20_000  # characters whose time is taken: two seconds or so
SECONDS = 0.5  # between two updates of it
SERVER_SECONDS = 600.0  # for an answer of a server; it has a limit of its own
SUFFIXES = {"text": ".txt", "json": ".json"}  # of the files of --output

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
                " was exported; the shipped gives 3, and up to 10); a model is exported with more"
                " by `tfsum export --max-sentences`, and for auto with --selection expected_rouge"
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
                "of an extractive model: a question or a title that the sentences are to be about"
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
        "-o --output": {
            "metavar": "FOLDER",
            "help": (
                "write each answer into a file of this folder, and none to standard output; a"
                " document is skipped if its answer exists and is not older than it; remove the"
                " folder to change options; no file is written over that tfsum did not write"
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
            "choices": ("text", "json"),
            "default": "text",
            "help": (
                "text: a sentence a line; json: a document a line, with scores and character"
                " offsets"
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

    files = None
    if arguments.output is not None:
        files = AnswerFiles(arguments.output, sources, SUFFIXES[arguments.format])

    with (load if arguments.server is None else connect)(arguments) as summarize:
        return summarize_all(arguments, sources, files, summarize)


@contextlib.contextmanager
def load(arguments: argparse.Namespace) -> Iterator[Callable]:
    """Loads the model; a model folder is exported for the duration of the block."""
    from tfsum.tasks.load import open_model, task_of

    with contextlib.ExitStack() as stack:
        if arguments.model and os.path.isfile(os.path.join(arguments.model, "config.json")):
            if arguments.compute != "float32":
                arguments.parser.error(
                    f"--compute {arguments.compute}: is for an exported model, and"
                    f" {arguments.model} is a model folder; export it first: `tfsum export`"
                )
            model = stack.enter_context(open_model(arguments.model))
        elif arguments.compute == "float32":
            model = tfsum.load(arguments.model)
        else:
            model = tfsum.load(arguments.model, compute=arguments.compute)

        verb = task_of(model.path, model.description).module.VERB
        if verb != "summarize":
            raise Error(
                f"{arguments.model}: is a {model.description['kind']}, which writes no summary; use"
                f" `tfsum {verb}`"
            )
        yield functools.partial(model, **selection_options(arguments, model))


@contextlib.contextmanager
def connect(arguments: argparse.Namespace) -> Iterator[Callable]:
    """The method of a client that asks the server's model; its connections end with the block."""
    from tfsum.cli.serve import read_token
    from tfsum.serving import Client

    if arguments.newline is not None:
        arguments.parser.error(
            f"--newline {arguments.newline}: a server's model reads new lines as it was exported; "
            "leave it out, or name a model of this machine with --model"
        )
    if arguments.sentences == "auto":
        arguments.parser.error(
            "-n auto: a server is asked for a number; give one, or name a model of this machine"
            " with --model"
        )
    name = arguments.model or DEFAULT_MODEL
    token = read_token(arguments.token_file)
    with Client(arguments.server, name, token=token, timeout=SERVER_SECONDS) as client:
        signatures = client.signatures()
        if "summarize" in signatures:
            ask = client.summarize
        elif "summary" in signatures.get("serving_default", ([], []))[1]:
            ask = client.generate
        else:
            raise Error(
                f"{arguments.server}: the model {name} writes no summary; its signatures are "
                f"{', '.join(sorted(signatures))}"
            )
        yield functools.partial(ask, **selection_options(arguments, ask))


def summarize_all(
    arguments: argparse.Namespace,
    sources: list[Source],
    files: AnswerFiles | None,
    summarize: Callable,
) -> int:
    """Prints or writes the answers to all sources, and gives the exit status."""
    failures: list[str] = []
    heading = len(sources) > 1 or arguments.field is not None
    with documents_bar(None if arguments.field else len(sources)) as bar:
        for group in groups(unanswered(sources, arguments, files, failures, bar)):
            results: Iterable = answers(group, summarize, bar)
            if files is None:  # standard output has them in the order of the documents
                results = sorted(results, key=lambda row: row[0])

            for _, document, result in results:
                warnings = [f"warning: {warning}" for warning in result.warnings]
                for note in (*document.notes, *warnings):
                    bar.write(printable(f"tfsum: {document.name}: {note}"), file=sys.stderr)

                if arguments.format == "json":
                    answer = as_json(document.name, result)
                else:
                    answer = as_text(document.name, result, heading and files is None)

                if files is None:
                    print(answer)
                else:
                    files.write(document.name, answer + "\n")

    if files and files.existing:
        print(
            f"tfsum: {files.existing} answers were in {arguments.output} already", file=sys.stderr
        )
    if failures:
        print(f"tfsum: {len(failures)} of {len(sources)} could not be summarized:", file=sys.stderr)
        print(*(printable(f"  {failure}") for failure in failures), sep="\n", file=sys.stderr)
    return int(bool(failures))


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
    for source in sources:
        try:
            if not rows and files and files.is_answered(source, source.name):
                bar.update()
                continue
            for document in read_source(source, arguments.field, arguments.encoding):
                if rows and files and files.is_answered(source, document.name):
                    bar.update()
                else:
                    yield document
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


def documents_bar(total: int | None) -> Any:
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
def large_text_bar(name: str, texts: Sequence[str], answer: Callable[[str], Any]) -> Iterator[None]:
    """Shows on a terminal how far the model is with a group of texts, one of them large.

    One call of the graph reads a text from beginning to end and reports nothing meanwhile. The bar
    is an estimate, and says so: the time for the beginning of the largest text, scaled to the
    length of all.

    Args:
        name: Name of the largest text.
        texts: Texts of the group.
        answer: Model, called with a text.

    Example:
        >>> with large_text_bar("a.txt", ["It rained."], print):  # not large: nothing is shown
        ...     pass
    """
    largest = max(texts, key=len, default="")
    if len(largest) < LARGE or not sys.stderr.isatty():
        yield
        return

    answer(largest[: TRIAL // 10])  # the first call takes longer
    begin = time.monotonic()
    answer(largest[:TRIAL])
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


def as_text(name: str, result: Any, heading: bool) -> str:
    """One sentence per line, or the answer; with a heading if there are several documents."""
    from tfsum.text.one_line import one_line

    if hasattr(result, "sentences"):
        lines = [one_line(sentence) for sentence in result.sentences]
    else:
        lines = result.summary.splitlines()
    if heading:
        lines = [f"==> {name} <==", *lines, ""]
    return printable("\n".join(lines))


def as_json(name: str, result: Any) -> str:
    """One line of JSON with the whole result."""
    rounded = {key: _rounded(value) for key, value in vars(result).items()}
    return json_line({"file": name, **rounded})


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, 6)
    return value
