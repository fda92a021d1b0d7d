"""Pieces of names and numbers, found by case; and flags that come back from text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfsum.text.name_pieces import name_pieces, number_pieces, pack_flags, unpack_flags
from tfsum.text.word_piece import WordPiece

PIECES = [
    "[PAD]",
    "[unused1]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "rain",
    "##s",
    "in",
    "paris",
    "will",
    "19",
    "##9",
    ".",
    "雨",
]


def test_names_are_mostly_capitalized_within_sentences():
    sentences = [
        "Rain in Paris will end.",
        "Will it rain?",
        "We saw Will in Paris, will we? It rains, 雨.",
    ]
    found = name_pieces(sentences, WordPiece(PIECES))
    assert [piece for piece, name in zip(PIECES, found) if name] == ["paris", "19", "##9"]


def test_words_that_the_corpus_lacks_are_names():
    found = name_pieces(["It is rain."], WordPiece(PIECES))
    assert [piece for piece, name in zip(PIECES, found) if name] == [
        "##s",
        "in",
        "paris",
        "will",
        "19",
        "##9",
        "雨",
    ]


def test_numbers():
    assert [piece for piece, number in zip(PIECES, number_pieces(PIECES)) if number] == [
        "19",
        "##9",
    ]


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_flags_come_back(flags):
    assert unpack_flags(pack_flags(np.array(flags)), len(flags)).tolist() == flags


@pytest.mark.parametrize("text", ["oA==", "no base64!", ""])
def test_flags_of_another_size(text):
    with pytest.raises(ValueError):
        unpack_flags(text, 30)
