"""Check an exported model: its signatures, its weights, and its answers of the day of export."""

import tfsum
from tfsum.cli.options import FORMAT, Arguments, Options, print_as
from tfsum.errors import ExportError, as_error

EXAMPLES = """examples:
  tfsum verify saved_models/bert_sum_ext_news_en/3

The last line says that it passed; exit status 1 where something differs from that day, and
standard error says that it failed, and in what.
"""


OPTIONS: Options = {
    "": {
        "model": {
            "metavar": "FOLDER",
            "help": (
                "a SavedModel that tfsum exported, .../NAME/VERSION, or .../NAME for its newest"
                " version"
            ),
        },
        "--format": FORMAT,
    }
}


def run(arguments: Arguments) -> int:
    arguments.parser.require_model(arguments.model)

    with as_error("failed", ExportError, kind=ExportError):
        report = tfsum.verify(arguments.model)
    print_as(arguments.format, report, report)
    return 0
