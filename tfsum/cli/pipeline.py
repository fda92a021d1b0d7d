"""Run Apache Beam pipelines over corpora that outgrow a machine: summarize files, or prepare training records."""

import argparse
import functools
import json

from tfsum.cli import prepare

EXAMPLES = """examples:
  tfsum pipeline summarize --input 'docs/*.jsonl.gz' --field text --output out
  tfsum pipeline summarize --input 'docs/*.jsonl' --output out --output-format jsonl -n 5 -- \\
      --direct_num_workers=4 --direct_running_mode=multi_processing
  tfsum pipeline summarize --runner FlinkRunner --input '/data/*.jsonl.gz' --output /data/out -- \\
      --flink_master=localhost:8081 --environment_type=EXTERNAL --environment_config=localhost:50000

  tfsum pipeline prepare train.jsonl.gz --vocabulary minilm/vocab.txt --output records/train --shards 64

What follows -- are options of Beam and of the runner. Needs the extra `beam`.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pipelines = parser.add_subparsers(metavar="PIPELINE", required=True)
    for name, (what, add, pipeline) in PIPELINES.items():
        own = pipelines.add_parser(
            name,
            help=what,
            description=what,
            epilog="What follows -- are options of Beam and of the runner.",
        )
        add(own)
        own.add_argument(
            "--runner",
            default="DirectRunner",
            help="of Beam, such as FlinkRunner or DataflowRunner "
            "(default DirectRunner: this machine)",
        )
        own.set_defaults(pipeline=pipeline, parser=own)


def _add_summarize(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--input",
        required=True,
        metavar="PATTERN",
        help="files of JSON lines, plain or .gz, such as 'docs/*.jsonl'",
    )
    add(
        "--field",
        default="text",
        metavar="NAME",
        help="the field that holds the text (default text)",
    )
    add(
        "--id",
        dest="id_field",
        metavar="NAME",
        help="the field that becomes the key of an answer (default: FILE:LINE)",
    )
    add(
        "--output",
        required=True,
        metavar="FOLDER",
        help="of the answers, dead_letters.jsonl and counts.json",
    )
    add(
        "--output-format",
        choices=("parquet", "jsonl"),
        default="parquet",
        help="of the answers (default parquet)",
    )
    add("--shards", type=int, default=8, metavar="N", help="files of answers (default 8)")
    add(
        "--model",
        metavar="FOLDER",
        help="an exported extractive or abstractive model (default: the shipped)",
    )
    add(
        "-n",
        "--sentences",
        type=int,
        metavar="N",
        help="of an extractive model: sentences at most (default 3)",
    )
    add(
        "--newline",
        choices=("auto", "sentence", "paragraph", "space"),
        help="of an extractive model: what a new line means (default: as the model was exported)",
    )
    add(
        "--max-characters",
        type=int,
        default=1_000_000,
        metavar="N",
        help="a longer document goes to the dead letters (default 1000000)",
    )
    add("--format", choices=("text", "json"), default="text", help="of the counts (default text)")


def run(arguments: argparse.Namespace) -> int:
    return arguments.pipeline(arguments)


def _summarize(arguments: argparse.Namespace) -> int:
    from tfsum.beam import summarize_files

    names = ("field", "id_field", "output_format", "shards", "model", "max_characters", "runner")
    options = {
        name: value
        for name in ("sentences", "newline")
        if (value := getattr(arguments, name)) is not None
    }
    counts = summarize_files(
        arguments.input,
        arguments.output,
        pipeline_options=arguments.passed_on,
        **{name: getattr(arguments, name) for name in names},
        **options,
    )
    print(json.dumps(counts) if arguments.format == "json" else prepare.as_text(counts))
    return 0 if counts["answers"] or not counts["documents"] else 1


def _prepare(arguments: argparse.Namespace) -> int:
    from tfsum import beam

    given = vars(arguments).copy()
    if arguments.corpus.endswith(".toml"):
        arguments.parser.error(
            f"{arguments.corpus}: is a recipe; give its corpus, and its options by their names"
        )
    runner, options, _ = (given.pop(name) for name in ("runner", "passed_on", "pipeline"))
    function = functools.partial(beam.prepare, runner=runner, pipeline_options=options)
    return prepare.run(argparse.Namespace(**given), function)


# Pipeline -> what it does, adds its arguments, runs it.
PIPELINES = {
    "summarize": ("Files of documents to files of summaries.", _add_summarize, _summarize),
    "prepare": (
        "A corpus to training records, as `tfsum prepare` makes them.",
        prepare.add_corpus_arguments,
        _prepare,
    ),
}
