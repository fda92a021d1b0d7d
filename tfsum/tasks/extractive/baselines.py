"""Baselines of the document's own sentences: lead, random and oracle."""

import hashlib
from collections.abc import Sequence

import numpy as np

from tfsum.errors import Error

Documents = Sequence[Sequence[str]]


def lead(documents: Documents, sentences: int = 3) -> list[list[str]]:
    """The first sentences of each document.

    Args:
        documents: (D,) lists of sentences.
        sentences: number of sentences.

    Returns:
        (D,) lists of at most that many sentences.

    Example:
        >>> lead([["It rained.", "The bridge was closed.", "It snowed."]], sentences=2)
        [['It rained.', 'The bridge was closed.']]
    """
    return [list(document[:sentences]) for document in documents]


def random_pick(documents: Documents, sentences: int = 3, seed: int = 0) -> list[list[str]]:
    """Sentences drawn without replacement, in the order of the document.

    Args:
        documents: (D,) lists of sentences.
        sentences: number of sentences.
        seed of the draw; a document has the same draw in any corpus.

    Returns:
        (D,) lists of at most that many sentences.

    Example:
        >>> random_pick([["It rained.", "It snowed."]], sentences=2)
        [['It rained.', 'It snowed.']]
    """
    return [_draw(document, sentences, seed) for document in documents]


def oracle(
    documents: Documents, labels: Sequence[Sequence[float]], sentences: int = 3
) -> list[list[str]]:
    """The labelled sentences, the upper bound of the training labels.

    Args:
        documents: (D,) lists of sentences.
        labels: (D,) labels of them, as `tfsum.data.oracle` makes (greedy or soft).
        sentences: the highest labels kept; ties go to the earlier sentence, and a label of 0 is never kept.

    Returns:
        (D,) lists of at most that many sentences, in the order of the document.

    Raises:
        Error: a document has not one label per sentence.

    Example:
        >>> oracle([["It rained.", "The bridge was closed."]], [[0, 1]])
        [['The bridge was closed.']]
    """
    chosen = []
    for number, (document, row) in enumerate(zip(documents, labels, strict=True)):
        if len(document) != len(row):
            raise Error(
                f"oracle: document {number} has {len(document)} sentences and {len(row)} labels; "
                "expected a label for each"
            )
        best = np.argsort(-np.asarray(row, np.float64), kind="stable")[:sentences]
        chosen.append([document[i] for i in sorted(best.tolist()) if row[i] > 0])
    return chosen


def _draw(document: Sequence[str], sentences: int, seed: int) -> list[str]:
    digest = hashlib.blake2b(
        "\n".join(document).encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
    random = np.random.default_rng([seed, int.from_bytes(digest, "little")])
    picked = random.permutation(len(document))[:sentences]
    return [document[i] for i in sorted(picked.tolist())]
