"""What the rows of a call cost to compute, in characters, and parts of a cost."""

import functools
import itertools
import re
from collections.abc import Mapping, Sequence

import numpy as np

from tfsum.request import DOCUMENT_SEPARATOR

ROW_COST = 256  # characters; what a row costs, however short it is
NUMBER_COST = 4  # characters; a token has about four
# A text has a token for each known word, which a space follows, for each mark, and for two bytes of
# other words; each sentence has three more than these.
ENDS = ".!?\n\r\v\f\x85\u2028\u2029…。．｡！？؟।"
MARKS = "".join(mark for mark in map(chr, range(128)) if not mark.isalnum() and mark not in ENDS)
WORD = re.compile(rb"[a-z0-9\x80-\xff]+")
END_TOKENS = 3
MAX_PLACES = 1 << 21  # for sentences in the rows of an answer, of which the widest is the width
SEPARATOR = DOCUMENT_SEPARATOR.encode()


def row_sizes(inputs: Mapping[str, np.ndarray], known: frozenset[bytes] = frozenset()) -> list[int]:
    """The cost of each row of a call, in characters.

    Args:
        inputs: Name -> array; an array without rows, or with fewer than another, costs nothing.
        known: Words of the model's vocabulary; empty where nobody knows them.

    Example:
        >>> row_sizes({"text": np.array([b"It rained.", b"", b"a\\nb\\nc\\n"], object)})
        [272, 256, 292]
        >>> row_sizes({"text": np.array([b"xqzvkw"], object)}, known=frozenset([b"rain"]))
        [268]
    """
    rows = max((len(array) for array in inputs.values() if array.ndim), default=1)
    sizes = np.full(rows, ROW_COST)
    for array in inputs.values():
        if array.ndim and len(array) == rows:
            costs = np.full(array.shape, NUMBER_COST)
            if array.dtype == object:
                cost = functools.partial(_text_cost, known)
                costs = np.vectorize(cost, otypes=[int])(array)
            sizes += costs.sum(axis=tuple(range(1, array.ndim)))

    return sizes.tolist()


def _text_cost(known: frozenset[bytes], text: bytes) -> int:
    """The cost of a text: its bytes, or more where its words or sentences are very short, or words
    are not known; each of its documents costs what a row does."""
    marks = len(text) - len(text.translate(None, MARKS.encode()))
    unknown = 0
    if known:
        unknown = sum(len(word) for word in WORD.findall(text.lower()) if word not in known)
    tokens = END_TOKENS * _ends(text) + marks + unknown // 2
    return max(len(text), NUMBER_COST * tokens) + ROW_COST * text.count(SEPARATOR)


def _ends(text: bytes) -> int:
    """The number of marks that may end a sentence."""
    return sum(text.count(end.encode()) for end in ENDS)


def place_count(texts: Sequence[bytes]) -> int:
    """The number of places for sentences in an answer whose rows are as wide as the widest.

    Args:
        texts: Texts of a call.

    Example:
        >>> place_count([b"It rained. It did.", b""])
        4
    """
    return len(texts) * max(map(_ends, texts), default=0)


def divide_rows(sizes: list[int], max_size: int, max_rows: int | None = None) -> list[slice]:
    """Divides the rows of a call into parts; a row that is too large is a part alone.

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
