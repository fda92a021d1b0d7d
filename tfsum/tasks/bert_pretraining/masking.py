"""Words masked for BERT's masked language model, in the graph: a pure function of (seed, epoch,
record).

Random numbers are a hash of the seed, the epoch, the record and the position, without a stateful
generator, so that a record has the same mask in any batch, in any order and after a resume, and
another one in the next epoch.
"""

from collections.abc import Sequence

import tensorflow as tf

from tfsum.errors import require
from tfsum.text.word_piece import Vocabulary

# shares of the chosen tokens; the others become a random piece (Devlin et al. 2019, 3.1)
MASKED, KEPT = 0.8, 0.1
_DRAWS = 3  # numbers a position: the order of its word, what becomes of it, which random piece
_LAST = 2**63 - 1


class Masking:
    """Chooses tokens of a batch and hides them from the model.

    Of a row of T tokens (special ones included), n = round(share * T) are chosen, rounded half to
    even, at least 1 and at most `max_predictions`; never [CLS], [SEP] or padding. 80 % become
    [MASK], 10 % a random piece, 10 % stay.

    Two things differ from google-research/bert (create_pretraining_data.py,
    `create_masked_lm_predictions`): a random piece is never one in brackets, such as [PAD] or
    [unused7], and a word never crosses a [SEP].

    Args:
        vocabulary: Word pieces in the order of their ids.
        share: Share of the tokens that are chosen, above 0 and at most 1.
        max_predictions: Most tokens chosen of a row, 1 or more.
        whole_words: Whether to choose all pieces of a word or none; a word that would exceed n is
            skipped. The replacement of each piece is still drawn separately.
        seed: Seed of all random numbers.

    Raises:
        Error: The vocabulary has no [MASK].

    Example:
        >>> masking = Masking(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "snow"])
        >>> masked = masking(
        ...     tf.constant([[2, 5, 6, 5, 3]]), tf.constant(0, tf.int64), tf.constant([7], tf.int64)
        ... )
        >>> masked["masked_lm_positions"].shape.as_list()
        [1, 1]
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        share: float = 0.15,
        max_predictions: int = 20,
        whole_words: bool = False,
        seed: int = 0,
    ) -> None:
        words = Vocabulary(vocabulary)
        require(
            words.mask_id is not None,
            "Masking: the vocabulary has no [MASK], the piece that replaces a hidden token; add"
            " a line [MASK]",
        )

        self._share, self._most, self._seed = share, max_predictions, seed
        self._special = [words.pad_id, words.cls_id, words.sep_id]
        self._mask_id = words.mask_id
        self._inside = [whole_words and word.startswith("##") for word in words.words]
        self._ordinary = [
            i
            for i, word in enumerate(words.words)
            if not (word[0] == "[" and word[-1] == "]") or len(word) < 3
        ]

    def __call__(
        self, token_ids: tf.Tensor, epoch: tf.Tensor, record: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Masks a batch.

        Args:
            token_ids: (B, T) int32, padded with 0.
            epoch: int64 scalar.
            record: (B,) int64, what names each row.

        Returns:
            `token_ids` (B, T) int32 with the masks; `masked_lm_positions` and `masked_lm_ids`, the
            true pieces, (B, P) int32, and `masked_lm_weights` (B, P) float32, 1 for a prediction.
            Positions are in order; a row with fewer than P has zeros after them. P is the most that
            a row of the batch has.
        """
        # uint64 (B, T, 3) random numbers of each position
        key = mix(mix(tf.constant(self._seed % 2**64, tf.uint64)) + tf.cast(epoch, tf.uint64))
        key = mix(key + tf.cast(record, tf.uint64))
        numbers = stream(key[:, None], tf.range(tf.shape(token_ids, tf.int64)[1] * _DRAWS))
        random = tf.reshape(numbers, tf.concat([tf.shape(token_ids), [_DRAWS]], 0))

        chosen = self._chosen(token_ids, random[..., 0])
        masked = tf.where(chosen, self._hidden(token_ids, random), token_ids)
        counts = tf.reduce_sum(tf.cast(chosen, tf.int32), 1)
        # also of no row, a device's share of a small batch
        width = tf.maximum(tf.reduce_max(counts), 1)
        # A stable sort of "not chosen" brings the chosen positions to the front and leaves them in
        # order.
        positions = tf.argsort(tf.cast(~chosen, tf.int32), axis=1, stable=True)[:, :width]
        real = tf.range(width) < counts[:, None]
        positions = tf.where(real, positions, 0)

        return {
            "token_ids": masked,
            "masked_lm_positions": positions,
            "masked_lm_ids": tf.where(real, tf.gather(token_ids, positions, batch_dims=1), 0),
            "masked_lm_weights": tf.cast(real, tf.float32),
        }

    def _chosen(self, token_ids: tf.Tensor, random: tf.Tensor) -> tf.Tensor:
        """The tokens to be predicted: bool (B, T)."""
        candidate = tf.reduce_all(token_ids[..., None] != tf.constant(self._special), -1)
        # A piece inside a word joins the word before it, unless a special token is between them.
        joins = (
            tf.gather(tf.constant(self._inside), token_ids) & candidate & tf.roll(candidate, 1, 1)
        )
        # (B, T), each token's; -1 before the first
        word = tf.cumsum(tf.cast(candidate & ~joins, tf.int32), 1) - 1
        # (B, T), how many pieces the k-th word of each row has, 0 where there is none
        pieces, most = tf.cast(candidate, tf.int32), tf.shape(word)[1]
        sizes = tf.math.bincount(
            tf.maximum(word, 0), weights=pieces, minlength=most, maxlength=most, axis=-1
        )
        order = tf.cast(tf.bitwise.right_shift(random, tf.constant(1, tf.uint64)), tf.int64)
        shuffled = tf.argsort(tf.where(sizes > 0, order, _LAST), axis=1)
        length = tf.math.count_nonzero(token_ids, 1, dtype=tf.float64)
        number = tf.cast(tf.round(length * tf.constant(self._share, tf.float64)), tf.int32)
        number = tf.minimum(self._most, tf.maximum(1, number))  # of tokens to choose, (B,)
        taken = _take(tf.gather(sizes, shuffled, batch_dims=1), number)
        # back into the order of the words
        taken = tf.gather(taken, tf.argsort(shuffled, axis=1), batch_dims=1)

        return tf.gather(taken, tf.maximum(word, 0), batch_dims=1) & candidate

    def _hidden(self, token_ids: tf.Tensor, random: tf.Tensor) -> tf.Tensor:
        """The replacement of each token if it is chosen: int32 (B, T)."""
        shift = tf.constant(32, tf.uint64)
        fate = tf.cast(tf.bitwise.right_shift(random[..., 1], shift), tf.float64) / 2**32
        # The upper half of a number times the count, halved again: evenly from 0 to below the
        # count.
        place = tf.bitwise.right_shift(
            tf.bitwise.right_shift(random[..., 2], shift) * tf.cast(len(self._ordinary), tf.uint64),
            shift,
        )
        piece = tf.gather(tf.constant(self._ordinary), tf.cast(place, tf.int32))

        return tf.where(
            fate < MASKED, self._mask_id, tf.where(fate < MASKED + KEPT, token_ids, piece)
        )


def _take(sizes: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """Takes words in order, as long as they fit.

    Args:
        sizes: (B, W) int32, 0 for no word.
        number: (B,) int32, the most pieces to take.

    Returns:
        bool (B, W).
    """
    columns = tf.range(tf.shape(sizes)[1])

    def body(k: tf.Tensor, left: tf.Tensor, taken: tf.Tensor) -> tuple[tf.Tensor, ...]:
        takes = (sizes[:, k] <= left) & (sizes[:, k] > 0)
        return (
            k + 1,
            left - tf.where(takes, sizes[:, k], 0),
            taken | (takes[:, None] & (columns == k)),
        )

    def more(k: tf.Tensor, left: tf.Tensor, taken: tf.Tensor) -> tf.Tensor:
        return (k < tf.shape(sizes)[1]) & tf.reduce_any(left > 0)

    return tf.while_loop(more, body, (0, number, tf.zeros_like(sizes, tf.bool)))[2]


def mix(numbers: tf.Tensor) -> tf.Tensor:
    """SplitMix64's output function: uint64 to uint64, each bit of the one changes half of the
    other's.

    Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014, figure
        17.

    Args:
        numbers: uint64 of any shape.

    Example:
        >>> hex(mix(tf.constant(0, tf.uint64)).numpy())
        '0xe220a8397b1dcdaf'
    """
    numbers = numbers + tf.constant(_GOLDEN, tf.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        shifted = tf.bitwise.right_shift(numbers, tf.constant(shift, tf.uint64))
        numbers = tf.bitwise.bitwise_xor(numbers, shifted) * tf.constant(factor, tf.uint64)

    return tf.bitwise.bitwise_xor(
        numbers, tf.bitwise.right_shift(numbers, tf.constant(31, tf.uint64))
    )


_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio


def stream(key: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """The numbers at some places (from 0) of SplitMix64's sequence for a key: uint64 of the shape
    both broadcast to.

    Args:
        key: uint64.
        places: int64, from 0.

    Example:
        >>> stream(tf.constant(0, tf.uint64), tf.range(3)).shape.as_list()
        [3]
    """
    return mix(key + tf.cast(places, tf.uint64) * tf.constant(_GOLDEN, tf.uint64))
