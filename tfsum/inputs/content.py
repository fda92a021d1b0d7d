"""What a reader of a file gives: its text, and what it left out."""

import dataclasses
from collections.abc import Iterable, Sequence


@dataclasses.dataclass(frozen=True)
class Content:
    """The text of a file.

    Attributes:
        text: Every text that a reader of the file would see, once and in order.
        notes: Remarks for the reader of an answer, such as on hidden text that is left out.
        left_out: Text that a reader of the file would see and the model will not, such as the mail
            that a mail answers; it counts in the coverage.

    Example:
        >>> Content("It rained.").notes
        []
    """

    text: str
    notes: list[str] = dataclasses.field(default_factory=list)
    left_out: str = ""


def of_paragraphs(paragraphs: Iterable[str], notes: Sequence[str] = ()) -> Content:
    """The content of a file of paragraphs.

    Args:
        paragraphs: Their texts; empty ones are left out.
        notes: Remarks for the reader of an answer.

    Example:
        >>> of_paragraphs(["It rained. ", "", "We stayed."]).text
        'It rained.\\n\\nWe stayed.'
    """
    return Content("\n\n".join(filter(None, map(str.strip, paragraphs))), [*notes])
