"""A classifier measured on labelled texts: accuracy and F1 with bootstrap intervals."""

import dataclasses
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tfsum.data.preparation import batched
from tfsum.data.readers import Corpus, corpus_name
from tfsum.evaluation.comparison import Report, bootstrap_intervals, comparison_lines
from tfsum.tasks.bert_classifier.batches import read_labelled
from tfsum.tasks.bert_classifier.classifier import Classifier

METRICS = ("accuracy", "f1_macro", "f1")
"""`f1_macro` is the mean of the F1 of every label that occurs (in the truth or among the answers),
`f1` that of the
second of two labels; where there are more labels than two there is no `f1`."""


@dataclasses.dataclass
class ClassificationReport(Report):
    """Scores of a model, from 0 to 100.

    Attributes:
        texts: Number of texts.
        label_names: Labels.
        settings: Samples and seed of the bootstrap.
        systems: "model" -> metric -> `value`, `low`, `high` (95 % interval); and `labels`: label ->
            `precision`, `recall`, `f1`, `texts` (with that label).

    Example:
        >>> report = evaluate_labels([0, 1, 1], [0, 1, 0], ["no", "yes"], samples=10)
        >>> round(report.systems["model"]["accuracy"]["value"], 1)
        66.7
    """

    texts: int
    label_names: list[str]
    settings: dict
    systems: dict[str, dict]

    def to_text(self) -> str:
        """The report as a table, and each label's scores."""
        scores = self.systems["model"]
        metrics = [metric for metric in METRICS if metric in scores]
        labels = [
            f"  {label}  {row['precision']:.2f}  {row['recall']:.2f}  {row['f1']:.2f} "
            f" {row['texts']}"
            for label, row in scores["labels"].items()
        ]
        return "\n".join(
            [
                *comparison_lines(self.systems, metrics, "value", None),
                "",
                "labels of model: precision, recall, F1, texts",
                *labels,
                "",
                f"{self.texts} texts; {self.settings_line()}",
            ]
        )


def evaluate(
    classifier: Classifier,
    corpus: Corpus,
    *,
    text: str | None = None,
    label: str | None = None,
    text_pair: str | None = None,
    limit: int | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> ClassificationReport:
    """Scores a classifier.

    Args:
        classifier: Loaded model.
        corpus: A file, or rows of texts with labels; see
            `tfsum.tasks.bert_classifier.batches.read_labelled`.
        text, label, text_pair: Names of the columns; None is as in the model's recipe, else their
            own names.
        limit: Number of texts to read; None reads all.
        samples, seed: Number of samples and seed of the bootstrap.

    Returns:
        The report; the number of texts cut is written to standard error.

    Raises:
        DataError: Corpus cannot be read, or a label is unknown to the model.
    """
    known = {
        "text": "text",
        "label": "label",
        "text_pair": "text_pair" if classifier.description["text"]["pair"] else None,
        **classifier.description.get("recipe", {}).get("data", {}),
    }
    every = read_labelled(
        corpus, text or known["text"], label or known["label"], text_pair or known["text_pair"]
    )
    texts, names = every.texts[:limit], classifier.description["labels"]
    # unknown labels are an error before the work, not after it
    labels = dataclasses.replace(every, texts=texts, labels=every.labels[:limit]).label_ids(names)
    answers = [
        answer
        for group in batched(texts, unit="texts")
        for answer in classifier(*map(list, zip(*group, strict=True)))
    ]
    if cut := sum(answer.coverage < 1 for answer in answers):
        print(
            f"tfsum: {corpus_name(corpus)}: {cut} of {len(texts)} texts were cut to what the model"
            " reads",
            file=sys.stderr,
        )

    found = [names.index(answer.label) for answer in answers]
    return evaluate_labels(found, labels, names, samples=samples, seed=seed)


def evaluate_labels(
    answers: ArrayLike,
    labels: ArrayLike,
    label_names: Sequence[str],
    samples: int = 1000,
    seed: int = 0,
) -> ClassificationReport:
    """Scores the answers of a model.

    Args:
        answers: (N,) indices of the predicted labels.
        labels: (N,) indices of the true labels.
        label_names: (C,) the labels.
        samples: Number of bootstrap samples, each drawn from the texts.
        seed: Seed of the bootstrap.

    Returns:
        The report.

    Raises:
        Error: There is no text.

    Example:
        >>> report = evaluate_labels([0, 1], [0, 1], ["no", "yes"], samples=10)
        >>> report.systems["model"]["f1_macro"]["value"]
        100.0
    """
    classes = np.eye(len(label_names))
    true, found = classes[np.asarray(labels, int)], classes[np.asarray(answers, int)]  # (N, C)
    # For each text and label whether it is right, answered, true: float64 (N, C, 3), whose sums
    # give every score.
    outcomes = np.stack([found * true, found, true], axis=-1)
    low, high = bootstrap_intervals(outcomes, samples, seed, statistic=_scores)
    means = outcomes.mean(0)
    scores = np.stack([_scores(means), low, high], axis=-1).tolist()  # (metrics, 3)
    model = {
        **{
            metric: dict(zip(("value", "low", "high"), ends))
            for metric, ends in zip(METRICS, scores)
        },
        "labels": _by_label(means, len(true), label_names),
    }
    return ClassificationReport(
        len(true), list(label_names), {"samples": samples, "seed": seed}, {"model": model}
    )


def _scores(means: np.ndarray) -> np.ndarray:
    """Accuracy, macro F1 and, of two labels, the second's F1 in points, from mean outcomes (..., C,
    3)."""
    right, answered, true = np.moveaxis(means, -1, 0)
    either = answered + true
    f1 = np.divide(2 * right, either, out=np.zeros_like(either), where=either > 0)
    occurs = np.maximum((either > 0).sum(-1), 1)
    second = [f1[..., 1]] if f1.shape[-1] == 2 else []
    return 100 * np.stack([right.sum(-1), f1.sum(-1) / occurs, *second], axis=-1)


def _by_label(means: np.ndarray, texts: int, label_names: Sequence[str]) -> dict[str, dict]:
    right, answered, true = means.T
    parts, wholes = np.stack([right, right, 2 * right]), np.stack([answered, true, answered + true])
    shares = 100 * np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)
    return {
        name: {
            **dict(zip(("precision", "recall", "f1"), shares[:, i].tolist())),
            "texts": round(float(true[i]) * texts),
        }
        for i, name in enumerate(label_names)
    }
