"""A model that generates texts measured on pairs of texts: BLEU and ROUGE, with intervals."""

import dataclasses
import itertools
import pathlib
import sys

import numpy as np

from tfsum.data.preparation import batched
from tfsum.data.readers import Corpus, corpus_name, read_pairs
from tfsum.errors import DataError, Error, require
from tfsum.evaluation.bleu import score_with_interval
from tfsum.evaluation.comparison import Report, bootstrap_intervals
from tfsum.evaluation.rouge import METRICS, WORDS, score_each
from tfsum.generation.generator import Generator

KEYS = ("precision", "recall", "f", "low", "high")


@dataclasses.dataclass
class GenerationReport(Report):
    """Scores of generated texts, from 0 to 100.

    Attributes:
        texts: Number of texts.
        bleu: `score`, `low` and `high` (95 % interval) and sacrebleu's `signature`.
        rouge: Metric -> `precision`, `recall`, `f`, `low` and `high` (95 % interval of f).
        settings: Further settings of the evaluation (words, samples, seed, and the caller's).

    Example:
        >>> bleu = {"score": 50.0, "low": 40.0, "high": 60.0, "signature": "tok:13a"}
        >>> print(GenerationReport(1, bleu, {}, {"seed": 0}).to_text().splitlines()[0])
        BLEU         50.00 (40.00, 60.00)
    """

    texts: int
    bleu: dict
    rouge: dict[str, dict]
    settings: dict

    def to_text(self) -> str:
        """The report as lines: each score with its interval, then the settings."""
        rouge = [
            f"{metric + ' F':<12}{_cell(scores, 'f')}" for metric, scores in self.rouge.items()
        ]
        return "\n".join(
            [
                f"{'BLEU':<12}{_cell(self.bleu, 'score')}",
                *rouge,
                "",
                f"BLEU is {self.bleu['signature']}",
                f"{self.texts} texts; {self.settings_line()}",
            ]
        )


def _cell(scores: dict[str, float], name: str) -> str:
    return f"{scores[name]:6.2f} ({scores['low']:.2f}, {scores['high']:.2f})"


def evaluate(
    generator: Generator,
    corpus: Corpus,
    *,
    targets: str | pathlib.Path | None = None,
    source: str = "source",
    target: str = "target",
    target_lines: int | None = None,
    tokenize: str = "13a",
    words: str = "english",
    limit: int | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> GenerationReport:
    """Scores an abstractive model.

    Args:
        generator: The loaded model.
        corpus: A file with both texts, or rows of them, or beside `targets` a file of sources, one
            a line.
        targets: A file of as many targets.
        source, target: Names of the columns, see `tfsum.data.readers.read_pairs`.
        target_lines: The first lines of a target that are kept; None is as in the model's recipe,
            else all.
        tokenize: The words of BLEU, as sacrebleu names its tokenizers.
        words: Words of ROUGE: "english" (stemmed) or "plain".
        limit: Number of pairs to read, from the first; None reads all.
        samples: Samples of both bootstraps.
        seed: Seed of ROUGE's bootstrap.

    Returns:
        The report, with the numbers of sources cut and of answers that reached the maximum length;
        the number of pairs left out is written to standard error.

    Raises:
        DataError: Corpus cannot be read, or no pair has both texts.
        Error: `target_lines` is below 1.
    """
    if target_lines is None:
        target_lines = generator.description.get("recipe", {}).get("data", {}).get("target_lines")
    elif target_lines < 1:
        raise Error(f"evaluate: target_lines is {target_lines}; expected 1 or more")

    read = itertools.islice(read_pairs(corpus, targets, source=source, target=target), limit)
    pairs = [(text, "\n".join(expected.split("\n")[:target_lines])) for text, expected in read]

    whole, name = [pair for pair in pairs if all(pair)], corpus_name(corpus)
    if len(whole) < len(pairs):
        left_out = len(pairs) - len(whole)
        print(f"tfsum: {name}: left out {left_out} pairs without a text", file=sys.stderr)
    require(
        whole,
        f"{name}: no pair has both texts; name their columns with source and target (--source"
        " and --target)",
        DataError,
    )

    answers = [
        written
        for group in batched(whole, unit="documents")
        for written in generator([text for text, _ in group])
    ]

    texts = [written.summary for written in answers]
    references = [expected for _, expected in whole]

    english = words == "english"
    scores = 100 * score_each(texts, references, english)  # (N, metrics, precision recall F)
    low, high = bootstrap_intervals(scores[:, :, 2], samples, seed)
    rows = np.column_stack([scores.mean(0), low, high]).tolist()
    return GenerationReport(
        len(texts),
        score_with_interval(texts, references, samples, tokenize),
        {metric: dict(zip(KEYS, row)) for metric, row in zip(METRICS, rows)},
        {
            "words": WORDS[english],
            "samples": samples,
            "seed": seed,
            "cut": sum(written.coverage < 1 for written in answers),
            "unended": sum(not written.ended for written in answers),
        },
    )
