"""The vocabularies of source and target: given files, or learned from the training pairs."""

import pathlib

from tfsum.data.preparation import learned_vocabularies, vocabulary_file
from tfsum.data.readers import RereadTexts, read_pairs
from tfsum.errors import Error
from tfsum.tasks.transformer.settings import DataSettings, TextSettings

Pair = tuple[str | int | None, str | int | None]


def pair_vocabularies(data: DataSettings, text: TextSettings) -> tuple[pathlib.Path, pathlib.Path]:
    """Finds or learns the vocabularies of a recipe; a second call finds the learned ones done.

    Args:
        data: Section [data]: the training pairs, and the folder of the records, in which learned
            vocabularies are kept.
        text: Section [text]: ready vocabularies, or sizes of those to learn. Without a size of the
            target's own, one is learned from both sides.

    Returns:
        The files of source and target; the same file twice where they share one.

    Raises:
        Error: Files and sizes are mixed or both missing, or the folder holds a vocabulary learned
            otherwise.

    Example:
        >>> pair_vocabularies(recipe.data, recipe.text)  # doctest: +SKIP
        (PosixPath('records/vocabulary/vocab.txt'), PosixPath('records/vocabulary/vocab.txt'))
    """
    files = text.vocabulary, text.target_vocabulary
    sizes = text.vocabulary_size, text.target_vocabulary_size
    _check(files, sizes)
    if files[0]:
        found = [vocabulary_file(file) for file in files if file is not None]
        return found[0], found[-1]

    pieces = [size for size in sizes if size is not None]
    lower, accents = text.lowercase, text.strip_accents
    columns = {"source": data.source, "target": data.target}
    settings = {
        **columns,
        "sizes": pieces,
        "lowercase": lower,
        "strip_accents": lower if accents is None else accents,
    }

    def texts(*sides: int) -> RereadTexts:
        return RereadTexts(
            lambda: (
                pair[side]
                for pair in read_pairs(data.train, data.train_target, **columns)
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
        pathlib.Path(data.records) / "vocabulary",
        settings,
        {"corpus": data.train, "target_corpus": data.train_target},
        wanted,
        lowercase=lower,
        strip_accents=accents,
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
