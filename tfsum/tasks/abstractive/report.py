"""The report on generated texts: BLEU and ROUGE against their references, with intervals."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from tfsum.evaluation.bleu import score_with_interval
from tfsum.evaluation.bootstrap import bootstrap_intervals
from tfsum.evaluation.rouge import METRICS, score_each


@dataclasses.dataclass
class GenerationReport:
    """Scores of generated texts, from 0 to 100.

    Attributes:
        texts: number of texts.
        bleu: `score`, `low` and `high` (95 % interval) and sacrebleu's `signature`.
        rouge: metric -> `precision`, `recall`, `f`, `low` and `high` (95 % interval of f).
        settings: further settings of the evaluation (words, samples, seed, and the caller's).

    Example:
        >>> report = evaluate_texts(["It rained."], ["It rained."], samples=10)
        >>> report.rouge["rouge1"]["f"]
        100.0
    """

    texts: int
    bleu: dict
    rouge: dict[str, dict]
    settings: dict

    def to_json(self) -> str:
        """The report as a JSON object of one line."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False)

    def to_text(self) -> str:
        """The report as lines: each score with its interval, then the settings."""
        lines = [f"{'BLEU':<12}{_cell(self.bleu, 'score')}"]
        lines += [
            f"{metric + ' F':<12}{_cell(scores, 'f')}" for metric, scores in self.rouge.items()
        ]
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        return "\n".join(
            [*lines, "", f"BLEU is {self.bleu['signature']}", f"{self.texts} texts; {settings}"]
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
        tokenize: the words of BLEU, see `tfsum.evaluation.bleu.score_with_interval`.
        english: the words of ROUGE, see `tfsum.evaluation.rouge.score_pair`.
        samples: of both bootstraps.
        seed: of ROUGE's bootstrap; sacrebleu has its own.
        **settings: further settings to show in the report.

    Returns:
        The report.

    Raises:
        Error: the numbers of texts and references differ, or there are none.

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
    report_settings = {
        "words": "english" if english else "plain",
        "samples": samples,
        "seed": seed,
        **settings,
    }
    return GenerationReport(len(texts), bleu, rouge, report_settings)


def _cell(scores: dict[str, float], name: str) -> str:
    return f"{scores[name]:6.2f} ({scores['low']:.2f}, {scores['high']:.2f})"
