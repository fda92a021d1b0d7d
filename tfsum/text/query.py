"""How much sentences have to do with a query: BM25 over their word pieces."""

import tensorflow as tf

from tfsum.text.repeat import row_ids

K1, B = 1.5, 0.75  # how soon a repeated piece counts no more, how much length counts


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
    size, documents = tf.size(words, tf.int64), pieces.nrows(tf.int64)
    document = row_ids(pieces)
    every = tf.size(document, tf.int64)

    def total(values: tf.Tensor, rows: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        return tf.math.unsorted_segment_sum(values, rows, number)

    def count(rows: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        return total(tf.ones_like(rows, tf.float32), rows, number)

    def counted(rows: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The rows and the pieces (M,) of those that count."""
        counts = tf.gather(words, rows.flat_values)
        ids = tf.cast(rows.flat_values, tf.int64)
        return tf.boolean_mask(row_ids(rows), counts), tf.boolean_mask(ids, counts)

    # (E,) the different pieces of each sentence, how often it holds them, and its length beside
    # the mean of its text
    owner, ids = counted(pieces.values)
    entries, place = tf.unique(owner * size + ids, tf.int64)
    often = count(place, tf.size(entries))
    sentence, piece = entries // size, entries % size
    length = count(owner, every)
    mean = total(length, document, documents) / count(document, documents)
    relative = tf.gather(length, sentence) / tf.gather(mean, tf.gather(document, sentence))

    # (U,) the different pieces of each text and its query
    asking, asked = counted(queries)
    held_by = tf.gather(document, sentence)
    keys, place = tf.unique(tf.concat([held_by * size + piece, asking * size + asked], 0), tf.int64)
    in_text, in_query = place[: tf.size(entries)], place[tf.size(entries) :]
    holding, wanted = count(in_text, tf.size(keys)), count(in_query, tf.size(keys))
    sentences = tf.gather(tf.cast(pieces.row_lengths(), tf.float32), keys // size)
    rarity = tf.math.log(1.0 + (sentences - holding + 0.5) / (holding + 0.5))

    saturated = often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * relative))
    scores = total(tf.gather(rarity * wanted, in_text) * saturated, sentence, every)
    best = tf.gather(tf.math.unsorted_segment_max(scores, document, documents), document)
    return scores / tf.where(best > 0.0, best, 1.0)
