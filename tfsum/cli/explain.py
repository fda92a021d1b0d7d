"""Explain an answer: one HTML page with the text, the score of each sentence and the sentences chosen, or, of a
Transformer, with what it wrote and where each word of that looked."""

import argparse
import pathlib
import sys

import tfsum
from tfsum.cli.summarize import read_text
from tfsum.errors import Error
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum explain article.txt -o report.html
  cat article.txt | tfsum explain -n 2 --model saved_models/my_model/1 > report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", nargs="?", default="-", metavar="FILE", help="a text in UTF-8; standard input where none or -")
    add("-o", "--output", metavar="FILE", help="the page to write (default: standard output)")
    add("-n", "--sentences", type=int, metavar="N", help="of an extractive model, at most so many (default 3)")
    add("--model", metavar="FOLDER", help="a SavedModel that tfsum exported (default: the shipped)")


def run(arguments: argparse.Namespace) -> int:
    name = arguments.file
    if arguments.sentences is not None and arguments.sentences < 1:
        arguments.parser.error(f"--sentences {arguments.sentences}: expected at least 1")
    if name != "-" and not pathlib.Path(name).is_file():
        arguments.parser.error(f"no such file: {name}")
    text = read_text(name)
    load_tensorflow()
    title = "standard input" if name == "-" else pathlib.Path(name).name
    page = report(text, tfsum.load(arguments.model), title, arguments)
    if not arguments.output:
        sys.stdout.buffer.write(page.encode("utf-8", errors="replace"))
        return 0
    from tfsum.visualization.html_page import write_page

    write_page(page, arguments.output)
    print(arguments.output)
    return 0


def report(text: str, model, title: str, arguments: argparse.Namespace) -> str:
    """The page of a model that chooses sentences, or of one that writes."""
    kind = model.description["kind"]
    if kind not in ("extractive", "abstractive"):
        raise Error(f"{model.path}: its kind is {kind!r}; expected a model that chooses sentences or writes "
                    "(extractive, abstractive)")
    if kind == "abstractive":
        if arguments.sentences is not None:
            arguments.parser.error(f"--sentences {arguments.sentences}: {arguments.model} chooses no sentences, it "
                                   "writes its answer; leave it out")
        from tfsum.visualization.written import explain_written
        from tfsum.visualization.written_page import written_report

        return written_report(explain_written(text, model), title)
    from tfsum.visualization.explanation import explain
    from tfsum.visualization.report import html_report

    return html_report(explain(text, model, arguments.sentences or 3), title)
