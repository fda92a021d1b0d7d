"""Explanations of what a Transformer wrote: words from pieces, and the page."""

import pathlib
import re

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfsum.generation.explain import (
    WrittenExplanation,
    by_words,
    explain_written,
    words,
    written_report,
)
from tfsum.generation.generator import Attention, CrossAttention, Generated
from tfsum.text.escape import JOIN_MARK, PIECES, SPACE_MARK

PLAIN = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "##s", "sat"]
MARKED = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *PIECES, SPACE_MARK + "chat", "##s", JOIN_MARK, "##é"]


def test_pieces_become_words_and_special_tokens_keep_their_names():
    assert words([2, 4, 5, 6, 1, 3], PLAIN) == (
        ["[CLS]", "cats", "sat", "\ufffd", "[SEP]"],
        [0, 1, 1, 2, 3, 4],
    )
    ids = [
        MARKED.index(piece)
        for piece in ("[CLS]", SPACE_MARK + "chat", "##s", JOIN_MARK, "##é", "[SEP]")
    ]
    assert words(ids, MARKED) == (["[CLS]", "chats", "é", "[SEP]"], [0, 1, 1, 2, 2, 3])
    emoji = [chr(0x2800 + byte) for byte in "é😀".encode()]
    assert words([MARKED.index(piece) for piece in (SPACE_MARK, *emoji)], MARKED)[0] == [
        "▁",
        "é",
        "😀",
    ]
    assert words([], PLAIN) == ([], []) and words([5], PLAIN) == (["s"], [0])


def test_attention_of_words():
    pieces = np.array(
        [[0.1, 0.2, 0.3, 0.4], [0.3, 0.2, 0.1, 0.4], [0.25, 0.25, 0.5, 0.0]], np.float32
    )
    found = by_words(pieces, [0, 0, 1], [0, 1, 1, 2])
    np.testing.assert_allclose(found, [[0.2, 0.4, 0.4], [0.25, 0.75, 0.0]], atol=1e-6)
    assert by_words(np.zeros((0, 2)), [], [0, 1]).shape == (0, 2)


class Writer:
    """Stands in for a `Generator`."""

    path = pathlib.Path("models/writer/2")

    def __call__(self, text):
        return Generated("cats sat", -1.25, 0.5, True, ["a <b>warning</b>"])

    def attend(self, text):
        return CrossAttention(
            [2, 4, 5, 3],
            PLAIN,
            [6, 3],
            PLAIN,
            np.array([[0.1, 0.3, 0.4, 0.2], [1, 0, 0, 0]], np.float32),
        )


def test_a_model_is_asked_for_answer_and_looks():
    found = explain_written("cats", Writer())
    assert found.attention.keys == ["[CLS]", "cats", "[SEP]"] and found.attention.queries == [
        "sat",
        "[SEP]",
    ]
    np.testing.assert_allclose(
        found.attention.select(0, 0), [[0.1, 0.7, 0.2], [1, 0, 0]], atol=1e-6
    )
    assert found.model == "writer/2" and found.answer.summary == "cats sat"


def test_the_page_tells_where_each_word_looked(hostile):
    tokens = ["<script>alert(1)</script>", "b&c", "d"]
    weights = np.array([[0.9, 0.1, 0.0], [0.2, 0.005, 0.795]], np.float32)
    attention = Attention("cross-attention", weights[None, None], ["<i>one</i>", "two"], tokens)
    warning = {"code": "language", "known": 0.02}
    answer = Generated("<b>one</b> two", -1.25, 0.5, True, [warning])
    page = written_report(WrittenExplanation(hostile, answer, attention, "writer/2"), "<title>")
    assert (
        "<script" not in page
        and "<i>" not in page
        and "<img" not in page
        and "http" not in page.replace('http-equiv="Content', "")
    )
    for shown in (
        "-1.250",
        "50.0% of the text was read",
        "only 2% of the words are in the model",
        "writer/2",
        "&lt;b&gt;one&lt;/b&gt; two",
        "<bdi>b&amp;c</bdi> 0.10",
    ):
        assert shown in page
    shades = [
        float(shade) for shade in re.findall(r"--shade:([0-9.]+)", page.partition("</head>")[2])
    ]
    assert shades == pytest.approx([0.9, 0.1, 0.2, 0.795], abs=6e-3)
    assert page.count("<details") == page.count("</details>") == 2
