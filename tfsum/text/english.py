"""Whether a text is English, for rules that are: by how often it says the commonest words."""

import tensorflow as tf

from tfsum.text.english_words import COMMON, LEAST
from tfsum.text.rows import Rows

_COMMON = rf"(?i)[^\p{{L}}]*(?:{'|'.join(sorted(COMMON))})[^\p{{L}}]*"


def is_english(texts: tf.RaggedTensor) -> tf.Tensor:
    """Tells which sentences are of English texts.

    Args:
        texts: Sentences of texts, (B, S) strings.

    Returns:
        bool (N,) for the N sentences of all texts.

    Example:
        >>> texts = tf.ragged.constant([["The ship sank.", "It was old."], ["Das Schiff sank."]])
        >>> is_english(texts).numpy().tolist()
        [True, True, False]
    """
    sentences = Rows.of(texts)
    words = tf.strings.split(texts.flat_values)
    # (W,) the text of each word of all sentences
    of_texts = Rows(Rows.of(words).to_values(sentences.owner), sentences.count)
    common = tf.strings.regex_full_match(words.flat_values, _COMMON)
    return sentences.to_values(of_texts.count_of(common) > LEAST * of_texts.sizes())
