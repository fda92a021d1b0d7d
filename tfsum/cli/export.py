"""Turn a model folder into a SavedModel that takes raw strings and returns summaries."""

import argparse

import tfsum
from tfsum.cli.options import number, read_settings
from tfsum.cli.parser import Options, Parser, add_options, given_options
from tfsum.cli.search_options import add_search_options, take_search
from tfsum.request import SummaryRequest

EXAMPLES = """examples:
  tfsum export runs/news/best saved_models/my_model/1
  tfsum export runs/news/best saved_models/my_model --storage small  # its next version, small
  tfsum export runs/news/best served/my_model --ops text
  tfsum export runs/english_french/best served/translator --width 4 --storage float16
"""


PARSER = {
    "usage": "%(prog)s FOLDER DESTINATION [options]",
    # What is not given is left to the library's own default.
    "argument_default": argparse.SUPPRESS,
}
# The first group concerns all models.
OPTIONS: Options = {
    "": {
        "model": {
            "metavar": "FOLDER",
            "help": "a model folder, such as the best of a training run",
        },
        "destination": {
            "metavar": "DESTINATION",
            "help": "NAME/VERSION, or NAME for its next version",
        },
        "--ops": {
            "choices": ("core", "text"),
            "help": "core (default): any host loads it; text: faster, for hosts with TF Text",
        },
        "--storage": {
            "choices": ("float32", "float16", "small"),
            "help": "of the weights: float32 (default), float16, or small (with int8 embeddings)",
        },
    },
    "BertSumExt": {
        "-n --sentences": {
            "type": number,
            "metavar": "N",
            "help": "sentences of serving_default (default: 3), or auto with expected_rouge",
        },
        "--max-sentences": {
            "type": int,
            "metavar": "N",
            "help": "width of the outputs (default: 10)",
        },
        "--selection": {
            "choices": ("score", "expected_rouge"),
            "help": "how sentences are chosen (default: as the recipe was evaluated, or score)",
        },
        "--newline": {
            "choices": ("auto", "sentence", "line", "paragraph", "space"),
            "help": "what a new line means (default: as the model was trained)",
        },
        "--keep-repeats": {
            "dest": "block_trigrams",
            "action": "store_false",
            "help": "let serving_default choose sentences that share three words in a row",
        },
    },
}


def add_arguments(parser: Parser) -> None:
    add_options(parser, OPTIONS)
    add_search_options(parser)


def run(arguments: argparse.Namespace) -> int:
    options = given_options(arguments)
    model, destination = options.pop("model"), options.pop("destination")
    arguments.parser.require_paths(model)

    read_settings(SummaryRequest, arguments, ["sentences"])
    search = take_search(options)  # out of the options
    print(tfsum.export_model(model, destination, **options, **search))
    return 0
