"""The command `tfsum`: runs a verb and returns its exit status.

Exit status: 0 success; 1 failure, or a check that failed; 2 a usage error; 75 stopped with the
state saved, on request or because another worker was lost; 130 interrupted (Ctrl-C). Results go to
standard output, everything else to standard error. Each verb is a module of this folder with
`EXAMPLES`, `OPTIONS` (`tfsum.cli.options.Options`) and `run(arguments) -> int`, imported only when
asked for. It may have `CLASSES` (`tfsum.cli.options.Classes`), and `PARSER`, further arguments of
its parser; a verb with verbs of its own has `add_arguments(parser)` for `OPTIONS`.
"""

import argparse
import contextlib
import difflib
import importlib
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence

import tfsum
from tfsum.atomic_files import remove_unfinished
from tfsum.cli.options import WRONG_CALL, Arguments, Parser, add_options, printable
from tfsum.errors import Error, RecipeError, Stopped, require

# Verb -> the line of `tfsum --help`; kept here so that help imports no verb.
VERBS = {
    "summarize": "summarize texts, from files or standard input",
    "prepare": "turn a corpus into training records",
    "train": "train a model from a recipe",
    "runs": "list training runs with their state and scores, or compare two",
    "evaluate": (
        "measure a model: ROUGE beside lead, oracle and a random pick, BLEU, or accuracy and F1"
    ),
    "export": "turn a model folder into a SavedModel that takes raw strings",
    "convert": "turn a BERT of Google, Hugging Face or tfsum into another of these formats",
    "explain": "explain an answer: a page with the score of each sentence and those chosen",
    "verify": "replay a SavedModel's golden answers",
    "serve": "serve exported models over TensorFlow Serving's REST API",
    "mcp": "serve summaries to agents over the Model Context Protocol",
    "classify": "label texts, one per line, with a classifier",
    "vocab": "learn a WordPiece vocabulary from texts",
    "pipeline": "summarize or prepare large corpora by Apache Beam",
    "doctor": "show what is installed, which devices there are, and what is wrong",
    "completion": "print the script by which bash, zsh or fish completes tfsum",
}

OWN_SIGNALS = ("train", "prepare")  # they save their state, and resume
PASSES_ON = ("pipeline",)  # what follows `--` is for another program, as it is

STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}
NO, STOPPED, INTERRUPTED = 1, 75, 130
PATIENCE = 1.0  # seconds that Python gets to end by itself after Ctrl-C


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb.

    Args:
        argv: The words after `tfsum`; those of the process by default.

    Returns:
        The exit status.

    Example:
        >>> main(["--version"])  # doctest: +ELLIPSIS
        tfsum ...
        0
    """
    argv = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if argv[0] == "help":
        argv = [*argv[1:], "--help"]
    verb = verb_of(argv)
    command = f"tfsum {verb}" if verb in VERBS else "tfsum"

    # TensorFlow reads the level when it is loaded, which no verb has done yet.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    closed = open_closed_streams()

    try:
        require(
            "stdout" not in closed,
            "standard output is closed; send it to a file, or to /dev/null",
        )
        status = run(argv, verb)
        sys.stdout.flush()
        return status
    except Stopped as stop:
        print(f"tfsum: {stop}", file=sys.stderr)
        return STOPPED
    except Error as error:
        print(printable(f"{command}: error: {error}"), file=sys.stderr)
        if isinstance(error, RecipeError):
            return WRONG_CALL
        return NO
    except OSError as error:
        # The rest goes nowhere, so that no flush fails at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):  # the reader of our output has gone (`| head`)
            file = error.filename or "standard output"
            print(f"{command}: error: {file}: {error.strerror or error}", file=sys.stderr)
        return NO
    except KeyboardInterrupt:
        print("tfsum: interrupted", file=sys.stderr)
        return INTERRUPTED


def open_closed_streams() -> list[str]:
    """Opens the null device in the place of standard streams that the caller closed (`>&-`).

    Otherwise the next file that is opened takes the stream's number, and is written into by whoever
    prints.

    Returns:
        The names of those that were closed.

    Example:
        >>> open_closed_streams()
        []
    """
    closed = [name for name in STREAMS if getattr(sys, name) is None]
    for name in closed:  # in their order: each gets the lowest free number, its own
        setattr(sys, name, open(os.devnull, STREAMS[name], encoding="utf-8"))  # noqa: SIM115 (of the process)
    return closed


def verb_of(argv: list[str]) -> str | None:
    """The first word that is no option."""
    return next((word for word in argv if not word.startswith("-")), None)


def run(argv: list[str], verb: str | None) -> int:
    """Parses the words and runs the verb; returns the exit status of either."""
    try:
        arguments = parse(argv)
        with contextlib.nullcontext() if verb in OWN_SIGNALS else ends_soon():
            return int(arguments.run(arguments))
    except SystemExit as stop:  # of argparse: --help, --version and wrong calls
        return int(stop.code or 0)


@contextlib.contextmanager
def ends_soon() -> Iterator[None]:
    """A block in which Ctrl-C ends the process within `PATIENCE` seconds.

    Python raises KeyboardInterrupt only between two of its own instructions, and one call of a
    model may take many seconds. A thread learns of the signal at once; if Python has not ended the
    process, the thread removes unfinished files and ends it with exit status `INTERRUPTED`.

    Example:
        >>> with ends_soon():
        ...     pass
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    reader, writer = socket.socketpair()
    writer.setblocking(False)
    done = threading.Event()

    def watch() -> None:
        with reader:
            while number := reader.recv(1):
                if number[0] == signal.SIGINT and not done.wait(PATIENCE):
                    remove_unfinished()
                    os.write(sys.stderr.fileno(), b"tfsum: interrupted\n")
                    os._exit(INTERRUPTED)

    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        writer.close()  # the thread ends


def parse(argv: list[str]) -> Arguments:
    """The verb's arguments, with the verb's `run` and its parser among them.

    Args:
        argv: The words after `tfsum`.

    Example:
        >>> parse(["summarize", "-n", "2", "article.txt"]).sentences
        2
    """
    verb = verb_of(argv)
    parser = parser_of(verb)
    if verb is not None and verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the verbs are {', '.join(VERBS)}"
        parser.error(f"unknown verb {verb!r}; {hint}")

    end = argv.index("--") if verb in PASSES_ON and "--" in argv else len(argv)
    arguments, unknown = parser.parse_known_args(argv[:end], Arguments())
    if unknown:  # parse_args would show the usage of `tfsum`, not the verb's
        options = re.findall("--[a-z-]+", arguments.parser.format_help())
        near = difflib.get_close_matches(unknown[0].partition("=")[0], options, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    if verb in PASSES_ON:
        arguments.pipeline_options = argv[end + 1 :]
    return arguments


def parser_of(*loaded: str | None) -> Parser:
    """The parser of `tfsum`: all verbs by name, and the arguments of some.

    Args:
        *loaded: Verbs whose modules are imported for their arguments.

    Example:
        >>> parser_of("runs").parse_args(["runs", "folder"], Arguments()).folder
        'folder'
    """
    parser = Parser(
        prog="tfsum",
        description="Summarize text with TensorFlow and Keras.",
        epilog=(
            "`tfsum help VERB` shows the options of a verb. Exit status: 0 success, 1 failure or a"
            " failed check, 2 a usage error, 75 stopped with the state saved (on request, or"
            " another worker was lost), 130 interrupted."
        ),
    )
    parser.add_argument("--version", action="version", version=f"tfsum {tfsum.__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    for name, summary in VERBS.items():
        if name not in loaded:
            verbs.add_parser(name, help=summary)
            continue

        module = importlib.import_module(f"tfsum.cli.{name}")
        verb_parser = verbs.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **getattr(module, "PARSER", {}),
        )
        verb_parser.set_defaults(parser=verb_parser, run=getattr(module, "run", None))
        if hasattr(module, "add_arguments"):  # with verbs of its own
            module.add_arguments(verb_parser)
        else:
            add_options(verb_parser, module.OPTIONS, getattr(module, "CLASSES", ()))
    return parser
