"""Check an exported model: its signatures, its weights, and its answers of the day of export."""

import argparse
import json
import pathlib

import tfsum
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum verify saved_models/bert_sum_ext_news_en/1

exit status 1 where something differs from that day; standard error shows what.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="FOLDER",
        help="a SavedModel that tfsum exported, .../NAME/VERSION, or .../NAME for its newest version",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default text")


def run(arguments: argparse.Namespace) -> int:
    if not pathlib.Path(arguments.model).is_dir():
        arguments.parser.error(f"no such folder: {arguments.model}")
    load_tensorflow()
    report = tfsum.verify(arguments.model)
    print(json.dumps(report, ensure_ascii=False) if arguments.format == "json" else report)
    return 0
