"""What a summary may cost, in words, characters, bytes and sentences of a document."""

from typing import NamedTuple

import tensorflow as tf

from tfsum.text.rows import Rows
from tfsum.text.white_space import IN_CLASS, UNSPACED, WHITE_SPACE, WORD

UNLIMITED = 1 << 30  # below which the sums of two such limits stay in int32


class Budget(NamedTuple):
    """Limits of summaries, and what each sentence takes of them.

    Attributes:
        costs: Words of a sentence, its characters and its bytes with a space, int32 (N, 3) for all
            sentences of all documents, end to end.
        limits: The most of each for a summary, int32 (B, 3).
        documents: Document of each sentence: a text may hold several.
        most: The most sentences of the document of each sentence, int32 (N,).
    """

    costs: tf.Tensor
    limits: tf.Tensor
    documents: Rows
    most: tf.Tensor

    @classmethod
    def free(cls, sentences: tf.RaggedTensor) -> "Budget":
        """The budget of summaries that may cost anything.

        Args:
            sentences: One value or row for each sentence, (B, S, ...).

        Example:
            >>> Budget.free(tf.ragged.constant([["It rained."]])).costs.numpy().tolist()
            [[0, 0, 0]]
        """
        texts, number = Rows.of(sentences), sentences.row_splits[-1]
        nothing = tf.zeros([number, 3], tf.int32)
        return cls(
            nothing, tf.zeros([texts.count, 3], tf.int32), texts, tf.fill([number], UNLIMITED)
        )

    def at(self, places: tf.Tensor) -> "Budget":
        """The same budget for some of the sentences.

        Args:
            places: Their numbers, (K,).

        Example:
            >>> Budget.free(tf.ragged.constant([["a", "b"]])).at(tf.constant([1])).most.shape
            TensorShape([1])
        """
        costs, most = tf.gather(self.costs, places), tf.gather(self.most, places)
        return Budget(costs, self.limits, self.documents.at(places), most)

    def copied(self, times: tf.Tensor) -> "Budget":
        """The budget of so many copies of the texts.

        Args:
            times: Number of copies.

        Example:
            >>> Budget.free(tf.ragged.constant([["a", "b"]])).copied(tf.constant(2)).limits.shape
            TensorShape([2, 3])
        """
        costs, limits = (tf.tile(values, [times, 1]) for values in (self.costs, self.limits))
        return Budget(costs, limits, self.documents.copied(times), tf.tile(self.most, [times]))

    def holds(self, chosen: tf.Tensor, texts: Rows) -> tf.Tensor:
        """Tells for which sentences there is room beside those that are chosen.

        Args:
            chosen: Bool (N,).
            texts: Text of each sentence; there are B.

        Returns:
            bool (N,).

        Example:
            >>> texts = Rows(tf.constant([0, 0, 0]), 1)
            >>> budget = Budget(
            ...     tf.constant([[3, 9], [1, 4], [2, 5]]),
            ...     tf.constant([[4, 90]]),
            ...     texts,
            ...     tf.constant([3, 3, 3]),
            ... )
            >>> budget.holds(tf.constant([True, False, False]), texts).numpy().tolist()
            [False, True, False]
        """
        taken = texts.sum(tf.where(chosen[:, tf.newaxis], self.costs, 0))
        has_room = tf.reduce_all(self.costs <= texts.to_values(self.limits - taken), 1)
        of_document = self.documents.to_values(self.documents.sum(tf.cast(chosen, tf.int32)))
        return has_room & (of_document < self.most)


def costs_of(sentences: tf.Tensor) -> tf.Tensor:
    """What sentences take of a `Budget`.

    Args:
        sentences: Strings (N,).

    Returns:
        int32 (N, 3), words, characters and bytes, these with the space after a sentence.

    Example:
        >>> costs_of(tf.constant(["It rained.", "東京です。"])).numpy().tolist()
        [[2, 11, 11], [5, 6, 16]]
    """
    # characters without spaces between are counted one by one, as by ROUGE (`tfsum.text.words`)
    apart = tf.strings.regex_replace(sentences, f"[{UNSPACED}]", " x ")
    marks = tf.strings.regex_replace(apart, f"{WORD}[{IN_CLASS}]*", "x")
    marks = tf.strings.regex_replace(marks, WHITE_SPACE, "")  # before the first word
    in_words, length = tf.strings.length(marks), tf.strings.length(sentences, "UTF8_CHAR")
    return tf.stack([in_words, length + 1, tf.strings.length(sentences) + 1], 1)


def budget_of(
    costs: tf.Tensor,
    texts: Rows,
    words: tf.Tensor,
    characters: tf.Tensor,
    in_bytes: tf.Tensor,
    share: tf.Tensor,
    documents: Rows,
    per_document: tf.Tensor,
) -> Budget:
    """The budget of summaries.

    Args:
        costs: Result of `costs_of`, (N, 3) for the sentences of all texts.
        texts: Text of each sentence; there are B.
        words: The most words of a summary, (B,) int32; 0 for any number.
        characters: The most characters of a summary, its sentences parted by a space, (B,) int32;
            0 for any number.
        in_bytes: The most bytes of a summary, counted alike, (B,) int32; 0 for any number.
        share: The largest share of the text's words in a summary, (B,) float32; 0 for any.
        documents: Document of each sentence: a text may hold several.
        per_document: The most sentences of each document, (B,) int32; 0 for any number.

    Example:
        >>> costs, texts = tf.constant([[2, 11, 11], [5, 6, 16]]), Rows(tf.constant([0, 0]), 1)
        >>> words, none, share = tf.constant([9]), tf.constant([0]), tf.constant([0.5])
        >>> budget_of(costs, texts, words, none, none, share, texts, none).limits.numpy().tolist()
        [[3, 1073741824, 1073741824]]
    """
    total = tf.cast(texts.sum(costs[:, 0]), tf.float32)
    of_share = tf.cast(total * share, tf.int32)
    in_share = tf.where(share > 0.0, tf.maximum(of_share, 1), UNLIMITED)
    limits = [
        tf.minimum(tf.where(words > 0, tf.minimum(words, UNLIMITED), UNLIMITED), in_share),
        *(  # no space before the first
            tf.where(most > 0, tf.minimum(most, UNLIMITED - 1) + 1, UNLIMITED)
            for most in (characters, in_bytes)
        ),
    ]
    most = texts.to_values(tf.where(per_document > 0, per_document, UNLIMITED))
    return Budget(costs, tf.stack(limits, 1), documents, most)


def with_room_for_one(
    budget: Budget, texts: tf.RaggedTensor, present: tf.Tensor
) -> tuple[Budget, tf.Tensor]:
    """Makes room for the shortest sentence of a summary in which no sentence has any.

    The shortest has the fewest words where these are limited, else the fewest characters.

    Args:
        budget: The budget.
        texts: Sentences, (B, S).
        present: Sentences that may be chosen, (N,) bool for all sentences.

    Returns:
        The budget, and the sentences that may be chosen now: where no other has room, the shortest.
    """
    rows = Rows.of(texts)
    fits = tf.reduce_all(budget.costs <= rows.to_values(budget.limits), 1)
    has_room = rows.any(present & fits)

    # (N,) whether a sentence is the first of the shortest of its text
    in_words, length, _ = tf.unstack(tf.cast(budget.costs, tf.int64), axis=1)
    by_words = rows.to_values(budget.limits[:, 0] < UNLIMITED)
    size = tf.where(by_words, in_words * 2**32 + length, length)
    shortest = present & rows.is_best(-tf.where(present, size, tf.int64.max))

    costs = rows.sum(tf.where(shortest[:, tf.newaxis], budget.costs, 0))
    limits = tf.where(has_room[:, tf.newaxis], budget.limits, tf.maximum(budget.limits, costs))
    return budget._replace(limits=limits), present & (rows.to_values(has_room) | shortest)


def most_that_fit(budget: Budget, texts: tf.RaggedTensor) -> tf.Tensor:
    """A number of sentences that no summary within its limits exceeds, (B,) int32, at least 1.

    Args:
        budget: The budget.
        texts: Sentences, (B, S).
    """
    # (B, S, 3) the costs from the lowest up, which end in `UNLIMITED` where there is no sentence
    costs = texts.with_flat_values(budget.costs).to_tensor(UNLIMITED)
    cheapest = tf.cast(tf.sort(costs, axis=1), tf.int64)
    fits = tf.cumsum(cheapest, axis=1) <= tf.cast(budget.limits[:, tf.newaxis], tf.int64)
    count = tf.reduce_sum(tf.cast(fits & (cheapest < UNLIMITED), tf.int32), 1)
    return tf.maximum(tf.reduce_min(count, 1), 1)
