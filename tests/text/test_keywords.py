"""Words of sentences beside Python's regular expressions, and which of them are chosen."""

import re

import hypothesis.strategies as st
import numpy as np
import tensorflow as tf
from hypothesis import given

from tfsum.text.keywords import keywords, speakers, words_of
from tfsum.text.rows import Rows

TEXT = st.text(st.sampled_from("abÉé7 .,'’-–&\n\t東京カメラーです한글\x1f(x)"), max_size=30)
LATIN = st.text(st.sampled_from("abZ7 .,'-&"), max_size=30)


@given(st.lists(TEXT, max_size=4))
def test_parts_joined_are_the_sentence(sentences):
    words = words_of(tf.constant(sentences, tf.string))
    parts, owner = [part.decode() for part in words.text.numpy()], words.sentence.numpy()
    for i, sentence in enumerate(sentences):
        own = [part for part, row in zip(parts, owner) if row == i]
        assert "".join(own) == sentence.replace("\x1f", " ")
    for part, row, start in zip(parts, owner, words.start.numpy()):
        data = sentences[row].replace("\x1f", " ").encode()
        assert data[start : start + len(part.encode())].decode() == part


@given(LATIN)
def test_words_of_letters_are_those_of_an_expression(text):
    words = words_of(tf.constant([text]))
    found = [part.decode() for part in tf.boolean_mask(words.text, words.is_word).numpy()]
    assert found == re.findall(r"[A-Za-z0-9]+(?:['.&-][A-Za-z0-9]+)*", text)


def test_scripts_without_spaces_are_parted_by_their_letters():
    words = words_of(tf.constant(["東京でカメラを買った。NHK東京"]))
    found = [part.decode() for part in tf.boolean_mask(words.text, words.is_word).numpy()]
    assert found == ["東京", "カメラ", "買", "NHK", "東京"]


def _keywords(documents, most):
    """The keywords of documents, lists of sentences with a number for each word."""
    sentences = [s for document in documents for s, _ in document]
    numbers = [n for document in documents for _, values in document for n in values]
    words = words_of(tf.constant(sentences, tf.string))
    expected = np.zeros(len(words.text), np.float32)
    expected[words.is_word.numpy()] = numbers
    owner = np.repeat(range(len(documents)), [len(document) for document in documents])
    found = keywords(
        tf.constant(sentences, tf.string),
        Rows(tf.constant(owner, tf.int64), tf.constant(len(documents), tf.int64)),
        words,
        tf.constant(expected),
        tf.constant(most),
    )
    return [
        [
            (found["phrase"][i, j].numpy().decode(), round(float(found["score"][i, j]), 4))
            for j in range(found["count"][i])
        ]
        for i in range(len(documents))
    ]


def test_a_word_counts_where_it_stands_and_is_said_once():
    document = [
        ("Mayor Anna Holt opened the bridge.", [0.25, 0.5, 0.5, 0.25, 0.0, 0.5]),
        ("Holt said the bridge is safe.", [0.5, 0.0, 0.0, 0.25, 0.0, 0.125]),
    ]
    # a name goes on: Mayor Anna Holt is 0.25 + 0.5 + 0.5 + 0.5; after it Holt says nothing more
    expected = [("Mayor Anna Holt", 1.75), ("bridge", 0.75), ("opened", 0.25), ("safe", 0.125)]
    other = [("Rain fell.", [0.5, 0.25])]
    assert _keywords([document], [9]) == [expected]
    assert _keywords([other, document, []], [1, 2, 3]) == [[("Rain", 0.5)], expected[:2], []]


def test_two_words_that_stand_together_twice_are_a_phrase():
    once = [("a prime minister spoke", [0.0, 0.5, 0.5, 0.25])]
    assert _keywords([once], [2]) == [[("prime", 0.5), ("minister", 0.5)]]
    twice = [
        *once,
        ("the Prime minister left; a prime minister", [0.0] + [0.5] * 2 + [0.0] * 2 + [0.5] * 2),
    ]
    assert _keywords([twice], [1]) == [[("prime minister", 3.0)]]


def test_letters_and_numbers_alone_are_none():
    assert _keywords([[("A 7 42 x.", [1.0, 1.0, 1.0, 1.0])]], [5]) == [[]]


def test_a_label_is_who_speaks_where_the_text_has_it_twice():
    meeting = [
        "ANNA HOLT: It rained.",
        "BOB: Yes.",
        "anna holt: Much?",
        "Bob, then: no.",
        "○ 위원장: 네.",
    ]
    other = [
        "○ 위원장：아니요.",
        "○ 위원장：네.",
        "BOB: At 10:30, a: b.",
        "Q: Is it?",
        "A: No.",
        "Q: Why?",
    ]
    documents = Rows(tf.constant([0] * 5 + [1] * 6, tf.int64), tf.constant(2, tf.int64))
    found = speakers(tf.constant(meeting + other), documents).numpy().tolist()
    labels = [text.encode()[:length].decode() for text, length in zip(meeting + other, found)]
    korean = "○ 위원장："
    assert labels == [
        "ANNA HOLT: ",
        "",
        "anna holt: ",
        "",
        "",
        korean,
        korean,
        "",
        "Q: ",
        "",
        "Q: ",
    ]
