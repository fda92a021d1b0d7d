"""Explain a summary: one HTML page with the text, the score of each sentence and the sentences chosen."""

import argparse
import pathlib
import sys

import tfsum
from tfsum.cli.quiet_tensorflow import load_tensorflow
from tfsum.cli.summarize import read_text

EXAMPLES = """examples:
  tfsum explain article.txt -o report.html
  cat article.txt | tfsum explain -n 2 --model saved_models/my_model/1 > report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", nargs="?", default="-", metavar="FILE", help="a text in UTF-8; standard input where none or -")
    add("-o", "--output", metavar="FILE", help="the page to write (default: standard output)")
    add("-n", "--sentences", type=int, default=3, metavar="N", help="in the summary at most (default 3)")
    add("--model", metavar="FOLDER", help="a SavedModel that tfsum exported (default: the shipped)")


def run(arguments: argparse.Namespace) -> int:
    name = arguments.file
    if arguments.sentences < 1:
        arguments.parser.error(f"--sentences {arguments.sentences}: expected at least 1")
    if name != "-" and not pathlib.Path(name).is_file():
        arguments.parser.error(f"no such file: {name}")
    text = read_text(name)
    load_tensorflow()
    from tfsum.visualization.explanation import explain
    from tfsum.visualization.report import html_report, write_report

    page = html_report(explain(text, tfsum.load(arguments.model), arguments.sentences),
                       "standard input" if name == "-" else pathlib.Path(name).name)
    if arguments.output:
        write_report(page, arguments.output)
        print(arguments.output)
    else:
        sys.stdout.buffer.write(page.encode("utf-8", errors="replace"))
    return 0
