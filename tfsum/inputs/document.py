"""A text that was read, with what its reader should know."""

import dataclasses

from tfsum.errors import DataError


@dataclasses.dataclass(frozen=True)
class Document:
    """A text to be read.

    Attributes:
        name: Name of its source, with the row in it, such as "news.jsonl:3".
        text: The text.
        notes: Remarks for its reader, such as on its encoding.
        error: What is wrong with a row, which has no text then.

    Example:
        >>> Document("a.txt", "It rained.", []).text
        'It rained.'
    """

    name: str
    text: str
    notes: list[str]
    error: DataError | None = None
