"""The words by which a text in a language that the model never learned is told."""

import numpy as np
import tensorflow as tf

from tfsum.text.known_words import KnownWords, frequent_words
from tfsum.text.rows import Rows


def test_frequent_words_tell_a_language_of_the_same_letters():
    vocabulary = ["[PAD]", "[UNK]", "the", "of", "rain", "la", "##s", "."]
    corpus = np.array([2, 4, 3, 2, 4, 6, 7, 2, 4])  # the rain of the rain|s . the rain
    found = frequent_words(corpus, vocabulary, unk_id=1)
    assert found == {"words": ["the", "rain", "of"], "share": 6 / 7}
    counter = KnownWords(vocabulary, 1, ["the", "of"])
    pieces = tf.RaggedTensor.from_row_lengths([2, 4, 7, 5, 4, 7], [3, 3])  # the rain . | la rain .
    shares = counter.shares(pieces, Rows(tf.constant([0, 1]), tf.constant(2)))
    assert shares["frequent"].numpy().tolist() == [0.5, 0.0] and shares[
        "known"
    ].numpy().tolist() == [1.0, 1.0]
    assert "frequent" not in KnownWords(vocabulary, 1).shares(
        pieces, Rows(tf.constant([0, 1]), tf.constant(2))
    )
