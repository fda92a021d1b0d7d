"""The texts of documents in formats of which each has a reader; the extra `documents` has most."""

import dataclasses
import io
import pkgutil
import zipfile

from tfsum.errors import DataError, install_extra
from tfsum.inputs.content import Content
from tfsum.inputs.kinds import FORMATS, decode

ZIP = b"PK\x03\x04"
UNPACKED = 64 << 20  # bytes of the texts in an archive; parsed XML takes some fifteen times as many


def contents_of(kind: str, data: bytes, name: str, encoding: str | None = None) -> list[Content]:
    """The texts of a document: one, or those of all mails in a mailbox.

    Args:
        kind: A kind of `tfsum.inputs.kinds.FORMATS`.
        data: Content of the file.
        name: Name of the file in messages.
        encoding: Python's name of the encoding of a file of text; None recognizes it.

    Raises:
        DataError: It is damaged or holds no text, or the library that reads it is not installed.

    Example:
        >>> mail = b"From: Anna\\nSubject: Rain\\n\\nIt rained.\\n> Did it rain?\\n"
        >>> [content.text for content in contents_of("mail", mail, "a.eml")]
        ['It rained.']
    """
    what, reader = FORMATS[kind]
    if data.startswith(ZIP) and (size := _unpacked_size(data)) > UNPACKED:
        raise DataError(
            f"{name}: is {what} of {size >> 20} MB of text with its marks when unpacked, and may"
            f" have {UNPACKED >> 20}; divide it"
        )
    try:
        read = pkgutil.resolve_name(reader)
        if kind in ("markdown", "latex", "notebook"):
            text, notes = decode(data, name, encoding)
            content = read(text)
            contents = [dataclasses.replace(content, notes=[*notes, *content.notes])]
        elif kind == "mail":
            from tfsum.inputs.mail import split_mailbox

            contents = [read(mail) for mail in split_mailbox(data)]
        else:
            contents = [read(data)]
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

    if not any(content.text.strip() for content in contents):
        why = "; its pages may be images, which need a program for text recognition"
        raise DataError(f"{name}: no text was found in {what}{why if kind == 'pdf' else ''}")
    return contents


def _unpacked_size(data: bytes) -> int:
    """The bytes of the members of an archive that are packed as tightly as text is."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except zipfile.BadZipFile:  # its reader says what is wrong
        return 0
    return sum(one.file_size for one in members if one.file_size > 2 * one.compress_size)
