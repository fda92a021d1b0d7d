"""Documents without summaries as training data: important sentences are taken out of a window, and to be written."""

import dataclasses

import numpy as np

from tfsum.data.ragged import ragged_places
from tfsum.data.records import Paths, load_columns
from tfsum.data.windows import WindowedDocuments, in_windows
from tfsum.errors import DataError
from tfsum.tasks.abstractive.summary_batches import Summaries


@dataclasses.dataclass(frozen=True, kw_only=True)
class GapSentences:
    """How gap sentences are made.

    Attributes:
        number: sentences of a window that are to be written, the most important ones; a window with fewer than one
            other sentence is left out.
        kept: the share of windows whose sentences also stay in the source, which teaches to copy; of the others
            [MASK] takes their place.
        mask_id: of [MASK].
        line_break: the id between two sentences to be written; None joins them.
        seed: of the choice of windows that keep their sentences.

    Example:
        >>> GapSentences(number=2, mask_id=4).kept
        0.2
    """

    number: int
    mask_id: int
    kept: float = 0.2
    line_break: int | None = None
    seed: int = 0


def load_gap_sentences(
    records: Paths, window_length: int, max_length: int, gaps: GapSentences
) -> tuple[WindowedDocuments, Summaries]:
    """Makes pairs of all windows of prepared documents: the rest of the window, and its most important sentences.

    A sentence is as important as its words are those of the rest of its window: the F1 of their sets of word pieces.

    Args:
        records: of `tfsum.tasks.extractive.prepare`.
        window_length: positions of a window.
        max_length: pieces of a target, its end token among them; a longer one is cut.
        gaps: see `GapSentences`.

    Returns:
        the sources, one window each, and the targets.

    Raises:
        DataError: no window has more sentences than are taken out.

    Source: Zhang et al. 2020, "PEGASUS: Pre-training with Extracted Gap-sentences for Abstractive Summarization",
        section 3.1 (the variant Ind-Uniq); 6.1.3 keeps a fifth of the sentences in the source.

    Example:
        >>> load_gap_sentences(
        ...     "records/train", 256, 100, GapSentences(number=2, mask_id=103)
        ... )  # doctest: +SKIP
    """
    (pieces, _), (piece_counts, sentence_counts) = load_columns(records, "pieces", "piece_counts")
    sentences = np.split(pieces, np.cumsum(piece_counts)[:-1])
    random = np.random.default_rng(gaps.seed)
    sources: list[np.ndarray] = []
    source_counts, targets, cut = [], [], 0
    for first, last in _windows(piece_counts, sentence_counts, window_length):
        if last - first <= gaps.number:
            continue
        window = sentences[first:last]
        chosen = _most_important(window, gaps.number)
        target = _joined([window[i] for i in chosen], gaps.line_break)
        cut += len(target) >= max_length
        targets.append(target[: max_length - 1])
        keep = random.random() < gaps.kept
        mask = np.array([gaps.mask_id], np.int32)
        sources += [
            mask if i in chosen and not keep else sentence for i, sentence in enumerate(window)
        ]
        source_counts.append(len(window))
    if not targets:
        raise DataError(
            f"{records}: no window of {window_length} tokens has more than {gaps.number} sentences; lower "
            "gap_sentences or raise window_length"
        )
    counts = np.array([len(sentence) for sentence in sources], np.int64)
    documents = in_windows(
        np.concatenate(sources),
        counts,
        np.array(source_counts, np.int64),
        np.zeros(len(sources), np.float32),
        window_length,
        1,
    )
    return documents, Summaries(
        np.concatenate(targets),
        np.array([len(t) for t in targets], np.int64),
        [""] * len(targets),
        cut,
    )


def _windows(
    piece_counts: np.ndarray, sentence_counts: np.ndarray, window_length: int
) -> list[tuple[int, int]]:
    """The first sentence of each window of all documents, and the one after its last."""
    laid_out = in_windows(
        np.zeros(piece_counts.sum(), np.int32),
        piece_counts,
        sentence_counts,
        np.zeros(len(piece_counts), np.float32),
        window_length,
        int(1e9),
    )
    owner, _ = ragged_places(sentence_counts[sentence_counts > 0])
    window = np.stack([owner, laid_out.start // window_length])
    edges = np.flatnonzero((window[:, 1:] != window[:, :-1]).any(0)) + 1
    bounds = [0, *edges.tolist(), len(piece_counts)]
    return list(zip(bounds[:-1], bounds[1:]))


def _most_important(window: list[np.ndarray], number: int) -> list[int]:
    """The sentences of a window that share the most word pieces with its rest, in the order of the text."""
    sets = [set(sentence.tolist()) for sentence in window]
    scores = []
    for i, own in enumerate(sets):
        rest = set().union(*(other for j, other in enumerate(sets) if j != i))
        scores.append(2 * len(own & rest) / max(1, len(own) + len(rest)))
    best = sorted(range(len(window)), key=lambda i: (-scores[i], i))[:number]
    return sorted(best)


def _joined(sentences: list[np.ndarray], line_break: int | None) -> np.ndarray:
    parts = [sentences[0]]
    for sentence in sentences[1:]:
        parts += [sentence] if line_break is None else [np.array([line_break], np.int32), sentence]
    return np.concatenate(parts).astype(np.int32)
