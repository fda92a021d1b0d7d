"""Documents: what a reader of a file gives, and the readers; the extra `documents` has most."""

import dataclasses
import io
import pkgutil
import zipfile
from collections.abc import Iterable, Sequence

from tfsum.data.rows import Row
from tfsum.errors import DataError, install_extra, require
from tfsum.inputs.kinds import FORMATS, decode

UNPACKED = 64 << 20  # bytes of the texts in an archive; parsed XML takes some fifteen times as many


@dataclasses.dataclass(frozen=True)
class Document:
    """A text to be read.

    Attributes:
        text: Every text that a reader of the file would see, once and in order.
        notes: Remarks for the reader of an answer, such as on an encoding or on hidden text.
        left_out: Text that a reader of the file would see and the model will not, such as the mail
            that a mail answers; it counts in the coverage.
        name: Name of its source, with the row in it, such as "news.jsonl:3".
        error: What is wrong with a row, which has no text then.
        row: All fields of a row.

    Example:
        >>> Document("It rained.").notes
        []
    """

    text: str
    notes: list[str] = dataclasses.field(default_factory=list)
    left_out: str = ""
    name: str = ""
    error: DataError | None = None
    row: Row | None = None


def of_paragraphs(paragraphs: Iterable[str], notes: Sequence[str] = ()) -> Document:
    """A document of paragraphs.

    Args:
        paragraphs: Their texts; empty ones are left out.
        notes: Remarks for the reader of an answer.

    Example:
        >>> of_paragraphs(["It rained. ", "", "We stayed."]).text
        'It rained.\\n\\nWe stayed.'
    """
    return Document("\n\n".join(filter(None, map(str.strip, paragraphs))), [*notes])


def documents_of(kind: str, data: bytes, name: str, encoding: str | None = None) -> list[Document]:
    """The document that a file holds, or those of all mails in a mailbox; they have no names.

    Args:
        kind: A kind of `tfsum.inputs.kinds.FORMATS`.
        data: Content of the file.
        name: Name of the file in messages.
        encoding: Python's name of the encoding of a file of text; None recognizes it.

    Raises:
        DataError: It is damaged or holds no text, or the library that reads it is not installed.

    Example:
        >>> mail = b"From: Anna\\nSubject: Rain\\n\\nIt rained.\\n> Did it rain?\\n"
        >>> [document.text for document in documents_of("mail", mail, "a.eml")]
        ['It rained.']
    """
    what, reader = FORMATS[kind]
    size = _unpacked_size(data)
    require(
        size <= UNPACKED,
        f"{name}: is {what} of {size >> 20} MB of text with its marks when unpacked, and may have"
        f" {UNPACKED >> 20}; divide it",
        DataError,
    )
    try:
        read = pkgutil.resolve_name(reader)
        if kind in ("markdown", "latex", "notebook"):
            text, notes = decode(data, name, encoding)
            document = read(text)
            documents = [dataclasses.replace(document, notes=[*notes, *document.notes])]
        elif kind == "mail":
            documents = read(data)
        else:
            documents = [read(data)]
    except (DataError, MemoryError):
        raise
    except ImportError:
        raise DataError(
            f"{name}: is {what}, which is read with the extra `documents`:"
            f" {install_extra('documents')}"
        ) from None
    except PermissionError:
        raise DataError(
            f"{name}: is {what} that a password protects; save a copy without it, and give that"
        ) from None
    except Exception as error:  # the libraries' own errors, which have no base class
        reason = (str(error) or "damaged").splitlines()[0]
        raise DataError(
            f"{name}: cannot be read as {what} ({type(error).__name__}: {reason}); the file seems"
            " to be damaged, or is protected by a password"
        ) from None

    why = "; its pages may be images, which need a program for text recognition" * (kind == "pdf")
    require(
        any(document.text.strip() for document in documents),
        f"{name}: no text was found in {what}{why}",
        DataError,
    )
    return documents


def _unpacked_size(data: bytes) -> int:
    """The bytes of the members of an archive that are packed as tightly as text is."""
    try:
        members = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except zipfile.BadZipFile:  # it is none, or its reader says what is wrong
        return 0
    return sum(one.file_size for one in members if one.file_size > 2 * one.compress_size)
