"""Texts for an exported model: checked, encoded, their tokens counted, in groups; needs no
TensorFlow, as in a client."""

import math
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tfsum.errors import DataError, Error, as_error, needs_extra
from tfsum.request import TOKEN_BYTES

CountTokens: TypeAlias = Callable[[str], int]
Value = bool | int | float | str | bytes  # of an input, the same for all texts

TEXTS_AT_ONCE, BYTES_AT_ONCE = 32, 1 << 19
# share of whole words; English news has 0.9 to 1, Spanish or French read by its vocabulary 0.55
KNOWN_ENOUGH = 0.6
TYPES = {bool: np.bool_, int: np.int32, float: np.float32, bytes: np.object_}  # of inputs


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
        encoded = tokenizer.encode(as_bytes(text).decode(), add_special_tokens=False)
        return len(encoded.ids)

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
    groups: list[list[int]] = []
    room = 0
    for i in sorted(range(len(sizes)), key=lambda i: sizes[i]):
        if not groups or len(groups[-1]) == TEXTS_AT_ONCE or sizes[i] > room:
            groups.append([])
            room = BYTES_AT_ONCE
        groups[-1].append(i)
        room -= sizes[i]

    return groups


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
