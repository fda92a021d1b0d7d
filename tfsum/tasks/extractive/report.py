"""The report of an evaluation: systems beside each other, with intervals, as a table or as JSON."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tfsum.errors import Error
from tfsum.evaluation.bootstrap import bootstrap_intervals
from tfsum.evaluation.comparison import comparison_lines
from tfsum.evaluation.rouge import METRICS, score_each
from tfsum.tasks.extractive.baselines import lead, oracle, random_pick

Summaries = Sequence[Sequence[str]]


@dataclasses.dataclass
class Report:
    """Scores of every system on the same documents, from 0 to 100.

    Attributes:
        documents: number of documents.
        baseline: the system that `difference` compares with.
        settings: further settings of the evaluation (sentences, seed, samples, words).
        systems: name -> metric -> `precision`, `recall`, `f`, `low`, `high` (95 % interval of f),
            `difference` (mean of f minus the baseline's f of the same document), `difference_low`,
            `difference_high`; and name -> `sentences`, mean number.

    Example:
        >>> report = score_systems(
        ...     {"model": [["It rained."]]}, ["It rained."], baseline="model", samples=10
        ... )
        >>> report.systems["model"]["rouge1"]["f"]
        100.0
    """

    documents: int
    baseline: str
    settings: dict
    systems: dict[str, dict]

    def to_json(self) -> str:
        """The report as a JSON object of one line."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False)

    def to_text(self) -> str:
        """The report as a table: F with its interval for each metric, then the difference to the baseline."""
        lines = comparison_lines(
            self.systems, METRICS, "f", self.baseline, unit=" F", count="sentences"
        )
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        return "\n".join([*lines, "", f"{self.documents} documents; {settings}"])


def score_systems(
    systems: Mapping[str, Summaries],
    references: Sequence[str | Sequence[str]],
    *,
    documents: Summaries | None = None,
    label: Callable[[Sequence[str], str | Sequence[str]], Sequence[float]] | None = None,
    sentences: int = 3,
    baseline: str = "lead",
    english: bool = True,
    samples: int = 1000,
    seed: int = 0,
) -> Report:
    """Scores systems on the same documents, beside baselines made of the documents' own sentences.

    Args:
        systems: name -> (D,) chosen sentences of each document.
        references: (D,) reference summaries, each a list of sentences or a string with one a line.
        documents: (D,) all sentences of each document; given, the baselines `lead` and `random` are added.
        label: oracle labels of a document, `label(sentences, reference)` (`tfsum.data.oracle.greedy_labels`);
            given with `documents`, the baseline `oracle` is added.
        sentences: in a baseline's summary.
        baseline: the system that the others are compared with.
        english: see `tfsum.evaluation.rouge.score_pair`.
        samples: of the bootstrap.
        seed: of the random pick and the bootstrap.

    Returns:
        The report.

    Raises:
        Error: a system has not one summary per reference, a name is taken, or the baseline is not a
            system.

    Example:
        >>> documents = [["It snowed.", "It rained."]]
        >>> report = score_systems(
        ...     {"model": [["It rained."]]},
        ...     ["It rained."],
        ...     documents=documents,
        ...     sentences=1,
        ...     samples=10,
        ... )
        >>> sorted(report.systems)
        ['lead', 'model', 'random']
    """
    systems = dict(systems)
    if documents is not None:
        added = _baselines(documents, references, label, sentences, seed)
        taken = sorted(set(systems) & set(added))
        if taken:
            raise Error(
                f"evaluate: the name {taken[0]!r} is a baseline's; give the system another name"
            )
        systems |= added
    if baseline not in systems:
        raise Error(
            f"evaluate: baseline {baseline!r} is none of the systems ({', '.join(systems) or 'none given'}); "
            "give it as a system, or give the documents"
        )
    _check_sizes(systems, references)
    scores = {
        name: score_each(summaries, references, english) for name, summaries in systems.items()
    }
    settings = {
        "sentences": sentences,
        "words": "english" if english else "plain",
        "samples": samples,
        "seed": seed,
    }
    table = _table(scores, baseline, samples, seed)
    for name, summaries in systems.items():
        table[name]["sentences"] = float(np.mean([len(summary) for summary in summaries]))
    return Report(len(references), baseline, settings, table)


def _baselines(
    documents: Summaries, references: Sequence, label: Callable | None, sentences: int, seed: int
) -> dict[str, list]:
    added = {"lead": lead(documents, sentences), "random": random_pick(documents, sentences, seed)}
    if label is not None:
        pairs = zip(documents, references, strict=True)
        added["oracle"] = oracle(
            documents, [label(document, reference) for document, reference in pairs], sentences
        )
    return added


def _check_sizes(systems: Mapping[str, Summaries], references: Sequence) -> None:
    for name, summaries in systems.items():
        if len(summaries) != len(references):
            raise Error(
                f"evaluate: {name!r} has {len(summaries)} summaries for {len(references)} references"
            )


def _table(
    scores: dict[str, np.ndarray], baseline: str, samples: int, seed: int
) -> dict[str, dict]:
    """Means, intervals and paired differences of (D, metrics, P R F) scores of each system."""
    f = 100 * np.stack(
        [values[:, :, 2] for values in scores.values()], axis=1
    )  # (D, systems, metrics)
    paired = f - 100 * scores[baseline][:, None, :, 2]
    columns = np.stack([f, paired], axis=-1)
    (means, (low, high)) = columns.mean(0), bootstrap_intervals(columns, samples, seed)
    table: dict[str, dict] = {}
    for i, (name, values) in enumerate(scores.items()):
        precision, recall = 100 * values[:, :, :2].mean(0).T
        table[name] = {
            metric: {
                "precision": float(precision[j]),
                "recall": float(recall[j]),
                "f": float(means[i, j, 0]),
                "low": float(low[i, j, 0]),
                "high": float(high[i, j, 0]),
                "difference": float(means[i, j, 1]),
                "difference_low": float(low[i, j, 1]),
                "difference_high": float(high[i, j, 1]),
            }
            for j, metric in enumerate(METRICS)
        }
    return table
