"""Measure a model on a corpus, with 95 % intervals: an extractive one by ROUGE, beside lead, oracle and a random pick;
a Transformer by BLEU and ROUGE; a classifier by accuracy and F1."""

import argparse
import glob
import pathlib

import tfsum
from tfsum.cli.search_options import add_search_arguments, take_search
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum evaluate saved_models/bert_sum_ext_news_en/1 test.jsonl
  tfsum evaluate runs/news/best test.jsonl.gz --format json
  tfsum evaluate runs/cnndm/best 'cnndm.test.*.pt' --selection bertsum
  tfsum evaluate served/translator test.tsv.gz --source 1 --target 2 --words plain
  tfsum evaluate runs/english_german/best test.en --targets test.de --search greedy
  tfsum evaluate runs/tweets/best test.tsv --text 1 --label 2
"""

# What is not given here is left to the library's own default.
UNSET = argparse.SUPPRESS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="an exported model, or a model folder (which is exported for the occasion)",
    )
    add(
        "corpus",
        metavar="CORPUS",
        help="JSON lines, .csv or .tsv, plain or gzip, with texts and summaries; stories, "
        "BertSum's .json and .pt, also a folder or a pattern, see tfsum prepare --help",
    )
    add(
        "-n",
        "--sentences",
        type=int,
        default=UNSET,
        metavar="N",
        help="of every extractive system (default 3)",
    )
    add(
        "--text",
        default=UNSET,
        metavar="COLUMN",
        help="of the corpus of an extractive model: the texts (default "
        "text); of a classifier's likewise (default: as its recipe read it), or a number from 1 in a table without a "
        "header line",
    )
    add(
        "--summary",
        default=UNSET,
        metavar="COLUMN",
        help="of an extractive model's: the summaries (default summary)",
    )
    add(
        "--source",
        default=UNSET,
        metavar="COLUMN",
        help="of a Transformer's corpus: the texts (default source); a "
        "number from 1 in a table without a header line",
    )
    add(
        "--target",
        default=UNSET,
        metavar="COLUMN",
        help="likewise what is expected (default target)",
    )
    add(
        "--targets",
        default=UNSET,
        metavar="FILE",
        help="what is expected, a line each, where CORPUS holds the texts, a line each",
    )
    add(
        "--target-lines",
        type=int,
        default=UNSET,
        metavar="N",
        help="likewise only its first N lines (default: as in training)",
    )
    add(
        "--tokenize",
        choices=("13a", "intl", "zh", "char", "none"),
        default=UNSET,
        help="the words of BLEU, see sacrebleu (default 13a)",
    )
    add("--limit", type=int, default=UNSET, metavar="N", help="only the first N documents")
    add(
        "--words",
        choices=("english", "plain"),
        default=UNSET,
        help="english (default): rouge-score's words, stemmed; plain: whole words of every alphabet",
    )
    add("--samples", type=int, default=UNSET, metavar="N", help="of the bootstrap (default 1000)")
    add("--seed", type=int, default=UNSET, help="of the random pick and the bootstrap (default 0)")
    add(
        "--selection",
        choices=("model", "bertsum", "bertsum_recall"),
        default=UNSET,
        help="of an extractive model: as "
        "it was exported (default), or as the test of BertSum and PreSumm chooses, with trigram blocking; their "
        "recall_eval cuts each summary to the words of its reference",
    )
    add("--format", choices=("text", "json"), default="text", help="default text")
    labels = parser.add_argument_group(
        "the corpus of a classifier, by default as its recipe read it"
    ).add_argument
    labels("--label", default=UNSET, metavar="COLUMN", help="their labels")
    labels("--text-pair", default=UNSET, metavar="COLUMN", help="their second texts")
    add_search_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    given = vars(arguments).copy()
    model, corpus, how = given.pop("model"), given.pop("corpus"), given.pop("format")
    del given["run"], given["parser"]
    for place in (model, corpus, given.get("targets", corpus)):
        if not (pathlib.Path(place).exists() or glob.glob(place)):
            arguments.parser.error(f"no such file or folder: {place}")
    if given.get("target_lines", 1) < 1:
        arguments.parser.error(f"--target-lines is {given['target_lines']}; expected at least 1")
    load_tensorflow()
    search = take_search(given)
    report = tfsum.evaluate(model, corpus, **given, **search)
    print(report.to_json() if how == "json" else report.to_text())
    return 0
