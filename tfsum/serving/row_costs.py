"""What the rows of a request cost to compute, in characters, and parts of a cost."""

import itertools
from collections.abc import Sequence

import numpy as np

from tfsum.request import DOCUMENT_SEPARATOR
from tfsum.serving.servable import Arrays

ROW_COST = 256  # characters; what a row costs, however short it is
NUMBER_COST = 4  # characters; a token has about four
# A text has a token for each word and mark, and each sentence three more than these.
ENDS = ".!?\n\r\v\f\x85\u2028\u2029…。．｡！？؟।"
MARKS = "".join(mark for mark in map(chr, range(128)) if not mark.isalnum() and mark not in ENDS)
END_TOKENS = 3
MAX_PLACES = 1 << 21  # for sentences in the rows of an answer, of which the widest is the width
SEPARATOR = DOCUMENT_SEPARATOR.encode()


def row_sizes(inputs: Arrays) -> list[int]:
    """The cost of each row of a request, in characters.

    Args:
        inputs: Name -> array; an array without rows, or with fewer than another, costs nothing.

    Example:
        >>> row_sizes({"text": np.array([b"It rained.", b"", b"a\\nb\\nc\\n"], object)})
        [272, 256, 292]
    """
    rows = max((len(array) for array in inputs.values() if array.ndim), default=1)
    sizes = np.full(rows, ROW_COST)
    for array in inputs.values():
        if array.ndim and len(array) == rows:
            costs = np.full(array.shape, NUMBER_COST)
            if array.dtype == object:
                costs = np.vectorize(_text_cost, otypes=[int])(array)
            sizes += costs.sum(axis=tuple(range(1, array.ndim)))

    return sizes.tolist()


def _text_cost(text: bytes) -> int:
    """The cost of a text: its bytes, or more where its words or sentences are very short; each of
    its documents costs what a row does."""
    ends = _ends(text)
    marks = len(text) - len(text.translate(None, MARKS.encode()))
    tokens = END_TOKENS * ends + marks
    return max(len(text), NUMBER_COST * tokens) + ROW_COST * text.count(SEPARATOR)


def _ends(text: bytes) -> int:
    """The number of marks that may end a sentence."""
    return sum(text.count(end.encode()) for end in ENDS)


def place_count(texts: Sequence[bytes]) -> int:
    """The number of places for sentences in an answer whose rows are as wide as the widest.

    Args:
        texts: Texts of a request.

    Example:
        >>> place_count([b"It rained. It did.", b""])
        4
    """
    return len(texts) * max(map(_ends, texts), default=0)


def divide_rows(sizes: list[int], max_size: int, max_rows: int | None = None) -> list[slice]:
    """Divides the rows of a request into parts; a row that is too large is a part alone.

    Args:
        sizes: Cost of each row, in characters.
        max_size: Cost of a part, in characters.
        max_rows: Rows of a part; any number where None.

    Returns:
        Rows of each part.

    Example:
        >>> divide_rows([300, 300, 900, 300], 700)
        [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    starts, total = [0], 0
    for row, size in enumerate(sizes):
        full = total + size > max_size or row - starts[-1] == max_rows
        if full and row > starts[-1]:
            starts.append(row)
            total = 0
        total += size
    return [slice(start, end) for start, end in itertools.pairwise([*starts, len(sizes)])]
