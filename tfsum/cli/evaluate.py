"""Measure a model on a corpus, with 95 % intervals.

A BertSumExt is measured by ROUGE, beside lead, oracle and a random pick; a Transformer or a
BertSumAbs by BLEU and ROUGE; a BertClassifier by accuracy and F1.
"""

import tfsum
from tfsum.cli.export import SEARCH_CLASSES, SEARCH_OPTIONS, take_search
from tfsum.cli.options import (
    FORMAT,
    GIVEN_ONLY,
    Arguments,
    Options,
    given_options,
    number,
    read_settings,
)
from tfsum.evaluation.settings import MeasureSettings
from tfsum.request import SummaryRequest
from tfsum.tasks.recipes import section_class

EXAMPLES = """examples:
  tfsum evaluate saved_models/bert_sum_ext_news_en/3 test.jsonl
  tfsum evaluate runs/news/best test.jsonl.gz --format json
  tfsum evaluate runs/cnndm/best 'cnndm.test.*.pt' --selection bertsum
  tfsum evaluate served/translator test.tsv.gz --source 1 --target 2 --words plain
  tfsum evaluate runs/english_german/best test.en --targets test.de --search greedy
  tfsum evaluate runs/tweets/best test.tsv --text 1 --label 2
"""


PARSER = GIVEN_ONLY | {
    "usage": "%(prog)s MODEL CORPUS [options]",
}
PAIRS = "Transformer and BertSumAbs"
# The first group concerns all models.
MODEL_OPTIONS: Options = {
    "": {
        "model": {
            "metavar": "MODEL",
            "help": "an exported model, or a model folder (which is exported for the occasion)",
        },
        "corpus": {
            "metavar": "CORPUS",
            "help": "JSON lines, .csv, .tsv, plain or gzip, or what tfsum prepare reads",
        },
        "--text": {
            "metavar": "COLUMN",
            "help": "column of the texts (default: text), or its number from 1",
        },
        "--format": FORMAT,
    },
    "BertSumExt": {
        "--summary": {
            "metavar": "COLUMN",
            "help": "column of the summaries (default: summary)",
        },
        "-n --sentences": {
            "type": number,
            "metavar": "N",
            "help": "sentences of a summary (default: 3), or auto: as many as score best",
        },
        "--selection": {
            "choices": ("model", "bertsum", "bertsum_recall"),
            "help": "choose as the model was exported (default), or as the test of BertSum does",
        },
    },
    PAIRS: {
        "--targets": {
            "metavar": "FILE",
            "help": "expected answers, one a line, where CORPUS holds the texts, one a line",
        },
    },
    "BertClassifier (default: as its recipe read it)": {
        "--label": {
            "metavar": "COLUMN",
            "help": "column of the labels",
        },
        "--text-pair": {
            "metavar": "COLUMN",
            "help": "column of the second texts",
        },
    },
}
# Sections of a recipe whose keys are options: of the corpus, and of ROUGE and BLEU.
DATA, MEASURES = section_class("transformer", "data"), section_class("transformer", "evaluate")
CLASSES = [
    (MeasureSettings, None, ""),
    (MEASURES, ["words"], ""),
    (MEASURES, ["tokenize"], PAIRS),
    (DATA, ["source", "target", "target_lines"], PAIRS),
    *SEARCH_CLASSES,
]
OPTIONS = {**MODEL_OPTIONS, **SEARCH_OPTIONS}


def run(arguments: Arguments) -> int:
    options = given_options(arguments)
    model, corpus, form = (options.pop(name) for name in ("model", "corpus", "format"))
    arguments.parser.require_model(model)
    arguments.parser.require_paths(corpus, options.get("targets", corpus))

    read_settings(MeasureSettings, arguments)
    read_settings(MEASURES, arguments)
    read_settings(DATA, arguments, train=corpus, validation=corpus, records="")
    read_settings(SummaryRequest, arguments, ["sentences"])
    search = take_search(options)  # out of the options
    report = tfsum.evaluate(model, corpus, **options, **search)
    print({"json": report.to_json, "text": report.to_text}[form]())
    return 0
