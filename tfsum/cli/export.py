"""Turn a model folder into a SavedModel that takes raw strings and returns summaries."""

import argparse

from tfsum.cli.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum export runs/news/best saved_models/bert_sum_ext_news_en/1
  tfsum export runs/news/best served/news/1 --ops text
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="FOLDER", help="a model folder, such as BEST of a training run")
    add("destination", metavar="DESTINATION", help="the SavedModel to write, NAME/VERSION")
    add(
        "--ops",
        choices=("core", "text"),
        default="core",
        help="core: any host of TensorFlow loads it; text: faster, for hosts with TF Text's operations",
    )


def run(arguments: argparse.Namespace) -> int:
    load_tensorflow()
    from tfsum.export import export_extractive

    print(export_extractive(arguments.model, arguments.destination, ops=arguments.ops))
    return 0
