"""Documents in the rows of a file: JSON lines, or a table with a header line."""

from collections.abc import Iterator
from typing import Any

from tfsum.data.rows import text_field, text_rows
from tfsum.errors import DataError
from tfsum.inputs.document import Document


def row_documents(
    text: str, notes: list[str], name: str, field: str, id: str | None
) -> Iterator[Document]:
    """Reads the documents of rows.

    Args:
        text: Content of a file.
        notes: Remarks for the reader of each document.
        name: Name of the file.
        field: Field that holds a document.
        id: Field that names a row; None for its line.

    Yields:
        A document a row; null and NaN are an empty text, anything else but text an error.

    Raises:
        DataError: The rows cannot be told apart, or there is none.

    Example:
        >>> for document in row_documents('{"text": "It rained."}', [], "a.jsonl", "text", None):
        ...     print(document.name, document.text)
        a.jsonl:1 It rained.
    """
    if text.lstrip().startswith("["):
        raise DataError(
            f"{name}: holds one JSON array; expected JSON lines: an object a line, without brackets"
            " and commas around them"
        )

    line = 0
    for line, row in text_rows(text, name):
        try:
            label, content = str(line), _content(f"{name}:{line}", row, field)
            if id is not None:
                label = text_field(f"{name}:{line}", row, id, number=True, options="--id")
            yield Document(f"{name}:{label}", content, notes)
        except DataError as error:
            yield Document(f"{name}:{line}", "", [], error)
    if not line:
        raise DataError(f"{name}: holds no row; expected JSON lines, or a table with a header line")


def _content(place: str, row: dict[str, Any], field: str) -> str:
    value = row.get(field, "")
    if value is None or value != value:
        return ""
    return text_field(place, row, field, options="--field")


def found_fields(text: str, name: str) -> str:
    """Says what the first row of a file holds, for messages.

    Example:
        >>> found_fields("id;text\\n1;It rained.", "a.csv")
        'the first has the fields id, text'
    """
    try:
        _, row = next(text_rows(text, name))
    except (DataError, StopIteration):
        return "the first cannot be read"
    return f"the first has the fields {', '.join(row)}"
