"""Our scores against the package's own for English, and against counts by hand for other
scripts."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from tfsum.errors import Error
from tfsum.evaluation.rouge import METRICS, score_each, score_pair, score_summaries

PACKAGE = RougeScorer(list(METRICS), use_stemmer=True)
ENGLISH = st.text(st.sampled_from("abcdeings éüß'’-–.,!?\n 012$“”…ﬁ"), max_size=80)


@given(ENGLISH, ENGLISH)
def test_english_is_the_packages_own(summary, reference):
    assert score_pair(summary, reference) == {
        m: tuple(s) for m, s in PACKAGE.score(reference, summary).items()
    }


@pytest.mark.reference
def test_the_lead_of_the_news_is_the_packages_own(shared):
    with gzip.open(shared / "data/news/validation.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for _, line in zip(range(40), file, strict=False)]
    for row in rows:
        summary = row["text"].split("\n")[:3]
        expected = PACKAGE.score(row["summary"], "\n".join(summary))
        assert score_pair(summary, row["summary"]) == {m: tuple(s) for m, s in expected.items()}


@pytest.mark.parametrize("english", [True, False])
@pytest.mark.parametrize(
    ("summary", "reference", "hits", "words", "reference_words"),
    [
        ("한국어 요약은 어렵다.", "한국어 요약은 쉽다", 2, 3, 3),  # words
        ("中文摘要。", "中文要点", 3, 4, 4),  # characters
        ("日本語のテスト", "日本のテスト", 6, 7, 6),
        ("هذا نص قصير.", "هذا نص", 2, 3, 2),
        ("ภาษาไทย", "ภาษา", 4, 7, 4),
        ("Привет, мир", "мир", 1, 2, 1),
        ("हिन्दी पाठ", "हिन्दी", 1, 2, 1),
        ("GPT 모델", "GPT 언어 모델", 2, 2, 3),  # scripts together
    ],
)
def test_other_scripts_are_counted(summary, reference, hits, words, reference_words, english):
    precision, recall, f = score_pair([summary], [reference], english)["rouge1"]
    assert precision == pytest.approx(hits / words) and recall == pytest.approx(
        hits / reference_words
    )
    assert f == pytest.approx(2 * hits / (words + reference_words))


def test_plain_words_keep_their_letters_and_are_not_stemmed():
    assert score_pair("Füße", "fuße", english=False)["rouge1"] == (0, 0, 0)
    assert score_pair("Füße", "füße", english=False)["rouge1"] == (1, 1, 1)
    assert score_pair("running", "runs", english=True)["rouge1"][2] == 1
    assert score_pair("running", "runs", english=False)["rouge1"][2] == 0


def test_sentences_are_lines_and_lines_inside_them_are_not():
    reference = ["a b c d", "e f g h"]
    assert score_pair(["e f g h", "a b c d"], reference)["rougeLsum"][2] == 1
    assert score_pair(["e f g h\na b c d"], reference) == score_pair(["e f g h a b c d"], reference)
    assert score_pair("e f g h\na b c d", reference) == score_pair(
        ["e f g h", "a b c d"], reference
    )


def test_means_are_in_points_and_empty_sides_score_nothing():
    scores = score_summaries([["a b"], []], ["a b", "a b"])
    assert scores == {"rouge1": 50.0, "rouge2": 50.0, "rougeLsum": 50.0}
    assert score_each([""], [""]).tolist() == [[[0.0] * 3] * 3]
    with pytest.raises(Error, match="2 summaries and 1 references"):
        score_summaries(["a", "b"], ["a"])
