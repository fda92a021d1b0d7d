"""Which automatic counts agree with people about summaries of other systems, and where the shipped
model stands among them.

    python benchmarks/human_scores.py ../shared/data/summeval

SummEval (Fabbri et al. 2021): experts' means of coherence, consistency, fluency and relevance, 16
systems, 100 stories. REALSumm (Bhandari et al. 2020): the share of the reference's facts that
people found in a summary, 24 systems, 100 stories. Prints Kendall's tau-b of each count with each
score, between systems (means over the stories) and, in parentheses, between the summaries of one
story (mean over the stories). Then ROUGE of the systems of REALSumm and of the shipped model on the
same stories, by the same splitter and scorer, best ROUGE-1 first.
"""

import argparse
import gzip
import itertools
import json
import os
import pathlib
from collections.abc import Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from run import table

import tfsum
from tfsum.evaluation.batched import batched
from tfsum.evaluation.readability import repeated_pairs
from tfsum.evaluation.rouge import METRICS, score_each
from tfsum.text.readability import faults
from tfsum.text.sentence_splitter import SentenceSplitter

FAULTS = ("pronoun", "connective", "quotes", "no_end_mark", "short")


def tau(a: Sequence[float], b: Sequence[float]) -> float:
    """Kendall's tau-b; not a number where all values of one side are equal.

    Source: Kendall 1945, "The treatment of ties in ranking problems".
    """
    pairs = list(itertools.combinations(range(len(a)), 2))
    signs = np.array([(np.sign(a[i] - a[j]), np.sign(b[i] - b[j])) for i, j in pairs])
    untied = np.sqrt((signs[:, 0] != 0).sum() * (signs[:, 1] != 0).sum())
    return float(signs.prod(1).sum() / untied) if untied else float("nan")


def split(texts: list[str]) -> list[list[str]]:
    """The sentences of each text."""
    splitter, rows = SentenceSplitter(), []
    for group in batched(texts):
        rows += splitter.split(group)["sentences"].to_list()
    return [[sentence.decode() for sentence in row] for row in rows]


def counts_of(summaries: list[list[str]], references: list[list[str]]) -> dict[str, np.ndarray]:
    """Name of a count -> its value for each summary."""
    scores = score_each(summaries, references)
    counts = {f"{metric} F": scores[:, i, 2] for i, metric in enumerate(METRICS)}
    counts |= {f"{metric} recall": scores[:, i, 1] for i, metric in enumerate(METRICS)}
    flat = tf.constant([sentence for summary in summaries for sentence in summary])
    owner = np.repeat(np.arange(len(summaries)), [*map(len, summaries)])
    found = faults(flat)
    flawed = np.sum([found[name].numpy() for name in FAULTS], axis=0)
    each = np.bincount(owner, flawed, minlength=len(summaries))
    counts["faults a sentence, negated"] = -each / np.maximum(1, [*map(len, summaries)])
    counts["repeated pairs, negated"] = -np.array([*map(repeated_pairs, summaries)])
    counts["words"] = np.array([len(" ".join(summary).split()) for summary in summaries])
    return counts


def read(file: pathlib.Path) -> list[dict]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def print_agreement(name: str, rows: list[dict]) -> None:
    systems = sorted(rows[0]["systems"])
    answers = [row["systems"][system] for row in rows for system in systems]
    references = [row["summary"] for row in rows for _ in systems]
    counts = counts_of(split([one["summary"] for one in answers]), split(references))
    human = sorted(answers[0]["scores"])

    lines = []
    for count, values in counts.items():
        cells = [count]
        for aspect in human:
            scores = np.array([one["scores"][aspect] for one in answers])
            ours, theirs = (one.reshape(len(rows), len(systems)) for one in (values, scores))
            inside = np.nanmean([tau(a, b) for a, b in zip(ours, theirs)])
            cells.append(f"{tau(ours.mean(0), theirs.mean(0)):+.2f} ({inside:+.2f})")
        lines.append(cells)
    table([name, *human], lines)


def print_places(rows: list[dict]) -> None:
    """ROUGE of all systems on the same stories."""
    references = split([row["summary"] for row in rows])
    summaries = {
        name.removesuffix(".txt"): split([row["systems"][name]["summary"] for row in rows])
        for name in rows[0]["systems"]
    }
    recall = {
        name.removesuffix(".txt"): np.mean(
            [row["systems"][name]["scores"]["litepyramid_recall"] for row in rows]
        )
        for name in rows[0]["systems"]
    }
    answers = tfsum.load()([row["text"] for row in rows], sentences=3)
    summaries["**tfsum, shipped model**"] = [answer.sentences for answer in answers]
    summaries["lead-3"] = [sentences[:3] for sentences in split([row["text"] for row in rows])]

    lines = []
    for name, given in summaries.items():
        means = 100 * score_each(given, references)[:, :, 2].mean(0)
        words = np.mean([len(" ".join(summary).split()) for summary in given])
        facts = f"{recall[name]:.2f}" if name in recall else ""
        lines.append([name, *(f"{mean:.2f}" for mean in means), f"{words:.0f}", facts])
    lines.sort(key=lambda line: -float(line[1]))
    table(["REALSumm", *METRICS, "words", "facts found by people"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, help="with the two files of JSON lines")
    folder = parser.parse_args().folder
    realsumm = read(folder / "realsumm.jsonl.gz")
    print_agreement("SummEval", read(folder / "summeval.jsonl.gz"))
    print_agreement("REALSumm", realsumm)
    print_places(realsumm)


if __name__ == "__main__":
    main()
