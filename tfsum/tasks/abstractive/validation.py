"""Loss and BLEU or ROUGE of a Transformer on prepared pairs, as training measures them."""

import itertools

import numpy as np
import tensorflow as tf

from tfsum.data.records import Paths
from tfsum.evaluation.bleu import score_translations
from tfsum.evaluation.rouge import METRICS, score_summaries
from tfsum.models import Transformer
from tfsum.tasks.abstractive.batches import PairBatcher, load_pairs, pair_texts
from tfsum.text.detokenizer import Detokenizer
from tfsum.training.workers import Workers

_IDS = tf.TensorSpec((None, None), tf.int32)


class PairValidation:
    """Prepared pairs, and what a model makes of them; several workers that train it share the batches.

    Args:
        records: folder of the records.
        model: a built `Transformer`; its graphs are traced once, whatever weights it has later.
        target_vocabulary: the target's word pieces in the order of their ids.
        tokens_per_batch: padded tokens of a batch's longer side.
        metric: "bleu", "rouge", or "loss", which decodes nothing.
        documents: number of pairs decoded, from the first; None is all. The loss is that of all pairs.
        tokenize: the words of BLEU, as sacrebleu names its tokenizers ("zh" for Chinese, "char" for a language
            without spaces).
        words: those of ROUGE: "english", stemmed, or "plain", of every alphabet.

    Example:
        >>> PairValidation("records/validation", model, vocabulary, 4096).scores()  # doctest: +SKIP
        {'loss': 2.31, 'bleu': 34.8}
    """

    def __init__(self, records: Paths, model: Transformer, target_vocabulary: list[str], tokens_per_batch: int,
                 metric: str = "bleu", documents: int | None = None, tokenize: str = "13a",
                 words: str = "english") -> None:
        self.metric = metric
        self.signature: str | None = None
        self._tokenize, self._english = tokenize, words == "english"
        self._pairs = load_pairs(records)
        self._batcher = PairBatcher(self._pairs, tokens_per_batch, cls_id=model.start_id, sep_id=model.end_id)
        self._batches = self._batcher.plan()
        self._count = len(self._pairs) if documents is None else min(documents, len(self._pairs))
        self._references = [target for _, target in itertools.islice(pair_texts(records), self._count)]
        # Not Keras's `evaluate` and `predict`, which under a strategy deal the batches out to the replicas.
        self._workers = Workers(model.distribute_strategy)
        self._losses = tf.function(
            lambda batch: (model.summed_loss(batch, None, training=False), model.loss_weight(batch, None)),
            input_signature=[dict.fromkeys(("source_ids", "target_ids", "target_labels"), _IDS)], autograph=False)
        detokenizer = Detokenizer(target_vocabulary)
        self._answers = tf.function(lambda source_ids: detokenizer.detokenize(model.predict_step(source_ids)),
                                    input_signature=[_IDS], autograph=False)

    def scores(self) -> dict[str, float]:
        """The loss of a target token, and the metric's points (0 to 100) of greedy answers."""
        scores = {"loss": self.loss()}
        if self.metric == "bleu":
            scores["bleu"], self.signature = score_translations(self.answers(), self._references, self._tokenize)
        elif self.metric == "rouge":
            scores |= score_summaries(self.answers(), self._references, self._english)
        return scores

    def selection_score(self, scores: dict[str, float]) -> float:
        """The metric, higher is better: BLEU, the mean of the ROUGEs, or the loss below 0."""
        if self.metric == "rouge":
            return float(np.mean([scores[name] for name in METRICS]))
        return scores["bleu"] if self.metric == "bleu" else -scores["loss"]

    def loss(self) -> float:
        """The loss of a target token over all pairs, label smoothing included."""
        losses = self._workers.map(self._loss_of, self._batches)
        return sum(loss for loss, _ in losses) / sum(weight for _, weight in losses)

    def _loss_of(self, rows: np.ndarray) -> list[float]:
        """The summed loss of some pairs, one batch, and their number of tokens."""
        return [float(number) for number in self._losses(self._batcher.assemble(rows))]

    def answers(self) -> list[str]:
        """The greedy answers to the sources that are decoded."""
        answers = [""] * self._count
        batches = [rows for rows in (batch[batch < self._count] for batch in self._batches) if len(rows)]
        for rows, texts in zip(batches, self._workers.map(self._answers_of, batches)):
            for row, text in zip(rows, texts):
                answers[row] = text
        return answers

    def _answers_of(self, rows: np.ndarray) -> list[str]:
        """The greedy answers to some sources, one batch."""
        return [text.decode() for text in self._answers(self._batcher.assemble(rows)["source_ids"]).numpy()]
