"""Summarize texts, from files or standard input, with the shipped model or another."""

import argparse
import json
import pathlib
import sys
from collections.abc import Iterable, Iterator

import tfsum
from tfsum.cli.quiet_tensorflow import load_tensorflow
from tfsum.errors import DataError

EXAMPLES = """examples:
  tfsum summarize article.txt
  cat article.txt | tfsum summarize -n 2 --format json
"""

# Documents handed to the model together: enough to fill it, few enough that the first answer comes soon.
BATCH = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="texts in UTF-8; standard input where none or -")
    add("-n", "--sentences", type=int, default=3, metavar="N", help="at most so many (default 3)")
    add("--model", metavar="FOLDER", help="a SavedModel that tfsum exported (default: the shipped)")
    add(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text: a sentence a line; json: a document a line, with scores and character offsets",
    )


def run(arguments: argparse.Namespace) -> int:
    names = arguments.files or ["-"]
    if arguments.sentences < 1:
        arguments.parser.error(f"--sentences {arguments.sentences}: expected at least 1")
    if names.count("-") > 1:
        arguments.parser.error("standard input (-) can be read only once")
    missing = [name for name in names if name != "-" and not pathlib.Path(name).is_file()]
    if missing:
        arguments.parser.error(f"no such file: {', '.join(missing)}")
    if names == ["-"] and sys.stdin.isatty():
        print("tfsum: reading standard input; end it with Ctrl-D, or name a file", file=sys.stderr)
    load_tensorflow()
    summarize = tfsum.load(arguments.model)
    for group in batches(names, BATCH):
        texts = [read_text(name) for name in group]
        for name, result in zip(group, summarize(texts, sentences=arguments.sentences)):
            for warning in result.warnings:
                print(f"tfsum: {name}: warning: {warning}", file=sys.stderr)
            print(as_json(name, result) if arguments.format == "json" else as_text(name, result, len(names)))
    return 0


def batches(names: list[str], size: int) -> Iterator[list[str]]:
    for first in range(0, len(names), size):
        yield names[first : first + size]


def read_text(name: str) -> str:
    """The text of a file or of standard input; what is not UTF-8 becomes U+FFFD, and is counted."""
    data = sys.stdin.buffer.read() if name == "-" else pathlib.Path(name).read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name}: found UTF-16, expected UTF-8; mend with iconv -f UTF-16 -t UTF-8")
    text = data.decode("utf-8-sig", errors="replace")
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    if broken:
        print(f"tfsum: {name}: {broken} place(s) were not UTF-8, read as U+FFFD", file=sys.stderr)
    return text


def as_text(name: str, result, documents: int) -> str:
    """A sentence a line; under a heading where there are several documents."""
    lines = [" ".join(sentence.split()) for sentence in result.sentences]
    return "\n".join([f"==> {name} <==", *lines, ""] if documents > 1 else lines)


def as_json(name: str, result) -> str:
    """One line of JSON with all that the model said."""
    return json.dumps(
        {
            "file": name,
            "summary": result.summary,
            "sentences": plain(result.sentences),
            "scores": [round(float(score), 6) for score in result.scores],
            "offsets": [[int(start), int(end)] for start, end in result.offsets],
            "coverage": round(float(result.coverage), 6),
            "warnings": plain(result.warnings),
        },
        ensure_ascii=False,
    )


def plain(values: Iterable) -> list[str]:
    return [str(value) for value in values]
