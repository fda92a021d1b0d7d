"""What the parts of an abstractive summarizer contribute: each model, and the best one under other searches.

    python benchmarks/writing_parts.py ../shared/data/news/validation.jsonl.gz --limit 100 \
        "the recipes=runs/bert_sum_abs_news/best" "no gap sentences=runs/no_gaps/best"

Exports each model folder with the options of training/bert_sum_abs_news.toml, and the first one also without each of
them and with greedy search; answers the same documents with each, and with the first one also what the shipped
extractive model selects of them; prints a table in Markdown: the loss of a token on the validation data (from the
folder's training run), ROUGE with 95 % intervals (bootstrap over documents), words, the share of the bigrams and of
the numbers and names that the source does not have, and documents per second.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from writing import absent, extracts, first_sentences, novel_bigrams, share, words

import tfsum
from tfsum.data.readers import read_corpus
from tfsum.evaluation.bootstrap import bootstrap_intervals
from tfsum.evaluation.rouge import score_each

COMMAND = "import sys; from tfsum.cli.main import main; sys.exit(main())"
TEXT = ["--source-names", "--restore-case"]
BEAM = ["--width", "5", "--length-penalty", "0.95"]
TRIGRAMS, MINIMUM = ["--no-repeat-ngram", "3"], ["--min-length", "58"]
CHOSEN = [*TEXT, *BEAM, *TRIGRAMS, *MINIMUM]
OTHERS = {  # what the first model is exported with, too
    "- trigrams may come twice": [*TEXT, *BEAM, "--no-repeat-ngram", "0", *MINIMUM],
    "- no minimum length": [*TEXT, *BEAM, *TRIGRAMS],
    "- greedy, no minimum length": [*TEXT, "--search", "greedy", *TRIGRAMS],
    "- names and numbers from the vocabulary": ["--restore-case", *BEAM, *TRIGRAMS, *MINIMUM],
}


def loss(folder: pathlib.Path) -> str:
    """The best validation loss of the training run that a model folder is of."""
    history = folder.parent / "history.json"
    return f"{json.loads(history.read_text())['best']['loss']:.2f}" if history.exists() else ""


def measure(folder: pathlib.Path, options: list[str], reads: dict[str, list[str]], sources: list[str],
            references: list[str]) -> None:
    """Exports a model folder, and prints a row for each name and what the model reads under it."""
    with tempfile.TemporaryDirectory() as served:
        subprocess.run([sys.executable, "-c", COMMAND, "export", str(folder), f"{served}/writer/1", *options],
                       check=True, stdout=subprocess.DEVNULL)
        write = tfsum.load(f"{served}/writer/1")
        write(sources[:1])  # the first call prepares
        for name, read in reads.items():
            begin = time.monotonic()
            texts = [answer.summary for answer in write(read)]
            rate = len(texts) / (time.monotonic() - begin)
            print(cells(name, loss(folder), texts, sources, references, f"{rate:.2f}"), flush=True)


def cells(name: str, of_a_token: str, texts: list[str], sources: list[str], references: list[str], rate: str) -> str:
    """A row of the table."""
    scores = 100 * score_each(texts, references)[:, :, 2]
    low, high = bootstrap_intervals(scores, 1000, 0)
    rouge = " | ".join(f"{mean:.1f} ({a:.1f} to {b:.1f})" for mean, a, b in zip(scores.mean(0), low, high))
    length = np.mean([len(words(text)) for text in texts])
    return (f"| {name} | {of_a_token} | {rouge} | {length:.1f} | {share(texts, sources, novel_bigrams)} | "
            f"{share(texts, sources, absent)} | {rate} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("models", nargs="+", metavar="NAME=FOLDER", help="the first one under other searches too")
    parser.add_argument("--limit", type=int, help="only the first documents")
    options = parser.parse_args()
    documents = list(itertools.islice(read_corpus(options.corpus), options.limit))
    sources, references = ([document[name] for document in documents] for name in ("text", "summary"))
    print(f"{len(sources)} documents\n\n| model | loss | ROUGE-1 | ROUGE-2 | ROUGE-L | words | bigrams that the source "
          "lacks | numbers and names that it lacks | documents a second |\n|---|---|---|---|---|---|---|---|---|")
    for place, (name, folder) in enumerate(model.split("=", 1) for model in options.models):
        selected = {} if place else {"- reads four selected sentences": extracts(sources, 4)}
        measure(pathlib.Path(folder), CHOSEN, {name: sources, **selected}, sources, references)
        for variant, chosen in ({} if place else OTHERS).items():
            measure(pathlib.Path(folder), chosen, {variant: sources}, sources, references)
    print(cells("the first three sentences", "", first_sentences(sources), sources, references, ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
