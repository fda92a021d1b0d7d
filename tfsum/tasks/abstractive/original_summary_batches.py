"""Batches of documents and their summaries as PreSumm's data loader groups, cuts and shuffles them."""

import numpy as np

from tfsum.data.original_batches import OriginalBatcher, original_groups, shuffler, steps_of
from tfsum.tasks.abstractive.summary_batches import Summaries, SummaryBatcher

LONGEST_TARGET = 140  # start and end token among them; PreSumm's default


class OriginalSummaryBatcher(SummaryBatcher):
    """Batches as `SummaryBatcher` makes them, of PreSumm's groups: they are measured by their summaries.

    Args:
        sources: of the same records.
        summaries: what `load_summaries` read, of the same records.
        tokens_per_batch: summaries * longest summary of one of PreSumm's batches at most, start and end token among
            them; below 1000 a batch has at most 6.
        together: those that are one batch here, as their gradients are one step there.
        start_id, end_id: before and after each target.

    Example:
        >>> batcher = OriginalSummaryBatcher(sources, summaries, 140, 20, 1, 2)  # doctest: +SKIP
        >>> len(batcher.plan()[0])  # doctest: +SKIP
        38
    """

    def __init__(
        self,
        sources: OriginalBatcher,
        summaries: Summaries,
        tokens_per_batch: int,
        together: int,
        start_id: int,
        end_id: int,
    ) -> None:
        self._sources, self._summaries, self._together = sources, summaries, together
        self._start_id, self._end_id = start_id, end_id
        self.length, self.tokens_per_batch = (
            np.maximum(sources.length, summaries.counts + 1),
            tokens_per_batch,
        )
        self.counts = {
            **sources.counts,
            "target_tokens": int(summaries.counts.sum()),
            "targets_cut": summaries.cut,
        }

    def width(self, side: np.ndarray, rows: np.ndarray) -> int:
        return int(side[rows].max())

    def plan(self, shuffle: tuple[int, int] | None = None) -> list[np.ndarray]:
        targets = (self._summaries.counts + 2).tolist()
        groups = original_groups(
            targets,
            [targets, self._sources.length.tolist()],
            self.tokens_per_batch,
            "presumm",
            summaries=True,
            shuffle=shuffler(shuffle),
        )
        return steps_of(groups, self._together)
