"""What the parts of an abstractive summarizer contribute: each model, and the best one under other
searches.

    python benchmarks/writing_parts.py ../shared/data/news/validation.jsonl.gz --limit 100 \
        "the recipes=runs/bert_sum_abs_news/best" "no gap sentences=runs/no_gaps/best"

Exports each model folder with the options of training/bert_sum_abs_news.toml, and the first one
also with one of them changed; answers the same documents with each, and with the first one also
what the shipped extractive model selects of them; prints a table in Markdown: the loss of a token
on the validation data (from the folder's training run), ROUGE with 95 % intervals (bootstrap over
documents), words, and the share of the bigrams and of the numbers and names that the source does
not have.
"""

import argparse
import json
import pathlib
import sys
import tempfile
from typing import Any

import numpy as np
from writing import (
    absent,
    extracts,
    first_sentences,
    novel_bigrams,
    read_pairs,
    rouge,
    share,
    words,
)

import tfsum
from tfsum.decoding import BeamSearch, Greedy

BEAM: dict[str, Any] = {"width": 5, "length_penalty": 0.95}
TEXT = {"source_names": True, "restore_case": True}
CHOSEN = {**TEXT, "strategy": BeamSearch(**BEAM, no_repeat_ngram=3, min_length=58)}
OTHERS = {  # what the first model is exported with, too
    "- trigrams may come twice": {**CHOSEN, "strategy": BeamSearch(**BEAM, min_length=58)},
    "- no minimum length": {**CHOSEN, "strategy": BeamSearch(**BEAM, no_repeat_ngram=3)},
    "- greedy, no minimum length": {**CHOSEN, "strategy": Greedy(no_repeat_ngram=3)},
    "- names and numbers from the vocabulary": {**CHOSEN, "source_names": False},
}


def loss(folder: str) -> str:
    """The best validation loss of the training run that a model folder is of."""
    history = pathlib.Path(folder).parent / "history.json"
    return f"{json.loads(history.read_text())['best']['loss']:.2f}" if history.exists() else ""


def measure(
    folder: str,
    options: dict[str, Any],
    reads: dict[str, list[str]],
    sources: list[str],
    references: list[str],
) -> None:
    """Exports a model folder, and prints a row for each name and what the model reads under it."""
    with tempfile.TemporaryDirectory() as served:
        write = tfsum.load(tfsum.export_model(folder, f"{served}/writer/1", **options))
        for name, read in reads.items():
            row(name, loss(folder), [answer.summary for answer in write(read)], sources, references)


def row(
    name: str, of_a_token: str, texts: list[str], sources: list[str], references: list[str]
) -> None:
    """Prints a row of the table."""
    scores, low, high = rouge(texts, references)
    points = " | ".join(
        f"{mean:.1f} ({a:.1f} to {b:.1f})" for mean, a, b in zip(scores.mean(0), low, high)
    )
    print(
        f"| {name} | {of_a_token} | {points} | {np.mean([len(words(text)) for text in texts]):.1f}"
        f" | {share(texts, sources, novel_bigrams)} | {share(texts, sources, absent)} |",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument(
        "models", nargs="+", metavar="NAME=FOLDER", help="the first one under other searches too"
    )
    parser.add_argument("--limit", type=int, help="only the first documents")
    options = parser.parse_args()
    if wrong := [model for model in options.models if "=" not in model]:
        parser.error(
            f"found {wrong[0]!r}; expected NAME=FOLDER, the name of a row and its model folder"
        )
    sources, references = read_pairs(options.corpus, options.limit)
    print(
        f"{len(sources)} documents\n\n| model | loss | ROUGE-1 | ROUGE-2 | ROUGE-L | words |"
        " bigrams that the source lacks | numbers and names that it lacks"
        " |\n|---|---|---|---|---|---|---|---|"
    )
    for place, (name, folder) in enumerate(model.split("=", 1) for model in options.models):
        selected = {} if place else {"- reads four selected sentences": extracts(sources, 4)}
        measure(folder, CHOSEN, {name: sources, **selected}, sources, references)
        for variant, changed in ({} if place else OTHERS).items():
            measure(folder, changed, {variant: sources}, sources, references)
    row("the first three sentences", "", first_sentences(sources), sources, references)
    return 0


if __name__ == "__main__":
    sys.exit(main())
