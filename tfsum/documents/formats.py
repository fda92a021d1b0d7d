"""The text of HTML, PDF, Word and mail; the readers of the first three are the extra `documents`."""

import email
import email.policy
import importlib
import io
import logging
import re
from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

from tfsum.errors import DataError

_QUOTED = re.compile(r"^\s*(?:>|\|).*$", re.M)
_WROTE = re.compile(
    r"^(?:On|Am|Le|El) .{5,120}(?:wrote|schrieb|a écrit|escribió).{0,60}:\s*$", re.M | re.I
)
_ORIGINAL = re.compile(
    r"^-{2,} ?(?:Original Message|Ursprüngliche Nachricht).*", re.M | re.S | re.I
)
_SIGNATURE = re.compile(r"^-- ?\r?\n.*", re.M | re.S)


def text_of(kind: str, data: bytes, name: str) -> str:
    """The text of a document.

    Args:
        kind: "html", "pdf", "docx" or "mail".
        data: its content.
        name: what messages call it.

    Raises:
        DataError: it is damaged or holds no text, or the library that reads it is not installed.

    Example:
        >>> text_of(
        ...     "mail", b"From: Anna\\nSubject: Rain\\n\\nIt rained.\\n> Did it rain?\\n", "a.eml"
        ... )
        'It rained.'
    """
    try:
        text = {"html": _html, "pdf": _pdf, "docx": _docx, "mail": _mail}[kind](data, name)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # the libraries' own errors, which have no base class
        raise DataError(
            f"{name}: cannot be read as {kind.upper()} ({type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else 'damaged'}); the file seems to be damaged"
        ) from None
    if not text.strip():
        why = (
            "; its pages may be images, which need a program for text recognition"
            if kind == "pdf"
            else ""
        )
        raise DataError(f"{name}: no text was found in this {kind.upper()} file{why}")
    return text


def _library(module: str, kind: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise DataError(
            f"{name}: is {kind}, which is read with the extra `documents`: pip install 'tfsum[documents]'"
        ) from None


def _html(data: bytes, name: str) -> str:
    trafilatura = _library("trafilatura", "HTML", name)
    return (
        trafilatura.extract(data, include_comments=False, include_tables=False, favor_recall=True)
        or ""
    )


def _pdf(data: bytes, name: str) -> str:
    pypdf = _library("pypdf", "PDF", name)
    logging.getLogger("pypdf").setLevel(
        logging.ERROR
    )  # what it warns of is an error below, or mended
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DataError(f"{name}: the PDF is protected by a password; remove it first")
    return "\n\n".join(page.extract_text() for page in reader.pages)


def _docx(data: bytes, name: str) -> str:
    docx = _library("docx", "a Word document", name)
    return "\n\n".join(_parts(docx.Document(io.BytesIO(data))))


def _parts(container: Any) -> Iterator[str]:
    """The paragraphs of a Word document or of a cell, and those of its tables, in their order."""
    for part in container.iter_inner_content():
        if hasattr(part, "rows"):
            for row in part.rows:
                seen: list[Any] = []
                for cell in row.cells:
                    if (
                        cell._tc not in seen
                    ):  # a cell that spans several columns is given for each of them
                        seen.append(cell._tc)
                        yield from _parts(cell)
        elif part.text.strip():
            yield part.text


def _mail(data: bytes, name: str) -> str:
    """The body without its quotes and its signature; of one in several formats the plain one."""
    message = email.message_from_bytes(
        re.sub(rb"^From \S+ .*\r?\n", b"", data), _class=EmailMessage, policy=email.policy.default
    )
    body = message.get_body(("plain", "html"))
    if body is None:
        return ""
    content = body.get_content()
    if body.get_content_subtype() == "html":
        content = _html(content.encode("utf-8"), name)
    for pattern in (_ORIGINAL, _SIGNATURE, _WROTE, _QUOTED):
        content = pattern.sub("", content)
    return content.strip()
