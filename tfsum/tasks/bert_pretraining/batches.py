"""Token-budget batches of masked sentence pairs for pretraining."""

import dataclasses
import functools
from typing import ClassVar

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import TokenBudgetBatcher, ragged_places
from tfsum.data.records import Paths, load_columns
from tfsum.tasks.bert_pretraining.masking import Masking


@dataclasses.dataclass
class SentencePairs:
    """The word pieces of all sentence pairs, end to end.

    Attributes:
        pieces: (P,) int32 pieces of the first and the second segment of each pair.
        counts: (N,) int64 pieces of each pair.
        first_counts: (N,) int64 pieces of each first segment.
        labels: (N,) int32 next-sentence labels: 0 is next, 1 is not, -1 is one segment alone.

    Example:
        >>> pairs = SentencePairs(
        ...     np.array([5, 6, 7, 8]), np.array([3, 1]), np.array([2, 1]), np.array([1, -1])
        ... )
        >>> len(pairs), pairs.length.tolist(), pairs.start.tolist(), pairs.some(1).pieces.tolist()
        (2, [6, 3], [0, 3], [5, 6, 7])
    """

    pieces: np.ndarray
    counts: np.ndarray
    first_counts: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def length(self) -> np.ndarray:
        """(N,) positions of a pair: `[CLS] first [SEP] second [SEP]`, or `[CLS] first [SEP]`."""
        return self.counts + 2 + (self.labels >= 0)

    @functools.cached_property
    def start(self) -> np.ndarray:
        """(N,) where the pieces of each pair begin."""
        return np.cumsum(self.counts) - self.counts

    def some(self, number: int | None) -> "SentencePairs":
        """So many of the pairs, evenly spread over all; None, or more than there are, is all."""
        if number is None or number >= len(self):
            return self

        kept = np.arange(number) * len(self) // number
        pieces = [self.pieces[self.start[i] : self.start[i] + self.counts[i]] for i in kept]
        return SentencePairs(
            np.concatenate(pieces), self.counts[kept], self.first_counts[kept], self.labels[kept]
        )


def load_sentence_pairs(paths: Paths) -> SentencePairs:
    """Reads prepared sentence pairs into memory, 4 bytes a piece.

    Raises:
        DataError: There are no records.

    Example:
        >>> import tempfile
        >>> from tfsum.data.records import serialized, write_shard
        >>> path = tempfile.mkdtemp() + "/pairs.tfrecord"
        >>> pair = serialized(pieces=[5, 6, 7], first_pieces=[2], next_sentence_label=[1])
        >>> write_shard(path, [pair])
        1
        >>> pairs = load_sentence_pairs(path)
        >>> pairs.pieces.tolist(), pairs.length.tolist()
        ([5, 6, 7], [6])
    """
    (pieces, counts), first_counts, labels = load_columns(
        paths, "pieces", "first_pieces", "next_sentence_label"
    )
    return SentencePairs(pieces, counts, first_counts, labels.astype(np.int32))


class SentencePairBatcher(TokenBudgetBatcher):
    """Batches of dicts: `segment_ids` (B, T), `next_sentence_labels` (B,), int32, and what
    `Masking` gives.

    A pair is `[CLS] first [SEP] second [SEP]`, or `[CLS] first [SEP]`. It is masked inside the data
    set, with `training` otherwise in each epoch; without it each record always has the same mask.

    Args:
        pairs: Result of `load_sentence_pairs`.
        tokens_per_batch: Padded tokens of a batch at most.
        masking: The `Masking` of the words.
        cls_id: Id of [CLS].
        sep_id: Id of [SEP].

    Raises:
        DataError: Longest pair alone exceeds the budget.

    Example:
        >>> pairs = SentencePairs(np.array([5, 6, 7]), np.array([3]), np.array([2]), np.array([1]))
        >>> masking = Masking(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"])
        >>> batcher = SentencePairBatcher(pairs, 64, masking=masking, cls_id=2, sep_id=3)
        >>> batch = batcher.assemble(np.array([0]))  # not masked yet
        >>> batch["token_ids"].tolist(), batch["segment_ids"].tolist()
        ([[2, 5, 6, 3, 7, 3]], [[0, 0, 0, 0, 1, 1]])
        >>> sorted(
        ...     next(batcher.dataset(training=False).as_numpy_iterator())
        ... )  # doctest: +NORMALIZE_WHITESPACE
        ['masked_lm_ids', 'masked_lm_positions', 'masked_lm_weights', 'next_sentence_labels',
        'segment_ids',
         'token_ids']
    """

    row, lower = "pair", "max_length of prepare"
    signature: ClassVar = {
        **dict.fromkeys(("token_ids", "segment_ids"), tf.TensorSpec((None, None), tf.int32)),
        "next_sentence_labels": tf.TensorSpec((None,), tf.int32),
        "record": tf.TensorSpec((None,), tf.int64),
        "epoch": tf.TensorSpec((), tf.int64),
    }

    def __init__(
        self,
        pairs: SentencePairs,
        tokens_per_batch: int,
        *,
        masking: Masking,
        cls_id: int,
        sep_id: int,
    ) -> None:
        super().__init__(pairs.length, tokens_per_batch)
        self._pairs, self._masking = pairs, masking
        self._cls_id, self._sep_id, self.counts = cls_id, sep_id, {"pairs": len(pairs)}

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        pairs = self._pairs
        counts, first, length = pairs.counts[rows], pairs.first_counts[rows], pairs.length[rows]
        row, place = ragged_places(counts)
        token_ids = np.zeros((len(rows), self.width(pairs.length, rows)), np.int32)
        token_ids[row, place + 1 + (place >= first[row])] = pairs.pieces[
            pairs.start[rows][row] + place
        ]
        token_ids[:, 0] = self._cls_id
        token_ids[np.arange(len(rows)), first + 1] = self._sep_id
        token_ids[np.arange(len(rows)), length - 1] = self._sep_id
        positions = np.arange(token_ids.shape[1])
        second = (positions > first[:, None] + 1) & (positions < length[:, None])

        return {
            "token_ids": token_ids,
            "segment_ids": second.astype(np.int32),
            "next_sentence_labels": pairs.labels[rows],
            "record": rows.astype(np.int64),
            "epoch": epoch,
        }

    def transform(self, batches: tf.data.Dataset) -> tf.data.Dataset:
        def mask(batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
            epoch, record = batch.pop("epoch"), batch.pop("record")
            return {**batch, **self._masking(batch["token_ids"], epoch, record)}

        return batches.map(mask, num_parallel_calls=2, deterministic=True)
