"""ROUGE of an extractive model on prepared documents, as training measures it."""

import functools

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import ragged_places
from tfsum.data.documents.windows import DocumentBatcher, load_windows
from tfsum.data.records import Paths, read_records
from tfsum.errors import DataError
from tfsum.evaluation.rouge import METRICS, score_summaries
from tfsum.models import BertSumExt
from tfsum.tasks.bert_sum_ext.settings import EvaluateSettings, TrainSettings
from tfsum.text.expected_rouge import is_word
from tfsum.text.selection import select_sentences
from tfsum.text.word_piece import WordPiece
from tfsum.training.workers import Workers

# of a document: the scores of its sentences (S), and the word head's rates at its pieces (P, 2)
Answer = tuple[list[float], list[list[float]]]


class ExtractiveValidation:
    """Scores what a model chooses from prepared documents, by ROUGE.

    Workers that train the model share the batches.

    Args:
        model: A built `BertSumExt`.
        records: Folder of the records.
        word_piece: The tokenizer of the records.
        train: Section [train] of the recipe, which says how the documents are read.
        evaluate: Section [evaluate], which says how sentences are chosen from them.
    """

    def __init__(
        self,
        model: BertSumExt,
        records: Paths,
        word_piece: WordPiece,
        train: TrainSettings,
        evaluate: EvaluateSettings,
    ) -> None:
        self.evaluate = evaluate
        self._documents = load_windows(records, model.window_length, train.max_windows)
        self._texts, self._references = _texts(records)
        if len(self._texts) != len(self._documents):
            raise DataError(
                f"{records}: {len(self._texts)} texts for {len(self._documents)} documents; prepare"
                " again"
            )

        self._batcher = DocumentBatcher(
            self._documents,
            train.tokens_per_batch,
            cls_id=word_piece.cls_id,
            sep_id=word_piece.sep_id,
        )
        self._words, self._word_head = is_word(word_piece.vocabulary), model.config["word_head"]
        self._count = min(evaluate.documents or len(self._texts), len(self._texts))
        # Not Keras's `predict`, which under a strategy gives the answers of every replica.
        self._workers = Workers(model.distribute_strategy)
        self._predict = tf.function(
            functools.partial(_scores, model),
            input_signature=[self._batcher.signature],
            autograph=False,
        )

    def scores(self) -> dict[str, float]:
        """ROUGE on the validation documents."""
        return self.rouge(self.answers())

    def selection_score(self, scores: dict[str, float]) -> float:
        """The mean of the three ROUGEs."""
        return sum(scores[name] for name in METRICS) / 3

    def answers(self) -> list[Answer]:
        """What the model says of each document."""
        return self._workers.map_rows(self._answers_to, self._batcher.plan(), self._count)

    def _answers_to(self, rows: np.ndarray) -> list[Answer]:
        """The answers to some documents, one batch."""
        batch = self._batcher.assemble(rows)
        scores, rates = (part.numpy() for part in self._predict(batch))
        starts, ids = batch["sentence_starts"], batch["token_ids"]
        special = (0, self._batcher.cls_id, self._batcher.sep_id)
        return [
            (scores[i][starts[i] >= 0].tolist(), rates[i][~np.isin(ids[i], special)].tolist())
            for i in range(len(rows))
        ]

    def rouge(self, answers: list[Answer]) -> dict[str, float]:
        """Returns ROUGE F of the sentences chosen by these answers, 0 to 100.

        The keys are rouge1, rouge2 and rougeLsum.
        """
        every = self._documents
        scores = [np.array(scores, np.float32) for scores, _ in answers]
        lengths = [len(s) for s in scores]
        texts = self._texts[: len(scores)]
        pieces = rates = None
        if self.evaluate.selection == "expected_rouge":
            first, counts = (
                a[: every.first_sentence[len(scores)]]
                for a in (every.first_piece, every.piece_counts)
            )
            row, place = ragged_places(counts)
            pieces = tf.RaggedTensor.from_nested_row_lengths(
                every.pieces[first[row] + place], [lengths, counts]
            )
            if self._word_head:
                rates = np.concatenate([np.reshape(r, (-1, 2)) for _, r in answers])

        chosen, _ = select_sentences(
            tf.RaggedTensor.from_row_lengths(np.concatenate(scores), lengths),
            tf.ragged.constant(texts, ragged_rank=1),
            tf.fill([len(scores)], self.evaluate.sentences),
            tf.fill([len(scores)], self.evaluate.block_trigrams),
            self.evaluate.sentences,
            pieces,
            self._words,
            None if rates is None else tf.constant(rates, tf.float32),
        )
        chosen = [
            [text[i].decode(errors="replace") for i in row if i >= 0]
            for text, row in zip(texts, chosen.numpy())
        ]

        return score_summaries(chosen, self._references[: self._count])

    def lead(self) -> dict[str, float]:
        """ROUGE F of the first sentences of each document."""
        first = [
            [text.decode(errors="replace") for text in texts[: self.evaluate.sentences]]
            for texts in self._texts
        ]
        return score_summaries(first[: self._count], self._references[: self._count])


def _scores(model: BertSumExt, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
    """Probabilities of the sentences (B, S), and the rates of the words (B, T, 2) or (B, T, 0)."""
    logits, rates = model.read(batch, training=False)
    if rates is None:
        rates = tf.zeros(tf.concat([tf.shape(batch["token_ids"]), [0]], 0))
    return tf.sigmoid(logits), rates


def _texts(records: Paths) -> tuple[list[list[bytes]], list[list[str]]]:
    """Sentences and reference sentences of the documents that have any sentence."""
    kept = [
        (sentences, summary.decode().split("\n"))
        for batch in read_records(records, ["sentences", "summary"])
        for sentences, summary in zip(batch["sentences"].to_list(), batch["summary"].numpy())
        if sentences
    ]
    return [sentences for sentences, _ in kept], [reference for _, reference in kept]
