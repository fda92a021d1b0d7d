"""Sentences of documents as pairs of segments for BERT's next-sentence task.

The algorithm is google-research/bert's (create_pretraining_data.py), draw by draw: with
`next_sentence` "original" the same generator gives the same pairs. In it a single sentence at the
end of a document has no next one and always gets a false one, so that more than half of the pairs
are false: 64 % with 64 positions and 55 % with 128, in its own sample text. "even" leaves out such
a sentence, so that half of the pairs are true. The original also cuts pieces of a long pair where
the segments meet, so that many true second segments do not directly follow the first; "even" cuts
at the outer ends.
"""

import collections
import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence

from tfsum.errors import DataError, require
from tfsum.tasks.bert_pretraining.settings import PairSettings

LABELS = {"next": 0, "other_document": 1, "same_document": 1, "one_segment": -1}
"""Where a second segment comes from -> the label of the next-sentence task; -1 is no pair."""
COUNTS = (*LABELS, "pieces_cut", "pairs_cut", "sentences_left")

Document = Sequence[Sequence[int]]  # sentences of word piece ids, none of them empty


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two segments of word pieces.

    Attributes:
        first: Ids of the first segment.
        second: Ids of the second, empty where there is one segment.
        kind: A key of `LABELS`.

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
    options: PairSettings,
    rng: random.Random,
    counts: collections.Counter,
) -> Iterator[Pair]:
    """Draws the segment pairs of one pass over a document.

    Args:
        documents: All documents, from which false second segments come.
        index: Index of the document.
        options: How pairs are drawn.
        rng: Generator of random numbers, used only between two pairs.
        counts: `COUNTS` are added to: pairs by kind; pieces cut from pairs that are too long, and
            such pairs; sentences left at the end without a next one.

    Yields:
        Pairs of at most `options.max_pieces` pieces.

    Raises:
        DataError: There is no other document to draw from.

    Source: google-research/bert, create_pretraining_data.py, `create_instances_from_document`.

    Example:
        >>> documents = [[[5], [6], [7], [8]], [[9], [10]]]
        >>> counts = collections.Counter()
        >>> pairs = list(
        ...     draw_pairs(documents, 0, PairSettings(max_length=16), random.Random(0), counts)
        ... )
        >>> all(pair.kind in LABELS for pair in pairs), counts["pieces_cut"]
        (True, 0)
    """
    document, pairs = documents[index], options.next_sentence != "none"
    require(len(documents) > 1 or not pairs, one_document("draw_pairs"), DataError)

    target = options.max_pieces
    if rng.random() < options.short_share:
        target = rng.randint(2, options.max_pieces)
    least = 1 + (options.next_sentence == "even")
    start = 0
    while start + least <= len(document):
        end = _end(document, start, target, least, whole=not pairs)
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
        source: Corpus.

    Example:
        >>> one_document("books.txt")[:29]
        'books.txt: found one document'
    """
    return (
        f"{source}: found one document, expected two or more: a false next sentence comes from"
        " another document; add documents (those of a text file are parted by an empty line), or"
        " take next_sentence 'none' for masked words alone"
    )


def _end(document: Document, start: int, target: int, least: int = 1, whole: bool = False) -> int:
    """The end of the sentences from `start` that together reach the target, or of the document;
    with `whole` of those that together do not pass it. There are `least` of them at least."""
    end, length = start, 0
    while end < len(document) and (
        end - start < least or length + (len(document[end]) if whole else 1) <= target
    ):
        length += len(document[end])
        end += 1

    return end


def _false_second(
    documents: Sequence[Document],
    index: int,
    first: tuple[int, int],
    target: int,
    options: PairSettings,
    rng: random.Random,
) -> tuple[list[int], str]:
    """Sentences that do not follow the first segment, and their kind; `first` says which sentences
    that is made of."""
    document, (start, middle) = documents[index], first
    wanted = options.same_document_share and rng.random() < options.same_document_share
    # neither of the first segment nor right after it
    places = start + max(0, len(document) - middle - 1)
    if wanted and places:
        kind, place = "same_document", rng.randrange(places)
        if place < start:
            document = document[:start]
        else:
            place += middle + 1 - start
    else:
        kind, other = "other_document", index
        while other == index:  # the original gives up after ten draws and takes the document itself
            other = rng.randint(0, len(documents) - 1)
        document = documents[other]
        place = rng.randint(0, len(document) - 1)

    return _joined(document[place : _end(document, place, target)]), kind


def _joined(sentences: Document) -> list[int]:
    return list(itertools.chain.from_iterable(sentences))


def truncate_pair(
    first: list[int], second: list[int], max_pieces: int, rng: random.Random | None = None
) -> int:
    """Removes pieces of the longer segment until both fit.

    Args:
        first, second: Word piece ids of the segments, changed in place.
        max_pieces: Most pieces of both segments together.
        rng: Random generator, with which each piece is removed from the start or the end of the
            longer segment. If None, pieces are removed from the start of `first` and the end of
            `second`, so that segments that were adjacent still are.

    Returns:
        The number of pieces removed.

    Source: google-research/bert, create_pretraining_data.py, `truncate_seq_pair`; with `rng` it is
        that.

    Example:
        >>> first, second = [1, 2, 3, 4], [5]
        >>> truncate_pair(first, second, 3), first, second
        (2, [3, 4], [5])
    """
    cut = max(0, len(first) + len(second) - max_pieces)
    for _ in range(cut):
        longer = max(second, first, key=len)
        front = longer is first if rng is None else rng.random() < 0.5
        del longer[0 if front else -1]

    return cut
