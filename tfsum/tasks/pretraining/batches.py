"""Token-budget batches of masked sentence pairs for pretraining, a pure function of (records, seed, epoch)."""

import dataclasses
import functools
import pathlib
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from tfsum.data.epoch_plan import batches_of_epochs, bucket, check_lengths, plan
from tfsum.data.ragged import ragged_places
from tfsum.data.records import read_records
from tfsum.errors import DataError
from tfsum.tasks.pretraining.masking import Masking

_SIGNATURE = {
    "token_ids": tf.TensorSpec((None, None), tf.int32),
    "segment_ids": tf.TensorSpec((None, None), tf.int32),
    "next_sentence_labels": tf.TensorSpec((None,), tf.int32),
    "record": tf.TensorSpec((None,), tf.int64),
    "epoch": tf.TensorSpec((), tf.int64),
}


@dataclasses.dataclass
class SentencePairs:
    """The word pieces of all sentence pairs, end to end.

    Attributes:
        pieces: (P,) int32 pieces of the first and the second segment of each pair.
        counts: (N,) int64 pieces of each pair.
        first_counts: (N,) int64 pieces of each first segment.
        labels: (N,) int32 next-sentence labels: 0 is next, 1 is not, -1 is one segment alone.
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
        return SentencePairs(np.concatenate(pieces), self.counts[kept], self.first_counts[kept], self.labels[kept])


def load_sentence_pairs(paths: str | pathlib.Path | Sequence[str | pathlib.Path]) -> SentencePairs:
    """Reads prepared sentence pairs into memory, 4 bytes a piece.

    Raises:
        DataError: there are no records.
    """
    parts = []
    for batch in read_records(paths, ["pieces", "first_pieces", "next_sentence_label"]):
        parts.append((batch["pieces"].values.numpy().astype(np.int32), batch["pieces"].row_lengths().numpy(),
                      batch["first_pieces"].numpy(), batch["next_sentence_label"].numpy().astype(np.int32)))
    if not parts:
        raise DataError(f"{paths}: the records hold no pair; look at the counts of `tfsum prepare`")
    return SentencePairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def pretraining_batches(
    paths: str | pathlib.Path | Sequence[str | pathlib.Path] | SentencePairs,
    *,
    tokens_per_batch: int,
    masking: Masking,
    cls_id: int,
    sep_id: int,
    training: bool,
    static_masks: bool = False,
    seed: int = 0,
    epochs: int | None = None,
    skip_batches: int = 0,
    bucket_width: int = 8,
) -> tf.data.Dataset:
    """Batches of sentence pairs of about equal lengths, as many as a budget of padded tokens holds.

    Args:
        paths: a folder of shards, a shard or several; or what `load_sentence_pairs` made of them, read once for
            many datasets.
        tokens_per_batch: rows * longest pair of a batch at most.
        masking: see `Masking`; it works inside the data set.
        cls_id: id of [CLS].
        sep_id: id of [SEP].
        training: whether to shuffle pairs and batches, and to mask anew, in each epoch. Without it each record always
            has the same mask.
        static_masks: keep the masks of the first epoch; with the duplicates of `prepare` this is the
            original's way.
        seed: of the shuffles.
        epochs: passes over the pairs; None is one pass, or no end in training.
        skip_batches: batches already seen, counted from the first batch of epoch 0.
        bucket_width: pairs whose lengths round up to the same multiple of this are in random order in training.

    Returns:
        A dataset of dicts: `segment_ids` (B, T) and `next_sentence_labels` (B,), int32, and what `Masking` gives.

    Raises:
        DataError: the longest pair alone exceeds the budget, or a size is impossible.
    """
    pairs = paths if isinstance(paths, SentencePairs) else load_sentence_pairs(paths)
    check_lengths(pairs.length, tokens_per_batch, bucket_width, "pair", "max_length of prepare")

    def generate() -> Iterator[dict[str, np.ndarray]]:
        def plan_of(shuffle: tuple[int, int] | None) -> list[tuple[int, np.ndarray]]:
            epoch = shuffle[1] if shuffle and not static_masks else 0
            return [(epoch, rows) for rows in plan_sentence_pairs(pairs, tokens_per_batch, bucket_width, shuffle)]

        passes = {"training": training, "seed": seed, "epochs": epochs, "skip_batches": skip_batches}
        for epoch, rows in batches_of_epochs(plan_of, **passes):
            batch = assemble_sentence_pairs(pairs, rows, cls_id, sep_id)
            yield {**batch, "record": rows.astype(np.int64), "epoch": epoch}

    def mask(batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        epoch, record = batch.pop("epoch"), batch.pop("record")
        return {**batch, **masking(batch["token_ids"], epoch, record)}

    batches = tf.data.Dataset.from_generator(generate, output_signature=_SIGNATURE)
    return batches.map(mask, num_parallel_calls=2, deterministic=True).prefetch(4)


def pretraining_report(pairs: SentencePairs, *, tokens_per_batch: int, bucket_width: int = 8) -> dict[str, int | float]:
    """What one pass of `pretraining_batches` holds and wastes.

    Returns:
        pairs, batches, tokens (special ones included), padding (share of the padded tokens).
    """
    check_lengths(pairs.length, tokens_per_batch, bucket_width, "pair", "max_length of prepare")
    batches = plan_sentence_pairs(pairs, tokens_per_batch, bucket_width, None)
    padded, tokens = sum(len(rows) * int(pairs.length[rows].max()) for rows in batches), int(pairs.length.sum())
    return {"pairs": len(pairs), "batches": len(batches), "tokens": tokens, "padding": 1.0 - tokens / padded}


def plan_sentence_pairs(
    pairs: SentencePairs, tokens_per_batch: int, bucket_width: int, seed: tuple[int, int] | None
) -> list[np.ndarray]:
    """The batches of an epoch as arrays of pair numbers; see `tfsum.data.epoch_plan.plan`."""
    return plan(pairs.length, (bucket(pairs.length, bucket_width),), tokens_per_batch, seed)


def assemble_sentence_pairs(pairs: SentencePairs, rows: np.ndarray, cls_id: int, sep_id: int) -> dict[str, np.ndarray]:
    """The arrays of one batch before it is masked.

    Args:
        pairs: all pairs.
        rows: (B,) pair numbers.
        cls_id: id of [CLS].
        sep_id: id of [SEP].

    Returns:
        `token_ids` and `segment_ids` (B, T), 1 from the first piece of the second segment to its [SEP], and
        `next_sentence_labels` (B,), all int32.
    """
    counts, first, length = pairs.counts[rows], pairs.first_counts[rows], pairs.length[rows]
    row, place = ragged_places(counts)
    token_ids = np.zeros((len(rows), int(length.max())), np.int32)
    token_ids[row, place + 1 + (place >= first[row])] = pairs.pieces[pairs.start[rows][row] + place]
    token_ids[:, 0] = cls_id
    token_ids[np.arange(len(rows)), first + 1] = sep_id
    token_ids[np.arange(len(rows)), length - 1] = sep_id
    positions = np.arange(token_ids.shape[1])
    second = (positions > first[:, None] + 1) & (positions < length[:, None])
    return {"token_ids": token_ids, "segment_ids": second.astype(np.int32), "next_sentence_labels": pairs.labels[rows]}
