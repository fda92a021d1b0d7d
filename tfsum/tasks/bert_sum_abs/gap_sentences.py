"""Training data from documents without summaries: important sentences to be written."""

import dataclasses

import numpy as np

from tfsum.data.batcher import ragged_places
from tfsum.data.documents.summary_batches import Summaries, join_targets
from tfsum.data.documents.windows import WindowedDocuments, in_windows
from tfsum.data.records import Paths, load_columns
from tfsum.errors import DataError


@dataclasses.dataclass(frozen=True, kw_only=True)
class GapSentences:
    """How gap sentences are made.

    Attributes:
        number: Sentences of a window that are to be written, the most important ones; a window with
            fewer than one other sentence is left out.
        kept: The share of windows whose sentences also stay in the source, which teaches to copy;
            of the others [MASK] takes their place.
        mask_id: Id of [MASK].
        line_break: The id between two sentences to be written; None joins them.
        seed: Seed of the choice of windows that keep their sentences.

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
    """Makes pairs of all windows: the rest of a window, and its important sentences.

    A sentence is as important as its words are those of the rest of its window: the F1 of their
    sets of word pieces.

    Args:
        records: Records of `tfsum.data.documents.prepare`.
        window_length: Positions of a window.
        max_length: Pieces of a target, its end token among them; a longer one is cut.
        gaps: Settings of the gaps.

    Returns:
        the sources, one window each, and the targets.

    Raises:
        DataError: No window has more sentences than are taken out.

    Source: Zhang et al. 2020, "PEGASUS: Pre-training with Extracted Gap-sentences for Abstractive
        Summarization", section 3.1 (the variant Ind-Uniq); 6.1.3 keeps a fifth of the sentences in
        the source.
    """
    (pieces, _), (piece_counts, sentence_counts) = load_columns(records, "pieces", "piece_counts")
    sentences = np.split(pieces, np.cumsum(piece_counts)[:-1])
    random = np.random.default_rng(gaps.seed)
    sources: list[np.ndarray] = []
    source_counts, targets = [], []
    for first, last in _windows(piece_counts, sentence_counts, window_length):
        if last - first <= gaps.number:
            continue
        window = sentences[first:last]
        chosen = _most_important(window, gaps.number)
        targets.append([window[i] for i in chosen])
        keep = random.random() < gaps.kept
        mask = np.array([gaps.mask_id], np.int32)
        sources += [
            mask if i in chosen and not keep else sentence for i, sentence in enumerate(window)
        ]
        source_counts.append(len(window))

    if not targets:
        raise DataError(
            f"{records}: no window of {window_length} tokens has more than {gaps.number} sentences;"
            " lower gap_sentences or raise window_length"
        )

    documents = in_windows(
        np.concatenate(sources),
        np.array([len(sentence) for sentence in sources], np.int64),
        np.array(source_counts, np.int64),
        np.zeros(len(sources), np.float32),
        window_length,
        1,
    )

    texts = [""] * len(targets)
    return documents, join_targets(targets, texts, gaps.line_break, max_length)


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
    """The sentences of a window that share the most word pieces with its rest, in the order of the
    text."""
    sets = [set(sentence.tolist()) for sentence in window]
    scores = []
    for i, own in enumerate(sets):
        rest = set().union(*(other for j, other in enumerate(sets) if j != i))
        scores.append(2 * len(own & rest) / max(1, len(own) + len(rest)))

    best = sorted(range(len(window)), key=lambda i: (-scores[i], i))[:number]
    return sorted(best)
