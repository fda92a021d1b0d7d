"""Explain an answer on one HTML page.

The page of an extractive model shows the text, the score of each sentence and the sentences chosen;
that of a Transformer its answer and the cross-attention of each word.
"""

import os
import pathlib
import sys

import tfsum
from tfsum.cli.options import (
    Arguments,
    Options,
    printable,
    read_settings,
)
from tfsum.cli.summarize import refuse_request
from tfsum.errors import DataError, Error
from tfsum.inputs.sources import find_sources, read_source
from tfsum.request import SummaryRequest

EXAMPLES = """examples:
  tfsum explain article.txt -o report.html
  cat article.txt | tfsum explain -n 2 --model saved_models/my_model/1 > report.html
"""

CLASSES = [(SummaryRequest, ("sentences", "newline"), "")]
OPTIONS: Options = {
    "": {
        "file": {
            "nargs": "?",
            "default": "-",
            "metavar": "FILE",
            "help": "a text, HTML, PDF, Word or mail; standard input where none or -",
        },
        "-o --output": {
            "metavar": "FILE",
            "default": "-",
            "help": (
                "the page to write, in the place of a file of that name (default -: standard"
                " output)"
            ),
        },
        "--encoding": {
            "metavar": "NAME",
            "help": "of the text, such as cp1252 (default: recognized)",
        },
        "--model": {
            "metavar": "FOLDER",
            "help": "a SavedModel that tfsum exported (default: the shipped)",
        },
    },
}


def run(arguments: Arguments) -> int:
    name, request = arguments.file, read_settings(SummaryRequest, arguments)
    try:
        sources = find_sources([name])
    except DataError as error:
        arguments.parser.reject(str(error))
    arguments.parser.require(len(sources) == 1, f"{name}: found {len(sources)} files, expected one")
    on_disk = all(path != "-" and os.path.exists(path) for path in (name, arguments.output))
    arguments.parser.require(
        not on_disk or not os.path.samefile(name, arguments.output),
        f"--output {arguments.output}: is the file that is read; name another",
    )

    (document,) = read_source(sources[0], encoding=arguments.encoding)
    for note in document.notes:
        print(printable(f"tfsum: {name}: {note}"), file=sys.stderr)

    model = tfsum.load(arguments.model)  # loads TensorFlow
    from tfsum.html_page import write_page
    from tfsum.tasks.load import task_of

    if not hasattr(model, "answer"):
        refuse_request(request, arguments)
    task = task_of(model.path, model.description)
    if task.explain is None:
        raise Error(
            f"{model.path}: its kind is {task.export_kind!r}; expected an extractive or "
            "abstractive model"
        )
    title = "standard input" if name == "-" else pathlib.Path(name).name
    page = task.explain()(model, document.text, title, request)
    if arguments.output == "-":
        sys.stdout.buffer.write(page.encode("utf-8", errors="replace"))
        return 0

    write_page(page, arguments.output)
    print(arguments.output)
    return 0
