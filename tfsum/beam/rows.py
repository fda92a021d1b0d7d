"""Answers as rows with a Beam schema: fields of text, numbers and lists alone, which every sink takes as they are."""

from collections.abc import Callable
from typing import Any, NamedTuple

import apache_beam as beam

from tfsum.errors import Error


class SummaryRow(NamedTuple):
    """The answer of an extractive model, see `tfsum.Summary`.

    Attributes:
        summary: the chosen sentences, joined by a space.
        sentences: the chosen sentences in the order of the text.
        scores: the score of each, between 0 and 1.
        starts: where each begins in the text, in characters.
        ends: where each ends, exclusive.
        coverage: share of the text's non-space bytes that the model read.
        warnings: what the reader of this answer should know.
        newline: what a new line was taken for.
        model: NAME/VERSION of the model that answered.

    Example:
        >>> SummaryRow(
        ...     "It rained.", ["It rained."], [0.9], [0], [10], 1.0, [], "sentence", "news/1"
        ... ).starts
        [0]
    """

    summary: str
    sentences: list[str]
    scores: list[float]
    starts: list[int]
    ends: list[int]
    coverage: float
    warnings: list[str]
    newline: str
    model: str


class GeneratedRow(NamedTuple):
    """The answer of an abstractive model, see `tfsum.Generated`.

    Attributes:
        summary: the generated text.
        log_probability: of the answer; closer to 0 is more certain.
        coverage: share of the text's non-space bytes that the model read.
        ended: False if the answer was cut at the maximum length.
        warnings: what the reader of this answer should know.
        model: NAME/VERSION of the model that answered.

    Example:
        >>> GeneratedRow("Il pleut.", -0.5, 1.0, True, [], "en_fr/1").summary
        'Il pleut.'
    """

    summary: str
    log_probability: float
    coverage: float
    ended: bool
    warnings: list[str]
    model: str


class ClassifiedRow(NamedTuple):
    """The answer of a classifier, see `tfsum.Classified`.

    Attributes:
        label: the most probable label.
        probability: of that label.
        labels: all labels.
        probabilities: of each.
        coverage: share of the text that the model read.
        warnings: what the reader of this answer should know.
        model: NAME/VERSION of the model that answered.

    Example:
        >>> ClassifiedRow("fire", 0.9, ["fire", "none"], [0.9, 0.1], 1.0, [], "tweets/1").label
        'fire'
    """

    label: str
    probability: float
    labels: list[str]
    probabilities: list[float]
    coverage: float
    warnings: list[str]
    model: str


class FailedDocument(NamedTuple):
    """A line of the dead-letter output: a document without an answer.

    Attributes:
        key: of the document; empty if it has none.
        error: why there is no answer.
        excerpt: the first characters of what was found, so that a document without a key is found again.

    Example:
        >>> FailedDocument("", "found int, expected str", "7").error
        'found int, expected str'
    """

    key: str
    error: str
    excerpt: str


Row = SummaryRow | GeneratedRow | ClassifiedRow


class KeyedSummaryRow(NamedTuple):
    """A `SummaryRow` with the key of its document, as it is written to files.

    Example:
        >>> KeyedSummaryRow._fields[:2]
        ('key', 'summary')
    """

    key: str
    summary: str
    sentences: list[str]
    scores: list[float]
    starts: list[int]
    ends: list[int]
    coverage: float
    warnings: list[str]
    newline: str
    model: str


class KeyedGeneratedRow(NamedTuple):
    """A `GeneratedRow` with the key of its document, as it is written to files.

    Example:
        >>> KeyedGeneratedRow._fields[:2]
        ('key', 'summary')
    """

    key: str
    summary: str
    log_probability: float
    coverage: float
    ended: bool
    warnings: list[str]
    model: str


# Row -> the same with a key.
KEYED: dict[type, type] = {SummaryRow: KeyedSummaryRow, GeneratedRow: KeyedGeneratedRow}

for row_type in (SummaryRow, GeneratedRow, ClassifiedRow, FailedDocument, *KEYED.values()):
    beam.coders.registry.register_coder(row_type, beam.coders.RowCoder)


def row_of(result: Any, model: str) -> Row:
    """The row of a result of `tfsum.load()`.

    Args:
        result: a `tfsum.Summary`, `tfsum.Generated` or `tfsum.Classified`.
        model: NAME/VERSION of the model that answered.

    Raises:
        Error: it is none of them.

    Example:
        >>> import tfsum
        >>> row_of(tfsum.Generated("Il pleut.", -0.5, 1.0, True, []), "en_fr/1").log_probability
        -0.5
    """
    kind = type(result).__name__
    if kind not in _ROWS:
        raise Error(
            f"the model answers with {kind}, which has no row; expected one of {', '.join(_ROWS)}: give "
            "the folder of an extractive or abstractive model or of a classifier"
        )
    return _ROWS[kind](result, model)


def _summary_row(result: Any, model: str) -> SummaryRow:
    starts, ends = [start for start, _ in result.offsets], [end for _, end in result.offsets]
    return SummaryRow(
        result.summary,
        list(result.sentences),
        list(result.scores),
        starts,
        ends,
        result.coverage,
        list(result.warnings),
        result.newline,
        model,
    )


def _generated_row(result: Any, model: str) -> GeneratedRow:
    return GeneratedRow(
        result.summary,
        result.log_probability,
        result.coverage,
        result.ended,
        list(result.warnings),
        model,
    )


def _classified_row(result: Any, model: str) -> ClassifiedRow:
    return ClassifiedRow(
        result.label,
        result.probability,
        list(result.probabilities),
        list(result.probabilities.values()),
        result.coverage,
        list(result.warnings),
        model,
    )


_ROWS: dict[str, Callable[[Any, str], Row]] = {
    "Summary": _summary_row,
    "Generated": _generated_row,
    "Classified": _classified_row,
}
