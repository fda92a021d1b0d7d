"""Loss and BLEU or ROUGE of an abstractive model on prepared rows, as training measures them."""

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import TokenBudgetBatcher
from tfsum.evaluation.bleu import score_with_interval
from tfsum.evaluation.rouge import METRICS, score_summaries
from tfsum.models.encoder_decoder import EncoderDecoder
from tfsum.text.detokenizer import Detokenizer
from tfsum.training.workers import Workers


class AnswerValidation:
    """Scores the answers of a model to prepared sources.

    Several workers that train the model share the batches.

    Args:
        model: A built `Transformer` or `BertSumAbs`; its graphs are traced once, whatever weights
            it has later.
        batcher: The sources and targets, whose first rows are those of the references.
        references: The expected texts; so many sources are decoded. The loss is that of all rows.
        detokenizer: Detokenizer of the target's vocabulary.
        metric: "bleu", "rouge", or "loss", which decodes nothing.
        tokenize: The words of BLEU, as sacrebleu names its tokenizers ("zh" for Chinese, "char" for
            a language without spaces).
        words: Words of ROUGE: "english", stemmed, or "plain", of every alphabet.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        batcher: TokenBudgetBatcher,
        references: list[str],
        detokenizer: Detokenizer,
        metric: str = "bleu",
        tokenize: str = "13a",
        words: str = "english",
    ) -> None:
        self.metric = metric
        self.signature: str | None = None
        self._tokenize, self._english = tokenize, words == "english"
        self._batcher, self._batches, self._references = batcher, batcher.plan(), references
        # Not Keras's `evaluate` and `predict`, which under a strategy deal the batches out to the
        # replicas.
        self._workers = Workers(model.distribute_strategy)
        self._losses = tf.function(
            lambda batch: (
                model.summed_loss(batch, None, training=False),
                model.loss_weight(batch, None),
            ),
            input_signature=[batcher.signature],
            autograph=False,
        )
        self._names = model.source_names
        self._answers = tf.function(
            lambda source: detokenizer.detokenize(model.predict_step(source)),
            input_signature=[{name: batcher.signature[name] for name in self._names}],
            autograph=False,
        )

    def scores(self) -> dict[str, float]:
        """The loss of a target token, and the metric's points (0 to 100) of greedy answers."""
        scores = {"loss": self.loss()}
        if self.metric == "bleu":
            bleu = score_with_interval(self.answers(), self._references, 1, self._tokenize)
            scores["bleu"], self.signature = float(bleu["score"]), str(bleu["signature"])
        elif self.metric == "rouge":
            scores |= score_summaries(self.answers(), self._references, self._english)

        return scores

    def selection_score(self, scores: dict[str, float]) -> float:
        """The metric, higher is better: BLEU, the mean of the ROUGEs, or the loss below 0."""
        if self.metric == "rouge":
            return float(np.mean([scores[name] for name in METRICS]))
        return scores.get("bleu", -scores["loss"])

    def loss(self) -> float:
        """The loss of a target token over all rows, label smoothing included."""
        losses = self._workers.map(
            lambda rows: [float(number) for number in self._losses(self._batcher.assemble(rows))],
            self._batches,
        )
        return sum(loss for loss, _ in losses) / sum(weight for _, weight in losses)

    def answers(self) -> list[str]:
        """The greedy answers to the sources that are decoded."""
        return self._workers.map_rows(self._answers_of, self._batches, len(self._references))

    def _answers_of(self, rows: np.ndarray) -> list[str]:
        """The greedy answers to some sources, one batch."""
        batch = self._batcher.assemble(rows)
        answers = self._answers({name: batch[name] for name in self._names})
        return [text.decode() for text in answers.numpy()]
