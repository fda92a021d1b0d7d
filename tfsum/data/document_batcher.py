"""Token-budget batches of documents in windows, for a `BertSumExt`, and the sources of a `BertSumAbs`."""

from typing import ClassVar

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import Batcher
from tfsum.data.ragged import ragged_places
from tfsum.data.windows import WindowedDocuments


class DocumentBatcher(Batcher):
    """Batches of dicts: `token_ids`, `segment_ids` (B, T), `sentence_starts`, `labels` (B, S), see `BertSumExt`.

    Each sentence is `[CLS] pieces [SEP]`, its segment the place in its window modulo 2. A document of one
    window is padded to the longest of its batch. One of K > 1 windows has them side by side, each but the
    last padded to `window_length`, and shares its batch only with documents of K windows; `sentence_starts`
    index the whole row. -1 is no sentence, with the label 0.

    Args:
        documents: what `load_windows` read.
        tokens_per_batch: see `Batcher`.
        cls_id: id of [CLS].
        sep_id: id of [SEP].

    Raises:
        DataError: the longest document alone exceeds the budget.

    Example:
        >>> import tempfile
        >>> from tfsum.data.records import make_record, write_shard
        >>> from tfsum.data.windows import load_windows
        >>> path = tempfile.mkdtemp() + "/a.tfrecord"
        >>> write_shard(
        ...     path,
        ...     [make_record("a", [[5, 6, 7], [8, 9]], [1.0, 0.0], [b"A b c.", b"D e."], "A b.")],
        ... )
        1
        >>> batcher = DocumentBatcher(
        ...     load_windows(path, 16, 1), tokens_per_batch=32, cls_id=2, sep_id=3
        ... )
        >>> batcher.assemble(np.array([0]))["token_ids"].tolist()
        [[2, 5, 6, 7, 3, 2, 8, 9, 3]]
    """

    row, lower, bucket_width = "document", "window_length or max_windows", 32
    signature: ClassVar = {
        **dict.fromkeys(
            ("token_ids", "segment_ids", "sentence_starts"), tf.TensorSpec((None, None), tf.int32)
        ),
        "labels": tf.TensorSpec((None, None), tf.float32),
    }

    def __init__(
        self, documents: WindowedDocuments, tokens_per_batch: int, *, cls_id: int, sep_id: int
    ) -> None:
        super().__init__(documents.length, tokens_per_batch)
        self._documents, self._cls_id, self._sep_id, self.counts = (
            documents,
            cls_id,
            sep_id,
            documents.counts,
        )

    @property
    def kinds(self) -> tuple[np.ndarray, ...]:
        return (self._documents.windows, *super().kinds)

    @property
    def apart(self) -> np.ndarray:
        return self._documents.windows

    @property
    def tokens(self) -> int:
        return int((self._documents.piece_counts + 2).sum())

    def width(self, side: np.ndarray, rows: np.ndarray) -> int:
        windows = self._documents.windows
        if windows[rows[0]] > 1:  # windows of documents of several are full
            return int(side[rows].max())
        return int(min(self.bucket(side[rows].max()) * self.bucket_width, side[windows == 1].max()))

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        documents = self._documents
        first = documents.first_sentence[rows]
        sentence_counts = documents.first_sentence[rows + 1] - first
        row, column = ragged_places(sentence_counts)  # (n,) for the n sentences of the batch
        sentence = first[row] + column
        counts, start = documents.piece_counts[sentence], documents.start[sentence]
        of, inside = ragged_places(counts)  # (p,) for the p pieces of the batch
        token_ids = np.zeros((len(rows), self.width(documents.length, rows)), np.int32)
        token_ids[row, start] = self._cls_id
        token_ids[row[of], start[of] + 1 + inside] = documents.pieces[
            documents.first_piece[sentence][of] + inside
        ]
        token_ids[row, start + 1 + counts] = self._sep_id
        segment_ids = np.zeros_like(token_ids)
        of, inside = ragged_places(counts + 2)
        segment_ids[row[of], start[of] + inside] = documents.place[sentence][of] % 2
        sentence_starts = np.full((len(rows), int(sentence_counts.max())), -1, np.int32)
        sentence_starts[row, column] = start
        labels = np.zeros(sentence_starts.shape, np.float32)
        labels[row, column] = documents.labels[sentence]
        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "sentence_starts": sentence_starts,
            "labels": labels,
        }
