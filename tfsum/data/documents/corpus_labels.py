"""The labels that a corpus brings along: which sentences of a document make its summary."""

from collections.abc import Mapping
from typing import Any

from tfsum.errors import DataError


def corpus_labels(
    place: str, row: Mapping[str, Any], text: str, labels: str
) -> tuple[list[str], list[float]]:
    """The sentences of a row that carries its own labels, and their labels.

    Args:
        place: Place of the row, for messages.
        row: Row with the sentences as a list of strings, and the labels: a number from 0 to 1 for
            each sentence, or the numbers of the sentences that make the summary, from 0. (Two
            sentences with the labels [0, 1] are labelled one by one.)
        text, labels: The names of the two fields.

    Returns:
        The sentences, each in one line, blank ones left out; and a label for each.

    Raises:
        DataError: A field is missing or of another form.

    Example:
        >>> corpus_labels(
        ...     "a.jsonl:1",
        ...     {"text": ["It rained.", "It rains.", "Rain."], "labels": [2]},
        ...     "text",
        ...     "labels",
        ... )
        (['It rained.', 'It rains.', 'Rain.'], [0.0, 0.0, 1.0])
    """
    sentences, marks = row.get(text), row.get(labels)
    if not isinstance(sentences, list) or not all(
        isinstance(sentence, str) for sentence in sentences
    ):
        raise DataError(
            f"{place}: field {text!r} is a {type(sentences).__name__}; expected a list of"
            f" sentences, which the labels in {labels!r} are of"
        )

    size = len(sentences)
    if not isinstance(marks, list) or not all(type(label) in (int, float) for label in marks):
        raise DataError(
            f"{place}: field {labels!r} is {marks!r:.60}; expected a list of numbers: 0 or 1 for"
            " each sentence, or the numbers of sentences, from 0"
        )

    if len(marks) == size and all(0 <= label <= 1 for label in marks):
        values = [float(label) for label in marks]
    elif len(set(marks)) == len(marks) and all(
        type(label) is int and 0 <= label < size for label in marks
    ):
        values = [float(number in marks) for number in range(size)]
    else:
        raise DataError(
            f"{place}: field {labels!r} is {marks!r:.60} for {size} sentences; expected {size}"
            f" numbers from 0 to 1, or different numbers of sentences, from 0 to {size - 1}"
        )

    kept = [i for i, sentence in enumerate(sentences) if sentence.strip()]
    return [" ".join(sentences[i].split()) for i in kept], [values[i] for i in kept]
