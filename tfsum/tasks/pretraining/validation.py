"""How well a BertForPretraining guesses masked words and next sentences of held-out pairs."""

import pathlib

import numpy as np
import tensorflow as tf
from keras import ops

from tfsum.models import BertForPretraining
from tfsum.tasks.pretraining.batches import SentencePairBatcher, load_sentence_pairs
from tfsum.tasks.pretraining.masking import Masking
from tfsum.training.workers import Workers


class PretrainingValidation:
    """Held-out pairs, always under the same masks; several workers that train the model share the batches.

    Args:
        model: a `BertForPretraining`.
        records: folder of the pairs; false ones come from other documents.
        same_document_records: folder of pairs whose false ones come from the same document; None where there is no
            next-sentence task.
        masking: see `Masking`.
        tokens_per_batch: padded tokens of a batch.
        cls_id: id of [CLS].
        sep_id: id of [SEP].
        pairs: how many are read of each folder, evenly spread; None is all.

    Example:
        >>> PretrainingValidation(
        ...     model, "records/validation", None, masking, 4096, 2, 3
        ... ).scores()  # doctest: +SKIP
        {'masked_lm_accuracy': 41.7, 'loss': 3.05}
    """

    def __init__(
        self,
        model: BertForPretraining,
        records: str | pathlib.Path,
        same_document_records: str | pathlib.Path | None,
        masking: Masking,
        tokens_per_batch: int,
        cls_id: int,
        sep_id: int,
        pairs: int | None = None,
    ) -> None:
        batchers = [
            SentencePairBatcher(
                load_sentence_pairs(folder).some(pairs),
                tokens_per_batch,
                masking=masking,
                cls_id=cls_id,
                sep_id=sep_id,
            )
            for folder in (records, same_document_records)
            if folder is not None
        ]
        self._sets = [batcher.dataset(training=False) for batcher in batchers]
        self._weight = model.next_sentence_weight
        self._workers = Workers(model.distribute_strategy)
        self._sums = tf.function(
            lambda batch: _sums(model, batch), reduce_retracing=True, autograph=False
        )

    def scores(self) -> dict[str, float]:
        """Accuracies in points, 0 to 100, and the loss.

        Returns:
            `masked_lm_accuracy`; where there is a next-sentence task `next_sentence_accuracy`, with false sentences
            of other documents, and `same_document_accuracy`, with those of the same; `loss`, that of training, on the
            pairs of the first folder.
        """
        (masks, pairs), *others = [
            np.sum(
                self._workers.map(lambda batch: self._sums(batch).numpy().tolist(), batches), axis=0
            )
            for batches in self._sets
        ]
        scores = {"masked_lm_accuracy": _percent(masks)}
        if pairs[0]:
            scores["next_sentence_accuracy"] = _percent(pairs)
        for _, same_document in others:
            scores["same_document_accuracy"] = _percent(same_document)
        return {
            **scores,
            "loss": float(masks[2] / masks[0] + self._weight * pairs[2] / max(1.0, pairs[0])),
        }

    def unigram_accuracy(self, guess: int) -> float:
        """The masked-word accuracy, in points, of one guess for all masks: the piece that is the most frequent."""
        right = masks = 0.0
        for batch in self._sets[0].as_numpy_iterator():
            masks += batch["masked_lm_weights"].sum()
            right += ((batch["masked_lm_ids"] == guess) * batch["masked_lm_weights"]).sum()
        return float(100 * right / masks)


def _sums(model: BertForPretraining, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Rows for masks and pairs: how many, how many right, their summed cross-entropy; float32 (2, 3)."""
    outputs = model(batch, training=False)
    labels = batch["next_sentence_labels"]
    rows = []
    for logits, true, weight in (
        (outputs["masked_lm_logits"], batch["masked_lm_ids"], batch["masked_lm_weights"]),
        (outputs["next_sentence_logits"], ops.maximum(labels, 0), ops.cast(labels >= 0, "float32")),
    ):
        right = ops.cast(ops.cast(ops.argmax(logits, axis=-1), "int32") == true, "float32")
        loss = ops.sparse_categorical_crossentropy(true, logits, from_logits=True)
        rows.append(ops.stack([ops.sum(weight), ops.sum(right * weight), ops.sum(loss * weight)]))
    return ops.stack(rows)


def _percent(row: np.ndarray) -> float:
    """The share of the right ones in points."""
    return float(100 * row[1] / row[0])
