"""Label texts, one per line, from files or standard input, with a classifier."""

from __future__ import annotations

import argparse
import itertools
import pathlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfsum.cli.streams import json_line, printable
from tfsum.errors import DataError, Error
from tfsum.quiet_tensorflow import load_tensorflow

if TYPE_CHECKING:
    from tfsum.inference.exported_model import ExportedModel

EXAMPLES = """examples:
  tfsum classify served/tweets tweets.txt
  echo "A fire near the school, please help" | tfsum classify runs/bert_classify_disaster_tweets/best
  tfsum classify served/entailment pairs.tsv --format json     # two texts a line, a tab between them

text: the label, a tab and its probability a line; json: the probability of every label too.
"""

# Lines handed to the model together: enough to fill it, few enough that the first answers come soon.
BATCH = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="an exported classifier, or its model folder (exported for the occasion)",
    )
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="texts in UTF-8, a line each; standard input where none or -",
    )
    add("--format", choices=("text", "json"), default="text", help="default text")


def run(arguments: argparse.Namespace) -> int:
    names = arguments.files or ["-"]
    missing = [
        name
        for name in (arguments.model, *names)
        if name != "-" and not pathlib.Path(name).exists()
    ]
    if missing:
        arguments.parser.error(f"no such file or folder: {', '.join(missing)}")
    if names.count("-") > 1:
        arguments.parser.error("standard input (-) can be read only once")
    load_tensorflow()
    from tfsum.tasks.load import task_of
    from tfsum.tasks.loaded import loaded

    with loaded(arguments.model) as classify:
        if (verb := task_of(classify.path, classify.description).module.VERB) != "classify":
            raise Error(
                f"{arguments.model}: is {classify.description['kind']}, no classifier; use "
                f"`tfsum {verb}`"
            )
        for name in names:
            refuse_rows(name, classify.description["text"]["pair"])
            for first, group in batches(read_lines(name)):
                show(
                    name, first, classify(*columns(name, first, group, classify)), arguments.format
                )
    return 0


def refuse_rows(name: str, pair: bool) -> None:
    """Raises DataError for a file of rows with columns instead of texts."""
    kind = pathlib.Path(name.removesuffix(".gz")).suffix
    if kind in (".jsonl", ".csv") or (kind == ".tsv" and not pair):
        raise DataError(
            f"{name}: a {kind} file holds rows of columns, and a text a line was expected; write its texts "
            "alone to a file of another name, or measure the model on its labels by `tfsum evaluate`"
        )


def read_lines(name: str) -> Iterator[str]:
    """The lines of a file, plain or `.gz`, or of standard input."""
    from tfsum.data import readers
    from tfsum.documents import read_plain

    if name == "-":
        return (line.removesuffix("\n") for line in sys.stdin)
    if name.endswith(".gz"):
        return readers.read_lines(name)
    document = read_plain(name)
    for note in document.notes:
        print(printable(f"tfsum: {name}: {note}"), file=sys.stderr)
    lines = document.text.removesuffix("\n").split("\n") if document.text else []
    return (line.removesuffix("\r") for line in lines)


def batches(lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Groups of lines, each with the number of its first line, from 1."""
    first = 1
    while group := list(itertools.islice(lines, BATCH)):
        yield first, group
        first += len(group)


def columns(name: str, first: int, lines: list[str], classify: ExportedModel) -> list[list[str]]:
    """The texts, and for a model of pairs the second texts."""
    if not classify.description["text"]["pair"]:
        return [lines]
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, first):
        if len(row) != 2:
            raise DataError(
                f"{name}:{number}: found {len(row)} texts, expected 2 with a tab between them; the model "
                "was trained on pairs"
            )
    return [list(column) for column in zip(*rows, strict=True)]


def show(name: str, first: int, answers: list, form: str) -> None:
    """Prints the answers, and their warnings on standard error."""
    for number, answer in enumerate(answers, first):
        for warning in answer.warnings:
            print(f"tfsum: {name}:{number}: warning: {warning}", file=sys.stderr)
        if form == "text":
            print(f"{answer.label}\t{answer.probability:.4f}")
        else:
            print(
                json_line(
                    {
                        "file": name,
                        "line": number,
                        "label": answer.label,
                        "probabilities": {
                            label: round(value, 6) for label, value in answer.probabilities.items()
                        },
                        "coverage": round(answer.coverage, 6),
                        "warnings": answer.warnings,
                    }
                )
            )
