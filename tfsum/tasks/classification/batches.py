"""Token-budget batches of labelled texts for a `BertClassifier`."""

import collections
import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import Batcher
from tfsum.data.ragged import padded
from tfsum.tasks.classification.prepare import LabelledTexts
from tfsum.text.packing import pack
from tfsum.text.word_piece import WordPiece

_TOGETHER = 1024  # texts tokenized in one call


@dataclasses.dataclass
class PackedTexts:
    """The inputs of all texts, end to end.

    Attributes:
        token_ids: (P,) int32, `[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]` each.
        segment_ids: (P,) int32, 1 for the second text and its [SEP].
        length: (N,) int64 tokens of each.
        labels: (N,) int32 places in the list of labels.
        counts: what was read and what was cut.

    Example:
        >>> len(
        ...     PackedTexts(
        ...         np.array([2, 5, 3]),
        ...         np.zeros(3, int),
        ...         np.array([3]),
        ...         np.array([1]),
        ...         {"texts": 1},
        ...     )
        ... )
        1
    """

    token_ids: np.ndarray
    segment_ids: np.ndarray
    length: np.ndarray
    labels: np.ndarray
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.length)


def pack_texts(
    texts: LabelledTexts, label_names: Sequence[str], word_piece: WordPiece, max_length: int
) -> PackedTexts:
    """Tokenizes texts and lays them out as the exported model does (`tfsum.text.packing.pack`).

    Args:
        texts: the texts.
        label_names: the labels in the order of the model's scores.
        word_piece: the tokenizer.
        max_length: tokens of a row at most; what is longer is cut at the end, from the longer of two texts first.

    Returns:
        The rows; `counts` has texts, tokens, unknown_pieces, empty (texts without a piece), texts_cut, pieces_cut.

    Raises:
        DataError: a label is not among the names.

    Example:
        >>> texts = LabelledTexts("rows", ["good", "bad film"], None, ["yes", "no"])
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad"])
        >>> packed = pack_texts(texts, ("no", "yes"), word_piece, max_length=8)
        >>> packed.token_ids.tolist(), packed.length.tolist(), packed.labels.tolist()
        ([2, 4, 3, 2, 5, 1, 3], [3, 4], [1, 0])
    """
    labels, parts = texts.label_ids(label_names), []
    counts = collections.Counter(
        texts=len(texts), tokens=0, unknown_pieces=0, empty=0, texts_cut=0, pieces_cut=0
    )
    for first in range(0, len(texts), _TOGETHER):
        some = slice(first, first + _TOGETHER)
        pair = None if texts.pairs is None else word_piece.tokenize(texts.pairs[some])
        rows = pack(
            word_piece.tokenize(texts.texts[some]),
            max_length,
            word_piece.cls_id,
            word_piece.sep_id,
            pair,
        )
        rows = {name: value.numpy() for name, value in rows.items()}
        mask, cut = rows["mask"], rows["pieces_cut"] + rows.get("pair_pieces_cut", 0)
        parts.append((rows["token_ids"][mask], rows["segment_ids"][mask], mask.sum(1)))
        counts.update(
            tokens=int(mask.sum()),
            unknown_pieces=int((parts[-1][0] == word_piece.unk_id).sum()),
            empty=int((mask.sum(1) + cut == (2 if pair is None else 3)).sum()),
            texts_cut=int((cut > 0).sum()),
            pieces_cut=int(cut.sum()),
        )
    token_ids, segment_ids, length = (np.concatenate(column) for column in zip(*parts, strict=True))
    return PackedTexts(token_ids, segment_ids, length, labels, dict(counts))


class TextBatcher(Batcher):
    """Batches of dicts: `token_ids` and `segment_ids` (B, T), padded with 0, and `labels` (B,), all int32.

    Args:
        texts: what `pack_texts` gave.
        tokens_per_batch: see `Batcher`.

    Raises:
        DataError: the longest text alone exceeds the budget.

    Example:
        >>> token_ids, labels = np.array([2, 5, 3, 2, 6, 7, 3]), np.array([1, 0])
        >>> texts = PackedTexts(token_ids, np.zeros(7, int), np.array([3, 4]), labels, {})
        >>> TextBatcher(texts, tokens_per_batch=8).assemble(np.array([0, 1]))["token_ids"].tolist()
        [[2, 5, 3, 0], [2, 6, 7, 3]]
    """

    row, lower = "text", "max_length"
    signature: ClassVar = {
        **dict.fromkeys(("token_ids", "segment_ids"), tf.TensorSpec((None, None), tf.int32)),
        "labels": tf.TensorSpec((None,), tf.int32),
    }

    def __init__(self, texts: PackedTexts, tokens_per_batch: int) -> None:
        super().__init__(texts.length, tokens_per_batch)
        self._texts = texts

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        texts = self._texts
        width = self.width(texts.length, rows)
        return {
            "token_ids": padded(texts.token_ids, texts.length, rows, width=width),
            "segment_ids": padded(texts.segment_ids, texts.length, rows, width=width),
            "labels": texts.labels[rows],
        }
