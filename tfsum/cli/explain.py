"""Explain an answer: one HTML page with the text, the score of each sentence and the sentences chosen, or, of a
Transformer, with its answer and the cross-attention of each word."""

from __future__ import annotations

import argparse
import inspect
import os
import pathlib
import sys
from typing import TYPE_CHECKING

import tfsum
from tfsum.cli.streams import printable
from tfsum.documents import find_sources, read_source
from tfsum.errors import DataError, Error
from tfsum.quiet_tensorflow import load_tensorflow

if TYPE_CHECKING:
    from tfsum.inference.exported_model import ExportedModel

EXAMPLES = """examples:
  tfsum explain article.txt -o report.html
  cat article.txt | tfsum explain -n 2 --model saved_models/my_model/1 > report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="a text, HTML, PDF, Word or mail; standard input where none or -",
    )
    add(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="the page to write, in the place of a file of that name (default -: standard output)",
    )
    add(
        "-n",
        "--sentences",
        type=int,
        metavar="N",
        help="of an extractive model: sentences at most (default 3)",
    )
    add(
        "--newline",
        choices=("auto", "sentence", "paragraph", "space"),
        help="of an extractive model: what a new line means, see `tfsum summarize --help`",
    )
    add("--encoding", metavar="NAME", help="of the text, such as cp1252 (default: recognized)")
    add("--model", metavar="FOLDER", help="a SavedModel that tfsum exported (default: the shipped)")


def run(arguments: argparse.Namespace) -> int:
    name = arguments.file
    if arguments.sentences is not None and arguments.sentences < 1:
        arguments.parser.error(f"--sentences {arguments.sentences}: expected at least 1")
    try:
        (source,) = find_sources([name])
    except DataError as error:
        arguments.parser.error(str(error))
    if (
        "-" not in (name, arguments.output)
        and os.path.exists(arguments.output)
        and os.path.exists(name)
        and os.path.samefile(name, arguments.output)
    ):
        arguments.parser.error(
            f"--output {arguments.output}: is the file that is read; name another"
        )
    (document,) = read_source(source, encoding=arguments.encoding)
    for note in document.notes:
        print(printable(f"tfsum: {name}: {note}"), file=sys.stderr)
    load_tensorflow()
    title = "standard input" if name == "-" else pathlib.Path(name).name
    page = explain(document.text, tfsum.load(arguments.model), title, arguments)
    if arguments.output == "-":
        sys.stdout.buffer.write(page.encode("utf-8", errors="replace"))
        return 0
    from tfsum.visualization.html_page import write_page

    write_page(page, arguments.output)
    print(arguments.output)
    return 0


def explain(text: str, model: ExportedModel, title: str, arguments: argparse.Namespace) -> str:
    """The page about the answer of a model."""
    from tfsum.tasks.load import task_of

    task = task_of(model.path, model.description)
    if not task.has("explain"):
        raise Error(
            f"{model.path}: its kind is {task.module.EXPORT_KIND!r}; expected an extractive or "
            "abstractive model"
        )
    page = task.part("explain").explain_page
    options = {
        name: value
        for name in ("sentences", "newline")
        if (value := getattr(arguments, name)) is not None
    }
    if unknown := [name for name in options if name not in inspect.signature(page).parameters]:
        arguments.parser.error(
            f"--{unknown[0]} {options[unknown[0]]}: {arguments.model} is not extractive: it "
            "generates its answer; leave it out"
        )
    return page(model, text, title, **options)
