"""Explanations: by a stand-in, and by the shipped model; the picture of the scores."""

import pathlib

import pytest

pytest.importorskip("matplotlib", reason="pip install '.[plots]'")

from tfsum.inference.saved_model import shipped_models
from tfsum.visualization import explain, plot_sentence_scores

ARTICLE = pathlib.Path(__file__).parents[3] / "examples" / "article.txt"


def test_the_chosen_are_found_among_all(lead):
    explanation = explain("Short. A longer one. The longest one of all. Tiny.", lead(), 2)
    assert explanation.chosen == [1, 2] and explanation.model == "lead<b>/1"
    assert [
        explanation.every.sentences[i] for i in explanation.chosen
    ] == explanation.summary.sentences


def test_the_rule_is_told_as_the_model_was_exported(lead):
    assert explain("A. B.", lead(), 2).rule == "at most 2 by score"
    blocked = explain("A. B.", lead(block_trigrams=True, selection="expected_rouge"), 3).rule
    assert (
        blocked
        == "at most 3 by the ROUGE expected of them together, none that repeats a trigram of the"
        " others"
    )


def test_bars_are_the_scores_and_the_chosen_stand_out(lead):
    explanation = explain(
        "Short. A longer one. The longest one of all that costs $5 or $6 and more and more. Tiny.",
        lead(),
        2,
    )
    figure = plot_sentence_scores(explanation)
    (ax,) = figure.axes
    bars = ax.patches
    assert [bar.get_width() for bar in bars] == pytest.approx(explanation.every.scores)
    assert [bar.get_hatch() is not None for bar in bars] == [False, True, True, False]
    assert (
        ax.get_xlim() == (0, 1) and ax.get_xlabel() == "score (probability)" and ax.yaxis_inverted()
    )
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert (
        labels[0] == "Short.  1"
        and labels[2] == r"The longest one of all that costs \$5 or \$6 and mo…  3"
    )
    figure.canvas.draw()


def test_a_long_document_has_numbers_and_an_empty_one_no_bars(lead):
    figure = plot_sentence_scores(explain("Word. " * 200, lead(), 2))
    assert len(figure.axes[0].patches) == 200 and figure.get_figheight() == 12
    figure.canvas.draw()
    assert not any("Word" in label.get_text() for label in figure.axes[0].get_yticklabels())
    assert not plot_sentence_scores(explain("", lead(), 2)).axes[0].patches


@pytest.mark.slow
@pytest.mark.skipif(
    "bert_sum_ext_news_en" not in shipped_models(), reason="saved_models/ has no model yet"
)
def test_the_shipped_model_explains_itself(shipped):
    text = ARTICLE.read_text(encoding="utf-8")
    explanation = explain(text, shipped)
    assert [text[a:b] for a, b in explanation.every.offsets] == explanation.every.sentences
    assert len(explanation.every.sentences) == 31 and len(explanation.chosen) in (2, 3, 4)
    assert [explanation.every.scores[i] for i in explanation.chosen] == pytest.approx(
        explanation.summary.scores
    )
    assert (
        "expected of them together" in explanation.rule
        and explanation.model == "bert_sum_ext_news_en/3"
    )
