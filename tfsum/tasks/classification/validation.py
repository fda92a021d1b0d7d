"""What a BertClassifier answers to packed texts, as training measures it."""

import numpy as np
import tensorflow as tf

from tfsum.models import BertClassifier
from tfsum.tasks.classification.batches import PackedTexts, TextBatcher


def probabilities(model: BertClassifier, texts: PackedTexts, tokens_per_batch: int) -> np.ndarray:
    """The model's probabilities of each text's labels.

    Args:
        model: a built model of C labels.
        texts: N texts.
        tokens_per_batch: padded tokens of a batch.

    Returns:
        float32 (N, C).

    Example:
        >>> probabilities(model, texts, tokens_per_batch=4096).argmax(1)  # doctest: +SKIP
        array([1, 0, 0])
    """
    # Not Keras's `predict`, which under a strategy gives the answers of every replica.
    predict = tf.function(model.predict_step, reduce_retracing=True, autograph=False)
    found = np.zeros((len(texts), len(model.label_names)), np.float32)
    batcher = TextBatcher(texts, tokens_per_batch)
    for rows in batcher.plan():
        found[rows] = predict(batcher.assemble(rows)).numpy()
    return found
