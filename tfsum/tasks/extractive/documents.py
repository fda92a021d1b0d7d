"""Documents of any length through a model: windows in groups, then all sentences of a document through the head.

Every loop here takes a bounded number of rows at a time, each padded only to the longest of its own, so that
neither a long document nor a large batch asks for memory beyond its sentence vectors.
"""

import tensorflow as tf

from tfsum.export.groups import in_groups
from tfsum.export.stored_weights import StoredWeights
from tfsum.text.repeat import repeat

WINDOWS_AT_ONCE = 8  # attention weights are (8, H, 512, 512): 100 MB with 12 heads
SENTENCES_IN_HEAD = (
    512  # the head's attention is quadratic too: a longer document goes through it in even blocks
)
BLOCKS_AT_ONCE = 8
# Rows are padded to multiples of these, so that a server meets a few hundred shapes and not one for each text: oneDNN
# keeps compiled code for each product of a new shape, 0.4 GB after a thousand texts.
LENGTHS, SENTENCES = 16, 8


def sentence_vectors(
    weights: StoredWeights, values: dict, windows: dict, width: int, longest: int
) -> tf.Tensor:
    """Encodes packed windows.

    Args:
        weights: the model.
        values: the result of `weights.read()`.
        windows: the result of `tfsum.text.packing.pack_windows`.
        width: D.
        longest: tokens of a window at most.

    Returns:
        float32 (N, D), a vector for each sentence of the batch, in order.

    Example:
        >>> vectors = sentence_vectors(weights, weights.read(), windows, 384, 512)  # doctest: +SKIP
    """
    token_ids, segment_ids = windows["token_ids"], windows["segment_ids"]
    starts, window_of = windows["sentence_starts"], windows["window_of_sentence"]
    lengths = tf.math.count_nonzero(token_ids, axis=1, dtype=tf.int32)
    order = tf.argsort(lengths, stable=True)  # windows of one length together: less padding

    def encode(rows: tf.Tensor) -> tf.Tensor:
        length = tf.minimum(_rounded_up(tf.reduce_max(tf.gather(lengths, rows)), LENGTHS), longest)
        begins = tf.gather(starts, rows)
        sentences = _rounded_up(
            tf.reduce_max(tf.math.count_nonzero(begins >= 0, axis=1, dtype=tf.int32)), SENTENCES
        )
        begins = _columns(begins, sentences, -1)
        ids, segments = (
            _columns(tf.gather(part, rows), length, 0) for part in (token_ids, segment_ids)
        )
        with weights.model(values) as model:
            sequence, *_ = model.bert.encode(
                ids, segments, training=False
            )  # a row is one window: nothing to cut
            vectors = model.pool_sentences(sequence, ids, begins)
        return (tf.boolean_mask(vectors, begins >= 0),)

    (encoded,) = in_groups(encode, order, WINDOWS_AT_ONCE, [tf.TensorSpec([None, width])])
    # encoded holds the sentences window by window in `order`: find each sentence's row there
    held = tf.math.count_nonzero(starts >= 0, axis=1, dtype=tf.int32)
    before = tf.cumsum(tf.gather(held, order), exclusive=True)
    first = tf.scatter_nd(order[:, tf.newaxis], before, tf.shape(order))
    return tf.gather(encoded, tf.gather(first, window_of) + windows["place_in_window"])


def score_documents(
    weights: StoredWeights,
    values: dict,
    vectors: tf.Tensor,
    per_document: tf.Tensor,
    padded: bool = True,
) -> tf.Tensor:
    """Scores all sentences, those of a document together.

    Args:
        weights: the model.
        values: the result of `weights.read()`.
        vectors: float32 (N, D), document by document.
        per_document: int (B,), sentences of each; they sum to N.
        padded: whether documents go through the head together; False for a head that reads padding (`LSTMHead` with
            `legacy`), whose scores would depend on the batch.

    Returns:
        float32 logits (N,).

    Example:
        >>> logits = score_documents(
        ...     weights, weights.read(), vectors, tf.constant([3, 5])
        ... )  # doctest: +SKIP
    """
    first, size, place = _even_blocks(tf.cast(per_document, tf.int32))

    def score(rows: tf.Tensor) -> tf.Tensor:
        sizes = tf.gather(size, rows)
        here = tf.range(_rounded_up(tf.reduce_max(sizes), SENTENCES if padded else 1))
        real = here < sizes[:, tf.newaxis]
        index = tf.where(real, tf.gather(first, rows)[:, tf.newaxis] + here, 0)
        with weights.model(values) as model:
            logits = model.score_sentences(
                tf.gather(vectors, index),
                real,
                first_position=tf.gather(place, rows),
                training=False,
            )
        return (tf.boolean_mask(logits, real),)

    at_once = BLOCKS_AT_ONCE if padded else 1
    return in_groups(score, tf.range(tf.size(size)), at_once, [tf.TensorSpec([None])])[0]


def _rounded_up(number: tf.Tensor, to: int) -> tf.Tensor:
    return -(-number // to) * to


def _columns(rows: tf.Tensor, number: tf.Tensor, fill: int) -> tf.Tensor:
    """The first columns of rows (R, T), filled up where there are fewer."""
    rows = rows[:, :number]
    return tf.pad(rows, [[0, 0], [0, number - tf.shape(rows)[1]]], constant_values=fill)


def _even_blocks(per_document: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Cuts documents into blocks of at most `SENTENCES_IN_HEAD`, as even as can be.

    Returns:
        int32 (R,) each: the first sentence of a block in the batch, its sentences, its place in its document.
    """
    blocks = (per_document + SENTENCES_IN_HEAD - 1) // SENTENCES_IN_HEAD
    owner = repeat(tf.range(tf.size(blocks)), blocks)
    number = tf.range(tf.size(owner)) - tf.gather(tf.cumsum(blocks, exclusive=True), owner)
    share = tf.cast(
        tf.gather(per_document, owner), tf.int64
    )  # in int32 a product of them would overflow
    parts, number = tf.cast(tf.gather(blocks, owner), tf.int64), tf.cast(number, tf.int64)
    place = tf.cast(share * number // parts, tf.int32)
    end = tf.cast(share * (number + 1) // parts, tf.int32)
    return tf.gather(tf.cumsum(per_document, exclusive=True), owner) + place, end - place, place
