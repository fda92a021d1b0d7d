"""How much sentences have to do with a query: shared pieces, words and pairs of them (BM25), and
meaning."""

import tensorflow as tf

from tfsum.text.rows import Rows

K1, B = 1.5, 0.75  # how soon a repeated piece counts no more, how much length counts
# A piece of this rarity, which is in one of twenty sentences, counts as in BM25, and a rarer one
# more: rarity to the power of 1.5, by which meetings are answered better (docs/asked_for.md).
RARE = 3.0
PAIRS = 1.5  # what a pair of neighbours counts
# What a cosine counts by which a sentence is above the mean of its text. Chosen with `PAIRS`, so
# that lines of summaries, which share words with their sentences, meetings, and questions in other
# words than their answers all find more (docs/asked_for.md).
MEANING = 130.0
# It counts less for a query of fewer pieces than so many: who asks by a word looks for sentences
# that hold it, which are then found first.
PIECES = 8.0
# And in a text with fewer sentences than so many, as BM25 does, where a word that one of three
# sentences has is not rare.
SENTENCES = 20.0
BASE = 1_000_003  # of the polynomial by which pieces make the key of their word


def relevance(
    queries: tf.RaggedTensor, pieces: tf.RaggedTensor, words: tf.Tensor, continues: tf.Tensor
) -> tf.Tensor:
    """The mean of BM25 of the sentences of texts by word pieces and by whole words.

    Words find what is said again; pieces what has another ending, and what a script without spaces
    writes as one word.

    Args:
        queries: Word pieces of the query to each text, (B, Q) int32.
        pieces: Word pieces of the sentences, (B, S, P) int32.
        words: Pieces that count, (V,) bool; those between them part no pair.
        continues: Pieces that go on with a word, (V,) bool.

    Returns:
        float32 (N,) from 0 on, for all sentences of all texts, end to end; 0 for those without a
        piece of their query.

    Example:
        >>> pieces = tf.ragged.constant([[[1, 2], [1, 3], [3, 2]]])
        >>> words, continues = [False, True, True, True], [False, False, True, True]
        >>> found = relevance(tf.ragged.constant([[1, 2]]), pieces, words, continues)
        >>> [f"{value:.2f}" for value in found.numpy()]
        ['1.20', '0.09', '0.09']
    """
    by_words = _bm25(*_whole_words(queries, pieces, words, continues))
    return (_bm25(queries, pieces, words) + by_words) / 2.0


def _whole_words(
    queries: tf.RaggedTensor, pieces: tf.RaggedTensor, words: tf.Tensor, continues: tf.Tensor
) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.Tensor]:
    """Numbers of words in place of the pieces, and which of them count."""
    # (P,) of all queries and, after them, all sentences: whether a piece begins a word, which one,
    # and its place in it
    rows = tf.concat([queries, pieces.values], 0)
    ids, row = rows.flat_values, Rows.of(rows)
    begins = ~tf.gather(continues, ids) | (row.owner != tf.concat([[-1], row.owner], 0)[:-1])
    word = tf.cumsum(tf.cast(begins, tf.int64)) - 1
    place = tf.range(tf.size(word, tf.int64)) - tf.gather(tf.where(begins)[:, 0], word)

    # (W,) the keys of the words, which overflow, and (U,) the different ones
    in_words = Rows(word, tf.reduce_sum(tf.cast(begins, tf.int64)))
    power = tf.pow(tf.constant(BASE, tf.int64), place)
    keys = in_words.sum(tf.cast(ids + 1, tf.int64) * power)
    _, equal = Rows.of_equal(keys)
    are_words = equal.any(in_words.any(tf.gather(words, ids)))

    number, lengths = tf.cast(equal.owner, tf.int32), row.sum(tf.cast(begins, tf.int64))
    rows = tf.RaggedTensor.from_row_lengths(number, lengths, validate=False)
    first = queries.nrows()
    return rows[:first], pieces.with_values(rows[first:]), are_words


def _bm25(queries: tf.RaggedTensor, pieces: tf.RaggedTensor, words: tf.Tensor) -> tf.Tensor:
    """BM25 (N,) of the sentences of texts (B, S, P), by pieces and by pairs of neighbours.

    Pairs tell a sentence that says the same from one that has the same words.

    Source: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond",
    section 3.4; the sentences of a text are its documents, and the rarity of a piece or pair that s
    of the S sentences hold is log(1 + (S - s + 0.5) / (s + 0.5)), times `PAIRS` for a pair and the
    root of its share of `RARE` for a piece.
    """
    vocabulary, documents = tf.size(words, tf.int64), Rows.of(pieces)
    span = vocabulary * (vocabulary + 1)  # the keys of pieces and pairs are below it

    # (P,) the number of each piece among those that count; (N,) the length of each sentence, and
    # the mean of its text
    ids, splits = pieces.flat_values, tf.cast(pieces.values.row_splits, tf.int64)
    number = tf.cumsum(tf.cast(tf.gather(words, ids), tf.int32))
    counted = tf.gather(tf.pad(number, [[1, 0]]), splits)
    length = tf.cast(counted[1:] - counted[:-1], tf.float32)
    mean = documents.sum(length) / documents.sizes()

    # (Q,) what the queries have that counts
    place = tf.where(tf.gather(words, queries.flat_values))[:, 0]
    asking = tf.gather(Rows.of(queries).owner, place)
    asked = tf.cast(tf.gather(queries.flat_values, place), tf.int64)
    is_asked = Rows(asked, vocabulary).any(tf.ones_like(asked, tf.bool))
    asking, asked = _with_pairs(asking, asked, tf.range(tf.size(asked)), vocabulary)

    # (E,) the different ones of them in each sentence, and how often it has them
    place = tf.where(tf.gather(is_asked, ids))[:, 0]
    owner = tf.searchsorted(splits[1:], place, "right", tf.int64)
    found = tf.cast(tf.gather(ids, place), tf.int64)
    owner, found = _with_pairs(owner, found, tf.gather(number, place), vocabulary)
    entries, occurrences = Rows.of_equal(owner * span + found)
    often, gram = occurrences.sizes(), entries % span
    in_sentence = Rows(entries // span, tf.size(length, tf.int64))
    relative = in_sentence.to_values(length) / in_sentence.to_values(documents.to_values(mean))

    # (U,) the different ones of each text and its query
    text = in_sentence.to_values(documents.owner)
    keys, grams_of_texts = Rows.of_equal(tf.concat([text * span + gram, asking * span + asked], 0))
    split = tf.size(entries)
    in_text, in_query = (
        Rows(owner, grams_of_texts.count)
        for owner in (grams_of_texts.owner[:split], grams_of_texts.owner[split:])
    )
    sentences = tf.gather(tf.cast(pieces.row_lengths(), tf.float32), keys // span)
    holding = in_text.sizes()
    rarity = tf.math.log(1.0 + (sentences - holding + 0.5) / (holding + 0.5))
    rarity *= tf.where(keys % span < vocabulary, tf.sqrt(rarity / RARE), PAIRS)

    saturated = often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * relative))
    return in_sentence.sum(in_text.to_values(rarity * in_query.sizes()) * saturated)


def _with_pairs(
    owner: tf.Tensor, pieces: tf.Tensor, number: tf.Tensor, vocabulary: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Owners and keys (E,) of pieces and, after them, of the pairs of those that have the same
    owner and follow one another by number."""
    is_pair = (owner[:-1] == owner[1:]) & (number[:-1] + 1 == number[1:])
    first, second = (tf.boolean_mask(ids, is_pair) for ids in (pieces[:-1], pieces[1:]))
    return (
        tf.concat([owner, tf.boolean_mask(owner[1:], is_pair)], 0),
        tf.concat([pieces, vocabulary * (first + 1) + second], 0),
    )


def with_meaning(
    by_words: tf.Tensor, cosines: tf.Tensor, texts: Rows, asked: tf.Tensor
) -> tf.Tensor:
    """BM25 and meaning together.

    The cosines of a text all lie within a small range: what one is above their mean counts. BM25
    grows with what a sentence shares with the query, so that meaning decides where that is little.
    Where a query has few words, or a text few sentences, meaning counts less.

    Args:
        by_words: Result of `relevance`, (N,).
        cosines: Cosines of the sentences with their query, (N,).
        texts: The text of each sentence.
        asked: Number of pieces of the query to each text, float32 (B,).

    Returns:
        float32 (N,) from 0 on.

    Example:
        >>> rows, asked = Rows(tf.constant([0, 0, 0]), 1), tf.constant([9.0])
        >>> words, cosines = tf.constant([0.0, 1.0, 0.0]), tf.constant([0.6, 0.7, 0.8])
        >>> [f"{value:.1f}" for value in with_meaning(words, cosines, rows, asked).numpy()]
        ['0.0', '1.0', '2.0']
    """
    size = texts.sizes()
    mean = texts.sum(cosines) / tf.maximum(size, 1.0)
    weight = MEANING * tf.minimum(asked / PIECES, 1.0) * tf.minimum(size / SENTENCES, 1.0)
    return by_words + texts.to_values(weight) * tf.maximum(cosines - texts.to_values(mean), 0.0)


def of_best(values: tf.Tensor, texts: Rows) -> tf.Tensor:
    """Values of sentences as shares of the best one's of their text.

    Args:
        values: Values of the sentences, (N,), 0 or more.
        texts: The text of each sentence.

    Returns:
        float32 (N,) from 0 to 1; 0 for those of a text without a value above 0.

    Example:
        >>> of_best(tf.constant([0.0, 2.0, 4.0]), Rows(tf.constant([0, 1, 1]), 2)).numpy().tolist()
        [0.0, 0.5, 1.0]
    """
    best = texts.to_values(texts.max(values))
    return values / tf.where(best > 0.0, best, 1.0)
