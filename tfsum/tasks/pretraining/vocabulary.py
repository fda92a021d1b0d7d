"""The vocabulary of a corpus of documents, learned once and found again."""

import pathlib
from typing import Any

from tfsum.data.learned_vocabulary import RereadTexts, learned_vocabularies
from tfsum.data.readers import read_documents


def corpus_vocabulary(
    corpus: str | pathlib.Path, folder: str | pathlib.Path, text: str, size: int, **options: Any
) -> pathlib.Path:
    """Learns the word pieces of a corpus; a second call finds them done.

    Args:
        corpus, text: see `tfsum.data.readers.read_documents`.
        folder: where vocab.txt is written.
        size: pieces of the vocabulary.
        **options: see `tfsum.text.vocabulary.learn_vocabulary`.

    Returns:
        The vocab.txt.

    Raises:
        Error: `folder` holds a vocabulary that was learned otherwise, or see `learn_vocabulary`.

    Example:
        >>> corpus_vocabulary(
        ...     "books.txt.gz", "records/vocabulary", "text", 8000, lowercase=True
        ... )  # doctest: +SKIP
        PosixPath('records/vocabulary/vocab.txt')
    """
    texts = RereadTexts(lambda: read_documents(corpus, text))
    settings = {"text": text, "size": size, **options}
    return learned_vocabularies(
        folder, settings, {"corpus": corpus}, {"vocab.txt": (texts, size)}, **options
    )[0]
