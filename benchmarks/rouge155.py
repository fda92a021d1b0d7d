"""How far our ROUGE is from ROUGE-1.5.5's, pair by pair, and what the differences come from.

    python benchmarks/rouge155.py ../shared/parity/rouge155.json

The file holds the scores that the perl program gave to pairs of summaries and references. Rows:

    ours                what `tfsum evaluate` computes: rouge-score with its stemmer, which is
    NLTK's, see below without NLTK's      Porter's stemmer as he published it in 1980, without the
    rules that NLTK adds and rounded         precision and recall rounded to 5 digits, F computed of
    these, as ROUGE-1.5.5 does union LCS as perl   and of two longest common subsequences the one
    that ROUGE-1.5.5 takes (ROUGE-L alone) brackets            and -lrb- is a bracket, as where the
    originals write the files for ROUGE-1.5.5

    irregular words     and the irregular words that occur here, which ROUGE-1.5.5 looks up in
    WordNet 2.0 before it
                        stems a word: `children` is `child`

Each row adds to the one above. The last lines compare the score of a corpus: ROUGE-1.5.5
prints the mean of 1,000 bootstrap means, not the mean.
"""

import argparse
import collections
import json
import pathlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from nltk.stem import porter
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import Tokenizer

from tfsum.evaluation.rouge import METRICS, score_pair

NAMES = {"1": "rouge1", "2": "rouge2", "l": "rougeLsum"}
BREAK = "<q>"
BRACKET = re.compile("-[lr][rcs]b-", re.IGNORECASE)
Scores = dict[str, tuple[float, ...]]


IRREGULAR = {
    "been": "be",
    "better": "good",
    "children": "child",
    "geese": "goose",
    "mice": "mouse",
    "oxen": "ox",
    "were": "be",
}


class Porter1980(Tokenizer):
    """The words of ROUGE-1.5.5: those of more than 3 letters irregular ones of a table, or
    stemmed."""

    def __init__(self, irregular: dict[str, str]) -> None:
        self._stemmer, self._irregular = (
            porter.PorterStemmer(porter.PorterStemmer.ORIGINAL_ALGORITHM),
            irregular,
        )

    def tokenize(self, text: str) -> list[str]:
        return [self._root(word) for word in re.sub("[^a-z0-9]+", " ", text.lower()).split()]

    def _root(self, word: str) -> str:
        if len(word) <= 3:
            return word
        return self._irregular.get(word) or self._stemmer.stem(word)


STEMMED = Porter1980({})


def ours(summary: list[str], reference: list[str]) -> Scores:
    return score_pair(summary, reference)


def published_stemmer(
    summary: list[str], reference: list[str], words: Tokenizer = STEMMED
) -> Scores:
    scores = RougeScorer(list(METRICS), tokenizer=words).score(
        "\n".join(reference), "\n".join(summary)
    )
    return {name: tuple(score) for name, score in scores.items()}


def rounded(summary: list[str], reference: list[str], words: Tokenizer = STEMMED) -> Scores:
    return {
        name: _rounded(*score[:2])
        for name, score in published_stemmer(summary, reference, words).items()
    }


def perl_lcs(summary: list[str], reference: list[str], words: Tokenizer = STEMMED) -> Scores:
    sides = [[words.tokenize(line) for line in side] for side in (summary, reference)]
    return {**rounded(summary, reference, words), "rougeLsum": _union_lcs(*sides)}


def _rounded(precision: float, recall: float) -> tuple[float, float, float]:
    precision, recall = round(precision, 5), round(recall, 5)
    both = precision + recall
    return precision, recall, round(2 * precision * recall / both, 5) if both else 0.0


def _union_lcs(summary: list[list[str]], reference: list[list[str]]) -> tuple[float, ...]:
    """Summary-level ROUGE-L: of each reference sentence the words in an LCS with any sentence, none
    counted twice."""
    left = [
        collections.Counter(word for line in side for word in line) for side in (summary, reference)
    ]
    hits = 0
    for line in reference:
        places = set().union(*(_lcs_places(line, other) for other in summary))
        for place in sorted(places):
            if all(counts[line[place]] for counts in left):
                hits += 1
                for counts in left:
                    counts[line[place]] -= 1
    sizes = [sum(map(len, side)) for side in (summary, reference)]
    return _rounded(*(hits / size if size else 0.0 for size in sizes))


def _lcs_places(line: Sequence[str], other: Sequence[str]) -> set[int]:
    """The places in `line` of its LCS with `other`; of two the back-trace goes up, to an earlier
    word of `line`."""
    table = np.zeros((len(line) + 1, len(other) + 1), int)
    for i, word in enumerate(line):
        for j, another in enumerate(other):
            table[i + 1, j + 1] = (
                table[i, j] + 1 if word == another else max(table[i, j + 1], table[i + 1, j])
            )
    places, i, j = set(), len(line), len(other)
    while i and j:
        if line[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            places.add(i)
        elif table[i - 1, j] >= table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return places


def brackets(summary: list[str], reference: list[str], words: Tokenizer = STEMMED) -> Scores:
    summary, reference = (
        [BRACKET.sub(" ", line) for line in side] for side in (summary, reference)
    )
    return perl_lcs(summary, reference, words)


def irregular(summary: list[str], reference: list[str]) -> Scores:
    return brackets(summary, reference, Porter1980(IRREGULAR))


ROWS: dict[str, Callable[[list[str], list[str]], Scores]] = {
    "ours": ours,
    "without NLTK's": published_stemmer,
    "and rounded": rounded,
    "union LCS as perl": perl_lcs,
    "brackets": brackets,
    "irregular words": irregular,
}


def differences(
    pairs: list[dict[str, Any]], score: Callable[[list[str], list[str]], Scores]
) -> np.ndarray:
    """Ours less theirs: (pairs, metrics, P R F)."""
    found = []
    for pair in pairs:
        scores = score(pair["candidate"].split(BREAK), pair["reference"].split(BREAK))
        found.append(
            [
                np.subtract(scores[name], [pair[key][part] for part in "prf"])
                for key, name in NAMES.items()
            ]
        )
    return np.array(found)


def bootstrap_mean(values: np.ndarray, samples: int = 1000) -> float:
    """The mean of the bootstrap means that ROUGE-1.5.5 draws: perl's numbers, the pairs in the
    order of their names.

    The names of the files are sorted as texts, then the numbers that they get, also as texts.
    """
    order = sorted(range(len(values)), key=str)
    values = values[order][sorted(range(len(values)), key=lambda number: str(number + 1))]
    means = []
    for seed in range(samples):
        state = (seed << 16) + 0x330E
        drawn = []
        for _ in values:
            state = (0x5DEECE66D * state + 11) % 2**48
            drawn.append(int(state / 2**48 * len(values)))
        means.append(values[drawn].mean())
    return float(np.mean(means))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=pathlib.Path, help="rouge155.json")
    stored = json.loads(parser.parse_args().file.read_text())
    pairs = stored["pairs"]
    print(
        f"{len(pairs)} pairs; F in points: pairs that differ by more than 0.001, mean of ours less"
        " theirs, largest"
    )
    print(f"{'':20}" + "".join(f"{name:>26}" for name in METRICS))
    for row, score in ROWS.items():
        wrong = 100 * differences(pairs, score)[:, :, 2]
        cells = [
            f"{(abs(column) > 1e-3).sum():8} {column.mean():+8.3f} {abs(column).max():8.3f}"
            for column in wrong.T
        ]
        print(f"{row:20}" + "".join(f"{cell:>26}" for cell in cells))
    print("\nthe corpus: F in points")
    print(f"{'':44}" + "".join(f"{name:>12}" for name in METRICS))
    theirs = np.array([[pair[key]["f"] for key in NAMES] for pair in pairs])
    mine = np.array(
        [
            [
                ours(pair["candidate"].split(BREAK), pair["reference"].split(BREAK))[name][2]
                for name in METRICS
            ]
            for pair in pairs
        ]
    )
    printed = [stored["corpus"][f"rouge_{key}_f_score"] for key in NAMES]
    for name, values in {
        "ROUGE-1.5.5 prints": printed,
        "bootstrap mean of its pairs": map(bootstrap_mean, theirs.T),
        "mean of its pairs": theirs.mean(0),
        "ours: mean of our pairs": mine.mean(0),
    }.items():
        print(f"{name:44}" + "".join(f"{100 * value:12.3f}" for value in values))


if __name__ == "__main__":
    main()
