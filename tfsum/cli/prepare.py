"""Turn a corpus into sharded training records with oracle labels; interrupt it, run it again, it goes on."""

import argparse
import json
import pathlib
import sys

from tfsum.cli.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum prepare train.jsonl.gz --vocabulary minilm/vocab.txt --output records/train
  tfsum prepare train.csv --text article --summary highlights --labels soft --processes 4 \\
      --vocabulary minilm --output records/train

exit status 75 where it was stopped with Ctrl-C; the finished shards are kept.
"""

# What is not given here is left to the library's own default.
UNSET = argparse.SUPPRESS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("corpus", metavar="CORPUS", help=".jsonl, .jsonl.gz, .csv or .tsv with texts and summaries")
    add("--output", required=True, metavar="FOLDER", help="where the records go")
    add("--vocabulary", required=True, metavar="FILE", help="vocab.txt, or the folder that holds it")
    for field in ("id", "text", "summary"):
        add(f"--{field}", metavar="COLUMN", help=f"the corpus's name for it (default {field})")
    add("--labels", choices=("greedy", "soft"), default=UNSET, help="oracle labels: 0 or 1, or shares")
    add("--temperature", type=float, default=UNSET, help="of soft labels")
    add("--summary-sentences", type=int, default=UNSET, metavar="N", help="sentences of an oracle at most")
    add("--max-sentences", type=int, default=UNSET, metavar="N", help="sentences kept of a document")
    add("--window-length", type=int, default=UNSET, metavar="N", help="positions of the encoder")
    add("--cased", dest="lowercase", action="store_false", default=UNSET, help="keep upper and lower case")
    add("--newline", choices=("sentence", "paragraph", "space"), default=UNSET, help="what a new line ends")
    add("--shards", type=int, default=UNSET, metavar="N", help="files to write")
    add("--processes", type=int, default=UNSET, metavar="N", help="how many work at once")
    add("--format", choices=("text", "json"), default="text", help="of the counts (default text)")


def run(arguments: argparse.Namespace) -> int:
    given = vars(arguments).copy()
    corpus, output, vocabulary = (given.pop(name) for name in ("corpus", "output", "vocabulary"))
    columns = {field: given.pop(field) for field in ("id", "text", "summary")}
    how = given.pop("format")
    del given["run"], given["parser"]
    if not pathlib.Path(corpus).is_file():
        arguments.parser.error(f"no such file: {corpus}")
    load_tensorflow()
    from tfsum.data.prepare import prepare

    columns = {field: name for field, name in columns.items() if name}
    try:
        counts = prepare(corpus, output, vocabulary, columns=columns or None, **given)
    except KeyboardInterrupt:
        print("tfsum: stopped; the finished shards are kept, run the same command to go on", file=sys.stderr)
        return 75
    print(json.dumps(counts) if how == "json" else as_text(counts))
    return 0


def as_text(counts: dict[str, int]) -> str:
    width = max(map(len, counts))
    return "\n".join(f"{name:<{width}}  {count:>10,}" for name, count in counts.items())
