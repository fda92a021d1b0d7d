"""Summarize files, or prepare training records, by Apache Beam, where corpora outgrow a machine."""

from typing import Any

from tfsum.cli import prepare
from tfsum.cli.options import (
    FORMAT,
    GIVEN_ONLY,
    Arguments,
    Options,
    Parser,
    add_options,
    given_options,
    print_as,
    read_settings,
)
from tfsum.request import NEEDED, SummaryRequest
from tfsum.training.recipe_file import is_recipe

EXAMPLES = """examples:
  tfsum pipeline summarize --input 'docs/*.jsonl.gz' --field text --output out
  tfsum pipeline summarize --input 'docs/*.jsonl' --output out --output-format jsonl -n 5 -- \\
      --direct_num_workers=4 --direct_running_mode=multi_processing
  tfsum pipeline summarize --runner FlinkRunner --input '/data/*.jsonl.gz' --output /data/out -- \\
      --flink_master=localhost:8081 --environment_type=EXTERNAL --environment_config=localhost:50000

  tfsum pipeline prepare train.jsonl.gz --vocabulary minilm/vocab.txt \\
      --output records/train --shards 64

What follows -- are options of Beam and of the runner. Needs the extra `beam`.
"""


RUNNER: dict[str, dict[str, Any]] = {
    "--runner": {
        "default": "DirectRunner",
        "help": (
            "of Beam, such as FlinkRunner or DataflowRunner (default DirectRunner: this machine)"
        ),
    }
}
# What is not given is left to the library's own default.
SUMMARIZE_OPTIONS: Options = {
    "": {
        "--input": {
            "required": True,
            "metavar": "PATTERN",
            "help": "files of JSON lines, plain or .gz, or Parquet, such as 'docs/*.jsonl'",
        },
        "--field": {
            "metavar": "NAME",
            "help": "the field that holds the text (default text)",
        },
        "--id": {
            "dest": "id_field",
            "metavar": "NAME",
            "help": "the field that becomes the key of an answer (default: FILE:LINE)",
        },
        "--output": {
            "required": True,
            "metavar": "FOLDER",
            "help": "of the answers, dead_letters.jsonl and counts.json",
        },
        "--output-format": {
            "choices": ("parquet", "jsonl"),
            "help": "of the answers (default parquet)",
        },
        "--shards": {
            "type": int,
            "metavar": "N",
            "help": "files of answers (default 8)",
        },
        "--model": {
            "metavar": "FOLDER",
            "help": "an exported extractive or abstractive model (default: the shipped)",
        },
        "--max-characters": {
            "type": int,
            "metavar": "N",
            "help": "a longer document goes to the dead letters (default 1000000)",
        },
        "--format": FORMAT,
    },
}


def _summarize(arguments: Arguments) -> int:
    from tfsum.beam import summarize_files

    request = read_settings(SummaryRequest, arguments)
    options = {
        name: value
        for name, value in given_options(arguments).items()
        if name not in SummaryRequest.model_fields
    }
    options |= request.model_dump(exclude_defaults=True)
    pattern, output, form = (options.pop(name) for name in ("input", "output", "format"))
    counts = summarize_files(pattern, output, **options)
    print_as(form, counts, prepare.as_text(counts))
    return int(counts["answers"] == 0 < counts["documents"])


def _prepare(arguments: Arguments) -> int:
    arguments.parser.require(
        not is_recipe(arguments.corpus),
        f"{arguments.corpus}: is a recipe; give its corpus, and its options by their names",
    )
    from tfsum import beam

    options = {name: vars(arguments).pop(name) for name in ("runner", "pipeline_options")}
    return prepare.run(  # which loads Beam when the call is right
        arguments, lambda *paths, **settings: beam.prepare(*paths, **options, **settings)
    )


# Name of a pipeline -> what it does, and the function that does it.
PIPELINES = {
    "summarize": ("Files of documents to files of summaries.", _summarize),
    "prepare": ("A corpus to training records, as `tfsum prepare` makes them.", _prepare),
}


def add_arguments(parser: Parser) -> None:
    pipelines = parser.add_subparsers(metavar="PIPELINE", required=True)
    for name, (what, run) in PIPELINES.items():
        own = pipelines.add_parser(
            name,
            help=what,
            description=what,
            epilog="What follows -- are options of Beam and of the runner.",
            **GIVEN_ONLY,
        )
        own.set_defaults(run=run, parser=own)
        add_options(own, {"Beam": RUNNER})
        if name == "prepare":
            add_options(own, prepare.CORPUS_OPTIONS, prepare.CLASSES)
        else:
            of_several = {"together", *(name for name in NEEDED if NEEDED[name] == "together")}
            only = SummaryRequest.model_fields.keys() - of_several
            add_options(own, SUMMARIZE_OPTIONS, [(SummaryRequest, only, "")])
