"""Counts the tokens of texts: by a tokenizer of the library `tokenizers`, or four bytes each."""

import math
import pathlib
from collections.abc import Callable
from typing import TypeAlias

from tfsum.errors import DataError, needs_extra
from tfsum.inference.texts import as_bytes
from tfsum.request import TOKEN_BYTES

CountTokens: TypeAlias = Callable[[str], int]


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

    try:
        tokenizer = Tokenizer.from_str(pathlib.Path(file).read_text(encoding="utf-8"))
    except Exception as error:  # the library has no class of its own
        raise DataError(
            f"{file}: is no tokenizer ({error}); expected a tokenizer.json of the library"
            " `tokenizers`"
        ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        encoded = tokenizer.encode(as_bytes(text).decode(), add_special_tokens=False)
        return len(encoded.ids)

    return count
