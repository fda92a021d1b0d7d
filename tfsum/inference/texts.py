"""Texts on their way into an exported model: checked, encoded, with new lines as they are meant;
their tokens and costs; the parts in which a call computes them; and what was read of the last ones.
Needs no TensorFlow, as in a client."""

import functools
import itertools
import math
import pathlib
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from tfsum.errors import DataError, Error, as_error, needs_extra, require
from tfsum.loading import load_tensorflow
from tfsum.request import DOCUMENT_SEPARATOR, TOKEN_BYTES

T = TypeVar("T")
CountTokens: TypeAlias = Callable[[str], int]
Value = bool | int | float | str | bytes  # of an input, the same for all texts

TEXTS_AT_ONCE, BYTES_AT_ONCE = 32, 1 << 19
# share of whole words; English news has 0.9 to 1, Spanish or French read by its vocabulary 0.55
KNOWN_ENOUGH = 0.6
TYPES = {bool: np.bool_, int: np.int32, float: np.float32, bytes: np.object_}  # of inputs

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

_BREAKS = re.compile(rb"[\n\r\x0b\f]|\xc2\x85|\xe2\x80[\xa8\xa9]")
_IN_A_PARAGRAPH = re.compile(rb"(?<=[^\s])([ \t]*)(\r\n|\r|\n)(?=[ \t]*[^\s])")


def as_bytes(text: str | bytes) -> bytes:
    """A text in UTF-8; half of a surrogate pair, which UTF-8 cannot hold, becomes "?", and bytes
    stay as they are.

    Example:
        >>> as_bytes("a\\ud800")
        b'a?'
    """
    if isinstance(text, bytes):
        return text
    return text.encode("utf-8", errors="replace")


def check_texts(texts: Iterable[str]) -> list[str]:
    """Checks texts and returns them as a list.

    Args:
        texts: Texts, an iterable of str.

    Raises:
        Error: It is something else.

    Example:
        >>> check_texts(("It rained.", "The sun shone."))
        ['It rained.', 'The sun shone.']
    """
    if isinstance(texts, str):  # whose characters would be taken for texts
        raise Error("texts is a str; expected a sequence of them, such as [text]")
    if isinstance(texts, bytes | bytearray | Mapping) or not hasattr(texts, "__iter__"):
        raise Error(
            f"texts is {type(texts).__name__}; expected a str or a sequence of str (decode bytes"
            " first; of a dict give list(texts.values()))"
        )

    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise Error(f"texts[{i}] is {type(text).__name__}; expected str (decode bytes first)")
    return texts


def rewrite_newlines(
    texts: Sequence[bytes], newline: str, exported: str
) -> tuple[list[bytes], list[str]]:
    r"""Rewrites the new lines of texts, so that an exported model takes them as they are meant.

    Args:
        texts: Texts in UTF-8.
        newline: Meaning of a new line: "sentence", "paragraph" or "space", as of
            `SentenceSplitter`, or "auto".
        exported: Meaning that the export gives it.

    Returns:
        The texts, each of as many bytes as before, and what a new line was taken for in each:
        "sentence", "paragraph" or "space".

    Raises:
        Error: The export cannot end a sentence there.

    Example:
        >>> rewrite_newlines([b"A bridge\nwas closed.\n\nIt rained."], "paragraph", "sentence")
        ([b'A bridge was closed.\n\nIt rained.'], ['paragraph'])
    """
    require(
        exported != "line",
        f"newline is {newline!r}, and the model was exported with 'line', for texts with a sentence"
        ' a line; leave it out, or export the model with newline "auto"',
    )
    order = ("sentence", "auto", "paragraph", "space")
    require(
        order.index(newline) >= order.index(exported) or exported == "auto",
        f"newline is {newline!r}, and the model was exported with {exported!r}, in which a new line"
        ' does not end a sentence; leave it out, or export the model with newline "auto"',
    )

    if newline == "auto":
        load_tensorflow()  # all else is done without it
        import tensorflow as tf

        from tfsum.text.hard_wraps import join_hard_wraps

        joined, wrapped = join_hard_wraps(tf.constant(list(texts), tf.string))
        meanings = ["paragraph" if flag else "sentence" for flag in wrapped.numpy()]
        return joined.numpy().tolist(), meanings
    breaks = {"space": _BREAKS, "paragraph": _IN_A_PARAGRAPH}.get(newline)
    if breaks is not None:
        texts = [breaks.sub(lambda match: b" " * len(match[0]), text) for text in texts]
    elif exported == "auto":
        # ends a sentence and is no line of a wrapped text
        texts = [text.replace(b"\n", b"\f") for text in texts]
    return list(texts), [newline] * len(texts)


def one_line(sentence: str) -> str:
    """Writes a sentence of a hard-wrapped text in one line.

    A word that was parted after its hyphen becomes one again.

    Args:
        sentence: Sentence, of one line or several.

    Example:
        >>> one_line("The well-\\nknown bridge\\nwas closed.")
        'The well-known bridge was closed.'
    """
    return " ".join(re.sub(r"(?<=\w-)\r?\n[ \t]*", "", sentence).split())


def tokens_of(text: str) -> int:
    """Tokens of a language model, about.

    Args:
        text: A text.

    Example:
        >>> tokens_of("It rained.")
        3
    """
    return math.ceil(len(as_bytes(text)) / TOKEN_BYTES)


def token_counter(file: str | pathlib.Path | None) -> CountTokens:
    """Makes the function that counts the tokens of a text, without those that begin or end one.

    Args:
        file: tokenizer.json of the library `tokenizers`; None for `tokens_of`.

    Raises:
        DataError: The file cannot be read, or is of another kind.
        Error: The library is not installed.

    Example:
        >>> token_counter(None)("It rained.")
        3
    """
    if file is None:
        return tokens_of
    with needs_extra("vocab", "a tokenizer"):
        from tokenizers import Tokenizer

    with as_error(
        f"{file}: is no tokenizer",
        Exception,  # the library has no class of its own
        kind=DataError,
        cure="; expected a tokenizer.json of the library `tokenizers`",
    ):
        tokenizer = Tokenizer.from_str(pathlib.Path(file).read_text(encoding="utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(as_bytes(text).decode(), add_special_tokens=False).ids)

    return count


def batches(sizes: Sequence[int]) -> list[list[int]]:
    """Groups texts by size, at most `TEXTS_AT_ONCE` and about `BYTES_AT_ONCE` in a group.

    Args:
        sizes: Bytes of each text.

    Returns:
        The indices of the texts of each group.

    Example:
        >>> batches([5, 600_000, 3])
        [[2, 0], [1]]
    """
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    parts = divide_rows([sizes[i] for i in order], BYTES_AT_ONCE, TEXTS_AT_ONCE)
    return [order[part] for part in parts if order]


def filled(number: int, value: Value) -> np.ndarray:
    """An input of a signature with the same value for each text.

    Args:
        number: Number of texts.
        value: The value.

    Example:
        >>> filled(2, b"rain").tolist(), filled(1, 0.5).dtype
        ([b'rain', b'rain'], dtype('float32'))
    """
    if isinstance(value, str):
        value = as_bytes(value)
    return np.full(number, value, TYPES[type(value)])


def rows_of(outputs: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """The outputs of a signature for each text.

    Args:
        outputs: Name -> array, the rows first.

    Example:
        >>> rows_of({"summary": np.array([b"It rained.", b""], object)})
        [{'summary': b'It rained.'}, {'summary': b''}]
    """
    return [dict(zip(outputs, row)) for row in zip(*outputs.values(), strict=True)]


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
                costs = np.vectorize(functools.partial(_text_cost, known), otypes=[int])(array)
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


class DocumentCache(Generic[T]):
    """What was read of the documents asked about last.

    Args:
        limit: Bytes of all that is kept.

    Attributes:
        size: Bytes of what is kept now.

    Example:
        >>> cache = DocumentCache(limit=20)
        >>> for number in range(3):
        ...     cache.keep(number, f"document {number}", size=10)
        >>> [cache.find(number) for number in range(3)], cache.size
        ([None, 'document 1', 'document 2'], 20)
    """

    def __init__(self, limit: int) -> None:
        self._limit, self.size = limit, 0
        # those asked about last at the end
        self._kept: dict[Hashable, tuple[T, int]] = {}

    def find(self, key: Hashable) -> T | None:
        """What was kept of a document; None where it was not, or not until now.

        Args:
            key: Key of the document.
        """
        if key not in self._kept:
            return None
        self._kept[key] = self._kept.pop(key)
        return self._kept[key][0]

    def keep(self, key: Hashable, read: T, size: int) -> None:
        """Keeps what was read of a document; those asked about longest ago make room.

        Args:
            key: Key of the document.
            read: What was read of it.
            size: Its bytes.
        """
        if size > self._limit:
            return
        if key in self._kept:
            self.size -= self._kept.pop(key)[1]
        self._kept[key] = read, size
        self.size += size
        while self.size > self._limit:
            self.size -= self._kept.pop(next(iter(self._kept)))[1]

    def values(self) -> list[T]:
        """What is kept, of the document asked about longest ago first."""
        return [read for read, _ in self._kept.values()]
