"""Tables in Markdown, beside markdown-it-py."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tfsum.inputs.plain_text import without_tables

markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py")

LINES = st.sampled_from(
    [
        "It rained.",
        "| a | b |",
        "|---|:-:|",
        "a | b",
        "--|--",
        "| 1 | 2 |",
        "",
        "|-",
        "a||b",
        "- | -",
    ]
)


def cells(text):
    """The lines that markdown-it puts into tables."""
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(text)
    return {n for token in tokens if token.type == "tr_open" for n in range(*token.map)}


@given(st.lists(LINES, max_size=8))
def test_everything_keeps_its_place(lines):
    text = "\n".join(lines)
    found = without_tables(text)
    assert len(found) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, found))
    assert without_tables(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "It rained.\n\n| day | mm |\n|---|--:|\n| Monday | 12 |\n| Tuesday | 3 |\n\nIt stopped.",
        "day | mm\n--- | ---\nMonday | 12\n\nIt stopped.",
        "| one |\n| --- |\n| 1 |\n",
        "a | b means or.\nc | d too.",
        "Title\n-----\nIt rained.",
        "| no | rule |\n| a | b |",
    ],
)
def test_the_tables_of_markdown_it(text):
    found = without_tables(text).split("\n")
    blank = {n for n, line in enumerate(text.split("\n")) if line and not found[n].strip()}
    rules = {n for n in blank if not set(text.split("\n")[n]) - set("|-: ")}
    assert blank - rules == cells(text)
