"""Label texts, one per line, from files or standard input, with a classifier."""

import io
import itertools
import pathlib
import sys
from collections.abc import Iterator

from tfsum.cli.options import FORMAT, Arguments, Options, json_line, printable
from tfsum.errors import DataError, require
from tfsum.request import sentence_of

EXAMPLES = """examples:
  tfsum classify served/tweets tweets.txt
  echo "A fire near the school, please help" \\
      | tfsum classify runs/bert_classify_disaster_tweets/best
  tfsum classify served/entailment pairs.tsv --format json  # two texts a line, a tab between

text: the label, a tab and its probability a line; json: the probability of every label too.
"""

# Lines handed to the model together: enough to fill it, few enough that the first answers come
# soon.
BATCH = 256

OPTIONS: Options = {
    "": {
        "model": {
            "metavar": "MODEL",
            "help": "an exported classifier, or its model folder (exported for the occasion)",
        },
        "files": {
            "nargs": "*",
            "metavar": "FILE",
            "help": "texts in UTF-8, a line each; standard input where none or -",
        },
        "--format": FORMAT,
    },
}


def run(arguments: Arguments) -> int:
    names = arguments.files or ["-"]
    arguments.parser.require_model(arguments.model)
    arguments.parser.require_paths(*(name for name in names if name != "-"))
    arguments.parser.require(names.count("-") < 2, "standard input (-) can be read only once")

    from tfsum.data.preparation import batched
    from tfsum.tasks.load import open_model, task_of

    with open_model(arguments.model) as classify:
        verb = task_of(classify.path, classify.description).verb
        require(
            verb == "classify",
            f"{arguments.model}: is {classify.description['kind']}, no classifier; use"
            f" `tfsum {verb}`",
        )

        pairs = classify.description["text"]["pair"]
        for name in names:
            kind = pathlib.Path(name.removesuffix(".gz")).suffix
            require(
                kind not in (".jsonl", ".csv") and (kind != ".tsv" or pairs),
                f"{name}: a {kind} file holds rows of columns, and a text a line was expected;"
                " write its texts alone to a file of another name, or measure the model on its"
                " labels by `tfsum evaluate`",
                DataError,
            )

            numbers = itertools.count(1, BATCH)
            for first, lines in zip(numbers, batched(read_lines(name), BATCH)):
                texts = columns(name, first, lines) if pairs else [lines]
                show(name, first, classify(*texts), arguments.format)
    return 0


def read_lines(name: str) -> Iterator[str]:
    """The lines of a file, plain or `.gz`, or of standard input."""
    from tfsum.data import readers
    from tfsum.inputs.sources import read_plain

    if name == "-":
        return (line.removesuffix("\n") for line in sys.stdin)
    if name.endswith(".gz"):
        return readers.read_lines(name)

    document = read_plain(name)
    for note in document.notes:
        print(printable(f"tfsum: {name}: {note}"), file=sys.stderr)
    return (line.removesuffix("\n").removesuffix("\r") for line in io.StringIO(document.text))


def columns(name: str, first: int, lines: list[str]) -> list[list[str]]:
    """The first texts and the second texts of pairs."""
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, first):
        require(
            len(row) == 2,
            f"{name}:{number}: found {len(row)} texts, expected 2 with a tab between them; the"
            " model was trained on pairs",
            DataError,
        )
    return [list(column) for column in zip(*rows, strict=True)]


def show(name: str, first: int, answers: list, form: str) -> None:
    """Prints the answers, and their warnings on standard error."""
    for number, answer in enumerate(answers, first):
        for warning in answer.warnings:
            print(f"tfsum: {name}:{number}: warning: {sentence_of(warning)}", file=sys.stderr)

        if form == "text":
            print(f"{answer.label}\t{answer.probability:.4f}")
        else:
            row = {
                "file": name,
                "line": number,
                "label": answer.label,
                "probabilities": {
                    label: round(value, 6) for label, value in answer.probabilities.items()
                },
                "coverage": round(answer.coverage, 6),
                "warnings": answer.warnings,
            }
            print(json_line(row))
