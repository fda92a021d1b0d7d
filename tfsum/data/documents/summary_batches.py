"""Token-budget batches of documents and their summaries for a `BertSumAbs`."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import TokenBudgetBatcher, padded
from tfsum.data.preparation import batched
from tfsum.data.records import Paths, read_records

_LINES_AT_ONCE = 1024  # tokenized in one call


@dataclasses.dataclass
class Summaries:
    """The word pieces of all summaries, end to end, and their texts.

    Attributes:
        pieces: (P,) int32.
        counts: (N,) int64 pieces of each.
        texts: The summaries, one sentence a line.
        cut: Summaries that were longer than a target may be.

    Example:
        >>> len(Summaries(np.array([5, 6]), np.array([2]), ["It rained."], 0).texts)
        1
    """

    pieces: np.ndarray
    counts: np.ndarray
    texts: list[str]
    cut: int


def load_summaries(
    records: Paths,
    tokenize: Callable[[list[str]], list[list[int]]],
    line_break: int | None,
    max_length: int,
) -> Summaries:
    """Reads the summaries of prepared documents.

    Documents without a sentence are left out, as by `load_windows`.

    A summary that is longer is cut, as the original cuts it (nlpyang/PreSumm, `max_tgt_len`): its
    end token is kept, so that it teaches to stop there.

    Args:
        records: Records of `tfsum.data.documents.prepare`.
        tokenize: Function from texts to the ids of their word pieces.
        line_break: The id between two lines; None joins them.
        max_length: Pieces of a target, its end token among them.
    """
    texts = [
        summary.decode()
        for batch in read_records(records, ["sentences", "summary"])
        for count, summary in zip(
            batch["sentences"].row_lengths().numpy(), batch["summary"].numpy()
        )
        if count
    ]
    summaries = [[line for line in text.split("\n") if line.strip()] for text in texts]
    batches = batched(itertools.chain.from_iterable(summaries), _LINES_AT_ONCE)
    pieces = itertools.chain.from_iterable(map(tokenize, batches))
    targets = ([next(pieces) for _ in lines] for lines in summaries)
    return join_targets(targets, texts, line_break, max_length)


def join_targets(
    targets: Iterable[Sequence[Iterable[int]]],
    texts: list[str],
    line_break: int | None,
    max_length: int,
) -> Summaries:
    """Joins the lines of each target, and cuts it where it is longer.

    Args:
        targets: Lines of each target, each the ids of its pieces.
        texts: Texts of the targets.
        line_break: The id between two lines; None joins them.
        max_length: Pieces of a target, its end token among them.

    Example:
        >>> join_targets([[[5, 6], [7]], [[8]]], ["", ""], line_break=3, max_length=4).pieces
        array([5, 6, 3, 8], dtype=int32)
    """
    breaks = [] if line_break is None else [line_break]
    pieces, cut = [], 0
    for lines in targets:
        target = [piece for line in lines for piece in (*breaks, *line)][len(breaks) :]
        cut += len(target) >= max_length
        pieces.append(np.array(target[: max_length - 1], np.int32))

    return Summaries(
        np.concatenate([*pieces, np.zeros(0, np.int32)]),
        np.array([len(target) for target in pieces], np.int64),
        texts,
        cut,
    )


class SummaryBatcher(TokenBudgetBatcher):
    """Batches of documents with their summaries, for a `BertSumAbs`.

    A batch is a dict of `source_ids`, `segment_ids`, `target_ids` and `target_labels`, (B, T)
    int32.

    Targets are `start pieces` in and `pieces end` out. A row counts with the longer of source and
    target.

    Args:
        sources: Batches of the documents, such as a `DocumentBatcher`.
        summaries: Summaries of the same records, from `load_summaries`.
        tokens_per_batch: Budget of a batch, as in `TokenBudgetBatcher`.
        start_id, end_id: Before and after each target.

    Raises:
        DataError: Longest document alone exceeds the budget.
    """

    row, lower, bucket_width = "document", "window_length or max_windows", 32
    signature: ClassVar = dict.fromkeys(
        ("source_ids", "segment_ids", "target_ids", "target_labels"),
        tf.TensorSpec((None, None), tf.int32),
    )

    def __init__(
        self,
        sources: TokenBudgetBatcher,
        summaries: Summaries,
        tokens_per_batch: int,
        start_id: int,
        end_id: int,
    ) -> None:
        targets = summaries.counts + 1
        super().__init__(np.maximum(sources.length, targets), tokens_per_batch)
        self._sources, self._summaries = sources, summaries
        self._start_id, self._end_id = start_id, end_id
        self.apart, self.kinds = sources.apart, (*sources.kinds, self.bucket(targets))
        self.sides = (sources.length, targets)
        self.counts = {
            **sources.counts,
            "target_tokens": int(summaries.counts.sum()),
            "targets_cut": summaries.cut,
        }

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        source = self._sources.assemble(rows)
        targets = (self._summaries.pieces, self._summaries.counts, rows)
        width = self.width(self._summaries.counts + 1, rows)
        return {
            "source_ids": source["token_ids"],
            "segment_ids": source["segment_ids"],
            "target_ids": padded(*targets, before=[self._start_id], width=width),
            "target_labels": padded(*targets, after=[self._end_id], width=width),
        }
