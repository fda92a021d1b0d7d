"""Batches for a `BertSumExt` of sentences in memory."""

from collections.abc import Sequence

import numpy as np

from tfsum.data.documents.windows import DocumentBatcher, in_windows
from tfsum.errors import DataError, require
from tfsum.text.known_words import is_word
from tfsum.text.word_piece import WordPiece


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
        require(
            len(texts) == len(labels) and any(map(len, texts)),
            f"ExtractiveBatches: found {len(texts)} texts and {len(labels)} lists of labels;"
            " expected as many of both, and a sentence at least",
            DataError,
        )

        for number, (sentences, scores) in enumerate(zip(texts, labels)):
            require(
                not isinstance(sentences, str) and len(sentences) == len(scores),
                f"ExtractiveBatches: text {number} is a {type(sentences).__name__} of"
                f" {len(sentences)} with {len(scores)} labels; expected a list of sentences"
                " and a label for each",
                DataError,
            )

        if summaries is not None and (isinstance(summaries, str) or len(summaries) != len(texts)):
            raise DataError(
                f"ExtractiveBatches: summaries is a {type(summaries).__name__} of {len(summaries)}"
                f" for {len(texts)} texts; expected a summary for each text"
            )

        pieces = word_piece.tokenize([sentence for sentences in texts for sentence in sentences])
        summary_pieces = words = None
        if summaries is not None:
            ids = word_piece.tokenize(list(summaries))
            summary_pieces = ids.flat_values.numpy(), ids.row_lengths().numpy()
            words = is_word(word_piece.vocabulary)
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
            words=words,
        )
