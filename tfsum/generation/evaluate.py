"""A model that generates texts measured on pairs of texts: BLEU and ROUGE, with intervals."""

import dataclasses
import itertools
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from tfsum.data.readers import Corpus, corpus_name, read_pairs
from tfsum.errors import DataError, Error
from tfsum.evaluation.batched import batched
from tfsum.evaluation.bleu import score_with_interval
from tfsum.evaluation.comparison import Report, bootstrap_intervals
from tfsum.evaluation.rouge import METRICS, score_each
from tfsum.generation.generator import Generator


@dataclasses.dataclass
class GenerationReport(Report):
    """Scores of generated texts, from 0 to 100.

    Attributes:
        texts: Number of texts.
        bleu: `score`, `low` and `high` (95 % interval) and sacrebleu's `signature`.
        rouge: Metric -> `precision`, `recall`, `f`, `low` and `high` (95 % interval of f).
        settings: Further settings of the evaluation (words, samples, seed, and the caller's).

    Example:
        >>> report = evaluate_texts(["It rained."], ["It rained."], samples=10)
        >>> report.rouge["rouge1"]["f"]
        100.0
    """

    texts: int
    bleu: dict
    rouge: dict[str, dict]
    settings: dict

    def to_text(self) -> str:
        """The report as lines: each score with its interval, then the settings."""
        lines = [f"{'BLEU':<12}{_cell(self.bleu, 'score')}"]
        lines += [
            f"{metric + ' F':<12}{_cell(scores, 'f')}" for metric, scores in self.rouge.items()
        ]
        return "\n".join(
            [
                *lines,
                "",
                f"BLEU is {self.bleu['signature']}",
                f"{self.texts} texts; {self.settings_line()}",
            ]
        )


def evaluate_texts(
    texts: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: str = "13a",
    english: bool = True,
    samples: int = 1000,
    seed: int = 0,
    **settings: Any,
) -> GenerationReport:
    """Scores generated texts, one reference each.

    Args:
        texts: (N,) generated texts.
        references: (N,) references; ROUGE takes a line for a sentence.
        tokenize: The words of BLEU, see `tfsum.evaluation.bleu.score_with_interval`.
        english: The words of ROUGE, see `tfsum.evaluation.rouge.score_pair`.
        samples: Samples of both bootstraps.
        seed: Seed of ROUGE's bootstrap; sacrebleu has its own.
        **settings: Further settings to show in the report.

    Returns:
        The report.

    Raises:
        Error: Numbers of texts and references differ, or there are none.

    Example:
        >>> print(
        ...     evaluate_texts(["It rained."], ["It rained."], samples=10).to_text().splitlines()[1]
        ... )
        rouge1 F    100.00 (100.00, 100.00)
    """
    bleu = score_with_interval(texts, references, samples, tokenize)
    scores = 100 * score_each(texts, references, english)  # (N, metrics, precision recall F)
    means, (low, high) = scores.mean(0), bootstrap_intervals(scores[:, :, 2], samples, seed)
    rouge = {
        metric: {
            "precision": float(means[i, 0]),
            "recall": float(means[i, 1]),
            "f": float(means[i, 2]),
            "low": float(low[i]),
            "high": float(high[i]),
        }
        for i, metric in enumerate(METRICS)
    }
    words = "english" if english else "plain"
    settings = {"words": words, "samples": samples, "seed": seed, **settings}
    return GenerationReport(len(texts), bleu, rouge, settings)


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

    read = read_pairs(corpus, targets, source=source, target=target)
    pairs = [
        (text, "\n".join(expected.split("\n")[:target_lines]))
        for text, expected in itertools.islice(read, limit)
    ]
    pairs = _whole(pairs, corpus_name(corpus))
    answers = [
        written for group in batched(pairs) for written in generator([text for text, _ in group])
    ]
    return evaluate_texts(
        [written.summary for written in answers],
        [expected for _, expected in pairs],
        tokenize=tokenize,
        english=words == "english",
        samples=samples,
        seed=seed,
        cut=sum(written.coverage < 1 for written in answers),
        unended=sum(not written.ended for written in answers),
    )


def _whole(pairs: list[tuple[str, str]], name: str) -> list[tuple[str, str]]:
    """The pairs that have both texts; the others are counted on standard error."""
    whole = [pair for pair in pairs if all(pair)]
    if len(whole) < len(pairs):
        print(
            f"tfsum: {name}: left out {len(pairs) - len(whole)} pairs without a text",
            file=sys.stderr,
        )

    if not whole:
        raise DataError(
            f"{name}: no pair has both texts; name their columns with source and target (--source"
            " and --target)"
        )
    return whole
