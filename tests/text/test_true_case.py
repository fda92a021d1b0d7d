"""The case of words taken from a text; both kinds of operations, and what has no word, no text or
no case."""

import pytest
import tensorflow as tf
from cases import first_by_default

from tfsum.text.true_case import TrueCase
from tfsum.text.word_piece import WordPiece

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"abcdefghijklmnopqrstuvwxyz0123456789.,-'",
    *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789"),
]
CASES = [
    ("barigye denied it", "It was there, Barigye said.", "Barigye denied It"),
    # only at the beginning: as it is there
    ("he said however", "However, he said so.", "He said However"),
    ("the end", "The war. By the end.", "The end"),  # within a sentence counts
    ("nato's 2nd talks\nin rome", "At Rome NATO met for talks.", "NATO's 2nd talks\nIn Rome"),
    ("beyonce sang", "There Beyoncé sang.", "Beyoncé sang"),
    ("", "Some text.", ""),
    ("no words known", "", "No words known"),
    ("...", "Text.", "..."),
]


@pytest.mark.parametrize("ops", first_by_default(["core", "text"]))
def test_the_case_of_the_text(ops):
    case = TrueCase(WordPiece(PIECES, ops=ops))
    answers, texts, expected = zip(*CASES)
    found = case.restore(tf.constant(answers), tf.constant(texts))
    assert [text.decode() for text in found.numpy()] == list(expected)
    alone = [
        case.restore(tf.constant([answer]), tf.constant([text])).numpy()[0].decode()
        for answer, text in zip(answers, texts)
    ]
    assert alone == list(expected)


def test_no_answers():
    nothing = tf.constant([], tf.string)
    assert TrueCase(WordPiece(PIECES)).restore(nothing, nothing).shape == (0,)
