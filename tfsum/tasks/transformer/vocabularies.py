"""The vocabularies of source and target: given files, or learned from the training pairs."""

import pathlib

from tfsum.data.learned_vocabulary import learned_vocabularies
from tfsum.data.pairs import read_pairs
from tfsum.data.preparation import vocabulary_file
from tfsum.data.readers import RereadTexts
from tfsum.errors import Error

Pair = tuple[str | int | None, str | int | None]


def pair_vocabularies(
    corpus: str | pathlib.Path,
    folder: str | pathlib.Path,
    *,
    target_corpus: str | pathlib.Path | None = None,
    source: str = "source",
    target: str = "target",
    vocabulary: str | None = None,
    target_vocabulary: str | None = None,
    vocabulary_size: int | None = None,
    target_vocabulary_size: int | None = None,
    lowercase: bool = False,
    strip_accents: bool | None = None,
) -> tuple[pathlib.Path, pathlib.Path]:
    """Finds or learns the vocabularies of a corpus of pairs; a second call finds the learned ones
    done.

    Args:
        corpus, target_corpus, source, target: Training pairs, arguments of `read_pairs`.
        folder: Folder of learned vocabularies.
        vocabulary: A vocab.txt, or the folder that holds one; that of both sides, or of the source
            alone.
        target_vocabulary: Vocabulary of the target, if it has one of its own.
        vocabulary_size: Number of pieces to learn, if no file is given.
        target_vocabulary_size: Pieces of the target's own vocabulary; without it one is learned
            from both sides.
        lowercase, strip_accents: Case settings, arguments of `learn_vocabulary`.

    Returns:
        The files of source and target; the same file twice where they share one.

    Raises:
        Error: Files and sizes are mixed or both missing, or `folder` holds a vocabulary learned
            otherwise.

    Example:
        >>> pair_vocabularies(
        ...     "train.tsv", "records/vocabulary", vocabulary_size=8000
        ... )  # doctest: +SKIP
        (PosixPath('records/vocabulary/vocab.txt'), PosixPath('records/vocabulary/vocab.txt'))
    """
    files, sizes = (vocabulary, target_vocabulary), (vocabulary_size, target_vocabulary_size)
    _check(files, sizes)
    if files[0]:
        found = [vocabulary_file(file) for file in files if file is not None]
        return found[0], found[-1]

    pieces = [size for size in sizes if size is not None]
    settings = {
        "source": source,
        "target": target,
        "sizes": pieces,
        "lowercase": lowercase,
        "strip_accents": lowercase if strip_accents is None else strip_accents,
    }

    def texts(*sides: int) -> RereadTexts:
        return RereadTexts(
            lambda: (
                pair[side]
                for pair in read_pairs(corpus, target_corpus, source=source, target=target)
                for side in sides
            )
        )

    both = (
        {"vocab.txt": texts(0, 1)}
        if len(pieces) == 1
        else {"vocab.txt": texts(0), "target_vocab.txt": texts(1)}
    )
    wanted = {name: (some, size) for (name, some), size in zip(both.items(), pieces, strict=True)}
    found = learned_vocabularies(
        folder,
        settings,
        {"corpus": corpus, "target_corpus": target_corpus},
        wanted,
        lowercase=lowercase,
        strip_accents=strip_accents,
    )

    return found[0], found[-1]


def _check(files: Pair, sizes: Pair) -> None:
    """Checks that the vocabularies are either given or learned."""
    if (
        (files[0] is None) == (sizes[0] is None)
        or (files[1] and sizes[0])
        or (files[0] and sizes[1])
    ):
        raise Error(
            f"[text] vocabulary {files[0]!r}, target_vocabulary {files[1]!r}, vocabulary_size"
            f" {sizes[0]}, target_vocabulary_size {sizes[1]}: expected exactly one of vocabulary"
            " and vocabulary_size; target_vocabulary only beside vocabulary, target_vocabulary_size"
            " only beside vocabulary_size"
        )
