"""ROUGE of an extractive model on prepared documents, as training measures it."""

import numpy as np
import tensorflow as tf

from tfsum.data.records import read_records
from tfsum.errors import DataError, RecipeError
from tfsum.evaluation.rouge import score_summaries
from tfsum.tasks.extractive.batches import assemble, plan_epoch
from tfsum.tasks.extractive.windows import load_windows
from tfsum.text.expected_rouge import SELECTIONS, expected_rouge_ranks, is_word


class ExtractiveValidation:
    """Prepared documents, and the ROUGE of what a model chooses from them.

    Args:
        records: folder of the records.
        window_length: positions of a window.
        max_windows: windows read of a document.
        word_piece: the tokenizer of the records.
        tokens_per_batch: padded tokens of a batch.
        sentences: sentences in a summary.
        selection: what sentences are chosen by: "score" (the papers') or "expected_rouge", see `expected_rouge_ranks`.
        block_trigrams: whether a sentence that shares three words in a row with a chosen one is passed over.
        documents: number of documents read, from the first; None is all.
    """

    def __init__(self, records, window_length: int, max_windows: int, word_piece,
                 tokens_per_batch: int, sentences: int = 3, selection: str = "score", block_trigrams: bool = True,
                 documents: int | None = None):
        if selection not in SELECTIONS:
            raise RecipeError(f"selection is {selection!r}; expected one of {', '.join(SELECTIONS)}")
        self._documents = load_windows(records, window_length, max_windows)
        self._texts, self._references = _texts(records)
        if len(self._texts) != len(self._documents):
            raise DataError(f"{records}: {len(self._texts)} texts for {len(self._documents)} documents; prepare again")
        self._ids, self._words = (word_piece.cls_id, word_piece.sep_id), is_word(word_piece.vocabulary)
        self._budget, self._count = tokens_per_batch, min(documents or len(self._texts), len(self._texts))
        self.sentences, self.selection, self.block_trigrams = sentences, selection, block_trigrams

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
        """ROUGE F (in points, 0 to 100) of the sentences chosen by these scores: rouge1, rouge2, rougeLsum."""
        if self.selection == "expected_rouge":
            scores = self._ranks(scores)
        chosen = [choose(texts, s, self.sentences, self.block_trigrams) for texts, s in zip(self._texts, scores)]
        return score_summaries(chosen, self._references[: self._count])

    def _ranks(self, scores: list[np.ndarray]) -> list[np.ndarray]:
        every, lengths = self._documents, [len(s) for s in scores]
        first, counts = (a[: every.first_sentence[len(scores)]] for a in (every.first_piece, every.piece_counts))
        places = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        pieces = tf.RaggedTensor.from_nested_row_lengths(every.pieces[places], [lengths, counts])
        padded = tf.RaggedTensor.from_row_lengths(np.concatenate(scores), lengths).to_tensor(0.0)
        ranks = expected_rouge_ranks(padded, tf.sequence_mask(lengths), pieces, self._words,
                                     tf.fill([len(scores)], self.sentences), self.sentences)
        return [row[:length] for row, length in zip(ranks.numpy(), lengths)]

    def lead(self) -> dict[str, float]:
        """ROUGE F of the first sentences of each document."""
        chosen = [texts[: self.sentences] for texts in self._texts[: self._count]]
        return score_summaries(chosen, self._references[: self._count])


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
