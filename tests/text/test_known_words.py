"""The words by which a text in a language that the model never learned is told."""

import numpy as np
import tensorflow as tf

from tfsum.text.known_words import KnownWords, frequent_words
from tfsum.text.rows import Rows


def test_frequent_words_tell_a_language_of_the_same_letters():
    vocabulary = ["[PAD]", "[UNK]", "the", "of", "rain", "la", "##s", "."]
    corpus = np.array([2, 4, 3, 2, 4, 6, 7, 2, 4])  # the rain of the rain|s . the rain
    found = frequent_words(corpus, np.array([9]), vocabulary, unk_id=1)
    assert found["words"] == ["the", "rain", "of"] and found["share"] == 6 / 7
    counter = KnownWords(vocabulary, 1, ["the", "of"])
    pieces = tf.RaggedTensor.from_row_lengths([2, 4, 7, 5, 4, 7], [3, 3])  # the rain . | la rain .
    shares = counter.shares(pieces, Rows(tf.constant([0, 1]), tf.constant(2)))
    assert shares["frequent"].numpy().tolist() == [0.5, 0.0] and shares[
        "known"
    ].numpy().tolist() == [1.0, 1.0]
    assert "frequent" not in KnownWords(vocabulary, 1).shares(
        pieces, Rows(tf.constant([0, 1]), tf.constant(2))
    )


def test_the_least_that_documents_of_a_corpus_have_of_frequent_and_whole_words():
    vocabulary = ["[PAD]", "[UNK]", "the", "rain", "##s", *map("w{}".format, range(200))]
    english, other = [2, 3] * 60, [3, 4] * 60  # the rain the rain ...; rain|s rain|s ...
    lengths = np.array([120] * 200 + [2])  # a short one is not judged
    few = frequent_words(np.array(english * 199 + other + [1, 1]), lengths, vocabulary, unk_id=1)
    assert few["least"] == few["least_known"] == 1.0
    many = frequent_words(
        np.array(english * 150 + other * 50 + [1, 1]), lengths, vocabulary, unk_id=1
    )
    assert many["least"] == many["least_known"] == 0.0
