"""What a BertClassifier answers to packed texts, as training measures it."""

import numpy as np
import tensorflow as tf

from tfsum.models import BertClassifier
from tfsum.tasks.classification.batches import PackedTexts, assemble_texts, plan_texts


def probabilities(model: BertClassifier, texts: PackedTexts, tokens_per_batch: int) -> np.ndarray:
    """The model's probabilities of each text's labels.

    Args:
        model: a built model of C labels.
        texts: N texts.
        tokens_per_batch: padded tokens of a batch.

    Returns:
        float32 (N, C).
    """
    # Not Keras's `predict`, which under a strategy gives the answers of every replica.
    predict = tf.function(model.predict_step, reduce_retracing=True, autograph=False)
    found = np.zeros((len(texts), len(model.label_names)), np.float32)
    for rows in plan_texts(texts, tokens_per_batch, 8, None):
        found[rows] = predict(assemble_texts(texts, rows)).numpy()
    return found
