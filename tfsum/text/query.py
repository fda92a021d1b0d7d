"""How much sentences have to do with a query: shared word pieces (BM25), and meaning."""

import tensorflow as tf

from tfsum.text.rows import Rows

K1, B = 1.5, 0.75  # how soon a repeated piece counts no more, how much length counts
# The weight of meaning beside shared words. Of 60 validation questions in other words than their
# answers, 0.45 to 0.5 answers most; lines of summaries, which share words with their sentences,
# are found best with 0.2.
MEANING = 0.45


def relevance(queries: tf.RaggedTensor, pieces: tf.RaggedTensor, words: tf.Tensor) -> tf.Tensor:
    """BM25 of the sentences of texts, as a share of the best one's.

    Source: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond",
    section 3.4; the sentences of a text are its documents, and their rarity is log(1 + (S - s +
    0.5) / (s + 0.5)) for a piece that s of the S sentences hold.

    Args:
        queries: Word pieces of the query to each text, (B, Q) int32.
        pieces: Word pieces of the sentences, (B, S, P) int32.
        words: Pieces that count, (V,) bool.

    Returns:
        float32 (N,) from 0 to 1, for all sentences of all texts, end to end; 0 for those of a text
        that holds no piece of its query.

    Example:
        >>> pieces = tf.ragged.constant([[[1, 2], [1, 3], [1, 1]]])
        >>> words = tf.constant([False, True, True, True])
        >>> found = relevance(tf.ragged.constant([[1, 3]]), pieces, words)
        >>> [f"{value:.2f}" for value in found.numpy()]
        ['0.12', '1.00', '0.17']
    """
    vocabulary, documents = tf.size(words, tf.int64), Rows.of(pieces)

    def counted(rows: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The rows and the pieces (M,) of those that count."""
        counts = tf.gather(words, rows.flat_values)
        ids = tf.cast(rows.flat_values, tf.int64)
        return tf.boolean_mask(Rows.of(rows).owner, counts), tf.boolean_mask(ids, counts)

    # (N,) the length of each sentence, and the mean of its text
    owner, ids = counted(pieces.values)
    asking, asked = counted(queries)
    length = Rows(owner, tf.size(documents.owner, tf.int64)).sizes()
    mean = documents.sum(length) / documents.sizes()

    # (E,) the different pieces of a query in each sentence, and how often it has them
    is_asked = tf.gather(Rows(asked, vocabulary).any(tf.ones_like(asked, tf.bool)), ids)
    owner, ids = tf.boolean_mask(owner, is_asked), tf.boolean_mask(ids, is_asked)
    entries, occurrences = Rows.of_equal(owner * vocabulary + ids)
    often, piece = occurrences.sizes(), entries % vocabulary
    in_sentence = Rows(entries // vocabulary, tf.size(length, tf.int64))
    relative = in_sentence.to_values(length) / in_sentence.to_values(documents.to_values(mean))

    # (U,) the different pieces of each text and its query
    text = in_sentence.to_values(documents.owner)
    keys, pieces_of_texts = Rows.of_equal(
        tf.concat([text * vocabulary + piece, asking * vocabulary + asked], 0)
    )
    split = tf.size(entries)
    in_text, in_query = (
        Rows(owner, pieces_of_texts.count)
        for owner in (pieces_of_texts.owner[:split], pieces_of_texts.owner[split:])
    )
    sentences = tf.gather(tf.cast(pieces.row_lengths(), tf.float32), keys // vocabulary)
    holding = in_text.sizes()
    rarity = tf.math.log(1.0 + (sentences - holding + 0.5) / (holding + 0.5))

    saturated = often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * relative))
    scores = in_sentence.sum(in_text.to_values(rarity * in_query.sizes()) * saturated)
    best = documents.to_values(documents.max(scores))
    return scores / tf.where(best > 0.0, best, 1.0)


def with_meaning(by_words: tf.Tensor, cosines: tf.Tensor, texts: Rows) -> tf.Tensor:
    """Relevance by words and by meaning together.

    The cosines of a text all lie within a small range: each counts as a share of the way from their
    mean to the best one.

    Args:
        by_words: Result of `relevance`, (N,).
        cosines: Cosines of the sentences with their query, (N,).
        texts: The text of each sentence.

    Returns:
        float32 (N,) from 0 to 1, the best sentence of a text 1.

    Example:
        >>> rows = Rows(tf.constant([0, 0, 0]), 1)
        >>> found = with_meaning(tf.constant([0.0, 1.0, 0.0]), tf.constant([0.7, 0.9, 0.85]), rows)
        >>> [f"{value:.2f}" for value in found.numpy()]
        ['0.00', '1.00', '0.18']
    """
    mean = texts.to_values(texts.sum(cosines) / tf.maximum(texts.sizes(), 1.0))
    best = texts.to_values(texts.max(cosines))
    by_meaning = tf.maximum(cosines - mean, 0.0) / tf.where(best > mean, best - mean, 1.0)
    both = (1.0 - MEANING) * by_words + MEANING * by_meaning
    best = texts.to_values(texts.max(both))
    return both / tf.where(best > 0.0, best, 1.0)
