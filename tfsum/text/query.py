"""How much sentences have to do with a query: shared pieces, words and pairs of them (BM25), and
meaning."""

import re

import numpy as np
import tensorflow as tf

from tfsum.text.known_words import is_word
from tfsum.text.rows import Rows

K1, B = 1.5, 0.75  # how soon a repeated piece counts no more, how much length counts
# A piece of this rarity, which is in one of twenty sentences, counts as in BM25, and a rarer one
# more: rarity to the power of 1.5, by which meetings are answered better (docs/questions.md).
RARE = 3.0
PAIRS = 1.5  # what a pair of neighbours counts
# What a cosine counts by which a sentence is above the mean of its text. Chosen with `PAIRS`, so
# that lines of summaries, which share words with their sentences, meetings, and questions in other
# words than their answers all find more (docs/questions.md).
MEANING = 115.0
# It counts less for a query of fewer pieces than so many: who asks by a word looks for sentences
# that hold it, which are then found first.
PIECES = 8.0
# And in a text with fewer sentences than so many, as BM25 does, where a word that one of three
# sentences has is not rare.
SENTENCES = 20.0
# a plural of four letters and more, or the ending of one
PLURAL = r"^(?:##|([^\W\d_]{2,}[^\W\d_isu]))s$"
BASE = 1_000_003  # of the polynomial by which pieces make the key of their word


class SharedWords(tf.Module):
    """Finds what the sentences of texts share with queries, by word pieces and by whole words.

    Words find what is said again, in the singular or the plural; pieces what has another ending,
    and what a script without spaces writes as one word.

    Args:
        vocabulary: Word pieces.

    Attributes:
        words: Pieces that count, (V,) bool; those between them part no pair.

    Example:
        >>> shared = SharedWords(["[PAD]", "rain", "##s", "cost", "costs", "roof", "."])
        >>> sentences = tf.ragged.constant([[[1, 2, 6], [4, 6], [5, 6]]])  # rain|s . costs . roof .
        >>> relevance, share = shared(tf.ragged.constant([[3]]), sentences)  # cost
        >>> [f"{value:.2f}" for value in relevance.numpy()]
        ['0.00', '0.28', '0.00']
        >>> share.numpy().tolist()
        [1.0]
    """

    def __init__(self, vocabulary: list[str]) -> None:
        super().__init__(name="shared_words")
        self.words = tf.constant(is_word(vocabulary))
        self._continues = tf.constant([piece.startswith("##") for piece in vocabulary])
        self._plurals = tf.constant(plurals_of(vocabulary))

    def __call__(
        self, queries: tf.RaggedTensor, pieces: tf.RaggedTensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The mean of BM25 by pieces and by words, and of the share of the query that is there.

        Args:
            queries: Word pieces of the query to each text, (B, Q) int32.
            pieces: Word pieces of the sentences, (B, S, P) int32.

        Returns:
            float32 (N,) from 0 on, for all sentences of all texts, end to end, 0 for those that
            share nothing; and float32 (B,), the share of each query, by rarity, that its text has,
            times `SENTENCES` / S where it has fewer: these hold few of the words of any question.
        """
        by_pieces, share_of_pieces = _bm25(queries, pieces, self.words)
        by_words, share_of_words = _bm25(*self._whole_words(queries, pieces))
        sentences = tf.cast(pieces.row_lengths(), tf.float32)
        few = tf.clip_by_value(sentences / SENTENCES, 1.0 / SENTENCES, 1.0)
        share = (share_of_pieces + share_of_words) / 2.0
        return (by_pieces + by_words) / 2.0, tf.minimum(share / few, 1.0)

    def _whole_words(
        self, queries: tf.RaggedTensor, pieces: tf.RaggedTensor
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.Tensor]:
        """Numbers of words in place of the pieces, and which of them count."""
        # (P,) of all queries and, after them, all sentences: whether a piece begins a word, which
        # one, and its place in it
        rows = tf.concat([queries, pieces.values], 0)
        ids, row = rows.flat_values, Rows.of(rows)
        is_first = row.owner != tf.concat([[-1], row.owner], 0)[:-1]
        begins = ~tf.gather(self._continues, ids) | is_first
        word = tf.cumsum(tf.cast(begins, tf.int64)) - 1
        place = tf.range(tf.size(word, tf.int64)) - tf.gather(tf.where(begins)[:, 0], word)

        # (P,) what a piece adds to the key of its word; an ending of the plural nothing
        parts = tf.range(1, tf.size(self.words) + 1)
        parts = tf.tensor_scatter_nd_update(parts, self._plurals[:, :1], self._plurals[:, 1])
        part, power = tf.gather(parts, ids), tf.pow(tf.constant(BASE, tf.int64), place)

        # (W,) the keys of the words, which overflow, and (U,) the different ones
        in_words = Rows(word, tf.reduce_sum(tf.cast(begins, tf.int64)))
        _, equal = Rows.of_equal(in_words.sum(tf.cast(part, tf.int64) * power))
        are_words = equal.any(in_words.any(tf.gather(self.words, ids) & (part > 0)))

        number, lengths = tf.cast(equal.owner, tf.int32), row.sum(tf.cast(begins, tf.int64))
        rows = tf.RaggedTensor.from_row_lengths(number, lengths, validate=False)
        first = queries.nrows()
        return rows[:first], pieces.with_values(rows[first:]), are_words


def _bm25(
    queries: tf.RaggedTensor, pieces: tf.RaggedTensor, words: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """BM25 (N,) of the sentences of texts (B, S, P), by pieces and by pairs of neighbours; and the
    share (B,) of each query, by rarity of its pieces, that its text has.

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
    is_piece = keys % span < vocabulary
    asked_of = tf.where(is_piece & (in_query.sizes() > 0.0), rarity, 0.0)
    of_texts = Rows(keys // span, pieces.nrows())
    found_of = of_texts.sum(tf.where(holding > 0.0, asked_of, 0.0))
    rarity *= tf.where(is_piece, tf.sqrt(rarity / RARE), PAIRS)

    saturated = often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * relative))
    scores = in_sentence.sum(in_text.to_values(rarity * in_query.sizes()) * saturated)
    asked_of = of_texts.sum(asked_of)
    return scores, found_of / tf.where(asked_of > 0.0, asked_of, 1.0)


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


def plurals_of(vocabulary: list[str]) -> np.ndarray:
    """The pieces that are or end a plural in -s, and what they add to a word in place of their
    number, counted from 1: a plural the number of its singular, the ending nothing.

    Args:
        vocabulary: Word pieces.

    Returns:
        int32 (E, 2).

    Example:
        >>> plurals_of(["[PAD]", "rain", "##s", "cost", "costs", "bus", "bu"]).tolist()
        [[2, 0], [4, 4]]
    """
    numbers = {"": 0} | {piece: number for number, piece in enumerate(vocabulary, 1)}
    singulars = {piece: re.sub(PLURAL, r"\1", piece) for piece in vocabulary}
    pairs = [
        (numbers[piece] - 1, numbers[singular])
        for piece, singular in singulars.items()
        if singular != piece and singular in numbers
    ]
    return np.reshape(np.array(pairs, np.int32), [-1, 2])


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
        ['0.0', '1.0', '1.7']
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
