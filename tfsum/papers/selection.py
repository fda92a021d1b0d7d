"""Sentences chosen as BertSum and PreSumm choose them: for their labels and in their test."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from tfsum.data.documents import oracle

NOT_ENGLISH = re.compile("[^a-zA-Z0-9 ]")
BREAK = "<q>"  # between the sentences of a line of the originals' files


def english_words(text: str) -> list[str]:
    """Splits a text into words of unaccented Latin letters and digits, in their case.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `_rouge_clean`.

    Example:
        >>> english_words("It's a café.")
        ['Its', 'a', 'caf']
    """
    return NOT_ENGLISH.sub("", text.replace("\n", " ")).split()


def greedy_labels(
    sentences: Sequence[str], summary: str | Sequence[str], size: int = 3
) -> list[float]:
    """Labels of `greedy_selection`, with the original's words.

    Args:
        sentences: Sentences (S,) of the document.
        summary: Its summary, one string or one string a sentence.
        size: Largest number of sentences chosen.

    Returns:
        Labels (S,), 1.0 for a chosen sentence.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `greedy_selection`.

    Example:
        >>> greedy_labels(["The cat sat.", "A dog ran."], "A dog ran in the rain.")
        [0.0, 1.0]
    """
    return oracle.greedy_labels(sentences, summary, size, english_words)


def combination_labels(
    sentences: Sequence[str], summary: str | Sequence[str], size: int = 3
) -> list[float]:
    """Labels of `combination_selection`, with the original's words and slips.

    Its extracts have one sentence more than `size`, and where nothing overlaps, it labels the first
    sentence.

    Args:
        sentences: Sentences (S,) of the document.
        summary: Its summary, one string or one string a sentence.
        size: Largest number of sentences in an extract, less one.

    Returns:
        Labels (S,), 1.0 for a chosen sentence.

    Source: nlpyang/BertSum, prepro/data_builder.py, `combination_selection`.

    Example:
        >>> combination_labels(["The cat sat.", "A dog ran."], "Rain.")
        [1.0, 0.0]
    """
    labels = oracle.combination_labels(sentences, summary, size + 1, english_words)
    if labels and not any(labels):
        labels[0] = 1.0
    return labels


def by_score(scores: Sequence[float], sentences: int) -> list[int]:
    """Returns the order in which the original looks at sentences, best first.

    Sentences without a score come last.

    Args:
        scores: (S,) of the sentences that the model read.
        sentences: All of the document's; the original may choose those that the model has not read.

    Example:
        >>> by_score([0.1, 0.9], 3)
        [1, 0, 2]
    """
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable").tolist()
    return [*order, *range(len(scores), sentences)]


def choose_sentences(
    sentences: Sequence[str],
    order: Iterable[int],
    block_trigrams: bool = True,
    most: int | None = 3,
) -> list[int]:
    """Chooses sentences of a document.

    The lead baseline of the original has the order 0, 1, 2..., and its oracle the labelled
    sentences and no limit.

    Args:
        sentences: (S,) of the document.
        order: Numbers of the sentences that may be chosen.
        block_trigrams: Whether one that shares three words in a row with a chosen one is passed
            over.
        most: Sentences chosen at most; None for no limit.

    Returns:
        The numbers of the chosen sentences, in the order in which they are chosen.

    Source: nlpyang/PreSumm, models/trainer_ext.py, `Trainer.test`.

    Example:
        >>> choose_sentences(["a b c", "x a b c", "d", "e"], [0, 1, 3, 2], most=2)
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

    Words are what blanks part in the original's lines, so that two words at the end of a sentence
    are one.

    Args:
        sentences: Sentences of the summary.
        reference: The sentences of the reference.

    Example:
        >>> cut_to_reference(["a b", "c d"], ["x y", "z"])
        ['a b', 'c']
    """
    words = BREAK.join(sentence.strip() for sentence in sentences).split()
    return " ".join(words[: len(BREAK.join(reference).split())]).split(BREAK)


def original_systems(
    scored: Sequence[tuple[Sequence[str], Sequence[float]]],
    references: Sequence[Sequence[str]],
    sentences: int,
    recall: bool = False,
) -> dict[str, list[list[str]]]:
    """Chooses the sentences of a model, of lead and of the oracle as the originals' test does.

    Args:
        scored: (D,) sentences of each document, and the model's scores of them.
        references: (D,) sentences of each reference.
        sentences: Number of sentences that are chosen, and of the oracle's at most.
        recall: Whether each summary is filled and cut to the number of words of its reference
            (their `recall_eval`).

    Returns:
        System -> the sentences of each document.

    Example:
        >>> original_systems([(["It rained.", "It snowed."], [0.1, 0.9])], [["It rained."]], 1)
        {'model': [['It snowed.']], 'lead': [['It rained.']], 'oracle': [['It rained.']]}
    """
    systems: dict[str, list[list[str]]] = {"model": [], "lead": [], "oracle": []}
    most = None if recall else sentences
    for (texts, scores), reference in zip(scored, references, strict=True):
        labels = greedy_labels(texts, reference, sentences)
        chosen = {
            "model": choose_sentences(texts, by_score(scores, len(texts)), most=most),
            "lead": choose_sentences(texts, range(len(texts)), most=most),
            "oracle": choose_sentences(
                texts, [i for i, label in enumerate(labels) if label], most=None
            ),
        }
        for name, numbers in chosen.items():
            summary = [texts[i] for i in numbers]
            systems[name].append(cut_to_reference(summary, reference) if recall else summary)

    return systems
