"""What an abstractive summarizer of documents writes: how good, how long, how much from the source,
how faithful.

    tfsum export runs/bert_sum_abs_news/best served/writer/1 --source-names --restore-case
    python benchmarks/writing.py served/writer/1 ../shared/data/news/validation.jsonl.gz --limit 200
    python benchmarks/writing.py served/writer/1 ../shared/data/news/validation.jsonl.gz --extract 4

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
import sys

import numpy as np

import tfsum
from tfsum.data.readers import read_corpus
from tfsum.evaluation.comparison import bootstrap_intervals
from tfsum.evaluation.rouge import METRICS, score_each
from tfsum.text.sentence_splitter import SentenceSplitter

WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return WORD.findall(text.lower())


def novel_bigrams(text: str, source: str) -> tuple[int, int]:
    """The bigrams of a text's lines that the source does not have, and all of them."""
    read = words(source)
    known = set(zip(read, read[1:]))
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
    return [
        "\n".join(sentence.decode() for sentence in sentences[:3])
        for sentences in SentenceSplitter().split(sources)["sentences"].to_list()
    ]


def extracts(sources: list[str], sentences: int) -> list[str]:
    """What the shipped extractive model selects of each text, in the order of the text, a line
    each."""
    return [answer.summary for answer in tfsum.load()(sources, sentences=sentences)]


def share(texts: list[str], sources: list[str], count) -> str:
    """A share of all that is counted, and its interval."""
    counts = np.array([count(text, source) for text, source in zip(texts, sources)], float)
    random = np.random.default_rng(0)
    samples = counts[random.integers(0, len(counts), (1000, len(counts)))].sum(1)
    shares = 100 * samples[:, 0] / np.maximum(samples[:, 1], 1)
    low, high = np.percentile(shares, [2.5, 97.5])
    return (
        f"{100 * counts[:, 0].sum() / max(counts[:, 1].sum(), 1):.1f} % ({low:.1f} to {high:.1f})"
    )


def read_pairs(corpus: str, limit: int | None) -> tuple[list[str], list[str]]:
    """The texts and the summaries of a corpus's first documents."""
    documents = list(itertools.islice(read_corpus(corpus), limit))
    return [document["text"] for document in documents], [
        document["summary"] for document in documents
    ]


def rouge(texts: list[str], references: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ROUGE F of each text (N, metrics) in points, and the ends of the intervals of their means
    (metrics,)."""
    scores = 100 * score_each(texts, references)[:, :, 2]
    return scores, *bootstrap_intervals(scores, 1000, 0)


def row(name: str, texts: list[str], references: list[str]) -> np.ndarray:
    """Prints the scores of texts, and returns those of each."""
    scores, low, high = rouge(texts, references)
    cells = "  ".join(
        f"{metric} {mean:.2f} ({a:.2f} to {b:.2f})"
        for metric, mean, a, b in zip(METRICS, scores.mean(0), low, high)
    )
    print(f"{name:<28}{cells}  {np.mean([len(words(text)) for text in texts]):.1f} words")
    return scores


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("corpus")
    parser.add_argument("--limit", type=int, help="only the first documents")
    parser.add_argument(
        "--extract",
        type=int,
        metavar="N",
        help="read only N sentences, selected by the shipped model",
    )
    parser.add_argument("--show", type=int, default=3, help="summaries to show")
    options = parser.parse_args()
    sources, references = read_pairs(options.corpus, options.limit)
    read = extracts(sources, options.extract) if options.extract else sources
    texts = [answer.summary for answer in tfsum.load(options.model)(read)]
    shuffled = [*texts[1:], texts[0]]  # the answer to a text does not depend on the others
    lead = first_sentences(sources)
    model = row("model", texts, references)
    first = row("lead-3", lead, references)
    control = row("model, another source", shuffled, references)
    for name, other in (("lead-3", first), ("another source", control)):
        low, high = bootstrap_intervals(model - other, 1000, 0)
        print(
            f"model - {name}: "
            + "  ".join(
                f"{metric} {mean:+.2f} ({a:+.2f} to {b:+.2f})"
                for metric, mean, a, b in zip(METRICS, (model - other).mean(0), low, high)
            )
        )
    for name, written in (("model", texts), ("references", references), ("lead-3", lead)):
        print(
            f"{name}: bigrams that the source lacks {share(written, sources, novel_bigrams)};"
            f" numbers and names that it lacks {share(written, sources, absent)}"
        )
    for text, reference in zip(texts[: options.show], references):
        print(f"\n{text}\n-- reference:\n{reference}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
