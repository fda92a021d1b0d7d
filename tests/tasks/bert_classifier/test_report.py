"""Accuracy and F1 against counts by hand and scikit-learn; intervals."""

import json

import numpy as np
import pytest

from tfsum.errors import Error
from tfsum.evaluation.comparison import bootstrap_intervals
from tfsum.tasks.bert_classifier.report import evaluate_labels

TRUE = [0, 0, 0, 1, 1, 1, 1, 0, 1, 1]
FOUND = [0, 1, 0, 1, 1, 0, 1, 0, 1, 0]


def test_two_labels_by_hand():
    """Of label 1: 4 right, 5 answered, 6 true; of label 0: 3 right, 5 answered, 4 true."""
    report = evaluate_labels(FOUND, TRUE, ("no", "yes"))
    scores = report.systems["model"]
    assert scores["accuracy"]["value"] == pytest.approx(70.0)
    assert scores["f1"]["value"] == pytest.approx(100 * 8 / 11)
    assert scores["f1_macro"]["value"] == pytest.approx(50 * (8 / 11 + 6 / 9))
    assert scores["labels"]["yes"] == pytest.approx(
        {"precision": 80.0, "recall": 100 * 4 / 6, "f1": 100 * 8 / 11, "texts": 6}
    )
    assert report.texts == 10 and set(scores["f1"]) == {"value", "low", "high"}


def test_a_label_that_never_occurs_counts_in_no_mean():
    report = evaluate_labels(FOUND, TRUE, ("no", "yes", "other")).systems["model"]
    assert (
        report["f1_macro"]["value"] == pytest.approx(50 * (8 / 11 + 6 / 9)) and "f1" not in report
    )
    assert report["labels"]["other"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "texts": 0}


def test_scikit_learn_says_the_same():
    metrics = pytest.importorskip("sklearn.metrics", reason="pip install scikit-learn")
    random = np.random.default_rng(0)
    for classes in (2, 4):
        for _ in range(20):
            true, found = random.integers(0, classes, (2, 30))
            names = [str(i) for i in range(classes)]
            scores = evaluate_labels(found, true, names, samples=1).systems["model"]
            assert scores["accuracy"]["value"] == pytest.approx(
                100 * metrics.accuracy_score(true, found)
            )
            assert scores["f1_macro"]["value"] == pytest.approx(
                100 * metrics.f1_score(true, found, average="macro")
            )
            if classes == 2:
                assert scores["f1"]["value"] == pytest.approx(100 * metrics.f1_score(true, found))


def test_the_interval_of_accuracy_is_the_binomial_one():
    random = np.random.default_rng(1)
    true = random.integers(0, 2, 2000)
    found = np.where(random.random(2000) < 0.8, true, 1 - true)
    scores = evaluate_labels(found, true, "01", samples=2000).systems["model"]["accuracy"]
    half = 196 * np.sqrt(scores["value"] / 100 * (1 - scores["value"] / 100) / 2000)
    assert scores["low"] == pytest.approx(scores["value"] - half, abs=0.25)
    assert scores["high"] == pytest.approx(scores["value"] + half, abs=0.25)


def test_a_function_of_means_is_bootstrapped_as_one():
    values = np.random.default_rng(3).random((50, 2))
    low, high = bootstrap_intervals(
        values, 200, 4, statistic=lambda means: means[:, :1] / means[:, 1:]
    )
    ratios = []
    random = np.random.default_rng(4)
    for _ in range(200):
        counts = random.multinomial(50, np.full(50, 1 / 50))
        ratios.append((counts @ values[:, 0]) / (counts @ values[:, 1]))
    np.testing.assert_allclose([low[0], high[0]], np.quantile(ratios, [0.025, 0.975]))


def test_the_report_in_words_and_json():
    report = evaluate_labels(FOUND, TRUE, ("no", "yes"))
    text = report.to_text()
    assert "\nmodel   70.00 (" in text and "yes  80.00  66.67  72.73  6" in text
    assert text.endswith("10 texts; samples 1000, seed 0")
    assert json.loads(report.to_json())["systems"]["model"]["accuracy"]["value"] == 70.0


def test_mistakes():
    with pytest.raises(Error, match="0 documents"):
        evaluate_labels([], [], "ab")
