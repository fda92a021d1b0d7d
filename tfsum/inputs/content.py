"""What a reader of a file gives: its text, and what it left out."""

import dataclasses
from collections.abc import Iterable


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


def joined(contents: Iterable[Content]) -> Content:
    """The contents of a file's parts as one, a blank line between their texts.

    Args:
        contents: Contents in the order of the file.

    Example:
        >>> joined([Content("It rained."), Content(""), Content("We stayed.")]).text
        'It rained.\\n\\nWe stayed.'
    """
    contents = list(contents)
    return Content(
        "\n\n".join(content.text for content in contents if content.text),
        [note for content in contents for note in content.notes],
        "\n".join(content.left_out for content in contents if content.left_out),
    )
