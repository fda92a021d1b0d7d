"""Summarize texts, from files, folders or standard input.

The model is the shipped one, or another extractive or abstractive model. Text, HTML, PDF, Word,
mail, subtitles, books and more are read, and with --field the rows of JSON Lines, CSV and Parquet.
"""

import contextlib
import functools
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

from tfsum.cli.answer_files import FORMATS, AnswerFiles, RowFile
from tfsum.cli.options import Arguments, Options, flag_of, read_settings
from tfsum.cli.summaries import Summarize, answer_sources
from tfsum.errors import DataError, require
from tfsum.inputs.sources import Source, find_sources
from tfsum.request import READING, Keyword, SummaryAnswer, SummaryRequest
from tfsum.tasks.model_choice import ModelSettings, named_model

EXAMPLES = """examples:
  tfsum summarize article.txt
  cat article.txt | tfsum summarize --words 60 --format json
  tfsum summarize minutes.docx --query 'What will it cost?' --words 100
  tfsum summarize report.pdf https://example.org/news.html   # with the extra `documents`
  tfsum summarize --recursive papers -o summaries/  # a file for each; the same command resumes
  tfsum summarize monday.txt tuesday.txt --together --words 80
  tfsum summarize article.txt --keywords 8
  tfsum summarize news.jsonl --field text -o summaries.jsonl  # the same command resumes
  echo 'I am cold.' | tfsum summarize --model served/translator
  tfsum summarize --server http://news.example.org:8501 article.txt  # needs the extra `client`
"""


CLASSES = [(SummaryRequest, None, ""), (ModelSettings, None, "Model")]
OPTIONS: Options = {
    "": {
        "files": {
            "nargs": "*",
            "metavar": "FILE",
            "help": "files, addresses or folders; standard input where none or -",
        },
    },
    READING: {
        "-r --recursive": {
            "action": "store_true",
            "help": "read all files of a folder and of those in it",
        },
        "--field": {
            "metavar": "NAME",
            "help": "read rows (JSON Lines, CSV, Parquet ...) by the field that holds the text",
        },
        "--id": {
            "metavar": "NAME",
            "help": "the field that names a row in the answers (default: its line)",
        },
        "--encoding": {
            "metavar": "NAME",
            "help": "the encoding of the texts, such as cp1252 (default: recognized)",
        },
    },
    "Output": {
        "-o --output": {
            "metavar": "PATH",
            "help": "a file for the answers, or a folder, with a slash, for a file of each",
        },
        "--into": {
            "metavar": "NAME",
            "default": "summary",
            "help": "the field of the summary in an output of rows (.jsonl, .csv, .parquet ...)",
        },
        "--format": {
            "choices": ("text", "json", "markdown", "html"),
            "default": "text",
            "help": "text: a sentence a line; json: a document a line; markdown; html",
        },
        "--highlight": {
            "action": "store_true",
            "help": "show the whole text with the sentences marked, on a terminal and in html",
        },
    },
    "Model": {
        "--model": {
            "metavar": "FOLDER",
            "help": "a name, or a folder of a model (default: auto, a shipped one by the text)",
        },
        "--server": {
            "metavar": "URL",
            "help": "ask a server at http://, https:// or grpc:// (default: $TFSUM_SERVER, if set)",
        },
        "--token-file": {
            "metavar": "FILE",
            "help": "the file with the token that the server needs",
        },
    },
}

SUFFIXES = {"text": ".txt", "json": ".json", "markdown": ".md", "html": ".html"}  # of files
SERVER_SECONDS = 600.0  # for an answer of a server; it has a limit of its own


class Extractive(Protocol):
    """An extractive model: a `Summarizer`, or the `Client` of one."""

    def answer(self, texts: Sequence[str], request: SummaryRequest) -> list[SummaryAnswer]: ...

    def keywords(self, texts: Sequence[str], number: int) -> list[list[Keyword]]: ...


def run(arguments: Arguments) -> int:
    request = read_settings(SummaryRequest, arguments)
    settings = read_settings(ModelSettings, arguments)
    if arguments.server is None and arguments.model is None:
        arguments.server = os.environ.get("TFSUM_SERVER") or None
    try:
        sources = find_sources(arguments.files or ["-"], arguments.recursive)
    except DataError as error:
        arguments.parser.reject(str(error))
    if [source.name for source in sources] == ["-"] and sys.stdin.isatty():
        print("tfsum: reading standard input; end it with Ctrl-D, or name a file", file=sys.stderr)

    _check_options(arguments, request)
    answers = _places(arguments, request, settings, sources)
    opened = load if arguments.server is None else connect
    with opened(arguments, request, settings) as answer:
        return answer_sources(sources, arguments, request.together, answer, answers)


def _check_options(arguments: Arguments, request: SummaryRequest) -> None:
    """Rejects options that have no meaning beside each other."""
    require = arguments.parser.require
    require(
        arguments.server or not arguments.token_file,
        "--token-file: is for --server; name the server too",
    )
    require(
        arguments.field or not arguments.id,
        "--id: is for rows; name the field of the text with --field too",
    )
    require(
        arguments.into == "summary" or (arguments.output or "").endswith(FORMATS),
        f"--into {arguments.into}: is for an output of rows; name one that ends in"
        f" {', '.join(FORMATS)} by --output",
    )
    others = [flag_of(name) for name in sorted(request.given() - {"keywords", "newline"})]
    require(
        not (request.keywords and others) or arguments.format == "json",
        f"--keywords: are printed in the place of a summary, which {', '.join(others)} is for;"
        " leave one of them out, or take --format json",
    )
    marked = not (request.keywords or request.together) and arguments.format in ("text", "html")
    require(
        marked or not arguments.highlight,
        "--highlight: is for the sentences of one text, as text or html; leave it out",
    )


def _places(
    arguments: Arguments, request: SummaryRequest, settings: ModelSettings, sources: list[Source]
) -> AnswerFiles | RowFile | None:
    """The files of a folder of answers, or of rows with theirs; None where they go to one place.

    An output that cannot be written, or that would take the place of a text, is rejected.
    """
    output, require = arguments.output, arguments.parser.require
    if output is None:
        return None
    require(
        output not in ("-", ""), f"--output {output!r}: leave it out to write to standard output"
    )
    texts = {os.path.realpath(source.name) for source in sources if source.name != "-"}
    texts |= {os.path.realpath(source.folder) for source in sources if source.folder}
    require(
        os.path.realpath(output) not in texts,
        f"--output {output}: is to be read, and the answers would take its place or be read the"
        " next time; choose another place",
    )
    if not (output.endswith(("/", os.sep)) or os.path.isdir(output)):
        folder = os.path.dirname(output)
        require(
            os.path.isdir(folder or "."),
            f"--output {output}: there is no folder {folder}; make it",
        )
        if not arguments.field or not output.endswith(FORMATS):
            return None
    require(not request.together, "--together: is one answer; give --output another file")
    rows = arguments.field and output.endswith(FORMATS)
    require(
        rows or not arguments.field,
        f"--output {output}: is a folder, and the answers to rows have one file; name one that"
        f" ends in {', '.join(FORMATS)}",
    )

    names = ["field", "id", "encoding", "model", "model_licence", "compute", "tokenizer", "server"]
    every = vars(arguments) | settings.model_dump()
    options = {name: every[name] for name in (*names, "format", "highlight")}
    given = {name: value for name, value in options.items() if value not in (None, False, "any")}
    options = request.model_dump(exclude_defaults=True) | given
    if rows:
        files = [pathlib.Path(source.name) for source in sources]
        read = [[str(file), file.stat().st_mtime_ns] for file in files if file.is_file()]
        return RowFile(output, options | {"into": arguments.into, "files": read})
    return AnswerFiles(output, sources, SUFFIXES[arguments.format], options)


@contextlib.contextmanager
def load(
    arguments: Arguments, request: SummaryRequest, settings: ModelSettings
) -> Iterator[Summarize]:
    """Loads the model; a model folder is exported for the duration of the block.

    Args:
        arguments: Parsed arguments of `tfsum summarize`.
        request: What is asked of each text.
        settings: How the model is opened.

    Yields:
        The function from texts to their answers.

    Raises:
        Error: The model writes no summary.

    Example:
        >>> arguments = Arguments(model=None, format="text")
        >>> with load(arguments, SummaryRequest(keywords=1), ModelSettings()) as answer:
        ...     print(answer(["Rain."])[0][0])
        Rain
    """
    from tfsum.tasks.load import load as load_model
    from tfsum.tasks.load import open_model, task_of

    own = arguments.model and os.path.isfile(os.path.join(arguments.model, "config.json"))
    for name in sorted(settings.given() - {"model_licence"}):
        arguments.parser.require(
            not own,
            f"--{name} {getattr(settings, name)}: is for an exported model, and {arguments.model}"
            " is a model folder; export it first: `tfsum export`",
        )
    with contextlib.ExitStack() as stack:
        if own:
            model = stack.enter_context(open_model(arguments.model))
        else:
            model = load_model(arguments.model, **settings.model_dump())

        verb = task_of(model.path, model.description).verb
        require(
            verb == "summarize",
            f"{arguments.model}: is a {model.description['kind']}, which writes no summary; use"
            f" `tfsum {verb}`",
        )
        if hasattr(model, "answer"):
            yield _extracting(model, request, arguments)
        else:
            refuse_request(request, arguments)
            yield model


@contextlib.contextmanager
def connect(
    arguments: Arguments, request: SummaryRequest, settings: ModelSettings
) -> Iterator[Summarize]:
    """Asks the server's model; its connections end with the block.

    Args:
        arguments: Parsed arguments of `tfsum summarize`.
        request: What is asked of each text.
        settings: How the model is opened.

    Yields:
        The function from texts to their answers.

    Raises:
        Error: The model writes no summary.

    Example:
        >>> arguments = Arguments(server="http://localhost:8501")
        >>> with connect(arguments, SummaryRequest(), ModelSettings()) as answer:  # doctest: +SKIP
        ...     answer(["It rained."])
    """
    from tfsum.cli.serve import read_token
    from tfsum.serving import Client

    name = named_model(arguments.model, settings.model_licence)
    token = read_token(arguments.token_file)
    with Client(
        arguments.server,
        name,
        token=token,
        timeout=SERVER_SECONDS,
        tokenizer=settings.tokenizer,
    ) as client:
        signatures = client.signatures()
        if "extract" in signatures:
            yield _extracting(client, request, arguments)
        else:
            require(
                "summary" in signatures.get("serving_default", ([], []))[1],
                f"{arguments.server}: the model {name} writes no summary; its signatures are "
                f"{', '.join(sorted(signatures))}",
            )
            refuse_request(request, arguments)
            yield client.generate


def _extracting(model: Extractive, request: SummaryRequest, arguments: Arguments) -> Summarize:
    """The function from texts to summaries, or to keywords where they are printed alone."""
    if request.keywords is not None and arguments.format != "json":
        return functools.partial(model.keywords, number=request.keywords)
    return functools.partial(model.answer, request=request)


def refuse_request(request: SummaryRequest, arguments: Arguments) -> None:
    """Refuses what only an extractive model can be asked.

    Args:
        request: What is asked.
        arguments: Parsed arguments of a verb that has `--model`.
    """
    given = request.model_dump(exclude_defaults=True)
    options = ", ".join(f"{flag_of(name)} {value}" for name, value in given.items())
    arguments.parser.require(
        not given,
        f"{options}: {arguments.model or 'the model'} is not extractive: it generates its answer;"
        " leave it out",
    )
