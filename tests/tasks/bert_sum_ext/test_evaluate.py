"""Baselines, intervals and the report, against figures that can be worked out by hand."""

import json

import numpy as np
import pytest

from tfsum.errors import Error
from tfsum.evaluation.comparison import bootstrap_intervals
from tfsum.evaluation.rouge import METRICS
from tfsum.tasks.bert_sum_ext.evaluate import (
    follows,
    oracle,
    places_of,
    random_pick,
    score_systems,
)

DOCUMENTS = [["a b", "c d", "e f", "g h", "i j"], ["k l"], []]


def test_baselines_keep_the_order_of_the_document():
    assert oracle(DOCUMENTS, ["g h\nc d", "k l", "m"], 2) == [["c d", "g h"], ["k l"], []]
    assert oracle(DOCUMENTS, ["x", "x", "x"]) == [[], [], []]
    picked = random_pick(DOCUMENTS, 3, seed=1)
    assert picked == [sorted(p, key=d.index) for p, d in zip(picked, DOCUMENTS, strict=True)]
    assert [len(p) for p in picked] == [3, 1, 0] and picked == random_pick(DOCUMENTS, 3, seed=1)
    assert picked[0] == random_pick(DOCUMENTS[:1], 3, seed=1)[0]


def test_every_sentence_is_drawn_about_as_often():
    documents = [[f"{i} {s}" for s in range(4)] for i in range(2000)]
    first = np.array([int(p[0].split()[1]) for p in random_pick(documents, 1)])
    assert (abs(np.bincount(first) - 500) < 100).all()


def test_intervals_agree_with_the_normal_ones_and_with_drawing_documents():
    values = np.random.default_rng(3).normal(10, 2, (400, 2))
    low, high = bootstrap_intervals(values, samples=4000, seed=5)
    expected = 1.96 * values.std(0) / 20
    np.testing.assert_allclose(low, values.mean(0) - expected, atol=0.03)
    np.testing.assert_allclose(high, values.mean(0) + expected, atol=0.03)
    random = np.random.default_rng(0)
    drawn = [values[random.integers(0, 400, 400), 0].mean() for _ in range(4000)]
    np.testing.assert_allclose([low[0], high[0]], np.quantile(drawn, [0.025, 0.975]), atol=0.03)
    np.testing.assert_array_equal(
        bootstrap_intervals(values, seed=1), bootstrap_intervals(values, seed=1)
    )


def test_an_interval_of_no_samples_is_an_error():
    with pytest.raises(Error, match="bootstrap: 3 documents, 0 samples; expected 1 or more"):
        bootstrap_intervals(np.zeros((3, 1)), samples=0)


def test_places_of_the_sentences():
    """Counted by hand; a sentence that is not in the document has no place."""
    summaries = [["a b", "d", "j"], ["not there"], []]
    assert places_of(summaries, DOCUMENTS) == [[0, 1, 4], [-1], []]
    assert follows([[0, 1, 4], [-1], []]) == [[True, True, False], [False], []]
    report = score_systems({"model": summaries}, ["a b", "c", "d"], DOCUMENTS, samples=2)
    shares = {"1": 1 / 3, "2": 1 / 3, "3": 0.0, "4-10": 1 / 3, "later": 0.0}
    assert report.systems["model"]["places"] == pytest.approx(shares)
    assert "model   1 33.3 %, 2 33.3 %, 3 0.0 %, 4-10 33.3 %, later" in report.to_text()


REFERENCES = ["c d\ng h", "k l"]


def _report(**options):
    systems = {"model": [["c d", "g h"], ["x"]]}
    return score_systems(systems, REFERENCES, DOCUMENTS[:2], samples=200, **options)


def test_the_report_holds_means_differences_and_counts():
    report = _report()
    assert list(report.systems) == ["model", "lead", "longest", "random", "oracle"]
    assert report.documents == 2
    model = report.systems["model"]
    assert model["rouge1"]["f"] == pytest.approx(50) and model["sentences"] == 1.5
    lead_f = 100 * (2 * 2 / (6 + 4) + 1) / 2  # 2 hits of 6 and 4 words; a whole match
    assert report.systems["lead"]["rouge1"]["f"] == pytest.approx(lead_f)
    assert model["rouge1"]["difference"] == pytest.approx(50 - lead_f)
    assert model["rouge1"]["low"] == pytest.approx(0) and model["rouge1"]["high"] == pytest.approx(
        100
    )
    # Paired: on each of the two documents the difference is +60 or -100, and so are the ends.
    assert model["rouge1"]["difference_low"] == pytest.approx(-100)
    assert model["rouge1"]["difference_high"] == pytest.approx(60)
    assert report.systems["lead"]["rouge2"]["difference_high"] == 0
    assert all(report.systems["oracle"][metric]["f"] == pytest.approx(100) for metric in METRICS)


def test_both_forms_say_the_same_and_repeat():
    report = _report(seed=4)
    assert report == _report(seed=4)
    content = json.loads(report.to_json())
    assert content["systems"] == report.systems and content["settings"]["seed"] == 4
    text = report.to_text().splitlines()
    assert text[0].split()[:3] == ["system", "rouge1", "F"] and text[-1].startswith(
        "2 documents; sentences 3"
    )
    assert text[1].startswith("model") and "50.00 (0.00, 100.00)" in text[1]
    assert "difference to lead" in text


def test_what_is_counted_is_said():
    report = score_systems({"lead": [["港で船が沈んだ。"]]}, ["船が沈んだ OK"], samples=2)
    assert report.to_text().endswith("units characters")
    assert "units" not in _report().settings


@pytest.mark.slow  # reads thousands of documents
@pytest.mark.reference
def test_lead_of_the_news_with_our_splitter(shared):
    from tfsum.data.readers import read_corpus
    from tfsum.text.sentence_splitter import SentenceSplitter

    rows = list(read_corpus(shared / "data/news/validation.jsonl.gz"))
    sentences = SentenceSplitter().split([row["text"] for row in rows])["sentences"]
    documents = [[s.decode() for s in row] for row in sentences.to_list()]
    report = score_systems({}, [row["summary"] for row in rows], documents, samples=10)
    found = [report.systems["lead"][metric]["f"] for metric in METRICS]
    # The folder's own figures come from another splitter.
    np.testing.assert_allclose(found, [31.05, 10.95, 27.83], atol=0.1)
