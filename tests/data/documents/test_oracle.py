"""Oracle labels against the originals' choices and against plain enumeration."""

import itertools
import json

import pytest

from tfsum.data.documents.oracle import greedy_labels, soft_labels
from tfsum.errors import DataError
from tfsum.text.words import joined_words, split_words

SENTENCES = ["the cat sat", "a dog ran far away", "the cat sat on the mat", "birds sing"]


@pytest.mark.reference
def test_greedy_equals_the_original_code(shared):
    documents = {d["id"]: d for d in json.loads((shared / "parity/pipeline_docs.json").read_text())}
    expected = json.loads((shared / "parity/pipeline_greedy.json").read_text())["documents"]
    for case in expected:
        document = documents[case["id"]]
        sentences = [" ".join(tokens) for tokens in document["src"]]
        labels = greedy_labels(sentences, [" ".join(tokens) for tokens in document["tgt"]], size=3)
        assert [i for i, label in enumerate(labels) if label] == sorted(case["greedy"]), case["id"]


def test_greedy_stops_when_nothing_helps_and_prefers_the_earlier():
    assert greedy_labels(["b c", "a b", "a b", "z"], "a b") == [0.0, 1.0, 0.0, 0.0]
    assert greedy_labels(["x y"], "a b") == [0.0]
    assert greedy_labels([], "a b") == [] and greedy_labels(["a"], "") == [0.0]


def _set_score(chosen, sentences, summary):
    """ROUGE-1 F + ROUGE-2 F over sets, spelled out."""
    total = 0.0
    for n in (1, 2):
        grams = lambda words: {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}  # noqa: B023, E731
        candidate = set().union(*(grams(joined_words(sentences[i])) for i in chosen))
        reference = grams(joined_words(summary))
        hits = len(candidate & reference)
        if hits:
            precision, recall = hits / len(candidate), hits / len(reference)
            total += 2 * precision * recall / (precision + recall)
    return total


def test_soft_labels_follow_the_best_of_all_combinations():
    summary = "the cat sat on the mat and a dog ran"
    every = [c for size in (1, 2, 3) for c in itertools.combinations(range(4), size)]
    best = max(every, key=lambda c: _set_score(c, SENTENCES, summary))
    labels = soft_labels(SENTENCES, summary, temperature=1e-3)
    assert tuple(i for i, label in enumerate(labels) if label > 0.5) == best


def test_soft_labels_are_shares():
    labels = soft_labels(SENTENCES, "the cat sat on the mat and a dog ran", temperature=0.1)
    assert all(0.0 <= label <= 1.0 for label in labels) and 1.0 <= sum(labels) <= 3.0 + 1e-9
    assert labels[3] == 0.0  # no word of the summary
    assert soft_labels(["x"], "a b") == [0.0] and soft_labels([], "a") == []


def test_words_of_every_script():
    assert joined_words("A well-known (U.S.) café’s") == ["a", "wellknown", "us", "cafés"]
    assert split_words("A well-known (U.S.) café’s") == [
        "a",
        "well",
        "known",
        "u",
        "s",
        "café",
        "s",
    ]
    assert joined_words("한국어 문장입니다.") == ["한국어", "문장입니다"]
    assert joined_words("中文，测试。カナ") == list("中文测试カナ")
    assert joined_words("هذا نص، عربي؟") == ["هذا", "نص", "عربي"]
    assert greedy_labels(["天气很好。", "我们去公园。"], "我们去了公园") == [0.0, 1.0]


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"width": 0}])
def test_impossible_options_are_named(options):
    with pytest.raises(DataError, match=f"{next(iter(options))} 0"):
        soft_labels(SENTENCES, "a", **options)
