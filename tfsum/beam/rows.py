"""The elements of a collection of documents, texts or pairs of any key and a text, and the rows of
their answers."""

from typing import Any, NamedTuple

import apache_beam as beam

from tfsum.errors import Error
from tfsum.generation.generator import Generated
from tfsum.request import SummaryAnswer, sentence_of
from tfsum.tasks.bert_classifier.classified import Classified

ROW = 256  # characters that a document adds to a batch besides its text
EXCERPT = 200  # characters of a failed document that are kept


class SummaryRow(NamedTuple):
    """The answer of an extractive model; `tfsum.SummaryAnswer` as a row.

    Attributes:
        summary: Selected sentences, joined by a space.
        sentences: Selected sentences in the order of the text.
        scores: Score of each sentence, between 0 and 1.
        starts: Position of each sentence's first character in the text.
        ends: Position behind each sentence's last character.
        coverage: Share of the text's non-space bytes that the model read.
        warnings: Warnings for the reader of the answer, in English.
        newline: Meaning of a new line in the text.
        documents: Number of each sentence's text, of several that are summarized together.
        keywords: Words and phrases that say most; empty where none were asked for.
        tokens: Tokens of the summary where they are limited, else 0.
        model: NAME/VERSION of the model.

    Example:
        >>> SummaryRow._fields[:3]
        ('summary', 'sentences', 'scores')
    """

    summary: str
    sentences: list[str]
    scores: list[float]
    starts: list[int]
    ends: list[int]
    coverage: float
    warnings: list[str]
    newline: str
    documents: list[int]
    keywords: list[str]
    tokens: int
    model: str


class GeneratedRow(NamedTuple):
    """The answer of an abstractive model; `tfsum.Generated` as a row.

    Attributes:
        summary: Generated text.
        log_probability: Log-probability of the answer; closer to 0 is more certain.
        coverage: Share of the text's non-space bytes that the model read.
        ended: Whether the answer ended before the maximum length.
        warnings: Warnings for the reader of the answer.
        model: NAME/VERSION of the model.

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
    """The answer of a classifier; `tfsum.Classified` as a row.

    Attributes:
        label: Most probable label.
        probability: Probability of the most probable label.
        labels: All labels.
        probabilities: Probabilities of all labels.
        coverage: Share of the text that the model read.
        warnings: Warnings for the reader of the answer.
        model: NAME/VERSION of the model.

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
    """A row of the dead-letter output: a document without an answer.

    Attributes:
        key: Key of the document; empty if it has none.
        error: Reason why there is no answer.
        excerpt: First characters of the document, by which it can be found.

    Example:
        >>> FailedDocument("", "found int, expected str", "7").error
        'found int, expected str'
    """

    key: str
    error: str
    excerpt: str


Row = SummaryRow | GeneratedRow | ClassifiedRow

for row_type in (SummaryRow, GeneratedRow, ClassifiedRow, FailedDocument):
    beam.coders.registry.register_coder(row_type, beam.coders.RowCoder)


def row_of(result: object, model: str) -> Row:
    """Converts a result of `tfsum.load()` to a row.

    Args:
        result: `tfsum.SummaryAnswer`, `tfsum.Generated` or `tfsum.Classified`.
        model: NAME/VERSION of the model.

    Returns:
        The row for this class of results.

    Raises:
        Error: The result is of another class.

    Example:
        >>> import tfsum
        >>> row_of(tfsum.Generated("Il pleut.", -0.5, 1.0, True, []), "en_fr/1").log_probability
        -0.5
    """
    if not isinstance(result, SummaryAnswer | Generated | Classified):
        raise Error(
            f"the model answers with {type(result).__name__}, which has no row; give the folder of"
            " an extractive or abstractive model or of a classifier"
        )
    warnings = [*map(sentence_of, result.warnings)]
    if isinstance(result, Generated):
        return GeneratedRow(
            result.summary,
            result.log_probability,
            result.coverage,
            result.ended,
            warnings,
            model,
        )
    if isinstance(result, Classified):
        return ClassifiedRow(
            result.label,
            result.probability,
            [*result.probabilities],
            [*result.probabilities.values()],
            result.coverage,
            warnings,
            model,
        )
    return SummaryRow(
        summary=result.summary,
        sentences=result.sentences,
        scores=result.scores,
        starts=[start for start, _ in result.offsets],
        ends=[end for _, end in result.offsets],
        coverage=result.coverage,
        warnings=warnings,
        newline=result.newline,
        documents=result.documents or [],
        keywords=[*map(str, result.keywords or [])],
        tokens=result.tokens or 0,
        model=model,
    )


def is_pair(element: Any) -> bool:
    """Whether an element has a key: a pair, of which the text is the second.

    Args:
        element: Text, or pair (key, text).

    Example:
        >>> is_pair(("a.txt", "It rained.")), is_pair("It rained.")
        (True, False)
    """
    return isinstance(element, tuple) and len(element) == 2


def split(element: Any) -> tuple[Any, Any]:
    """Key and text of an element; the key of a text alone is None.

    Args:
        element: Text, or pair (key, text).

    Example:
        >>> split(("a.txt", "It rained.")), split("It rained.")
        (('a.txt', 'It rained.'), (None, 'It rained.'))
    """
    if is_pair(element):
        return element
    return None, element


def size_of(element: Any) -> int:
    """Counts the characters that an element adds to a batch.

    Args:
        element: Any element of the collection.

    Returns:
        Number of characters of the text plus `ROW`.

    Example:
        >>> size_of(("a.txt", "It rained.")), size_of(None)
        (266, 256)
    """
    return ROW + characters_of(split(element)[1])


def characters_of(text: object) -> int:
    """Counts the characters of a text, or of a list of texts.

    Args:
        text: Text, list of texts, or whatever is in its place, which has none.

    Example:
        >>> characters_of("It rained."), characters_of(["It", "rained."]), characters_of(None)
        (10, 9, 0)
    """
    texts = text if isinstance(text, list) else [text]
    return sum(len(each) for each in texts if isinstance(each, str | bytes))


def refusal(element: object, max_characters: int, together: bool = False) -> str | None:
    """Checks whether a model can answer an element.

    Args:
        element: Any element of the collection.
        max_characters: Largest number of characters of a document.
        together: Whether an element is a list of texts, which are summarized together.

    Returns:
        The reason why not, or None.

    Example:
        >>> refusal("It rained.", 100)
        >>> refusal(("a.txt", b"It rained."), 100)
        'found bytes, expected a text (str); decode it first'
        >>> refusal("It rained.", 5)  # doctest: +ELLIPSIS
        'the document has 10 characters, and 5 are allowed (max_characters); ...'
    """
    _, text = split(element)
    if together and not isinstance(text, list):
        return f"found {type(text).__name__}, expected a list of texts to summarize together"
    texts = text if together else [text]
    return next(filter(None, (_refusal_of_text(each, max_characters) for each in texts)), None)


def _refusal_of_text(text: object, max_characters: int) -> str | None:
    if isinstance(text, bytes | bytearray):
        return "found bytes, expected a text (str); decode it first"
    if not isinstance(text, str):
        return f"found {type(text).__name__}, expected a text (str), or a pair of a key and a text"
    if len(text) > max_characters:
        return (
            f"the document has {len(text)} characters, and {max_characters} are allowed"
            " (max_characters); divide it, or raise the limit"
        )
    if not text.strip():
        return "the document is empty; expected a text with a sentence"

    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return (
            f"not UTF-8: character {error.start + 1} is {text[error.start]!r}, half of a pair that"
            " UTF-8 cannot hold; read the file in its own encoding"
        )

    return None


def failed(key: Any, error: str, document: Any) -> FailedDocument:
    """Makes the row of a document for the dead-letter output.

    Args:
        key: Key of the document, or None.
        error: Reason why there is no answer.
        document: Text of the document, or whatever is in its place.

    Returns:
        The row, with an excerpt of the document.

    Example:
        >>> failed(None, "found bytes", b"\\xff")
        FailedDocument(key='', error='found bytes', excerpt="b'\\\\xff'")
    """
    if isinstance(document, str | bytes | bytearray):
        document = document[:EXCERPT]
    if not isinstance(document, str):
        document = repr(document)[:EXCERPT]

    texts = ("" if key is None else str(key), error, document)
    # escape what UTF-8 cannot encode
    return FailedDocument(
        *(text.encode("utf-8", "backslashreplace").decode("utf-8") for text in texts)
    )
