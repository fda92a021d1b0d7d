"""Which pieces of chats, mail, law, lists and abstracts may stand in a summary; texts without them are untouched."""

import pytest
import tensorflow as tf

from tfsum.text.candidates import may_be_chosen
from tfsum.text.selection import select_sentences
from tfsum.text.sentence_splitter import SentenceSplitter


def kept(text):
    sentences = SentenceSplitter("auto").split([text])["sentences"]
    return [
        s.decode()
        for s, keep in zip(sentences.flat_values.numpy(), may_be_chosen(sentences).numpy())
        if keep
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "From: Anna <a@example.org>\nTo: Ben\nSubject: Rain\n\nThe river rose.\nPeople left.\n\nYours,\nAnna",
            ["The river rose.", "People left."],
        ),
        ("It was found.\n\nCarla wrote:\n> Where is it?\n> I waited.", ["It was found."]),
        (
            "Abstract\nWe study rain. It is wet.\nMethods:\nWe measured it.\n-----\n* * *\nTable 1",
            ["We study rain.", "It is wet.", "We measured it."],
        ),
        (
            "ANNA:\nDid you see it?\nBEN:\nNo, I was at home.",
            ["Did you see it?", "No, I was at home."],
        ),
        (
            "1. Scope\nThis law applies to ships.\n2. Terms\nA ship is a vessel [3].",
            ["This law applies to ships.", "A ship is a vessel [3]."],
        ),
        ("제목\n비가 왔다. 강이 넘쳤다.\n보낸 사람: 안나", ["비가 왔다.", "강이 넘쳤다."]),
        ("- milk\n- eggs\n- bread", ["- milk", "- eggs", "- bread"]),
        ("-----", ["-----"]),
        ("", []),
        (
            "one text in lower case and without any mark",
            ["one text in lower case and without any mark"],
        ),
    ],
)
def test_only_sentences_are_left(text, left):
    assert kept(text) == left


def test_others_are_chosen_only_where_there_are_no_more():
    texts = tf.ragged.constant([["Rain", "It rained.", "The river rose."], ["-----"]])
    scores = tf.ragged.constant([[0.9, 0.2, 0.1], [0.5]])
    indices, count = select_sentences(scores, texts, [3, 3], [False, False], limit=3)
    assert indices.numpy().tolist() == [[1, 2, -1], [0, -1, -1]] and count.numpy().tolist() == [
        2,
        1,
    ]
