"""Which word pieces make up names and numbers, from the upper and lower case of a corpus."""

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tfsum.text.word_piece import WordPiece

_WORD = re.compile(r"[^\W_]+")
_SPECIAL = re.compile(r"\[[^\]]+\]")  # [PAD], [unused0]


def number_pieces(vocabulary: Sequence[str]) -> np.ndarray:
    """The pieces with a digit.

    Args:
        vocabulary: Word pieces.

    Returns:
        bool (V,).

    Example:
        >>> number_pieces(["[PAD]", "[unused1]", "rain", "##1"]).tolist()
        [False, False, False, True]
    """
    return _pieces_with(str.isdigit, vocabulary)


def _pieces_with(test: Callable[[str], bool], vocabulary: Sequence[str]) -> np.ndarray:
    """The pieces (V,), but special ones, with a character that passes a test."""
    return np.array(
        [not _SPECIAL.fullmatch(piece) and any(map(test, piece)) for piece in vocabulary]
    )


def name_pieces(sentences: Iterable[str], word_piece: WordPiece) -> np.ndarray:
    """The pieces of names: of words that a corpus mostly capitalizes within sentences, and numbers.

    Pieces of none of its words count as such, too. In a script without case no word is capitalized,
    and only the pieces of words that the corpus lacks are found.

    Args:
        sentences: Sentences of the corpus; the first word of each does not count.
        word_piece: Tokenizer.

    Returns:
        bool (V,).

    Example:
        >>> pieces = WordPiece(
        ...     ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "it", "rains", "in", "paris", "."]
        ... )
        >>> names = name_pieces(["It rains in Paris.", "Now it rains."], pieces)
        >>> [word for word, is_name in zip(pieces.vocabulary, names) if is_name]
        ['paris']
    """
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(_WORD.findall(sentence)[1:])

    words = list(counts)
    as_word, as_name = seen = np.zeros((2, len(word_piece.vocabulary)))
    for word, ids in zip(words, word_piece.tokenize(words).to_list()):
        seen[int(word[0].isupper()), ids] += counts[word]

    letters = _pieces_with(str.isalpha, word_piece.vocabulary)
    return number_pieces(word_piece.vocabulary) | (letters & (as_name >= as_word))


def pack_flags(flags: np.ndarray) -> str:
    """Writes flags (V,) as text, for a JSON file: their bits, the first flag first, in base64.

    Example:
        >>> pack_flags(np.array([True, False, True]))
        'oA=='
    """
    return base64.b64encode(np.packbits(flags).tobytes()).decode("ascii")


def unpack_flags(text: str, size: int) -> np.ndarray:
    """Reads what `pack_flags` wrote.

    Args:
        text: Flags in base64.
        size: Number V of flags.

    Raises:
        ValueError: The text is no base64, or of another size.

    Example:
        >>> unpack_flags("oA==", 3).tolist()
        [True, False, True]
    """
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text, validate=True), np.uint8))
    if not size <= len(bits) < size + 8:
        raise ValueError(f"{len(bits)} flags for {size} word pieces")
    return bits[:size].astype(bool)
