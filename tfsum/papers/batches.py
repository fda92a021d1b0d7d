"""Batches of documents, with summaries or without, as the data loaders of BertSum and PreSumm
group, cut and shuffle them."""

import random
from collections.abc import Iterator, Sequence

import numpy as np

from tfsum.data.batcher import TokenBudgetBatcher, ragged_places
from tfsum.data.documents.summary_batches import Summaries, SummaryBatcher, load_summaries
from tfsum.data.documents.windows import DocumentBatcher
from tfsum.data.records import Paths, load_columns
from tfsum.models import BertSumAbs
from tfsum.papers.preprocessing import Program, pieces_between_blanks, segments
from tfsum.text.word_piece import WordPiece
from tfsum.training.settings import OptimizerSettings

BUFFERED = {"bertsum": 50, "presumm": 300}  # batches' sizes that are sorted together
MOST_SUMMARIES, TOO_MANY = 6, 1000  # a batch of more summaries counts as so much larger
LONGEST_TARGET = 140  # start and end token among them; PreSumm's default


def original_groups(
    lengths: Sequence[int],
    kinds: Sequence[Sequence[int]],
    limit: int,
    program: Program,
    summaries: bool = False,
    shuffle: tuple[int, int] | None = None,
) -> list[list[int]]:
    """Which rows share a batch, in the order of the original.

    A batch is as large as its number of rows times the longest of them. Rows that fit together into
    50 (300) batches are sorted, then cut into batches, so that one pass is not sorted as a whole.

    Args:
        lengths: (N,) of the rows; one of length 0 is left out.
        kinds: Arrays (N,) by which rows are sorted, the first decides; equal rows keep their order.
        limit: Largest size of a batch; a longer row is a batch of its own.
        program: Program whose buffers are used.
        summaries: Whether the lengths are those of summaries, of which a batch has at most 6 where
            the limit is below 1000.
        shuffle: (seed, epoch), by which the rows are shuffled, then the batches of each buffer, in
            the first epoch with the original's random numbers; None keeps the order.

    Source: nlpyang/PreSumm, models/data_loader.py, `DataIterator`; the empty batches of the
        original are left out.

    Example:
        >>> original_groups([3, 1, 3, 2], [[3, 1, 3, 2]], 6, "presumm")
        [[1, 3], [0, 2]]
    """
    rows = list(range(len(lengths)))
    numbers = random.Random(sum(shuffle or ()))
    if shuffle is not None:
        numbers.shuffle(rows)

    groups: list[list[int]] = []
    rows = [row for row in rows if lengths[row]]
    for buffer in _cut(rows, lengths, limit * BUFFERED[program], summaries):
        buffer.sort(key=lambda row: [kind[row] for kind in kinds])
        batches = list(_cut(buffer, lengths, limit, summaries))
        if shuffle is not None:
            numbers.shuffle(batches)
        groups += filter(None, batches)

    return groups


def _cut(
    rows: Sequence[int], lengths: Sequence[int], limit: int, summaries: bool
) -> Iterator[list[int]]:
    group: list[int] = []
    longest = 0
    for row in rows:
        group.append(row)
        longest = max(longest, lengths[row])
        has_too_many = summaries and len(group) > MOST_SUMMARIES
        size = len(group) * longest + TOO_MANY * has_too_many
        if size == limit:
            yield group
            group, longest = [], 0
        elif size > limit:
            yield group[:-1]
            group, longest = [row], lengths[row]
    if group:
        yield group


def steps_of(groups: list[list[int]], together: int) -> list[np.ndarray]:
    """The rows of each step, to which so many batches in a row contribute.

    Example:
        >>> [rows.tolist() for rows in steps_of([[0, 1], [2], [3]], 2)]
        [[0, 1, 2], [3]]
    """
    return [np.concatenate(groups[i : i + together]) for i in range(0, len(groups), together)]


def cut_source(src: np.ndarray, starts: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts a document as PreSumm does when it loads one.

    Args:
        src: (T,) ids, the last of them [SEP].
        starts: (S,) place of each sentence's [CLS].
        longest: Positions at most; the last one is [SEP], also where a sentence's [CLS] would be,
            as in the original.

    Returns:
        The ids, and the starts that are left.

    Source: nlpyang/PreSumm, models/data_loader.py, `DataIterator.preprocess`.

    Example:
        >>> ids, starts = cut_source(np.array([101, 7, 102, 101, 8, 102]), np.array([0, 3]), 4)
        >>> ids.tolist(), starts.tolist()
        ([101, 7, 102, 102], [0, 3])
    """
    return np.concatenate([src[:-1][: longest - 1], src[-1:]]), starts[starts < longest]


class OriginalBatcher(TokenBudgetBatcher):
    """Batches of documents as BertSum and PreSumm make them.

    Each document is one window, cut in mid-sentence. The arrays are those of `DocumentBatcher`.

    Args:
        records: Records of `tfsum.data.documents.prepare` with `legacy`.
        program: Program whose batches are made.
        window_length: Positions of a document at most, see `cut_source`.
        tokens_per_batch: Rows * longest row of one of the original's batches at most, unless it is
            a single row.
        together: Number of original batches in one batch: those whose gradients the original sums.
        cls_id: Id of [CLS].
        sep_id: Id of [SEP].

    Raises:
        DataError: Records are empty.

    Example:
        >>> import tempfile
        >>> from tfsum.data.records import make_record, write_shard
        >>> path = tempfile.mkdtemp() + "/a.tfrecord"
        >>> write_shard(
        ...     path,
        ...     [make_record("a", [[5, 6, 7], [8, 9]], [1.0, 0.0], [b"A b c.", b"D e."], "A b.")],
        ... )
        1
        >>> batcher = OriginalBatcher(path, "presumm", 8, 32, cls_id=2, sep_id=3)
        >>> batcher.assemble(np.array([0]))["token_ids"].tolist()
        [[2, 5, 6, 7, 3, 2, 8, 3]]
    """

    row, lower, bucket_width, must_fit = "document", "window_length", 1, False
    signature = DocumentBatcher.signature

    def __init__(
        self,
        records: Paths,
        program: Program,
        window_length: int,
        tokens_per_batch: int,
        together: int = 1,
        *,
        cls_id: int,
        sep_id: int,
    ) -> None:
        (pieces, _), (counts, sentences), (labels, _) = load_columns(
            records, "pieces", "piece_counts", "labels"
        )
        sentences = sentences[sentences > 0]
        self._program, self._together, self._sep_id = program, together, sep_id
        self.window_length = window_length

        # All documents end to end, `[CLS] pieces [SEP]` for each sentence
        begin = np.cumsum(counts + 2) - (counts + 2)
        self._src = np.zeros(len(pieces) + 2 * len(counts), np.int32)
        self._src[begin], self._src[begin + counts + 1] = cls_id, sep_id
        sentence, place = ragged_places(counts)
        self._src[begin[sentence] + 1 + place] = pieces

        document, _ = ragged_places(sentences)
        whole = np.bincount(document, counts + 2, len(sentences)).astype(np.int64)  # (D,) lengths
        self._first = np.concatenate([[0], np.cumsum(whole)])
        self._labels, self._first_sentence = labels, np.concatenate([[0], np.cumsum(sentences)])
        self._starts = begin - self._first[document]
        # sentences
        self._read = np.bincount(document[self._starts < window_length], minlength=len(sentences))
        super().__init__(np.minimum(whole, window_length), tokens_per_batch)
        self.counts = {
            "documents": len(sentences),
            "sentences": len(counts),
            "sentences_cut": int((whole > window_length).sum()),
            "sentences_dropped": len(counts) - int(self._read.sum()),
        }

    def plan(self, shuffle: tuple[int, int] | None = None) -> list[np.ndarray]:
        kind = self._read if self._program == "bertsum" else self.length
        return steps_of(
            original_groups(
                self.length.tolist(),
                [kind.tolist()],
                self.tokens_per_batch,
                self._program,
                shuffle=shuffle,
            ),
            self._together,
        )

    def assemble(self, rows: np.ndarray, epoch: int = 0) -> dict[str, np.ndarray]:
        token_ids = np.zeros((len(rows), self.width(self.length, rows)), np.int32)
        segment_ids = np.zeros_like(token_ids)
        starts = np.full((len(rows), int(self._read[rows].max())), -1, np.int32)
        labels = np.zeros(starts.shape, np.float32)
        for number, row in enumerate(rows):
            inside = slice(*self._first[row : row + 2])
            sentence = slice(*self._first_sentence[row : row + 2])
            ids, begins = cut_source(self._src[inside], self._starts[sentence], self.window_length)
            token_ids[number, : len(ids)] = ids
            segment_ids[number, : len(ids)] = segments(self._src[inside], self._sep_id)[: len(ids)]
            starts[number, : len(begins)] = begins
            labels[number, : len(begins)] = self._labels[sentence][: len(begins)]

        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "sentence_starts": starts,
            "labels": labels,
        }


class OriginalSummaryBatcher(SummaryBatcher):
    """Batches of PreSumm's groups, which are measured by their summaries.

    The arrays are those of `SummaryBatcher`.

    Args:
        sources: Batcher of the sources.
        summaries: Summaries of the same records, from `load_summaries`.
        tokens_per_batch: Summaries * longest summary of one of PreSumm's batches at most, start and
            end token among them; below 1000 a batch has at most 6.
        together: Number of original batches in one batch: those whose gradients the original sums.
        start_id, end_id: Before and after each target.
    """

    bucket_width, must_fit = 1, False

    def __init__(
        self,
        sources: OriginalBatcher,
        summaries: Summaries,
        tokens_per_batch: int,
        together: int,
        start_id: int,
        end_id: int,
    ) -> None:
        super().__init__(sources, summaries, tokens_per_batch, start_id, end_id)
        self._together = together

    def plan(self, shuffle: tuple[int, int] | None = None) -> list[np.ndarray]:
        targets = (self._summaries.counts + 2).tolist()
        return steps_of(
            original_groups(
                targets,
                [targets, self._sources.length.tolist()],
                self.tokens_per_batch,
                "presumm",
                summaries=True,
                shuffle=shuffle,
            ),
            self._together,
        )


def original_summary_batches(
    records: Paths,
    model: BertSumAbs,
    word_piece: WordPiece,
    line_break: int,
    settings: OptimizerSettings,
) -> OriginalSummaryBatcher:
    """Reads records as PreSumm batches them.

    Args:
        records: Records of `tfsum.data.documents.prepare` with legacy "presumm".
        model: Model that is trained.
        word_piece: Tokenizer of the records.
        line_break: Id between two sentences of a summary.
        settings: Section [train] of the recipe: `tokens_per_batch` of one of PreSumm's batches, of
            which `micro_batches` make a step.
    """
    ids = {piece: i for i, piece in enumerate(word_piece.vocabulary)}
    summaries = load_summaries(
        records,
        lambda texts: [pieces_between_blanks(text, ids) for text in texts],
        line_break,
        LONGEST_TARGET - 1,
    )
    sources = OriginalBatcher(
        records,
        "presumm",
        model.window_length,
        settings.tokens_per_batch,
        cls_id=word_piece.cls_id,
        sep_id=word_piece.sep_id,
    )
    return OriginalSummaryBatcher(
        sources,
        summaries,
        settings.tokens_per_batch,
        settings.micro_batches,
        model.start_id,
        model.end_id,
    )
