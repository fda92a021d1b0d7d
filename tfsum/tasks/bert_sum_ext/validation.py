"""ROUGE of an extractive model on prepared documents, as training measures it."""

import numpy as np
import tensorflow as tf

from tfsum.data.documents.windows import DocumentBatcher, load_windows
from tfsum.data.ragged import ragged_places
from tfsum.data.records import Paths, read_records
from tfsum.errors import DataError
from tfsum.evaluation.rouge import score_summaries
from tfsum.models import BertSumExt
from tfsum.text.expected_rouge import is_word
from tfsum.text.selection import select_sentences
from tfsum.text.word_piece import WordPiece
from tfsum.training.workers import Workers


class ExtractiveValidation:
    """Scores what a model chooses from prepared documents, by ROUGE.

    Workers that train the model share the batches.

    Args:
        model: A built `BertSumExt`.
        records: Folder of the records.
        max_windows: Windows read of a document.
        word_piece: The tokenizer of the records.
        tokens_per_batch: Padded tokens of a batch.
        sentences: Sentences in a summary.
        selection: Measure by which sentences are chosen: "score" (the papers') or
            "expected_rouge" (`expected_rouge_ranks`).
        block_trigrams: Whether a sentence that shares three words in a row with a chosen one is
            passed over.
        documents: Number of documents read, from the first; None is all.
    """

    def __init__(
        self,
        model: BertSumExt,
        records: Paths,
        max_windows: int,
        word_piece: WordPiece,
        tokens_per_batch: int,
        sentences: int = 3,
        selection: str = "score",
        block_trigrams: bool = True,
        documents: int | None = None,
    ) -> None:
        self._documents = load_windows(records, model.window_length, max_windows)
        self._texts, self._references = _texts(records)
        if len(self._texts) != len(self._documents):
            raise DataError(
                f"{records}: {len(self._texts)} texts for {len(self._documents)} documents; prepare"
                " again"
            )

        self._batcher = DocumentBatcher(
            self._documents, tokens_per_batch, cls_id=word_piece.cls_id, sep_id=word_piece.sep_id
        )
        self._words = is_word(word_piece.vocabulary)
        self._count = min(documents or len(self._texts), len(self._texts))
        self.sentences, self.selection, self.block_trigrams = sentences, selection, block_trigrams
        # Not Keras's `predict`, which under a strategy gives the answers of every replica.
        self._workers = Workers(model.distribute_strategy)
        self._predict = tf.function(
            model.predict_step, input_signature=[self._batcher.signature], autograph=False
        )

    def probabilities(self) -> list[np.ndarray]:
        """The model's score of every sentence that it reads, a float array (S,) a document."""
        scores = self._workers.map_rows(self._scores_of, self._batcher.plan(), self._count)
        return [np.array(values, np.float32) for values in scores]

    def _scores_of(self, rows: np.ndarray) -> list[list[float]]:
        """The scores of the sentences of some documents, one batch."""
        batch = self._batcher.assemble(rows)
        counts = (batch["sentence_starts"] >= 0).sum(1)
        return [
            values[:count].tolist() for values, count in zip(self._predict(batch).numpy(), counts)
        ]

    def rouge(self, scores: list[np.ndarray]) -> dict[str, float]:
        """Returns ROUGE F of the sentences chosen by these scores, 0 to 100.

        The keys are rouge1, rouge2 and rougeLsum.
        """
        every = self._documents
        lengths = [len(s) for s in scores]
        texts = self._texts[: len(scores)]
        pieces = None
        if self.selection == "expected_rouge":
            first, counts = (
                a[: every.first_sentence[len(scores)]]
                for a in (every.first_piece, every.piece_counts)
            )
            row, place = ragged_places(counts)
            pieces = tf.RaggedTensor.from_nested_row_lengths(
                every.pieces[first[row] + place], [lengths, counts]
            )

        chosen, _ = select_sentences(
            tf.RaggedTensor.from_row_lengths(np.concatenate(scores), lengths),
            tf.ragged.constant(texts, ragged_rank=1),
            tf.fill([len(scores)], self.sentences),
            tf.fill([len(scores)], self.block_trigrams),
            self.sentences,
            pieces,
            self._words,
        )
        chosen = [
            [text[i].decode(errors="replace") for i in row if i >= 0]
            for text, row in zip(texts, chosen.numpy())
        ]

        return score_summaries(chosen, self._references[: self._count])

    def lead(self) -> dict[str, float]:
        """ROUGE F of the first sentences of each document."""
        first = [
            [text.decode(errors="replace") for text in texts[: self.sentences]]
            for texts in self._texts
        ]
        return score_summaries(first[: self._count], self._references[: self._count])


def _texts(records: Paths) -> tuple[list[list[bytes]], list[list[str]]]:
    """Sentences and reference sentences of the documents that have any sentence."""
    kept = [
        (sentences, summary.decode().split("\n"))
        for batch in read_records(records, ["sentences", "summary"])
        for sentences, summary in zip(batch["sentences"].to_list(), batch["summary"].numpy())
        if sentences
    ]
    return [sentences for sentences, _ in kept], [reference for _, reference in kept]
