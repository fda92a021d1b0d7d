"""Prepared documents in memory, each laid out in windows of whole sentences.

The layout is that of `tfsum.text.packing.pack_windows`, in numpy: `[CLS] sentence [SEP]` one after another
while they fit, a new window otherwise; a sentence longer than a window is cut to it. It is worked out once,
when the records are read, so that an epoch only gathers.
"""

import dataclasses
import pathlib
from collections.abc import Sequence

import numpy as np

from tfsum.data.records import read_records
from tfsum.errors import DataError


@dataclasses.dataclass
class WindowedDocuments:
    """Flat arrays over all documents; document d owns sentences `first_sentence[d] : first_sentence[d + 1]`.

    Attributes:
        pieces: (P,) int32 ids of the kept sentences.
        piece_counts: (S,) int64 pieces a sentence.
        first_piece: (S,) int64 where a sentence's pieces begin.
        start: (S,) int64 position of a sentence's [CLS] when each window is padded to `window_length`.
        place: (S,) int64 place of a sentence in its window.
        labels: (S,) float32.
        first_sentence: (D + 1,) int64.
        windows: (D,) int64 number of windows.
        length: (D,) int64 positions up to the last [SEP]: all windows but the last are padded to
            `window_length`.
        used: (D,) int64 positions that hold a token.
        counts: what was cut or left out.
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
    used: np.ndarray
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.windows)


def load_windows(
    paths: str | pathlib.Path | Sequence[str | pathlib.Path], window_length: int, max_windows: int
) -> WindowedDocuments:
    """Reads records and lays every document out in windows.

    Args:
        paths: a folder of shards, a shard or several.
        window_length: positions of a window, [CLS] and [SEP] included.
        max_windows: windows of a document that are kept; the sentences beyond are left out and counted.

    Returns:
        The documents; `counts` has documents, documents_without_sentences, sentences, sentences_cut,
        pieces_cut, sentences_dropped, windows_dropped and documents_shortened.

    Raises:
        DataError: if a size is impossible, or the records hold no document.
    """
    if window_length < 3 or max_windows < 1:
        raise DataError(
            f"windows: window_length {window_length} and max_windows {max_windows} were given; "
            "a window has room for [CLS], a piece and [SEP] (3), a document at least 1 window"
        )
    pieces, piece_counts, labels, sentence_counts = _read(paths)
    empty, sentence_counts = int((sentence_counts == 0).sum()), sentence_counts[sentence_counts > 0]
    if not len(sentence_counts):
        raise DataError(f"{paths}: the records hold no document; look at the counts of `tfsum prepare`")
    kept_counts = np.minimum(piece_counts, window_length - 2)
    first_piece = np.cumsum(piece_counts) - piece_counts
    window, start, place = _place(kept_counts + 2, sentence_counts, window_length)
    keep = window < max_windows
    owner = np.repeat(np.arange(len(sentence_counts)), sentence_counts)
    counts = {
        "documents": len(sentence_counts),
        "documents_without_sentences": empty,
        "sentences": len(piece_counts),
        "sentences_cut": int(((piece_counts > kept_counts) & keep).sum()),
        "pieces_cut": int((piece_counts - kept_counts)[keep].sum()),
        "sentences_dropped": int((~keep).sum()),
    }
    window_counts = _largest(window + 1, owner, len(sentence_counts))
    counts["windows_dropped"] = int(np.maximum(window_counts - max_windows, 0).sum())
    counts["documents_shortened"] = int((window_counts > max_windows).sum())
    windows = np.minimum(window_counts, max_windows)
    end = _largest((start + kept_counts + 2)[keep], owner[keep], len(sentence_counts))
    return WindowedDocuments(
        pieces=pieces,
        piece_counts=kept_counts[keep],
        first_piece=first_piece[keep],
        start=start[keep],
        place=place[keep],
        labels=labels[keep],
        first_sentence=np.concatenate(
            [[0], np.cumsum(np.bincount(owner[keep], minlength=len(sentence_counts)))]
        ),
        windows=windows,
        length=end,
        used=np.bincount(owner[keep], kept_counts[keep] + 2, len(sentence_counts)).astype(np.int64),
        counts=counts,
    )


def _read(paths) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pieces, pieces a sentence, labels and sentences a document, flat over all documents."""
    parts = []
    for batch in read_records(paths, ["pieces", "piece_counts", "labels"]):
        sentence_counts = batch["piece_counts"].row_lengths().numpy()
        pieces, piece_counts = batch["pieces"].values.numpy(), batch["piece_counts"].values.numpy()
        labels = batch["labels"].values.numpy()
        if piece_counts.sum() != len(pieces) or len(labels) != len(piece_counts):
            raise DataError(
                f"{paths}: a record has {len(pieces)} pieces and {len(labels)} labels where its "
                f"sentences count {piece_counts.sum()} and {len(piece_counts)}; prepare the records again"
            )
        parts.append((pieces.astype(np.int32), piece_counts, labels, sentence_counts))
    if not parts:
        return np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int64)
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _place(
    sizes: np.ndarray, sentence_counts: np.ndarray, window_length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Window in the document, start position and place in the window of every sentence."""
    window, start, place = [], [], []
    size_list, i = sizes.tolist(), 0
    for count in sentence_counts.tolist():
        w = used = at = 0
        for size in size_list[i : i + count]:
            if used + size > window_length:
                w, used, at = w + 1, 0, 0
            window.append(w)
            start.append(w * window_length + used)
            place.append(at)
            used, at = used + size, at + 1
        i += count
    return tuple(np.asarray(values, np.int64) for values in (window, start, place))


def _largest(values: np.ndarray, owner: np.ndarray, documents: int) -> np.ndarray:
    """The largest value of each document."""
    largest = np.zeros(documents, np.int64)
    np.maximum.at(largest, owner, values)
    return largest
