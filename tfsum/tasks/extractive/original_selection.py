"""Sentences chosen as the extractive test of BertSum and PreSumm chooses them, for a comparison with their tables."""

from collections.abc import Iterable, Sequence

import numpy as np

BREAK = "<q>"  # between the sentences of a line of the originals' files


def by_score(scores: Sequence[float], sentences: int) -> list[int]:
    """The order in which the original looks at sentences: from the best, those without a score last.

    Args:
        scores: (S,) of the sentences that the model read.
        sentences: all of the document's; the original may choose those that the model has not read.

    Example:
        >>> by_score([0.1, 0.9], 3)
        [1, 0, 2]
    """
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable").tolist()
    return [*order, *range(len(scores), sentences)]


def original_choice(
    sentences: Sequence[str],
    order: Iterable[int],
    block_trigrams: bool = True,
    most: int | None = 3,
) -> list[int]:
    """Chooses sentences of a document.

    The lead baseline of the original has the order 0, 1, 2..., and its oracle the labelled sentences and no limit.

    Args:
        sentences: (S,) of the document.
        order: numbers of the sentences that may be chosen.
        block_trigrams: whether one that shares three words in a row with a chosen one is passed over.
        most: sentences chosen at most; None for no limit.

    Returns:
        The numbers of the chosen sentences, in the order in which they are chosen.

    Source: nlpyang/PreSumm, models/trainer_ext.py, `Trainer.test`.

    Example:
        >>> original_choice(["a b c", "x a b c", "d", "e"], [0, 1, 3, 2], most=2)
        [0, 3]
    """
    chosen: list[int] = []
    seen: set[tuple[str, ...]] = set()
    for number in order:
        words = sentences[number].split()
        trigrams = set(zip(words, words[1:], words[2:]))
        if block_trigrams and trigrams & seen:
            continue
        chosen.append(number)
        seen |= trigrams
        if len(chosen) == most:
            break
    return chosen


def cut_to_reference(sentences: Sequence[str], reference: Sequence[str]) -> list[str]:
    """Cuts a summary to as many words as its reference, as `recall_eval` does.

    Words are what blanks part in the original's lines, so that two words at the end of a sentence are one.

    Args:
        sentences: of the summary.
        reference: the sentences of the reference.

    Example:
        >>> cut_to_reference(["a b", "c d"], ["x y", "z"])
        ['a b', 'c']
    """
    words = BREAK.join(sentence.strip() for sentence in sentences).split()
    return " ".join(words[: len(BREAK.join(reference).split())]).split(BREAK)
