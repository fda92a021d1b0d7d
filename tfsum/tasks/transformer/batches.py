"""Token-budget batches of pairs of source and target for a `Transformer`."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import TokenBudgetBatcher, padded, ragged_places
from tfsum.data.records import Paths, load_columns, read_records


@dataclasses.dataclass
class Pairs:
    """The word pieces of all pairs, end to end.

    Attributes:
        sources: (P,) int32 pieces of all sources.
        source_counts: (N,) int64 pieces of each.
        targets: (Q,) int32 pieces of all targets.
        target_counts: (N,) int64 pieces of each.

    Example:
        >>> pairs = Pairs(np.array([5, 6, 7]), np.array([2, 1]), np.array([8, 9]), np.array([1, 1]))
        >>> len(pairs), pairs.with_shuffled_sources(seed=0).sources.tolist()
        (2, [5, 6, 7])
    """

    sources: np.ndarray
    source_counts: np.ndarray
    targets: np.ndarray
    target_counts: np.ndarray

    def __len__(self) -> int:
        return len(self.source_counts)

    def with_shuffled_sources(self, seed: int) -> "Pairs":
        """The same sources and targets, each target beside a source drawn for it at random."""
        order = np.random.default_rng(seed).permutation(len(self))
        first = (np.cumsum(self.source_counts) - self.source_counts)[order]
        counts = self.source_counts[order]
        row, place = ragged_places(counts)
        return dataclasses.replace(
            self, sources=self.sources[first[row] + place], source_counts=counts
        )


def load_pairs(paths: Paths) -> Pairs:
    """Reads the ids of prepared pairs into memory, 4 bytes a piece.

    Raises:
        DataError: There are no records.

    Example:
        >>> import tempfile
        >>> from tfsum.data.records import make_pair_record, write_shard
        >>> path = tempfile.mkdtemp() + "/pairs.tfrecord"
        >>> write_shard(path, [make_pair_record([5, 6], [8], "the cat", "chat")])
        1
        >>> load_pairs(path).sources.tolist(), list(pair_texts(path))
        ([5, 6], [('the cat', 'chat')])
    """
    return Pairs(*(array for column in load_columns(paths, "source", "target") for array in column))


def pair_texts(paths: Paths) -> Iterator[tuple[str, str]]:
    """The texts (source, target) of prepared pairs in the order of `load_pairs`, NFC, as BLEU and
    ROUGE want them.

    Example:
        >>> for source, target in pair_texts("records/validation"):  # doctest: +SKIP
        ...     print(source, "->", target)
    """
    for batch in read_records(paths, ["source_text", "target_text"]):
        for texts in zip(batch["source_text"].numpy(), batch["target_text"].numpy(), strict=True):
            yield tuple(text.decode() for text in texts)


class PairBatcher(TokenBudgetBatcher):
    """Batches of dicts of (B, T) int32, padded with 0.

    They are `source_ids` (`[CLS] pieces [SEP]`), `target_ids` (`[CLS] pieces`) and `target_labels`
    (`pieces [SEP]`). The length of a pair is that of its longer side: a batch has so many source
    tokens at most, so many target tokens.

    Args:
        pairs: Result of `load_pairs`.
        tokens_per_batch: Padded tokens of a batch at most.
        cls_id: Id of [CLS], the start token.
        sep_id: Id of [SEP], the end token.

    Raises:
        DataError: Longest pair alone exceeds the budget.

    Example:
        >>> pairs = Pairs(np.array([5, 6, 7]), np.array([2, 1]), np.array([8, 9]), np.array([1, 1]))
        >>> batch = PairBatcher(pairs, tokens_per_batch=8, cls_id=2, sep_id=3).assemble(
        ...     np.array([0, 1])
        ... )
        >>> {name: ids.tolist() for name, ids in batch.items()}  # doctest: +NORMALIZE_WHITESPACE
        {'source_ids': [[2, 5, 6, 3], [2, 7, 3, 0]], 'target_ids': [[2, 8], [2, 9]],
         'target_labels': [[8, 3], [9, 3]]}
    """

    row, lower, bucket_width = "pair", "the lengths of prepare", 4
    signature = dict.fromkeys(
        ("source_ids", "target_ids", "target_labels"), tf.TensorSpec((None, None), tf.int32)
    )

    def __init__(self, pairs: Pairs, tokens_per_batch: int, *, cls_id: int, sep_id: int) -> None:
        sources, targets = pairs.source_counts + 2, pairs.target_counts + 1
        super().__init__(np.maximum(sources, targets), tokens_per_batch)
        self._pairs, self._cls_id, self._sep_id = pairs, cls_id, sep_id
        self.kinds += (self.bucket(pairs.target_counts),)
        self.sides = (sources, targets)
        self.counts = {
            "pairs": len(pairs),
            "source_tokens": int(sources.sum()),
            "target_tokens": int(targets.sum()),
        }

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        targets = self._pairs.targets, self._pairs.target_counts, rows
        source_width, target_width = (self.width(side, rows) for side in self.sides)
        return {
            "source_ids": padded(
                self._pairs.sources,
                self._pairs.source_counts,
                rows,
                [self._cls_id],
                [self._sep_id],
                source_width,
            ),
            "target_ids": padded(*targets, before=[self._cls_id], width=target_width),
            "target_labels": padded(*targets, after=[self._sep_id], width=target_width),
        }
