"""The word pieces of an exported model."""

import pathlib

from tfsum.text.word_piece import Vocabulary


def read_vocabularies(path: pathlib.Path) -> tuple[list[str], list[str]]:
    """The word pieces by id, of the texts and of the answers; one list where they are the same.

    Args:
        path: the folder of an export.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> source, target = read_vocabularies(shipped_model("transformer_tatoeba_en_fr"))
        >>> len(source), source is target
        (6000, True)
    """
    words = Vocabulary.from_file(path / "assets" / "vocab.txt").words
    other = path / "assets" / "target_vocab.txt"
    return words, Vocabulary.from_file(other).words if other.is_file() else words
