"""Summarize texts, from files or standard input, with the shipped model or another extractive or abstractive one."""

import argparse
import inspect
import json
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import tfsum
from tfsum.errors import DataError, Error
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum summarize article.txt
  cat article.txt | tfsum summarize -n 2 --format json
  echo 'I am cold.' | tfsum summarize --model served/translator
"""

# Documents handed to the model together: enough to fill it, few enough that the first answer comes soon.
BATCH = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="texts in UTF-8; standard input where none or -")
    add("-n", "--sentences", type=int, metavar="N", help="of an extractive model: sentences at most (default 3; "
        "the shipped model gives up to 10)")
    add("--model", metavar="FOLDER", help="a SavedModel that tfsum exported (default: the shipped)")
    add(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text: a sentence a line; json: a document a line, with scores and character offsets",
    )


def run(arguments: argparse.Namespace) -> int:
    names = arguments.files or ["-"]
    if arguments.sentences is not None and arguments.sentences < 1:
        arguments.parser.error(f"--sentences {arguments.sentences}: expected at least 1")
    if names.count("-") > 1:
        arguments.parser.error("standard input (-) can be read only once")
    missing = [name for name in names if name != "-" and not pathlib.Path(name).is_file()]
    if missing:
        arguments.parser.error(f"no such file: {', '.join(missing)}")
    if names == ["-"] and sys.stdin.isatty():
        print("tfsum: reading standard input; end it with Ctrl-D, or name a file", file=sys.stderr)
    load_tensorflow()
    from tfsum.tasks.load import task_of

    summarize, options = tfsum.load(arguments.model), {}
    if (verb := task_of(summarize.path, summarize.description).module.VERB) != "summarize":
        raise Error(f"{arguments.model}: is a {summarize.description['kind']}, which writes no summary; use "
                    f"`tfsum {verb}`")
    if arguments.sentences is not None:
        if "sentences" not in inspect.signature(summarize).parameters:
            arguments.parser.error(f"--sentences {arguments.sentences}: {arguments.model} is not extractive: it "
                                   "generates its answer; leave it out")
        options["sentences"] = arguments.sentences
    for group in batches(names, BATCH):
        texts = [read_text(name) for name in group]
        for name, result in zip(group, summarize(texts, **options)):
            for warning in result.warnings:
                print(f"tfsum: {name}: warning: {warning}", file=sys.stderr)
            print(as_json(name, result) if arguments.format == "json" else as_text(name, result, len(names)))
    return 0


def batches(names: list[str], size: int) -> Iterator[list[str]]:
    """Groups of names, each of at most `size`.

    Args:
        names: of files.
        size: of a group.

    Example:
        >>> list(batches(["a", "b", "c"], 2))
        [['a', 'b'], ['c']]
    """
    for first in range(0, len(names), size):
        yield names[first : first + size]


def read_text(name: str) -> str:
    """The text of a file or of standard input; what is not UTF-8 becomes U+FFFD, and is counted."""
    data = sys.stdin.buffer.read() if name == "-" else pathlib.Path(name).read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name}: found UTF-16, expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8")
    text = data.decode("utf-8-sig", errors="replace")
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    if broken:
        print(f"tfsum: {name}: {broken} place(s) were not UTF-8, read as U+FFFD", file=sys.stderr)
    return text


def as_text(name: str, result: Any, documents: int) -> str:
    """One sentence per line, or the answer; with a heading if there are several documents."""
    sentences = getattr(result, "sentences", None)
    lines = result.summary.splitlines() if sentences is None else [" ".join(part.split()) for part in sentences]
    return "\n".join([f"==> {name} <==", *lines, ""] if documents > 1 else lines)


def as_json(name: str, result: Any) -> str:
    """One line of JSON with the whole result."""
    row = {"file": name, **{key: _rounded(value) for key, value in vars(result).items()}}
    return json.dumps(row, ensure_ascii=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value
