"""What an abstractive summarizer of documents writes: how good, how long, how much from the source,
how faithful.

    tfsum export runs/bert_sum_abs_news/best served/writer/1 --restore-case
    python -m benchmarks writing served/writer/1 ../shared/data/news/validation.jsonl.gz --limit 200
    python -m benchmarks writing served/writer/1 ../shared/data/news/validation.jsonl.gz --extract 4

Prints, with 95 % intervals (bootstrap over documents): ROUGE of the model, of the first three
sentences, and of the same model fed with the source of another document; the words of each; the
share of the bigrams that the source does not have, and of the numbers and capitalized names that it
does not have. The references' own shares stand beside them. With `--extract N` the model reads the
N sentences that the shipped extractive model selects, in the order of the text; everything is
counted against the whole text all the same.
"""

import argparse
import itertools
import re

import numpy as np

import tfsum
from benchmarks import corpora, results
from tfsum.evaluation.rouge import METRICS, score_each
from tfsum.text.sentence_splitter import SentenceSplitter

WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return WORD.findall(text.lower())


def novel_bigrams(text: str, source: str) -> tuple[int, int]:
    """The bigrams of a text's lines that the source does not have, and all of them."""
    known = set(itertools.pairwise(words(source)))
    pairs = [pair for line in text.split("\n") for pair in itertools.pairwise(words(line))]
    return sum(pair not in known for pair in pairs), len(pairs)


def absent(text: str, source: str) -> tuple[int, int]:
    """The numbers, and the capitalized words that begin no line, that the source does not have; and
    all of them."""
    known = set(words(source))
    found = [
        word.lower()
        for line in text.split("\n")
        for place, word in enumerate(WORD.findall(line))
        if any(map(str.isdigit, word)) or (place and word[0].isupper())
    ]
    return sum(word not in known for word in found), len(found)


def first_sentences(sources: list[str]) -> list[str]:
    """The first three sentences of each text, a line each."""
    split = SentenceSplitter().split(sources)["sentences"].to_list()
    return [b"\n".join(sentences[:3]).decode() for sentences in split]


def scores(texts: list[str], references: list[str]) -> np.ndarray:
    """ROUGE F in percent of each text (N, metrics)."""
    return 100 * score_each(texts, references)[:, :, 2]


def rouge_row(values: np.ndarray, signed: bool = False) -> results.Row:
    """The means of ROUGE, or of its differences."""
    return {metric: results.mean(column, signed) for metric, column in zip(METRICS, values.T)}


def text_row(texts: list[str], references: list[str], sources: list[str]) -> results.Row:
    """ROUGE, words, and what the source lacks."""
    pairs = list(zip(texts, sources))
    return {
        **rouge_row(scores(texts, references)),
        "words": f"{np.mean([len(words(text)) for text in texts]):.1f}",
        "new bigrams, %": results.mean([novel_bigrams(*pair) for pair in pairs]),
        "new numbers and names, %": results.mean([absent(*pair) for pair in pairs]),
    }


OPTIONS = {
    "model": {},
    "corpus": {},
    "--limit": {"type": int, "help": "only the first documents"},
    "--extract": {
        "type": int,
        "metavar": "N",
        "help": "read N sentences, selected by the shipped model",
    },
    "--show": {"type": int, "default": 3, "help": "summaries to show"},
}


def run(options: argparse.Namespace) -> None:
    rows = corpora.read(options.corpus, options.limit)
    sources, references = ([row[field] for row in rows] for field in ("text", "summary"))
    read = sources
    if options.extract:
        extracts = tfsum.load()(sources, sentences=options.extract)
        read = [extract.summary for extract in extracts]
    texts = [answer.summary for answer in tfsum.load(options.model)(read)]
    systems = {
        "model": texts,
        "lead-3": first_sentences(sources),
        # the answer to a text does not depend on the others
        "model, another source": [*texts[1:], texts[0]],
        "references": references,
    }
    results.show({name: text_row(each, references, sources) for name, each in systems.items()})
    found = {name: scores(each, references) for name, each in systems.items()}
    results.show(
        {
            f"model - {name}": rouge_row(found["model"] - found[name], signed=True)
            for name in ("lead-3", "model, another source")
        }
    )
    for text, reference in zip(texts[: options.show], references):
        print(f"\n{text}\n-- reference:\n{reference}")
