"""Run Apache Beam pipelines over corpora that outgrow a machine: summarize files, or prepare training records."""

import argparse
import json

from tfsum.cli.prepare import as_text

EXAMPLES = """examples:
  tfsum pipeline summarize --input 'docs/*.jsonl.gz' --field text --output out
  tfsum pipeline summarize --input 'docs/*.jsonl' --output out --output-format jsonl -n 5 -- \\
      --direct_num_workers=4 --direct_running_mode=multi_processing
  tfsum pipeline summarize --runner FlinkRunner --input '/data/*.jsonl.gz' --output /data/out -- \\
      --flink_master=localhost:8081 --environment_type=EXTERNAL --environment_config=localhost:50000

What follows -- are options of Beam and of the runner. Needs the extra `beam`.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pipelines = parser.add_subparsers(metavar="PIPELINE", required=True)
    summarize = pipelines.add_parser("summarize", help="files of documents to files of summaries")
    _add_summarize(summarize)
    summarize.set_defaults(pipeline=_summarize)
    for own in (summarize,):
        own.add_argument("--runner", default="DirectRunner", help="of Beam, such as FlinkRunner or DataflowRunner "
                         "(default DirectRunner: this machine)")
        own.add_argument("--format", choices=("text", "json"), default="text", help="of the counts (default text)")
        own.add_argument("pipeline_options", nargs="*", metavar="-- OPTION", help="options of Beam and of the runner")


def _add_summarize(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--input", required=True, metavar="PATTERN", help="files of JSON lines, plain or .gz, such as 'docs/*.jsonl'")
    add("--field", default="text", metavar="NAME", help="the field that holds the text (default text)")
    add("--id", dest="id_field", metavar="NAME", help="the field that becomes the key of an answer (default: the place, "
        "FILE:LINE)")
    add("--output", required=True, metavar="FOLDER", help="of the answers, dead_letters.jsonl and counts.json")
    add("--output-format", choices=("parquet", "jsonl"), default="parquet", help="of the answers (default parquet)")
    add("--shards", type=int, default=8, metavar="N", help="files of answers (default 8)")
    add("--model", metavar="FOLDER", help="an exported extractive or abstractive model (default: the shipped)")
    add("-n", "--sentences", type=int, metavar="N", help="of an extractive model: sentences at most (default 3)")
    add("--newline", choices=("auto", "sentence", "paragraph", "space"), help="of an extractive model: what a new line "
        "means (default: as the model was exported)")
    add("--max-characters", type=int, default=1_000_000, metavar="N", help="a longer document goes to the dead letters "
        "(default 1000000)")


def run(arguments: argparse.Namespace) -> int:
    return arguments.pipeline(arguments)


def _summarize(arguments: argparse.Namespace) -> int:
    from tfsum.beam import summarize_files

    names = ("field", "id_field", "output_format", "shards", "model", "max_characters", "runner", "pipeline_options")
    options = {name: value for name in ("sentences", "newline") if (value := getattr(arguments, name)) is not None}
    counts = summarize_files(arguments.input, arguments.output,
                             **{name: getattr(arguments, name) for name in names}, **options)
    print(json.dumps(counts) if arguments.format == "json" else as_text(counts))
    return 0 if counts["answers"] or not counts["documents"] else 1
