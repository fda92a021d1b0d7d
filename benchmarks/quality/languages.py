"""Extractive models in many languages, beside lead, the longest sentences and the best ones.

    python -m benchmarks languages rows.jsonl.gz --group lang \\
        --model open=served/multilingual/1 --model news=saved_models/bert_sum_ext_news_en/3

Prints a table for each metric: for each group of documents ROUGE F of the first sentences, and what
each system has more, with a 95 % interval (bootstrap over documents). "=" marks a system that has
no more characters than the first sentences: a longer summary alone scores higher where references
are long. The share is how far a model is on the way from the first sentences to the best ones.
Words are plain ones; a character of a script without spaces is a word.
"""

import argparse
from collections.abc import Sequence

import numpy as np

import tfsum
from benchmarks import corpora, results
from tfsum.evaluation.rouge import METRICS
from tfsum.tasks.bert_sum_ext.evaluate import ExtractiveReport, score_systems
from tfsum.text.sentence_splitter import SentenceSplitter

NEWLINE = "sentence"  # what a new line means in the documents of every corpus here


OPTIONS = {
    "corpus": {"nargs": "+", "help": "documents with their summaries, as JSON lines"},
    "--model": {"action": "append", "required": True, "metavar": "NAME=FOLDER"},
    "--group": {"default": "lang", "help": "field by which documents are grouped"},
    "--sentences": {"type": int, "default": 3},
    "--limit": {"type": int, "help": "documents of each group, evenly from all"},
}


def within(sentences: Sequence[str], characters: int) -> list[str]:
    """The longest sentences that fit, in their order; the shortest one if none does."""
    chosen: set[int] = set()
    for place in sorted(range(len(sentences)), key=lambda i: -len(sentences[i])):
        if len(" ".join(sentences[i] for i in {*chosen, place})) <= characters:
            chosen.add(place)
    kept = [sentences[i] for i in sorted(chosen)]
    return kept or [min(sentences, key=len)]


def measure(
    rows: Sequence[dict], models: dict[str, tfsum.Summarizer], options: argparse.Namespace
) -> ExtractiveReport:
    """Scores all systems on the documents of a group."""
    texts, references = [row["text"] for row in rows], [row["summary"] for row in rows]
    split = SentenceSplitter(NEWLINE).split(texts)["sentences"].to_list()
    documents = [[sentence.decode() for sentence in sentences] for sentences in split]
    lengths = [len(" ".join(sentences[: options.sentences])) for sentences in documents]

    systems = {"=longest": list(map(within, documents, lengths))}
    for name, model in models.items():
        read = model.read(texts, newline=NEWLINE)
        systems[name] = [each(sentences=options.sentences).sentences for each in read]
        systems["=" + name] = [
            each(characters=size, fill=True).sentences
            for each, size in zip(read, lengths, strict=True)
        ]
    return score_systems(systems, references, documents, sentences=options.sentences, english=False)


def cell(system: dict[str, float]) -> str:
    """A difference with its interval."""
    low, high = system["difference_low"], system["difference_high"]
    return f"{system['difference']:+.1f} ({low:+.1f} {high:+.1f})"


def run(options: argparse.Namespace) -> None:
    """Prints the tables."""
    folders = (given.split("=", 1) for given in options.model)
    models = {name: tfsum.load(folder) for name, folder in folders}
    groups: dict[str, list[dict]] = {}
    for corpus in options.corpus:
        for row in corpora.read(corpus):
            groups.setdefault(str(row.get(options.group)), []).append(row)

    reports = {}
    for name, rows in sorted(groups.items()):
        step = max(1, len(rows) // (options.limit or len(rows)))
        reports[name] = measure(rows[::step][: options.limit], models, options)

    for metric in METRICS:
        lines: dict[str, results.Row] = {}
        shares: dict[str, list[float]] = {name: [] for name in models}
        for group, report in reports.items():
            system = {name: values[metric] for name, values in report.systems.items()}
            way = system["oracle"]["difference"]
            cells = {"first": f"{system['lead']['f']:.1f}", "best": f"{way:+.1f}"}
            cells["longest"] = cell(system["longest"])
            cells["=longest"] = cell(system["=longest"])
            for name in models:
                share = system[name]["difference"] / max(way, 1e-9)
                shares[name].append(share)
                cells |= {
                    name: f"{cell(system[name])} {100 * share:.0f} %",
                    "=" + name: cell(system["=" + name]),
                }
            lines[f"{group} ({report.documents})"] = cells
        means = (f"{name} {100 * np.mean(each):.1f} %" for name, each in shares.items())
        print(f"\n{metric} of {options.sentences} sentences; mean share: {', '.join(means)}")
        results.show(lines)
