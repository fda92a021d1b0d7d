"""Batches for a `BertSumExt`: of the records of a recipe, or of sentences in memory."""

import functools
from collections.abc import Sequence

import numpy as np

from tfsum.data.batcher import SharedBatches, TokenBudgetBatcher
from tfsum.data.documents.windows import DocumentBatcher, in_windows, load_windows
from tfsum.data.records import Paths
from tfsum.errors import DataError
from tfsum.models import BertSumExt

# `tfsum.papers` also adds its head to those of BertSumExt.
from tfsum.papers.batches import OriginalBatcher
from tfsum.tasks.bert_sum_ext.settings import RecipeSettings
from tfsum.text.expected_rouge import is_word
from tfsum.text.word_piece import WordPiece


class TrainingBatches:
    """The batches of a training: at first the first window of each document, then several.

    The records are read once for each of the two numbers of windows.

    Args:
        records: Records of the training documents.
        model: Model that is trained.
        word_piece: Tokenizer of the records.
        recipe: The recipe. With [data] legacy, the batches of that program are repeated,
            `micro_batches` of which make a step, see `OriginalBatcher`.
    """

    def __init__(
        self, records: Paths, model: BertSumExt, word_piece: WordPiece, recipe: RecipeSettings
    ) -> None:
        self._records, self._settings, self._legacy = records, recipe.train, recipe.data.legacy
        self._window_length, self._word_piece = model.window_length, word_piece
        self._words = is_word(word_piece.vocabulary) if model.config["word_head"] else None
        # The batches of first windows are not needed after the others are read.
        self._batcher = functools.lru_cache(maxsize=1)(self._make_batcher)

    def after(self, done: int) -> SharedBatches:
        """Returns the batches that follow so many steps.

        Args:
            done: Number of steps done.
        """
        first, steps = self._settings.first_window_steps, self._settings.steps
        if done < first:
            return SharedBatches(self._batcher(1), done, until=min(first, steps))
        return SharedBatches(self._batcher(self._settings.max_windows), done - first, until=steps)

    def _make_batcher(self, max_windows: int) -> TokenBudgetBatcher:
        ids = {"cls_id": self._word_piece.cls_id, "sep_id": self._word_piece.sep_id}
        length, budget = self._window_length, self._settings.tokens_per_batch
        if self._legacy:
            return OriginalBatcher(
                self._records, self._legacy, length, budget, self._settings.micro_batches, **ids
            )
        documents = load_windows(self._records, length, max_windows)
        return DocumentBatcher(documents, budget, **ids, words=self._words)


class ExtractiveBatches(DocumentBatcher):
    """Batches for a `BertSumExt` from sentences and labels in memory, for `model.fit` by hand.

    Args:
        texts: The documents, each a list of sentences.
        labels: For each document a list with the label of each sentence, from 0 to 1.
        word_piece: The tokenizer of the model's encoder.
        tokens_per_batch: Padded tokens of a batch.
        window_length: Positions of a window, those of the encoder at most.
        max_windows: Windows that are read of a document; the sentences beyond are counted in
            `counts`.
        summaries: A summary of each document, for a model with a word head.

    Raises:
        DataError: Texts, labels and summaries do not fit each other, or there are none.

    Example:
        >>> from tfsum.text.word_piece import WordPiece
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "sun"])
        >>> batches = ExtractiveBatches(
        ...     [["Rain.", "Sun rain."], ["Sun."]], [[0, 1], [1]], word_piece
        ... )
        >>> for inputs in batches.dataset(training=False):
        ...     print(inputs["labels"].numpy().tolist())
        [[0.0, 1.0], [1.0, 0.0]]
        >>> model.fit(
        ...     batches.dataset(training=True), steps_per_epoch=len(batches.plan())
        ... )  # doctest: +SKIP
    """

    def __init__(
        self,
        texts: Sequence[Sequence[str]],
        labels: Sequence[Sequence[float]],
        word_piece: WordPiece,
        tokens_per_batch: int = 8192,
        window_length: int = 512,
        max_windows: int = 1,
        summaries: Sequence[str] | None = None,
    ) -> None:
        if len(texts) != len(labels) or not any(len(sentences) for sentences in texts):
            raise DataError(
                f"ExtractiveBatches: found {len(texts)} texts and {len(labels)} lists of labels;"
                " expected as many of both, and a sentence at least"
            )

        for number, (sentences, scores) in enumerate(zip(texts, labels)):
            if isinstance(sentences, str) or len(sentences) != len(scores):
                found = "a str" if isinstance(sentences, str) else f"{len(sentences)} sentences"
                raise DataError(
                    f"ExtractiveBatches: text {number} is {found} with {len(scores)} labels;"
                    " expected a list of sentences and a label for each"
                )

        if summaries is not None and (isinstance(summaries, str) or len(summaries) != len(texts)):
            found = "a str" if isinstance(summaries, str) else f"{len(summaries)} summaries"
            raise DataError(
                f"ExtractiveBatches: found {found} and {len(texts)} texts; expected a summary for"
                " each text"
            )

        pieces = word_piece.tokenize([sentence for sentences in texts for sentence in sentences])
        summary_pieces = None
        if summaries is not None:
            ids = word_piece.tokenize(list(summaries))
            summary_pieces = ids.flat_values.numpy(), ids.row_lengths().numpy()
        documents = in_windows(
            pieces.flat_values.numpy(),
            pieces.row_lengths().numpy(),
            np.array([len(sentences) for sentences in texts], np.int64),
            np.array([label for scores in labels for label in scores], np.float32),
            window_length,
            max_windows,
            summary_pieces,
        )
        super().__init__(
            documents,
            tokens_per_batch,
            cls_id=word_piece.cls_id,
            sep_id=word_piece.sep_id,
            words=None if summaries is None else is_word(word_piece.vocabulary),
        )
