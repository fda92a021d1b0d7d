"""Texts without punctuation are split at conjunctions and by length, others not at all; no byte moves."""

import tensorflow as tf

from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.transcripts import LONGEST, split_unpunctuated

SPEECH = (
    "so we went down to the river and it was late and nobody was there but we had the lights with us so we "
    "looked around for a while and then the man from the town came over and said that we could not stay "
) * 5


def test_speech_is_split_and_every_byte_belongs_to_one_piece():
    out = SentenceSplitter("auto").split([SPEECH])
    pieces = [piece.decode() for piece in out["sentences"].to_list()[0]]
    assert out["unpunctuated"].numpy().tolist() == [True]
    assert " ".join(pieces).split() == SPEECH.split()
    assert len(pieces) > 10 and max(len(piece.split()) for piece in pieces) <= LONGEST + 1
    assert (
        sum(piece.split()[0] in ("so", "and", "but", "then") for piece in pieces) > len(pieces) / 2
    )
    data = SPEECH.encode()
    assert [
        data[a:b].decode() for a, b in zip(out["start"][0].numpy(), out["end"][0].numpy())
    ] == pieces


def test_words_without_any_conjunction_are_split_by_length():
    marked, _ = split_unpunctuated(tf.constant(["word " * 400]), "|")
    assert [len(piece.split()) for piece in marked.numpy()[0].decode().split("|")][:-1] == [
        LONGEST
    ] * 10


def test_punctuated_and_short_texts_stay_as_they_are():
    texts = ["It rained. " * 60, "a few words and no mark", "", "3.14 " * 300]
    marked, unpunctuated = split_unpunctuated(tf.constant(texts), "|")
    assert unpunctuated.numpy().tolist() == [False, False, False, True]
    assert marked.numpy()[:3].tolist() == [text.encode() for text in texts[:3]]
