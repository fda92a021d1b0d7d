"""The report of an evaluation: systems and the baselines lead, random and oracle beside each other,
with intervals, as a table or as JSON."""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tfsum.errors import Error
from tfsum.evaluation.comparison import Report, bootstrap_intervals, comparison_lines
from tfsum.evaluation.readability import fault_shares, repeated_pairs
from tfsum.evaluation.rouge import METRICS, score_each

Summaries = Sequence[Sequence[str]]

PLACES = {"1": range(1), "2": range(1, 2), "3": range(2, 3), "4-10": range(3, 10)}  # and later


@dataclasses.dataclass
class ExtractiveReport(Report):
    """Scores of every system on the same documents, from 0 to 100.

    Attributes:
        documents: Number of documents.
        baseline: The system that `difference` compares with.
        settings: Further settings of the evaluation (sentences, seed, samples, words).
        systems: Name -> metric -> `precision`, `recall`, `f`, `low`, `high` (95 % interval of f),
            `difference` (mean of f minus the baseline's f of the same document), `difference_low`,
            `difference_high`; name -> `sentences` and `words`, mean numbers, and `repeated`, the
            share of the pairs of words that a summary has already; and, with the documents, name ->
            `faults`, see `tfsum.evaluation.readability.fault_shares`, and `places`, the share of
            the chosen sentences at each of `PLACES` of the document and "later".

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

    def to_text(self) -> str:
        """Returns the report as a table: F with intervals, then the differences."""
        lines = comparison_lines(
            self.systems, METRICS, "f", self.baseline, unit=" F", count="sentences"
        )
        if any("faults" in system for system in self.systems.values()):
            lines += ["", "share of the summaries with a fault, and words of a summary"]
            for name, system in self.systems.items():
                lines.append(f"{name:7s} {_percent(system['faults'])}; {system['words']:.1f} words")
            lines += ["", "places of the sentences, and pairs of words that a summary repeats"]
            for name, system in self.systems.items():
                repeated = _percent({"repeated": system["repeated"]})
                lines.append(f"{name:7s} {_percent(system['places'])}; {repeated}")
        return "\n".join([*lines, "", f"{self.documents} documents; {self.settings_line()}"])


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
) -> ExtractiveReport:
    """Scores systems on the same documents, beside baselines made of the documents' own sentences.

    Args:
        systems: Name -> (D,) chosen sentences of each document.
        references: (D,) reference summaries, each a list of sentences or a string with one a line.
        documents: (D,) all sentences of each document; given, the baselines `lead` and `random` are
            added.
        label: Oracle labels of a document, `label(sentences, reference)`
            (`tfsum.data.documents.oracle.greedy_labels`); given with `documents`, the baseline
            `oracle` is added.
        sentences: Number of sentences in a baseline's summary.
        baseline: The system that the others are compared with.
        english: Whether words are stemmed, as in `tfsum.evaluation.rouge.score_pair`.
        samples: Samples of the bootstrap.
        seed: Seed of the random pick and the bootstrap.

    Returns:
        The report.

    Raises:
        Error: A system has not one summary per reference, a name is taken, or the baseline is not a
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
        added = {
            "lead": lead(documents, sentences),
            "random": random_pick(documents, sentences, seed),
        }
        if label is not None:
            added["oracle"] = oracle(documents, list(map(label, documents, references)), sentences)
        if taken := sorted(set(systems) & set(added)):
            raise Error(
                f"evaluate: the name {taken[0]!r} is a baseline's; give the system another name"
            )
        systems |= added

    if baseline not in systems:
        raise Error(
            f"evaluate: baseline {baseline!r} is none of the systems"
            f" ({', '.join(systems) or 'none given'}); give it as a system, or give the documents"
        )

    for name, summaries in systems.items():
        if len(summaries) != len(references):
            raise Error(
                f"evaluate: {name!r} has {len(summaries)} summaries for {len(references)}"
                " references; expected one summary for each reference, in the same order"
            )

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
        words = [sum(len(sentence.split()) for sentence in summary) for summary in summaries]
        table[name]["words"] = float(np.mean(words))
        table[name]["repeated"] = float(np.mean([*map(repeated_pairs, summaries)]))
        if documents is not None:
            places = places_of(summaries, documents)
            table[name]["faults"] = fault_shares(summaries, follows(places))
            table[name]["places"] = _shares_of(places)

    return ExtractiveReport(len(references), baseline, settings, table)


def _table(
    scores: dict[str, np.ndarray], baseline: str, samples: int, seed: int
) -> dict[str, dict]:
    """Means, intervals and paired differences of (D, metrics, P R F) scores of each system."""
    # (D, systems, metrics)
    f = 100 * np.stack([values[:, :, 2] for values in scores.values()], axis=1)
    paired = f - 100 * scores[baseline][:, None, :, 2]
    columns = np.stack([f, paired], axis=-1)
    means, (low, high) = columns.mean(0), bootstrap_intervals(columns, samples, seed)
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


def places_of(summaries: Summaries, documents: Summaries) -> list[list[int]]:
    """The places of chosen sentences in their documents, from 0; -1 for one that is not there.

    Args:
        summaries: (D,) chosen sentences of each document, whole or without a dateline.
        documents: (D,) all sentences of each document.

    Example:
        >>> places_of([["It rained.", "It froze."]], [["It rained.", "It snowed.", "It froze."]])
        [[0, 2]]
    """
    return [
        [
            next((i for i, whole in enumerate(document) if whole.endswith(sentence)), -1)
            for sentence in summary
        ]
        for summary, document in zip(summaries, documents, strict=True)
    ]


def follows(places: Sequence[Sequence[int]]) -> list[list[bool]]:
    """Tells of each chosen sentence whether the one before it in the document is chosen too.

    Args:
        places: (D,) places of the chosen sentences, see `places_of`.

    Returns:
        (D,) lists of flags, True also for a document's first sentence.

    Example:
        >>> follows([[0, 2, 3]])
        [[True, False, True]]
    """
    return [[place == 0 or place - 1 in row for place in row] for row in places]


def _shares_of(places: Sequence[Sequence[int]]) -> dict[str, float]:
    """The share of the sentences at each of `PLACES`, and of those later."""
    flat = [place for row in places for place in row if place >= 0]
    counts = {name: sum(place in held for place in flat) for name, held in PLACES.items()}
    counts["later"] = len(flat) - sum(counts.values())
    return {name: count / max(1, len(flat)) for name, count in counts.items()}


def _percent(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())


def lead(documents: Summaries, sentences: int = 3) -> list[list[str]]:
    """The first sentences of each document.

    Args:
        documents: (D,) lists of sentences.
        sentences: Number of sentences.

    Returns:
        (D,) lists of at most that many sentences.

    Example:
        >>> lead([["It rained.", "The bridge was closed.", "It snowed."]], sentences=2)
        [['It rained.', 'The bridge was closed.']]
    """
    return [list(document[:sentences]) for document in documents]


def random_pick(documents: Summaries, sentences: int = 3, seed: int = 0) -> list[list[str]]:
    """Sentences drawn without replacement, in the order of the document.

    Args:
        documents: (D,) lists of sentences.
        sentences: Number of sentences.
        seed: Seed of the draw, which depends on the document alone, not on its place in the
            corpus.

    Returns:
        (D,) lists of at most that many sentences.

    Example:
        >>> random_pick([["It rained.", "It snowed."]], sentences=2)
        [['It rained.', 'It snowed.']]
    """
    picked = []
    for document in documents:
        content = "\n".join(document).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(content, digest_size=8).digest()
        random = np.random.default_rng([seed, int.from_bytes(digest, "little")])
        places = random.permutation(len(document))[:sentences]
        picked.append([document[i] for i in sorted(places.tolist())])
    return picked


def oracle(
    documents: Summaries, labels: Sequence[Sequence[float]], sentences: int = 3
) -> list[list[str]]:
    """The labelled sentences, the upper bound of the training labels.

    Args:
        documents: (D,) lists of sentences.
        labels: (D,) labels of them, as `tfsum.data.documents.oracle` makes (greedy or soft).
        sentences: The highest labels kept; ties go to the earlier sentence, and a label of 0 is
            never kept.

    Returns:
        (D,) lists of at most that many sentences, in the order of the document.

    Raises:
        Error: A document has not one label per sentence.

    Example:
        >>> oracle([["It rained.", "The bridge was closed."]], [[0, 1]])
        [['The bridge was closed.']]
    """
    chosen = []
    for number, (document, row) in enumerate(zip(documents, labels, strict=True)):
        if len(document) != len(row):
            raise Error(
                f"oracle: document {number} has {len(document)} sentences and {len(row)} labels; "
                "expected a label for each"
            )
        best = np.argsort(-np.asarray(row, np.float64), kind="stable")[:sentences]
        chosen.append([document[i] for i in sorted(best.tolist()) if row[i] > 0])

    return chosen
