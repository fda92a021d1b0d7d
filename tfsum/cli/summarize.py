"""Summarize texts, from files, folders or standard input, with the shipped model or another extractive or abstractive
one. Text, HTML, PDF, Word (.docx), mail, and with --field the rows of JSON lines and CSV are read."""

import argparse
import contextlib
import functools
import inspect
import os
import pathlib
import sys
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import tfsum
from tfsum.atomic_files import write_atomically
from tfsum.cli.progress import documents_bar, large_text_bar
from tfsum.cli.streams import json_line, printable
from tfsum.documents import Document, Source, find_sources, read_source
from tfsum.errors import DataError, Error
from tfsum.inference.shipped import DEFAULT_MODEL
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum summarize article.txt
  cat article.txt | tfsum summarize -n 2 --format json
  tfsum summarize report.pdf https://example.org/news.html   # with the extra `documents`
  tfsum summarize --recursive papers --output summaries      # a file for each; the same command resumes
  tfsum summarize news.jsonl --field text --format json
  echo 'I am cold.' | tfsum summarize --model served/translator
  tfsum summarize --server http://news.example.org:8501 article.txt   # a server's model; needs the extra `client`
"""

# Documents that are in memory together, and bytes of them: enough to put those of equal length into one batch, few
# enough that the first answers come soon.
DOCUMENTS, BYTES = 128, 1 << 21
PART = 16  # of these, between two movements of the bar
SERVER_SECONDS = 600.0  # for an answer of a server; it has a limit of its own


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="files, addresses or folders; standard input where none or -",
    )
    add(
        "-n",
        "--sentences",
        type=int,
        metavar="N",
        help="of an extractive model: sentences at most (default 3; "
        "the shipped model gives up to 10); a model is exported with more by `tfsum export --max-sentences`",
    )
    add(
        "--newline",
        choices=("auto", "sentence", "paragraph", "space"),
        help="of an extractive model: what a new line "
        "means: the end of a sentence, part of a paragraph, or white space alone; auto tells hard-wrapped texts from "
        "others by the widths of their lines (default: as the model was exported; the shipped decides)",
    )
    add("--field", metavar="NAME", help="of JSON lines, CSV and TSV: the field that holds the text")
    add("--encoding", metavar="NAME", help="of the texts, such as cp1252 (default: recognized)")
    add(
        "-r",
        "--recursive",
        action="store_true",
        help="read all files of a folder and of those in it",
    )
    add(
        "-o",
        "--output",
        metavar="FOLDER",
        help="write an answer a file into this folder, and none to standard "
        "output; a document is not read again whose answer is there and no older; remove the folder to change options",
    )
    add(
        "--model",
        metavar="FOLDER",
        help="a SavedModel that tfsum exported (default: the shipped), or a model folder "
        "(which is exported for the occasion); with --server the name of a model on it",
    )
    add(
        "--server",
        metavar="URL",
        help="ask `tfsum serve` or TensorFlow Serving at http://HOST:PORT, "
        "https://HOST:PORT or grpc://HOST:PORT, and load no model here",
    )
    add("--token-file", metavar="FILE", help="holds the token that the server needs")
    add(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text: a sentence a line; json: a document a line, with scores and character offsets",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.sentences is not None and arguments.sentences < 1:
        arguments.parser.error(f"--sentences {arguments.sentences}: expected at least 1")
    if arguments.token_file and not arguments.server:
        arguments.parser.error("--token-file: is for --server; name the server too")
    try:
        sources = find_sources(arguments.files or ["-"], arguments.recursive)
    except DataError as error:
        arguments.parser.error(str(error))
    if [source.name for source in sources] == ["-"] and sys.stdin.isatty():
        print("tfsum: reading standard input; end it with Ctrl-D, or name a file", file=sys.stderr)
    places = (
        None if arguments.output is None else Places(arguments.output, sources, arguments.format)
    )
    with contextlib.ExitStack() as stack:  # for the temporary export of a model folder
        if arguments.server is None:
            load_tensorflow()
            summarize, options = load(arguments, stack)
        else:
            summarize, options = connect(arguments)
        return _summarize_all(arguments, sources, places, functools.partial(summarize, **options))


def _summarize_all(
    arguments: argparse.Namespace,
    sources: list[Source],
    places: "Places | None",
    summarize: Callable,
) -> int:
    """Prints or writes the answers to all sources, and gives the exit status."""
    failures: list[str] = []
    heading = places is None and (len(sources) > 1 or arguments.field is not None)
    with documents_bar(None if arguments.field else len(sources)) as bar:
        read = documents(sources, arguments, places, None if len(sources) == 1 else failures, bar)
        answered = functools.partial(answers, summarize=summarize, bar=bar)
        for group in groups(read):
            found = answered(group)
            for _, document, result in (
                sorted(found, key=lambda row: row[0]) if places is None else found
            ):
                for note in [
                    *document.notes,
                    *(f"warning: {warning}" for warning in result.warnings),
                ]:
                    bar.write(printable(f"tfsum: {document.name}: {note}"), file=sys.stderr)
                answer = (
                    as_json(document.name, result)
                    if arguments.format == "json"
                    else as_text(document.name, result, heading)
                )
                if places is None:
                    print(answer)
                else:
                    write_atomically(places.of(document.name), answer + "\n")
    if places and places.there:
        print(f"tfsum: {places.there} answers were in {arguments.output} already", file=sys.stderr)
    if failures:
        print(f"tfsum: {len(failures)} of {len(sources)} could not be summarized:", file=sys.stderr)
        print(*(printable(f"  {failure}") for failure in failures), sep="\n", file=sys.stderr)
    return 1 if failures else 0


def load(
    arguments: argparse.Namespace, stack: contextlib.ExitStack
) -> tuple[Callable, dict[str, Any]]:
    """The model, a model folder being exported for as long as `stack` is open, and the options of its call."""
    from tfsum.tasks.load import task_of
    from tfsum.tasks.loaded import loaded

    is_folder = (
        arguments.model is not None and pathlib.Path(arguments.model, "config.json").is_file()
    )
    summarize = (
        stack.enter_context(loaded(arguments.model)) if is_folder else tfsum.load(arguments.model)
    )
    options: dict[str, Any] = {}
    if (verb := task_of(summarize.path, summarize.description).module.VERB) != "summarize":
        raise Error(
            f"{arguments.model}: is a {summarize.description['kind']}, which writes no summary; use "
            f"`tfsum {verb}`"
        )
    for name in ("sentences", "newline"):
        if (value := getattr(arguments, name)) is not None:
            if name not in inspect.signature(summarize).parameters:
                arguments.parser.error(
                    f"--{name} {value}: {arguments.model} is not extractive: it generates its "
                    "answer; leave it out"
                )
            options[name] = value
    return summarize, options


def connect(arguments: argparse.Namespace) -> tuple[Callable, dict[str, Any]]:
    """The method of a client of the server, and the options of its call."""
    from tfsum.cli.serve import read_token
    from tfsum.serving import Client

    if arguments.newline is not None:
        arguments.parser.error(
            f"--newline {arguments.newline}: a server's model reads new lines as it was exported; "
            "leave it out, or name a model of this machine with --model"
        )
    name = arguments.model or DEFAULT_MODEL
    client = Client(
        arguments.server, name, token=read_token(arguments.token_file), timeout=SERVER_SECONDS
    )
    signatures = client.signatures()
    if "summarize" in signatures:
        return client.summarize, {} if arguments.sentences is None else {
            "sentences": arguments.sentences
        }
    if "summary" not in signatures.get("serving_default", ([], []))[1]:
        raise Error(
            f"{arguments.server}: the model {name} writes no summary; its signatures are "
            f"{', '.join(sorted(signatures))}"
        )
    if arguments.sentences is not None:
        arguments.parser.error(
            f"--sentences {arguments.sentences}: {name} is not extractive: it generates its answer; "
            "leave it out"
        )
    return client.generate, {}


class Places:
    """The files that answers are written to, each named after its document.

    Args:
        folder: where they go, made if there is none.
        sources: what is read.
        form: "text" or "json".

    Raises:
        Error: two sources have one name, or the folder cannot be made.

    Example:
        >>> import tempfile
        >>> Places(tempfile.mkdtemp(), [Source("texts/a.txt")], "text").of("texts/a.txt").name
        'a.txt.txt'
    """

    def __init__(self, folder: str, sources: list[Source], form: str) -> None:
        self._folder, self._end = pathlib.Path(folder), ".json" if form == "json" else ".txt"
        if folder == "-" or (self._folder.exists() and not self._folder.is_dir()):
            raise Error(
                f"--output {folder}: expected a folder, which is made if there is none; leave it out to write "
                "to standard output"
            )
        self.there = 0  # answers of an earlier call
        self._names: dict[str, str] = {}
        taken: dict[str, str] = {}
        for source in sources:
            name = (
                "stdin"
                if source.name == "-"
                else os.path.relpath(source.name, source.folder)
                if source.folder
                else urllib.parse.quote(source.name, safe="")
                if "://" in source.name
                else os.path.basename(source.name)
            )
            if name in taken:
                raise Error(
                    f"--output: the answers to {taken[name]} and {source.name} would both be {name}; name "
                    "their folder with --recursive instead"
                )
            taken[name], self._names[source.name] = source.name, name

    def of(self, document: str) -> pathlib.Path:
        """The file for a document, whose folder is made."""
        source, row = document, ""
        if source not in self._names:  # a row of a file
            source, _, row = document.rpartition(":")
        path = self._folder / f"{self._names[source]}{'.' if row else ''}{row}{self._end}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Error(
                f"{path.parent}: cannot be made ({error.strerror}); choose another --output"
            ) from None
        return path

    def answered(self, source: Source, document: str) -> bool:
        """Whether the answer to a document is there, and its source has not changed since; such answers are counted."""
        place, text = (
            self.of(document),
            pathlib.Path(source.name),
        )  # which is no file if it is an address or "-"
        there = place.exists() and not (
            text.exists() and text.stat().st_mtime > place.stat().st_mtime
        )
        self.there += there
        return there


def documents(
    sources: list[Source],
    arguments: argparse.Namespace,
    places: Places | None,
    failures: list[str] | None,
    bar: Any,
) -> Iterator[Document]:
    """The documents that are still to be summarized; what cannot be read is added to `failures`, if there is a list."""
    for source in sources:
        try:
            if arguments.field is None and places and places.answered(source, source.name):
                bar.update()
                continue
            for document in read_source(source, arguments.field, arguments.encoding):
                if arguments.field and places and places.answered(source, document.name):
                    bar.update()
                else:
                    yield document
        except DataError as error:
            if failures is None:
                raise
            failures.append(str(error))
            bar.update()


def groups(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Groups of documents, each of at most `DOCUMENTS` and about `BYTES`.

    Args:
        documents: in any number.

    Example:
        >>> [
        ...     len(group)
        ...     for group in groups(iter([Document("a", "x" * BYTES, []), Document("b", "y", [])]))
        ... ]
        [1, 1]
    """
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document.text)
        if len(group) == DOCUMENTS or size >= BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def answers(
    group: list[Document], summarize: Callable, bar: Any
) -> Iterator[tuple[int, Document, Any]]:
    """The place, document and result of each of a group, the shortest first; `bar` moves with each part of them."""
    order = sorted(range(len(group)), key=lambda i: len(group[i].text))
    for first in range(0, len(order), PART):
        part = order[first : first + PART]
        texts = [group[i].text for i in part]
        with large_text_bar(group[part[-1]].name, texts, summarize):
            found = summarize(texts)
        bar.update(len(part))
        yield from ((i, group[i], result) for i, result in zip(part, found))


def as_text(name: str, result: Any, heading: bool) -> str:
    """One sentence per line, or the answer; with a heading if there are several documents."""
    from tfsum.text.one_line import one_line

    sentences = getattr(result, "sentences", None)
    lines = (
        result.summary.splitlines()
        if sentences is None
        else [one_line(sentence) for sentence in sentences]
    )
    return printable("\n".join([f"==> {name} <==", *lines, ""] if heading else lines))


def as_json(name: str, result: Any) -> str:
    """One line of JSON with the whole result."""
    return json_line(
        {"file": name, **{key: _rounded(value) for key, value in vars(result).items()}}
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value
