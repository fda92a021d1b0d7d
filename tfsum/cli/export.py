"""Turn a model folder into a SavedModel that takes raw strings and returns summaries."""

import argparse
import pathlib

import tfsum
from tfsum.cli.search_options import add_search_arguments, take_search
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum export runs/news/best saved_models/my_model/1
  tfsum export runs/news/best saved_models/my_model --storage small  # its next version, small
  tfsum export runs/news/best served/my_model --ops text
  tfsum export runs/english_french/best served/translator --width 4 --storage float16
"""

# What is not given here is left to the library's own default.
UNSET = argparse.SUPPRESS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="FOLDER", help="a model folder, such as the best of a training run")
    add("destination", metavar="DESTINATION", help="NAME/VERSION, or NAME for its next version")
    add(
        "--ops",
        choices=("core", "text"),
        default=UNSET,
        help="core (default): any host loads it; text: faster, for hosts with TF Text's operations",
    )
    add(
        "--storage",
        choices=("float32", "float16", "small"),
        default=UNSET,
        help="of the weights: float32 (default), float16, or small (float16 with int8 rows of the embeddings)",
    )
    add_search_arguments(parser)
    add = parser.add_argument_group("how a BertSumExt answers").add_argument
    add(
        "-n",
        "--sentences",
        type=int,
        default=UNSET,
        metavar="N",
        help="of serving_default (default 3)",
    )
    add(
        "--max-sentences",
        type=int,
        default=UNSET,
        metavar="N",
        help="width of the outputs (default 10)",
    )
    add(
        "--selection",
        choices=("score", "expected_rouge"),
        default=UNSET,
        help="choose the best sentences by score, or those with the largest expected ROUGE together (default: as the "
        "recipe was evaluated, else score)",
    )
    add(
        "--newline",
        choices=("auto", "sentence", "line", "paragraph", "space"),
        default=UNSET,
        help="what a new line means: the end of a sentence (line: and nothing else ends one), or part of a paragraph "
        "or of a text; auto decides for each text, by the widths of its lines (default: as the model was trained)",
    )
    add(
        "--keep-repeats",
        dest="block_trigrams",
        action="store_false",
        default=UNSET,
        help="let serving_default choose sentences that share three words in a row with a chosen one",
    )


def run(arguments: argparse.Namespace) -> int:
    options = vars(arguments).copy()
    model, destination = options.pop("model"), options.pop("destination")
    del options["run"], options["parser"]
    if not pathlib.Path(model).is_dir():
        arguments.parser.error(f"no such folder: {model}")
    load_tensorflow()
    search = take_search(options)
    print(tfsum.export_model(model, destination, **options, **search))
    return 0
