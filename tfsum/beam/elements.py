"""Elements of a collection of documents: each a text, or a pair of any key and a text."""

from typing import Any

from tfsum.beam.rows import FailedDocument

ROW = 256  # what a document costs in characters, however short it is
EXCERPT = 200


def is_pair(element: Any) -> bool:
    """Whether an element is a pair of a key and a text.

    Example:
        >>> is_pair(("a.txt", "It rained.")), is_pair("It rained.")
        (True, False)
    """
    return isinstance(element, tuple) and len(element) == 2


def key_of(element: Any) -> Any:
    """The key of an element, None if it has none.

    Example:
        >>> key_of(("a.txt", "It rained.")), key_of("It rained.")
        ('a.txt', None)
    """
    return element[0] if is_pair(element) else None


def text_of(element: Any) -> Any:
    """The text of an element; of a wrong element, what is in its place.

    Example:
        >>> text_of(("a.txt", "It rained.")), text_of(7)
        ('It rained.', 7)
    """
    return element[1] if is_pair(element) else element


def size_of(element: Any) -> int:
    """What an element costs of a batch's budget, in characters.

    Example:
        >>> size_of(("a.txt", "It rained.")), size_of(None)
        (266, 256)
    """
    text = text_of(element)
    return ROW + (len(text) if isinstance(text, str | bytes) else 0)


def refusal(element: Any, max_characters: int) -> str | None:
    """Why an element cannot be given to a model; None where it can.

    Args:
        element: a text, a pair of a key and a text, or anything else.
        max_characters: of a document.

    Example:
        >>> refusal("It rained.", 100)
        >>> refusal(("a.txt", b"It rained."), 100)
        'found bytes, expected a text (str); decode it first'
        >>> refusal("It rained.", 5)
        'the document has 10 characters, and 5 are allowed (max_characters); divide it, or raise the limit'
    """
    text = text_of(element)
    if isinstance(text, bytes | bytearray):
        return "found bytes, expected a text (str); decode it first"
    if not isinstance(text, str):
        return f"found {type(text).__name__}, expected a text (str), or a pair of a key and a text"
    if len(text) > max_characters:
        return (
            f"the document has {len(text)} characters, and {max_characters} are allowed (max_characters); divide "
            "it, or raise the limit"
        )
    if not text.strip():
        return "the document is empty; expected a text with a sentence"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return (
            f"not UTF-8: character {error.start + 1} is {text[error.start]!r}, half of a pair that UTF-8 cannot "
            "hold; read the file in its own encoding"
        )
    return None


def failed(key: Any, error: str, found: Any) -> FailedDocument:
    """The line of the dead-letter output for a document.

    Args:
        key: of the document; None if it has none.
        error: why there is no answer.
        found: the document, or what is in its place.

    Example:
        >>> failed(None, "found bytes", b"\\xff")
        FailedDocument(key='', error='found bytes', excerpt="b'\\\\xff'")
    """
    shown = (
        found[:EXCERPT]
        if isinstance(found, str)
        else repr(found[:EXCERPT] if isinstance(found, bytes | bytearray) else found)[:EXCERPT]
    )
    return FailedDocument(
        *(_encodable("" if text is None else str(text)) for text in (key, error, shown))
    )


def _encodable(text: str) -> str:
    """The text with an escape in the place of what UTF-8 cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
