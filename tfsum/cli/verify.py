"""Replay the golden answers that a SavedModel was exported with, here and now."""

import argparse
import json

from tfsum.cli.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum verify saved_models/bert_sum_ext_news_en/1

exit status 1 where an answer differs from that of the day of export.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="FOLDER", help="a SavedModel that tfsum exported (.../NAME/VERSION)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default text")


def run(arguments: argparse.Namespace) -> int:
    load_tensorflow()
    from tfsum.export import verify

    report = verify(arguments.model)
    print(json.dumps(report) if arguments.format == "json" else report)
    return 0
