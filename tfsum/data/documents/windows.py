"""Prepared documents in memory, laid out in windows as in the exported graph, and their batches."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import tensorflow as tf

from tfsum.data.batcher import TokenBudgetBatcher, ragged_places
from tfsum.data.records import Paths, load_columns
from tfsum.errors import DataError
from tfsum.text.packing import lay_out_windows


@dataclasses.dataclass
class WindowedDocuments:
    """Flat arrays over all documents.

    Document d owns the sentences `first_sentence[d] : first_sentence[d + 1]`.

    Attributes:
        pieces: (P,) int32 ids of the sentences that were read.
        piece_counts: (S,) int64 pieces kept of a sentence.
        first_piece: (S,) int64 where a sentence's pieces begin.
        start: (S,) int64 position of a sentence's [CLS] when each window is padded to
            `window_length`.
        place: (S,) int64 place of a sentence in its window.
        labels: (S,) float32.
        first_sentence: (D + 1,) int64.
        windows: (D,) int64 number of windows.
        length: (D,) int64 positions up to the last [SEP]: all windows but the last are padded to
            `window_length`.
        counts: Counts of what was cut or left out.
        summary_pieces: Ids of the summaries, end to end.
        first_summary_piece: (D + 1,) int64.
        number: (S,) int64 the number of a sentence among all sentences of the records.

    Example:
        >>> pieces, counts = np.array([5, 6, 7, 8, 9]), np.array([3, 2])
        >>> documents = in_windows(pieces, counts, np.array([2]), np.array([1.0, 0.0]), 8, 2)
        >>> documents.windows.tolist(), documents.start.tolist(), documents.length.tolist()
        ([2], [0, 8], [12])
    """

    pieces: np.ndarray
    piece_counts: np.ndarray
    first_piece: np.ndarray
    start: np.ndarray
    place: np.ndarray
    labels: np.ndarray
    first_sentence: np.ndarray
    windows: np.ndarray
    length: np.ndarray
    counts: dict[str, int]
    summary_pieces: np.ndarray
    first_summary_piece: np.ndarray
    number: np.ndarray


def load_windows(paths: Paths, window_length: int, max_windows: int) -> WindowedDocuments:
    """Reads records and lays every document out in windows.

    The layout is worked out once, when the records are read, so that an epoch only gathers.

    Args:
        paths: A folder of shards, a shard or several.
        window_length: Positions of a window, [CLS] and [SEP] included.
        max_windows: Windows of a document that are kept; the sentences beyond are left out and
            counted.

    Returns:
        The documents; `counts` has documents, documents_without_sentences, sentences,
        sentences_cut, pieces_cut, sentences_dropped, windows_dropped and documents_shortened.

    Raises:
        DataError: The records hold no document.
        Error: A window has no room for a piece.
    """
    (pieces, _), (piece_counts, all_counts), (labels, _), summaries = load_columns(
        paths, "pieces", "piece_counts", "labels", "summary_pieces"
    )
    if not all_counts.any():
        raise DataError(
            f"{paths}: the records hold no document; look at the counts of `tfsum prepare`"
        )

    return in_windows(
        pieces, piece_counts, all_counts, labels, window_length, max_windows, summaries
    )


def in_windows(
    pieces: np.ndarray,
    piece_counts: np.ndarray,
    all_counts: np.ndarray,
    labels: np.ndarray,
    window_length: int,
    max_windows: int,
    summaries: tuple[np.ndarray, np.ndarray] | None = None,
) -> WindowedDocuments:
    """Lays documents out in windows.

    Args:
        pieces: (P,) int32 ids of all sentences.
        piece_counts: (S,) int64 pieces of each sentence.
        all_counts: (D,) int64 sentences of each document; those without one are left out.
        labels: (S,) float32.
        window_length: Positions of a window.
        max_windows: Windows kept of a document.
        summaries: Piece ids of all summaries, end to end, and the number of each, (D,); none by
            default.

    Raises:
        Error: A window has no room for a piece.

    Example:
        >>> documents = in_windows(
        ...     np.arange(5, 10), np.array([3, 2]), np.array([2]), np.array([1.0, 0.0]), 8, 2
        ... )
        >>> documents.windows.tolist()
        [2]
    """
    used = all_counts > 0
    summary_pieces, summary_counts = summaries or (np.zeros(0, np.int32), np.zeros_like(all_counts))
    summary_pieces = summary_pieces[np.repeat(used, summary_counts)]
    counts = all_counts[used]
    layout = {
        name: value.numpy()
        for name, value in lay_out_windows(piece_counts, counts, window_length).items()
    }
    kept, window_counts = layout["kept"], layout["windows_per_document"]
    owner, _ = ragged_places(counts)
    window = layout["window"] - (np.cumsum(window_counts) - window_counts)[owner]  # of its document
    keep = window < max_windows
    start = window * window_length + layout["start"]
    first_sentence = np.concatenate(
        [[0], np.cumsum(np.bincount(owner[keep], minlength=len(counts)))]
    )

    return WindowedDocuments(
        pieces=pieces,
        piece_counts=kept[keep],
        first_piece=(np.cumsum(piece_counts) - piece_counts)[keep],
        start=start[keep],
        place=layout["place"][keep],
        labels=labels[keep],
        first_sentence=first_sentence,
        windows=np.minimum(window_counts, max_windows),
        length=(start + kept + 2)[keep][first_sentence[1:] - 1],  # of its last sentence
        counts={
            "documents": len(counts),
            "documents_without_sentences": len(all_counts) - len(counts),
            "sentences": len(piece_counts),
            "sentences_cut": int(((piece_counts > kept) & keep).sum()),
            "pieces_cut": int((piece_counts - kept)[keep].sum()),
            "sentences_dropped": int((~keep).sum()),
            "windows_dropped": int(np.maximum(window_counts - max_windows, 0).sum()),
            "documents_shortened": int((window_counts > max_windows).sum()),
        },
        summary_pieces=summary_pieces,
        first_summary_piece=np.concatenate([[0], np.cumsum(summary_counts[used])]),
        number=np.flatnonzero(keep),
    )


class DocumentBatcher(TokenBudgetBatcher):
    """Batches of documents in windows, as `BertSumExt` reads them.

    A batch is a dict of `token_ids` and `segment_ids` (B, T), `sentence_starts` and `labels` (B,
    S).

    Each sentence is `[CLS] pieces [SEP]`, its segment the place in its window modulo 2. A document
    of one window is padded to the longest of its batch. One of K > 1 windows has them side by side,
    each but the last padded to `window_length`, and shares its batch only with documents of K
    windows; `sentence_starts` index the whole row. -1 is no sentence, with the label 0.

    Args:
        documents: Documents from `load_windows`.
        tokens_per_batch: Budget of a batch, as in `TokenBudgetBatcher`.
        cls_id: Id of [CLS].
        sep_id: Id of [SEP].
        words: Pieces that ROUGE counts, (V,) bool (`tfsum.text.known_words.is_word`), for a
            model with a word head: a batch then also has `grams` and `gram_counts`, see
            `BertSumExt`.
        embeddings: Embedding of each sentence of the records, (N, W) int8, 0 for one that is not
            learned, for a model that learns them: a batch then also has `sentence_embeddings`.

    Raises:
        DataError: Longest document alone exceeds the budget, or the records hold no summary for the
            word head.

    Example:
        >>> import tempfile
        >>> from tfsum.data.records import make_record, write_shard
        >>> path = tempfile.mkdtemp() + "/a.tfrecord"
        >>> write_shard(
        ...     path,
        ...     [make_record("a", [[5, 6, 7], [8, 9]], [1.0, 0.0], [b"A b c.", b"D e."], "A b.")],
        ... )
        1
        >>> batcher = DocumentBatcher(
        ...     load_windows(path, 16, 1), tokens_per_batch=32, cls_id=2, sep_id=3
        ... )
        >>> batcher.assemble(np.array([0]))["token_ids"].tolist()
        [[2, 5, 6, 7, 3, 2, 8, 9, 3]]
    """

    row, lower, bucket_width = "document", "window_length or max_windows", 32
    signature: ClassVar = {
        **dict.fromkeys(
            ("token_ids", "segment_ids", "sentence_starts"), tf.TensorSpec((None, None), tf.int32)
        ),
        "labels": tf.TensorSpec((None, None), tf.float32),
    }

    def __init__(
        self,
        documents: WindowedDocuments,
        tokens_per_batch: int,
        *,
        cls_id: int,
        sep_id: int,
        words: np.ndarray | None = None,
        embeddings: np.ndarray | None = None,
    ) -> None:
        super().__init__(documents.length, tokens_per_batch)
        self._words, self._embeddings = words, embeddings
        if embeddings is not None:
            self.signature = {  # type: ignore[misc]
                **self.signature,
                "sentence_embeddings": tf.TensorSpec((None, None, embeddings.shape[1]), tf.int8),
            }
        if words is not None:
            self.signature = {  # type: ignore[misc]
                **self.signature,
                "grams": tf.TensorSpec((None, None, 2), tf.int32),
                "gram_counts": tf.TensorSpec((None, None), tf.float32),
            }
            if not len(documents.summary_pieces):
                raise DataError(
                    "batches: the model has a word head, and the records hold no word pieces of a"
                    " summary; prepare them again from a corpus with summaries, without legacy"
                )
        self._documents, self.counts = documents, documents.counts
        self.apart, self.kinds = documents.windows, (documents.windows, *self.kinds)
        self.cls_id, self.sep_id = cls_id, sep_id

    @property
    def tokens(self) -> int:
        return int((self._documents.piece_counts + 2).sum())

    def width(self, side: np.ndarray, rows: np.ndarray) -> int:
        windows = self._documents.windows
        if windows[rows[0]] > 1:  # windows of documents of several are full
            return int(side[rows].max())
        return int(min(self.bucket(side[rows].max()) * self.bucket_width, side[windows == 1].max()))

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        documents = self._documents
        first = documents.first_sentence[rows]
        sentence_counts = documents.first_sentence[rows + 1] - first
        row, column = ragged_places(sentence_counts)  # (n,) for the n sentences of the batch
        sentence = first[row] + column
        counts, start = documents.piece_counts[sentence], documents.start[sentence]
        owner, inside = ragged_places(counts)  # (p,) for the p pieces of the batch
        token_ids = np.zeros((len(rows), self.width(documents.length, rows)), np.int32)
        token_ids[row, start] = self.cls_id
        token_ids[row[owner], start[owner] + 1 + inside] = documents.pieces[
            documents.first_piece[sentence][owner] + inside
        ]
        token_ids[row, start + 1 + counts] = self.sep_id
        segment_ids = np.zeros_like(token_ids)
        owner, inside = ragged_places(counts + 2)
        segment_ids[row[owner], start[owner] + inside] = documents.place[sentence][owner] % 2
        sentence_starts = np.full((len(rows), int(sentence_counts.max())), -1, np.int32)
        sentence_starts[row, column] = start
        labels = np.zeros(sentence_starts.shape, np.float32)
        labels[row, column] = documents.labels[sentence]
        batch: dict[str, np.ndarray] = {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "sentence_starts": sentence_starts,
            "labels": labels,
        }
        if self._embeddings is not None:
            wanted = np.zeros((*labels.shape, self._embeddings.shape[1]), np.int8)
            wanted[row, column] = self._embeddings[documents.number[sentence]]
            batch["sentence_embeddings"] = wanted
        if self._words is None:
            return batch

        first = documents.first_summary_piece
        summaries = [documents.summary_pieces[first[i] : first[i + 1]] for i in rows]
        batch |= number_grams(token_ids, sentence_starts, summaries, self._words)
        batch["gram_counts"][labels[:, 0] < 0] = -1.0  # a text without a summary
        return batch


def number_grams(
    token_ids: np.ndarray,
    sentence_starts: np.ndarray,
    summaries: Sequence[np.ndarray],
    words: np.ndarray,
) -> dict[str, np.ndarray]:
    """Numbers the n-grams of each document and counts them in its summary.

    An n-gram is a word, or two words that follow each other in a sentence; what ROUGE does not
    count, such as punctuation, is left out before.

    Args:
        token_ids: Int array (B, T).
        sentence_starts: Int array (B, S), -1 for none.
        summaries: (B,) int arrays, the summaries' word pieces.
        words: Pieces that ROUGE counts, (V,) bool.

    Returns:
        `grams` int32 (B, T, 2): the number of the word at a token, and of the pair that begins
        there, from 0 in each document, -1 for none; `gram_counts` float32 (B, U), how often the
        summary holds each, -1 for padding.

    Example:
        >>> out = number_grams(
        ...     np.array([[2, 5, 4, 5, 3]]),
        ...     np.array([[0]]),
        ...     [np.array([5, 5])],
        ...     np.array([False] * 5 + [True]),
        ... )
        >>> out["grams"][0].tolist(), out["gram_counts"].tolist()
        ([[-1, -1], [0, 1], [-1, -1], [0, -1], [-1, -1]], [[2.0, 1.0]])
    """
    size = np.int64(len(words))
    begins = np.zeros(token_ids.shape, np.int64)
    row, column = np.nonzero(sentence_starts >= 0)
    begins[row, sentence_starts[row, column]] = 1

    # A key for each n-gram: those of a document together, the words first.
    span = size * (size + 1)

    def keys(owner: np.ndarray, ids: np.ndarray, part: np.ndarray) -> list[np.ndarray]:
        pair = part[:-1] == part[1:]
        pairs = size + ids[:-1] * size + ids[1:]
        return [owner * span + ids, (owner[:-1] * span + pairs)[pair], np.flatnonzero(pair)]

    row, column = np.nonzero(words[token_ids])
    sentence = np.cumsum(begins.ravel()).reshape(begins.shape)[row, column]  # of the whole batch
    ones, twos, first_of_pair = keys(row, token_ids[row, column].astype(np.int64), sentence)
    known, number = np.unique(np.concatenate([ones, twos]), return_inverse=True)
    owner = known // span
    first = np.searchsorted(owner, np.arange(len(token_ids)))

    grams = np.full((*token_ids.shape, 2), -1, np.int32)
    local = number - first[owner[number]]
    grams[row, column, 0] = local[: len(ones)]
    grams[row[first_of_pair], column[first_of_pair], 1] = local[len(ones) :]

    # the same keys of the summaries, whose pairs cross their sentences
    flat = np.concatenate(summaries).astype(np.int64)
    of_row = np.repeat(np.arange(len(summaries)), [len(summary) for summary in summaries])
    of_row, flat = of_row[words[flat]], flat[words[flat]]
    ones, twos, _ = keys(of_row, flat, of_row)
    wanted, times = np.unique(np.concatenate([ones, twos]), return_counts=True)
    _, here, there = np.intersect1d(known, wanted, assume_unique=True, return_indices=True)

    place = np.arange(len(known)) - first[owner]
    gram_counts = np.full((len(token_ids), int(place.max(initial=0)) + 1), -1, np.float32)
    gram_counts[owner, place] = 0.0
    gram_counts[owner[here], place[here]] = times[there]
    return {"grams": grams, "gram_counts": gram_counts}
