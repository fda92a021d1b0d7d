"""Sentences of documents as pairs of segments for BERT's next-sentence task.

The algorithm is google-research/bert's (create_pretraining_data.py), draw by draw: with `next_sentence` "original"
the same generator gives the same pairs. In it a single sentence at the end of a document has no next one and always
gets a false one, so that more than half of the pairs are false: 64 % with 64 positions and 55 % with 128, in its own
sample text. "even" leaves out such a sentence, so that half of the pairs are true. The original also cuts pieces
of a long pair where the segments meet, so that many true second segments do not directly follow the first; "even"
cuts at the outer ends.
"""

import collections
import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Literal

from tfsum.errors import DataError

NextSentence = Literal["even", "original", "none"]
LABELS = {"next": 0, "other_document": 1, "same_document": 1, "one_segment": -1}
"""Where a second segment comes from -> the label of the next-sentence task; -1 is no pair."""
COUNTS = (*LABELS, "pieces_cut", "pairs_cut", "sentences_left")

Document = Sequence[Sequence[int]]  # sentences of word piece ids, none of them empty


@dataclasses.dataclass(frozen=True)
class PairOptions:
    """How pairs are drawn.

    Attributes:
        max_length: positions of a pair, [CLS] and each [SEP] included.
        next_sentence: "even": half of the second segments are what follows the first, without a gap; "original": as
            google-research/bert; "none": one segment of whole sentences, for masked words alone.
        same_document_share: share of the false second segments that come from the same document, which is harder
            to recognize than another document's.
        short_share: chance that the pairs of a document aim at a shorter length, drawn evenly from 2 pieces up.

    Example:
        >>> PairOptions(max_length=128).max_pieces
        125
    """

    max_length: int = 128
    next_sentence: NextSentence = "even"
    same_document_share: float = 0.0
    short_share: float = 0.1

    @property
    def max_pieces(self) -> int:
        """The number of word pieces that fit beside the special tokens."""
        return self.max_length - (2 if self.next_sentence == "none" else 3)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two segments of word pieces.

    Attributes:
        first: ids of the first segment.
        second: ids of the second, empty where there is one segment.
        kind: a key of `LABELS`.

    Example:
        >>> LABELS[Pair([5], [6], "next").kind]
        0
    """

    first: list[int]
    second: list[int]
    kind: str


def draw_pairs(
    documents: Sequence[Document],
    index: int,
    options: PairOptions,
    rng: random.Random,
    counts: collections.Counter,
) -> Iterator[Pair]:
    """Draws the segment pairs of one pass over a document.

    Args:
        documents: all documents, from which false second segments come.
        index: of the document.
        options: see `PairOptions`.
        rng: used only between two pairs.
        counts: `COUNTS` are added to: pairs by kind; pieces cut from pairs that are too long, and such pairs; sentences
            left at the end without a next one.

    Yields:
        Pairs of at most `options.max_pieces` pieces.

    Raises:
        DataError: there is no other document to draw from.

    Source: google-research/bert, create_pretraining_data.py, `create_instances_from_document`.

    Example:
        >>> documents = [[[5], [6], [7], [8]], [[9], [10]]]
        >>> counts = collections.Counter()
        >>> pairs = list(
        ...     draw_pairs(documents, 0, PairOptions(max_length=16), random.Random(0), counts)
        ... )
        >>> all(pair.kind in LABELS for pair in pairs), counts["pieces_cut"]
        (True, 0)
    """
    document, pairs = documents[index], options.next_sentence != "none"
    if pairs and len(documents) < 2:
        raise DataError(one_document("draw_pairs"))
    target = options.max_pieces
    if rng.random() < options.short_share:
        target = rng.randint(2, options.max_pieces)
    least = 2 if options.next_sentence == "even" else 1
    start = 0
    while start + least <= len(document):
        end = (_reaching if pairs else _fitting)(document, start, target, least)
        middle = end
        if pairs:
            middle = start + (rng.randint(1, end - start - 1) if end - start > 1 else 1)
        first, second = _joined(document[start:middle]), list[int]()
        if not pairs:
            kind = "one_segment"
        elif end - start == 1 or rng.random() < 0.5:
            second, kind = _false_second(
                documents, index, (start, middle), target - len(first), options, rng
            )
            end = middle  # the sentences of the true second segment are used again
        else:
            second, kind = _joined(document[middle:end]), "next"
        cut = truncate_pair(
            first, second, options.max_pieces, None if options.next_sentence == "even" else rng
        )
        counts.update({kind: 1, "pieces_cut": cut, "pairs_cut": int(cut > 0)})
        yield Pair(first, second, kind)
        start = end
    counts["sentences_left"] += len(document) - start


def one_document(source: str) -> str:
    """The message for a corpus of one document.

    Args:
        source: the corpus.

    Example:
        >>> one_document("books.txt")[:29]
        'books.txt: found one document'
    """
    return (
        f"{source}: found one document, expected two or more: a false next sentence comes from another document; "
        "add documents (those of a text file are parted by an empty line), or take next_sentence 'none' for masked "
        "words alone"
    )


def _reaching(document: Document, start: int, target: int, least: int) -> int:
    """The end of the sentences from `start` that together reach the target, or of the document."""
    end, length = start, 0
    while end < len(document) and (length < target or end - start < least):
        length += len(document[end])
        end += 1
    return end


def _fitting(document: Document, start: int, target: int, least: int) -> int:
    """The end of the sentences from `start` that together do not pass the target; of the first ones at least."""
    end, length = start, 0
    while end < len(document) and (length + len(document[end]) <= target or end - start < least):
        length += len(document[end])
        end += 1
    return end


def _false_second(
    documents: Sequence[Document],
    index: int,
    first: tuple[int, int],
    target: int,
    options: PairOptions,
    rng: random.Random,
) -> tuple[list[int], str]:
    """Sentences that do not follow the first segment, and their kind; `first` says which sentences that is made of."""
    document = documents[index]
    if options.same_document_share and rng.random() < options.same_document_share:
        start, middle = first
        places = start + max(
            0, len(document) - middle - 1
        )  # neither of the first segment nor right after it
        if places:
            place = rng.randrange(places)
            before = place < start
            place += 0 if before else middle + 1 - start
            return _joined(
                document[
                    place : _reaching(document[:start] if before else document, place, target, 1)
                ]
            ), ("same_document")
    other = index
    while other == index:  # the original gives up after ten draws and takes the document itself
        other = rng.randint(0, len(documents) - 1)
    place = rng.randint(0, len(documents[other]) - 1)
    return _joined(
        documents[other][place : _reaching(documents[other], place, target, 1)]
    ), "other_document"


def _joined(sentences: Document) -> list[int]:
    return list(itertools.chain.from_iterable(sentences))


def truncate_pair(
    first: list[int], second: list[int], max_pieces: int, rng: random.Random | None = None
) -> int:
    """Removes pieces of the longer segment until both fit.

    Args:
        first, second: changed in place.
        max_pieces: of both together.
        rng: one draw a piece says whether the front or the end loses it; without it the first loses its front and the
            second its end, and what followed without a gap still does.

    Returns:
        The number of pieces removed.

    Source: google-research/bert, create_pretraining_data.py, `truncate_seq_pair`; with `rng` it is that.

    Example:
        >>> first, second = [1, 2, 3, 4], [5]
        >>> truncate_pair(first, second, 3), first, second
        (2, [3, 4], [5])
    """
    cut = max(0, len(first) + len(second) - max_pieces)
    for _ in range(cut):
        longer = first if len(first) > len(second) else second
        front = longer is first if rng is None else rng.random() < 0.5
        del longer[0 if front else -1]
    return cut
