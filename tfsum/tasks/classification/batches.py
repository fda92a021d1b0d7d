"""Token-budget batches of labelled texts for a `BertClassifier`, a pure function of (texts, seed, epoch)."""

import collections
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from tfsum.data.epoch_plan import batches_of_epochs, bucket, check_lengths, plan
from tfsum.data.ragged import padded
from tfsum.tasks.classification.prepare import LabelledTexts
from tfsum.text.packing import pack
from tfsum.text.word_piece import WordPiece

_TOGETHER = 1024  # texts tokenized in one call
_SIGNATURE = {"token_ids": tf.TensorSpec((None, None), tf.int32), "segment_ids": tf.TensorSpec((None, None), tf.int32),
              "labels": tf.TensorSpec((None,), tf.int32)}


@dataclasses.dataclass
class PackedTexts:
    """The inputs of all texts, end to end.

    Attributes:
        token_ids: (P,) int32, `[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]` each.
        segment_ids: (P,) int32, 1 for the second text and its [SEP].
        length: (N,) int64 tokens of each.
        labels: (N,) int32 places in the list of labels.
        counts: what was read and what was cut.
    """

    token_ids: np.ndarray
    segment_ids: np.ndarray
    length: np.ndarray
    labels: np.ndarray
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.length)


def pack_texts(texts: LabelledTexts, label_names: Sequence[str], word_piece: WordPiece,
               max_length: int) -> PackedTexts:
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
    """
    labels, parts = texts.label_ids(label_names), []
    counts = collections.Counter(texts=len(texts), tokens=0, unknown_pieces=0, empty=0, texts_cut=0, pieces_cut=0)
    for first in range(0, len(texts), _TOGETHER):
        some = slice(first, first + _TOGETHER)
        pair = None if texts.pairs is None else word_piece.tokenize(texts.pairs[some])
        rows = pack(word_piece.tokenize(texts.texts[some]), max_length, word_piece.cls_id, word_piece.sep_id, pair)
        rows = {name: value.numpy() for name, value in rows.items()}
        mask, cut = rows["mask"], rows["pieces_cut"] + rows.get("pair_pieces_cut", 0)
        parts.append((rows["token_ids"][mask], rows["segment_ids"][mask], mask.sum(1)))
        counts.update(tokens=int(mask.sum()), unknown_pieces=int((parts[-1][0] == word_piece.unk_id).sum()),
                      empty=int((mask.sum(1) + cut == (2 if pair is None else 3)).sum()),
                      texts_cut=int((cut > 0).sum()), pieces_cut=int(cut.sum()))
    return PackedTexts(*(np.concatenate(column) for column in zip(*parts, strict=True)), labels, dict(counts))


def labelled_batches(texts: PackedTexts, *, tokens_per_batch: int, training: bool, seed: int = 0,
                     epochs: int | None = None, skip_batches: int = 0, bucket_width: int = 8) -> tf.data.Dataset:
    """Batches of texts of about equal length, as many as a budget of padded tokens holds.

    Args:
        texts: what `pack_texts` gave.
        tokens_per_batch: rows * longest row of a batch at most.
        training: whether to shuffle texts and batches, in another order each epoch.
        seed: of the shuffles.
        epochs: passes over the texts; None is one pass, or no end in training.
        skip_batches: batches already seen, counted from the first batch of epoch 0.
        bucket_width: texts whose lengths round up to the same multiple of this are in random order in training.

    Returns:
        A dataset of dicts: `token_ids` and `segment_ids` (B, T) int32, padded with 0, and `labels` (B,) int32.

    Raises:
        DataError: the longest text alone exceeds the budget, or a size is impossible.
    """
    check_lengths(texts.length, tokens_per_batch, bucket_width, "text", "max_length")

    def generate() -> Iterator[dict[str, np.ndarray]]:
        def plan_of(shuffle: tuple[int, int] | None) -> list[np.ndarray]:
            return plan_texts(texts, tokens_per_batch, bucket_width, shuffle)

        for rows in batches_of_epochs(plan_of, training=training, seed=seed, epochs=epochs, skip_batches=skip_batches):
            yield assemble_texts(texts, rows)

    return tf.data.Dataset.from_generator(generate, output_signature=_SIGNATURE).prefetch(4)


def plan_texts(texts: PackedTexts, tokens_per_batch: int, bucket_width: int,
               seed: tuple[int, int] | None) -> list[np.ndarray]:
    """The batches of an epoch as arrays of text numbers; see `tfsum.data.epoch_plan.plan`."""
    return plan(texts.length, [bucket(texts.length, bucket_width)], tokens_per_batch, seed)


def assemble_texts(texts: PackedTexts, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of one batch, as `labelled_batches` gives them, of the texts `rows` (B,)."""
    return {"token_ids": padded(texts.token_ids, texts.length, rows),
            "segment_ids": padded(texts.segment_ids, texts.length, rows),
            "labels": texts.labels[rows]}
