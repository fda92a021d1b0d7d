"""Token-budget batches of pairs for a `Transformer`, a pure function of (records, seed, epoch)."""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from tfsum.data.epoch_plan import batches_of_epochs, bucket, check_lengths, plan
from tfsum.data.ragged import padded, ragged_places
from tfsum.data.records import read_records

_SIGNATURE = dict.fromkeys(("source_ids", "target_ids", "target_labels"), tf.TensorSpec((None, None), tf.int32))


@dataclasses.dataclass
class Pairs:
    """The word pieces of all pairs, end to end.

    Attributes:
        sources: (P,) int32 pieces of all sources.
        source_counts: (N,) int64 pieces of each.
        targets: (Q,) int32 pieces of all targets.
        target_counts: (N,) int64 pieces of each.
    """

    sources: np.ndarray
    source_counts: np.ndarray
    targets: np.ndarray
    target_counts: np.ndarray

    def __len__(self) -> int:
        return len(self.source_counts)

    @property
    def length(self) -> np.ndarray:
        """(N,) positions of a pair's longer side: `[CLS] source [SEP]`, or a target with its start or end."""
        return np.maximum(self.source_counts + 2, self.target_counts + 1)

    def with_shuffled_sources(self, seed: int) -> "Pairs":
        """The same sources and targets, each target beside a source drawn for it at random."""
        order = np.random.default_rng(seed).permutation(len(self))
        first, counts = (np.cumsum(self.source_counts) - self.source_counts)[order], self.source_counts[order]
        row, place = ragged_places(counts)
        return dataclasses.replace(self, sources=self.sources[first[row] + place], source_counts=counts)


def load_pairs(paths: str | pathlib.Path | Sequence[str | pathlib.Path]) -> Pairs:
    """Reads the ids of prepared pairs into memory, 4 bytes a piece.

    Raises:
        DataError: there are no records.
    """
    parts = []
    for batch in read_records(paths, ["source", "target"]):
        source, target = batch["source"], batch["target"]
        parts.append((source.values.numpy().astype(np.int32), source.row_lengths().numpy(),
                      target.values.numpy().astype(np.int32), target.row_lengths().numpy()))
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def pair_texts(paths: str | pathlib.Path | Sequence[str | pathlib.Path]) -> Iterator[tuple[str, str]]:
    """The texts (source, target) of prepared pairs in the order of `load_pairs`, NFC, as BLEU and ROUGE want them."""
    for batch in read_records(paths, ["source_text", "target_text"]):
        for texts in zip(batch["source_text"].numpy(), batch["target_text"].numpy(), strict=True):
            yield tuple(text.decode() for text in texts)


def pair_batches(
    paths: str | pathlib.Path | Sequence[str | pathlib.Path] | Pairs,
    *,
    tokens_per_batch: int,
    cls_id: int,
    sep_id: int,
    training: bool,
    seed: int = 0,
    epochs: int | None = None,
    skip_batches: int = 0,
    bucket_width: int = 4,
) -> tf.data.Dataset:
    """Batches of pairs of about equal lengths, as many as a budget of padded tokens holds.

    Args:
        paths: a folder of shards, a shard or several; or what `load_pairs` made of them, read once for many
            datasets.
        tokens_per_batch: rows * longest side of a batch at most: so many source tokens, so many target tokens.
        cls_id: id of [CLS], the start token.
        sep_id: id of [SEP], the end token.
        training: whether to shuffle pairs and batches, in another order each epoch.
        seed: of the shuffles.
        epochs: passes over the pairs; None is one pass, or no end in training.
        skip_batches: batches already seen, counted from the first batch of epoch 0.
        bucket_width: pairs whose lengths round up to the same multiples of this are in random order in training.

    Returns:
        A dataset of dicts of (B, T) int32, padded with 0: `source_ids` (`[CLS] pieces [SEP]`), `target_ids`
        (`[CLS] pieces`) and `target_labels` (`pieces [SEP]`).

    Raises:
        DataError: the longest pair alone exceeds the budget, or a size is impossible.
    """
    pairs = paths if isinstance(paths, Pairs) else load_pairs(paths)
    check_lengths(pairs.length, tokens_per_batch, bucket_width, "pair", "the lengths of prepare")

    def generate() -> Iterator[dict[str, np.ndarray]]:
        def plan_of(shuffle: tuple[int, int] | None) -> list[np.ndarray]:
            return plan_pairs(pairs, tokens_per_batch, bucket_width, shuffle)

        passes = {"training": training, "seed": seed, "epochs": epochs, "skip_batches": skip_batches}
        for rows in batches_of_epochs(plan_of, **passes):
            yield assemble_pairs(pairs, rows, cls_id, sep_id)

    return tf.data.Dataset.from_generator(generate, output_signature=_SIGNATURE).prefetch(4)


def pair_batches_report(
    paths: str | pathlib.Path | Sequence[str | pathlib.Path] | Pairs, *, tokens_per_batch: int, bucket_width: int = 4
) -> dict[str, int | float]:
    """What one pass of `pair_batches` holds and wastes.

    Returns:
        pairs, batches, source_tokens and target_tokens (special ones included), padded_tokens of both sides,
        padding (share of the padded tokens).
    """
    pairs = paths if isinstance(paths, Pairs) else load_pairs(paths)
    check_lengths(pairs.length, tokens_per_batch, bucket_width, "pair", "the lengths of prepare")
    sides = (pairs.source_counts + 2, pairs.target_counts + 1)
    batches = plan_pairs(pairs, tokens_per_batch, bucket_width, None)
    padded = sum(len(rows) * int(side[rows].max()) for rows in batches for side in sides)
    source_tokens, target_tokens = (int(side.sum()) for side in sides)
    return {
        "pairs": len(pairs),
        "batches": len(batches),
        "source_tokens": source_tokens,
        "target_tokens": target_tokens,
        "padded_tokens": padded,
        "padding": 1.0 - (source_tokens + target_tokens) / padded,
    }


def plan_pairs(
    pairs: Pairs, tokens_per_batch: int, bucket_width: int, seed: tuple[int, int] | None
) -> list[np.ndarray]:
    """The batches of an epoch as arrays of pair numbers; see `tfsum.data.epoch_plan.plan`."""
    longer = bucket(pairs.length, bucket_width)
    return plan(pairs.length, (longer, bucket(pairs.target_counts, bucket_width)), tokens_per_batch, seed)


def assemble_pairs(pairs: Pairs, rows: np.ndarray, cls_id: int, sep_id: int) -> dict[str, np.ndarray]:
    """The arrays of one batch, as `pair_batches` gives them, of the pairs `rows` (B,)."""
    sources = padded(pairs.sources, pairs.source_counts, rows, [cls_id], [sep_id])
    return {
        "source_ids": sources,
        "target_ids": padded(pairs.targets, pairs.target_counts, rows, [cls_id], []),
        "target_labels": padded(pairs.targets, pairs.target_counts, rows, [], [sep_id]),
    }
