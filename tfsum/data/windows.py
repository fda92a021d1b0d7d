"""Prepared documents in memory, each laid out in windows of whole sentences, as the exported graph lays them out."""

import dataclasses

import numpy as np

from tfsum.data.ragged import ragged_places
from tfsum.data.records import Paths, load_columns
from tfsum.errors import DataError
from tfsum.text.packing import lay_out_windows


@dataclasses.dataclass
class WindowedDocuments:
    """Flat arrays over all documents; document d owns sentences `first_sentence[d] : first_sentence[d + 1]`.

    Attributes:
        pieces: (P,) int32 ids of the sentences that were read.
        piece_counts: (S,) int64 pieces kept of a sentence.
        first_piece: (S,) int64 where a sentence's pieces begin.
        start: (S,) int64 position of a sentence's [CLS] when each window is padded to `window_length`.
        place: (S,) int64 place of a sentence in its window.
        labels: (S,) float32.
        first_sentence: (D + 1,) int64.
        windows: (D,) int64 number of windows.
        length: (D,) int64 positions up to the last [SEP]: all windows but the last are padded to
            `window_length`.
        counts: what was cut or left out.

    Example:
        >>> import tempfile
        >>> from tfsum.data.records import make_record, write_shard
        >>> path = tempfile.mkdtemp() + "/a.tfrecord"
        >>> write_shard(
        ...     path,
        ...     [make_record("a", [[5, 6, 7], [8, 9]], [1.0, 0.0], [b"A b c.", b"D e."], "A b.")],
        ... )
        1
        >>> documents = load_windows(path, window_length=8, max_windows=2)
        >>> (
        ...     len(documents),
        ...     documents.windows.tolist(),
        ...     documents.start.tolist(),
        ...     documents.length.tolist(),
        ... )
        (1, [2], [0, 8], [12])
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

    def __len__(self) -> int:
        return len(self.windows)


def load_windows(paths: Paths, window_length: int, max_windows: int) -> WindowedDocuments:
    """Reads records and lays every document out in windows.

    The layout is worked out once, when the records are read, so that an epoch only gathers.

    Args:
        paths: a folder of shards, a shard or several.
        window_length: positions of a window, [CLS] and [SEP] included.
        max_windows: windows of a document that are kept; the sentences beyond are left out and counted.

    Returns:
        The documents; `counts` has documents, documents_without_sentences, sentences, sentences_cut,
        pieces_cut, sentences_dropped, windows_dropped and documents_shortened.

    Raises:
        DataError: if a size is impossible, or the records hold no document.

    Example:
        >>> load_windows("records/train", window_length=512, max_windows=3).counts  # doctest: +SKIP
        {'documents': 6000, 'documents_without_sentences': 0, 'sentences': 110931, ...}
    """
    columns = load_columns(paths, "pieces", "piece_counts", "labels")
    (pieces, _), (piece_counts, all_counts), (labels, _) = columns
    if piece_counts.sum() != len(pieces) or len(labels) != len(piece_counts):
        raise DataError(
            f"{paths}: the records have {len(pieces)} pieces and {len(labels)} labels where their "
            f"sentences count {piece_counts.sum()} and {len(piece_counts)}; prepare the records again"
        )
    if not all_counts.any():
        raise DataError(
            f"{paths}: the records hold no document; look at the counts of `tfsum prepare`"
        )
    return in_windows(pieces, piece_counts, all_counts, labels, window_length, max_windows)


def in_windows(
    pieces: np.ndarray,
    piece_counts: np.ndarray,
    all_counts: np.ndarray,
    labels: np.ndarray,
    window_length: int,
    max_windows: int,
) -> WindowedDocuments:
    """Lays documents out in windows.

    Args:
        pieces: (P,) int32 ids of all sentences.
        piece_counts: (S,) int64 pieces of each sentence.
        all_counts: (D,) int64 sentences of each document; those without one are left out.
        labels: (S,) float32.
        window_length, max_windows: see `load_windows`.

    Raises:
        DataError: if a size is impossible.

    Example:
        >>> documents = in_windows(
        ...     np.arange(5, 10), np.array([3, 2]), np.array([2]), np.array([1.0, 0.0]), 8, 2
        ... )
        >>> documents.windows.tolist()
        [2]
    """
    if window_length < 3 or max_windows < 1:
        raise DataError(
            f"windows: window_length {window_length} and max_windows {max_windows} were given; a window "
            "has room for [CLS], a piece and [SEP] (3), a document at least 1 window"
        )
    counts = all_counts[all_counts > 0]
    layout = {
        name: value.numpy()
        for name, value in lay_out_windows(piece_counts, counts, window_length).items()
    }
    kept, found = layout["kept"], layout["windows_per_document"]
    owner, _ = ragged_places(counts)
    window = layout["window"] - (np.cumsum(found) - found)[owner]  # of its document
    keep = window < max_windows
    start = window * window_length + layout["start"]
    first_sentence = np.concatenate(
        [[0], np.cumsum(np.bincount(owner[keep], minlength=len(counts)))]
    )
    last = first_sentence[1:] - 1
    return WindowedDocuments(
        pieces=pieces,
        piece_counts=kept[keep],
        first_piece=(np.cumsum(piece_counts) - piece_counts)[keep],
        start=start[keep],
        place=layout["place"][keep],
        labels=labels[keep],
        first_sentence=first_sentence,
        windows=np.minimum(found, max_windows),
        length=(start + kept + 2)[keep][last],
        counts={
            "documents": len(counts),
            "documents_without_sentences": len(all_counts) - len(counts),
            "sentences": len(piece_counts),
            "sentences_cut": int(((piece_counts > kept) & keep).sum()),
            "pieces_cut": int((piece_counts - kept)[keep].sum()),
            "sentences_dropped": int((~keep).sum()),
            "windows_dropped": int(np.maximum(found - max_windows, 0).sum()),
            "documents_shortened": int((found > max_windows).sum()),
        },
    )
