"""The command `tfsum`: runs a verb and returns its exit status.

Exit status: 0 success; 1 failure, or a check that failed; 2 a usage error; 75 stopped with the state saved, on
request or because another worker was lost; 130 interrupted (Ctrl-C). Results go to standard output, everything else to
standard error. Each verb is a module of this folder with `EXAMPLES`, `add_arguments(parser)` and
`run(arguments) -> int`, imported only when asked for.
"""

import argparse
import contextlib
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import tfsum
from tfsum.cli.interrupt import INTERRUPTED, ends_soon
from tfsum.cli.streams import open_closed_streams, printable, silence_output
from tfsum.errors import Error, RecipeError, Stopped

# Verb -> the line of `tfsum --help`; held here so that help imports no verb.
VERBS = {
    "summarize": "summarize texts, from files or standard input",
    "prepare": "turn a corpus into training records",
    "train": "train a model from a recipe",
    "runs": "list training runs with their state and scores, or compare two",
    "evaluate": "measure a model: ROUGE beside lead, oracle and a random pick, BLEU, or accuracy and F1",
    "export": "turn a model folder into a SavedModel that takes raw strings",
    "convert": "turn a BERT of Google, Hugging Face or tfsum into another of these formats",
    "explain": "explain an answer: a page with the score of each sentence and those chosen",
    "verify": "replay a SavedModel's golden answers",
    "serve": "serve exported models over TensorFlow Serving's REST API",
    "classify": "label texts, one per line, with a classifier",
    "vocab": "learn a WordPiece vocabulary from texts",
    "pipeline": "summarize or prepare large corpora by Apache Beam",
    "doctor": "show what is installed, which devices there are, and what is wrong",
}

OWN_SIGNALS = ("train", "prepare")  # they save their state, and resume
PASSES_ON = ("pipeline",)  # what follows `--` is for another program, as it is

DONE, NO, WRONG_CALL, STOPPED = 0, 1, 2, 75


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        argv: the words after `tfsum`; those of the process where None.

    Returns:
        The exit status.

    Example:
        >>> main(["--version"])  # doctest: +ELLIPSIS
        tfsum ...
        0
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    # The level is read when TensorFlow is loaded, which no verb has done yet.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    closed = open_closed_streams()
    try:
        if "stdout" in closed:
            raise Error("standard output is closed; send it to a file, or to /dev/null")
        try:
            arguments = parse(argv)
        except SystemExit as stop:  # argparse: --help, --version and wrong calls
            sys.stdout.flush()
            return stop.code if isinstance(stop.code, int) else DONE
        with (
            contextlib.nullcontext()
            if arguments.parser.prog.split()[-1] in OWN_SIGNALS
            else ends_soon()
        ):
            status = arguments.run(arguments)
            sys.stdout.flush()
        return status
    except SystemExit as stop:  # of a verb that finds a call wrong
        return stop.code if isinstance(stop.code, int) else DONE
    except Stopped as stop:
        print(f"tfsum: {stop}", file=sys.stderr)
        return STOPPED
    except Error as error:
        print(printable(f"tfsum: error: {error}"), file=sys.stderr)
        return WRONG_CALL if isinstance(error, RecipeError) else NO
    except BrokenPipeError:  # the reader of our output has gone (`| head`)
        silence_output()
        return NO
    except OSError as error:
        silence_output()
        print(
            f"tfsum: error: {error.filename or 'standard output'}: {error.strerror or error}",
            file=sys.stderr,
        )
        return NO
    except KeyboardInterrupt:
        print("tfsum: interrupted", file=sys.stderr)
        return INTERRUPTED


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that does not pass over in silence what it cannot print.

    Example:
        >>> Parser(prog="tfsum").prog
        'tfsum'
    """

    def _print_message(self, message: str, file: Any = None) -> None:
        (file or sys.stderr).write(printable(message))


def parse(argv: list[str]) -> argparse.Namespace:
    """The verb's arguments, with the verb's `run` among them.

    Args:
        argv: the words after `tfsum`.

    Example:
        >>> parse(["summarize", "-n", "2", "article.txt"]).sentences
        2
    """
    verb = next((word for word in argv if not word.startswith("-")), None)
    parser = Parser(
        prog="tfsum",
        description="Summarize text with TensorFlow and Keras.",
        epilog="See `tfsum VERB --help`. Exit status: 0 success, 1 failure or a failed check, 2 "
        "a usage error, 75 stopped with the state saved (on request, or another worker was lost), 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"tfsum {tfsum.__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    if verb is not None and verb not in VERBS:
        parser.error(unknown_verb(verb))
    for name, summary in VERBS.items():
        if name != verb:
            verbs.add_parser(name, help=summary)
            continue
        module = importlib.import_module(f"tfsum.cli.{name}")
        own = verbs.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(own)
        own.set_defaults(run=module.run, parser=own)
    end = argv.index("--") if verb in PASSES_ON and "--" in argv else len(argv)
    arguments, unknown = parser.parse_known_args(argv[:end])
    if unknown:  # parse_args would show the usage of `tfsum`, not the verb's
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if verb in PASSES_ON:
        arguments.passed_on = argv[end + 1 :]
    return arguments


def unknown_verb(word: str) -> str:
    """The message for an unknown verb.

    Args:
        word: the word.

    Example:
        >>> unknown_verb("sumarize")
        "unknown verb 'sumarize'; did you mean 'summarize'?"
    """
    near = difflib.get_close_matches(word, VERBS, n=1)
    cure = f"did you mean {near[0]!r}?" if near else "the verbs are " + ", ".join(VERBS)
    return f"unknown verb {word!r}; {cure}"
