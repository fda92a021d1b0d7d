"""ROUGE of an extractive model on prepared documents, as training measures it."""

import numpy as np
import tensorflow as tf

from tfsum.data.batches import assemble, plan_epoch
from tfsum.data.records import read_records
from tfsum.data.windows import load_windows
from tfsum.errors import DataError
from tfsum.evaluation.rouge import score_summaries


class ExtractiveValidation:
    """Prepared documents, and the ROUGE of what a model chooses from them.

    Args:
        records: folder of the records.
        window_length: positions of a window.
        max_windows: windows read of a document.
        cls_id: id of [CLS].
        sep_id: id of [SEP].
        tokens_per_batch: padded tokens of a batch.
        sentences: sentences in a summary.
        block_trigrams: whether a sentence that shares three words in a row with a chosen one is passed over.
        length_weight: what a sentence's length counts beside its score, see `rank`.
        documents: number of documents read, from the first; None is all.
    """

    def __init__(self, records, window_length: int, max_windows: int, cls_id: int, sep_id: int,
                 tokens_per_batch: int, sentences: int = 3, block_trigrams: bool = True,
                 length_weight: float = 0.0, documents: int | None = None):
        self._documents = load_windows(records, window_length, max_windows)
        self._texts, self._references = _texts(records)
        if len(self._texts) != len(self._documents):
            raise DataError(f"{records}: {len(self._texts)} texts for {len(self._documents)} documents; prepare again")
        self._ids = cls_id, sep_id
        self._budget, self._count = tokens_per_batch, documents or len(self._texts)
        self.sentences, self.block_trigrams, self.length_weight = sentences, block_trigrams, length_weight

    def probabilities(self, model) -> list[np.ndarray]:
        """The model's score of every sentence that it reads, a float array (S,) a document."""
        # Not Keras's `predict`, which under a strategy gives the answers of every replica.
        predict = tf.function(model.predict_step, reduce_retracing=True, autograph=False)
        scores = [np.zeros(0, np.float32)] * self._count
        for rows in plan_epoch(self._documents, self._budget, 32, None):
            rows = rows[rows < self._count]
            if len(rows):
                batch = assemble(self._documents, rows, *self._ids)
                counts = (batch["sentence_starts"] >= 0).sum(1)
                for row, values, count in zip(rows, predict(batch).numpy(), counts):
                    scores[row] = values[:count]
        return scores

    def rouge(self, scores: list[np.ndarray]) -> dict[str, float]:
        """ROUGE F (in points, 0 to 100) of the sentences that `rank` puts first: rouge1, rouge2, rougeLsum."""
        first, counts = self._documents.first_sentence, self._documents.piece_counts
        ranked = [rank(s, counts[begin:begin + len(s)], self.length_weight) for begin, s in zip(first, scores)]
        chosen = [choose(texts, s, self.sentences, self.block_trigrams) for texts, s in zip(self._texts, ranked)]
        return score_summaries(chosen, self._references[: self._count])

    def lead(self) -> dict[str, float]:
        """ROUGE F of the first sentences of each document."""
        chosen = [texts[: self.sentences] for texts in self._texts[: self._count]]
        return score_summaries(chosen, self._references[: self._count])


def rank(probabilities: np.ndarray, pieces: np.ndarray, length_weight: float) -> np.ndarray:
    """What sentences are chosen by: the logit of the score plus `length_weight` times ln(word pieces).

    Where every summary has the same number of sentences, ROUGE's F favours longer ones than scores alone choose,
    and a mean over a sentence's tokens does not tell its head how many they were.

    Args:
        probabilities: (S,) float, the scores.
        pieces: (S,) int, the word pieces that the model read of each sentence.
        length_weight: 0 leaves the order of the scores.
    """
    inside = np.clip(probabilities.astype(np.float64), 1e-9, 1.0 - 1e-9)
    return np.log(inside) - np.log1p(-inside) + length_weight * np.log(np.maximum(pieces, 1))


def choose(sentences: list[str], scores: np.ndarray, limit: int, block_trigrams: bool) -> list[str]:
    """The sentences of a summary in the order of the document (nlpyang/BertSum, `Trainer.test`).

    Args:
        sentences: (S,) texts.
        scores: (at most S,) floats; ties go to the earlier sentence.
        limit: sentences chosen at most.
        block_trigrams: pass over a sentence that shares three words in a row with a chosen one.
    """
    chosen, seen = [], set()
    for i in np.argsort(-scores, kind="stable").tolist():
        words = sentences[i].split()
        trigrams = set(zip(words, words[1:], words[2:]))
        if block_trigrams and trigrams & seen:
            continue
        chosen.append(i)
        seen |= trigrams
        if len(chosen) == limit:
            break
    return [sentences[i] for i in sorted(chosen)]


def _texts(records) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences and reference sentences of the documents that have any sentence."""
    texts, references = [], []
    for batch in read_records(records, ["sentences", "summary"]):
        for sentences, summary in zip(batch["sentences"].to_list(), batch["summary"].numpy()):
            if sentences:
                texts.append([s.decode(errors="replace") for s in sentences])
                references.append(summary.decode().split("\n"))
    return texts, references
