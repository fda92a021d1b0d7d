"""What a BertClassifier answers to packed texts, as training measures it."""

import numpy as np
import tensorflow as tf

from tfsum.models import BertClassifier
from tfsum.tasks.classification.batches import PackedTexts, TextBatcher
from tfsum.training.workers import Workers


class ClassificationValidation:
    """Packed texts, and what a model answers to them; several workers that train it share the batches.

    Args:
        model: a built model of C labels.
        texts: N texts.
        tokens_per_batch: padded tokens of a batch.

    Attributes:
        labels: (N,) int, the true labels.

    Example:
        >>> validation = ClassificationValidation(
        ...     model, texts, tokens_per_batch=4096
        ... )  # doctest: +SKIP
        >>> validation.probabilities().argmax(1)  # doctest: +SKIP
        array([1, 0, 0])
    """

    def __init__(self, model: BertClassifier, texts: PackedTexts, tokens_per_batch: int) -> None:
        self.labels = texts.labels
        self._shape = len(texts), len(model.label_names)
        self._batcher = TextBatcher(texts, tokens_per_batch)
        # Not Keras's `predict`, which under a strategy gives the answers of every replica.
        self._workers = Workers(model.distribute_strategy)
        self._predict = tf.function(
            model.predict_step, input_signature=[self._batcher.signature], autograph=False
        )

    def probabilities(self) -> np.ndarray:
        """The model's probabilities of each text's labels, float32 (N, C)."""
        found, batches = np.zeros(self._shape, np.float32), self._batcher.plan()
        answers = self._workers.map(
            lambda rows: self._predict(self._batcher.assemble(rows)).numpy().tolist(), batches
        )
        for rows, values in zip(batches, answers):
            found[rows] = values
        return found
