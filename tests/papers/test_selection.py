"""The sentences that the originals' test chose of 40 documents."""

import json

import pytest

from tfsum.papers.selection import by_score, choose_sentences, cut_to_reference


@pytest.fixture
def cases(shared):
    stored = json.loads((shared / "parity/selection.json").read_text())["cases"]
    # the original skips a document without sentences
    return [case for case in stored if case["block"] is not None]


@pytest.mark.reference
@pytest.mark.parametrize(("key", "block"), [("block", True), ("noblock", False)])
def test_by_score_in_the_order_of_choice(cases, key, block):
    cases = [case for case in cases if not case["ambiguous"]]
    assert len(cases) == 38 and any(case["picked_beyond_cls"] for case in cases)
    for case in cases:
        order = by_score(case["scores"], len(case["src_txt"]))
        assert choose_sentences(case["src_txt"], order, block) == case[key]


@pytest.mark.reference
@pytest.mark.parametrize(("suffix", "block"), [("_block", True), ("", False)])
def test_lead_and_oracle(cases, suffix, block):
    for case in cases:
        texts = case["src_txt"]
        assert choose_sentences(texts, range(len(texts)), block) == case[f"lead{suffix}"]
        labelled = [i for i, label in enumerate(case["labels"][: len(texts)]) if label]
        assert choose_sentences(texts, labelled, block, most=None) == case[f"oracle{suffix}"]


@pytest.mark.reference
@pytest.mark.parametrize(
    ("key", "block"), [("recall_block_text", True), ("recall_noblock_text", False)]
)
def test_recall_at_the_length_of_the_reference(cases, key, block):
    for case in (case for case in cases if not case["ambiguous"]):
        chosen = choose_sentences(
            case["src_txt"], by_score(case["scores"], len(case["src_txt"])), block, most=None
        )
        cut = cut_to_reference([case["src_txt"][i] for i in chosen], case["tgt_txt"].split("<q>"))
        assert "<q>".join(cut) == case[key]
