"""BLEU against values worked out by hand."""

import pytest

from tfsum.errors import Error
from tfsum.evaluation.bleu import score_with_interval

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"


def test_precisions_by_hand():
    """5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 fours; as long as the reference, so no
    penalty."""
    found = score_with_interval(["the cat sat on the mat"], ["the cat sat on a mat"], samples=1)
    assert found["score"] == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert found["signature"].startswith(SIGNATURE)


def test_a_whole_copy_and_letters_of_another_case():
    texts = ["Il fait très beau aujourd'hui.", "Un chien court dans la neige."]
    assert score_with_interval(texts, texts, samples=1)["score"] == pytest.approx(100.0)
    assert score_with_interval([text.upper() for text in texts], texts, samples=1)["score"] < 20


def test_the_interval_holds_the_score_and_its_samples_are_told():
    found = score_with_interval(
        ["a b c d e", "x y z v w"] * 10, ["a b c d e", "x y z v u"] * 10, samples=50
    )
    assert found["low"] <= found["score"] <= found["high"] and "bs:50|seed:" in found["signature"]


def test_texts_that_share_no_word_have_an_interval_of_nothing():
    found = score_with_interval(["rain"] * 3, ["the cat sat"] * 3, samples=10)
    assert (found["low"], found["score"], found["high"]) == (0.0, 0.0, 0.0)


def test_numbers_must_agree():
    with pytest.raises(Error, match="1 translations and 2 references"):
        score_with_interval(["a"], ["a", "b"])
    with pytest.raises(Error, match="0 translations and 0 references"):
        score_with_interval([], [])
