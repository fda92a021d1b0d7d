"""The text of HTML, PDF, Word and mail; the extra `documents` reads the first three."""

import email.policy
import importlib
import io
import logging
import re
from collections.abc import Iterable, Iterator
from email.message import EmailMessage
from typing import Any

from tfsum.errors import DataError, install_extra

SHORT = 0.7  # of the width of a page's lines: where a paragraph or a heading may end
# A table of words and numbers, not one that lays out a page.
_TABLE = "//table[not(.//p or .//br or .//div or .//table)]"
# What is left out of a mail: the one that it answers, its signature, and quoted lines.
_LEFT_OUT = (
    re.compile(r"^-{2,} ?(?:Original Message|Ursprüngliche Nachricht).*", re.M | re.S | re.I),
    re.compile(r"^-- ?\r?\n.*", re.M | re.S),
    re.compile(
        r"^(?:On|Am|Le|El) .{5,120}(?:wrote|schrieb|a écrit|escribió).{0,60}:\s*$", re.M | re.I
    ),
    # Blank lines before a quoted one are not searched again from each of them: no time squared.
    re.compile(r"^[^\S\n]*(?:>|\|).*$", re.M),
)


def text_of(kind: str, data: bytes, name: str) -> str:
    """The text of a document.

    Args:
        kind: "html", "pdf", "docx" or "mail".
        data: Content of the file.
        name: Name of the file in messages.

    Raises:
        DataError: It is damaged or holds no text, or the library that reads it is not installed.

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
        reason = (str(error) or "damaged").splitlines()[0]
        raise DataError(
            f"{name}: cannot be read as {kind.upper()} ({type(error).__name__}: {reason}); the file"
            " seems to be damaged"
        ) from None

    if not text.strip():
        why = "; its pages may be images, which need a program for text recognition"
        raise DataError(
            f"{name}: no text was found in this {kind.upper()} file{why if kind == 'pdf' else ''}"
        )
    return text


def _library(module: str, kind: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise DataError(
            f"{name}: is {kind}, which is read with the extra `documents`:"
            f" {install_extra('documents')}"
        ) from None


def _html(data: bytes, name: str) -> str:
    extract = _library("trafilatura", "HTML", name).extract
    # With `include_tables=False` alone, the rows of a table are in the text of short pages.
    options = {"include_tables": False, "prune_xpath": _TABLE, "favor_recall": True}
    return extract(data, include_comments=False, **options) or ""


def _pdf(data: bytes, name: str) -> str:
    pypdf = _library("pypdf", "PDF", name)
    # what it warns of is an error below, or mended
    logging.getLogger("pypdf").setLevel(logging.ERROR)

    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DataError(f"{name}: the PDF is protected by a password; remove it first")
    return flowing("\n".join(page.extract_text() for page in reader.pages))


def flowing(text: str) -> str:
    """The text of pages with a line for each paragraph.

    A line of a page ends where the page does, and means nothing. A paragraph begins after an empty
    line, and after a short line where the next begins with no lower-case letter: a heading, or the
    end of the paragraph before.

    Args:
        text: Lines of pages.

    Example:
        >>> flowing("Rain\\nIt rained all day in the north of the\\ncountry, and the river rose.")
        'Rain\\nIt rained all day in the north of the country, and the river rose.'
    """
    lines = [line.strip() for line in text.splitlines()]
    lengths = sorted(len(line) for line in lines if line)
    width = lengths[len(lengths) * 9 // 10] if lengths else 0
    paragraphs: list[str] = []
    before = ""
    for line in lines:
        ends = not before or (len(before) < SHORT * width and not line[:1].islower())
        if line and not ends:
            hyphen = before[-1] == "-" and before[-2:-1].isalpha()
            paragraphs[-1] += line if hyphen else f" {line}"
        elif line:
            paragraphs.append(line)
        before = line
    return "\n".join(paragraphs)


def _docx(data: bytes, name: str) -> str:
    document = _library("docx", "a Word document", name).Document(io.BytesIO(data))
    return "\n\n".join(_paragraphs(document.element.body))


def _paragraphs(element: Iterable[Any]) -> Iterator[str]:
    """The paragraphs of a Word document's body, and those of its tables, in their order.

    The elements are read and not `row.cells`, which gives a cell once for each column that the file
    says it spans.
    """
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    for child in element:
        if child.tag in (qn("w:tbl"), qn("w:tr"), qn("w:tc")):
            yield from _paragraphs(child)
        elif child.tag == qn("w:p") and (text := Paragraph(child, None).text).strip():
            yield text


def _mail(data: bytes, name: str) -> str:
    """The body without its quotes and its signature; of one in several formats the plain one."""
    data = re.sub(rb"^From \S+ .*\r?\n", b"", data)  # of a mailbox
    message = email.message_from_bytes(data, _class=EmailMessage, policy=email.policy.default)
    body = message.get_body(("plain", "html"))
    if body is None:
        return ""

    content = body.get_content()
    if body.get_content_subtype() == "html":
        content = _html(content.encode("utf-8"), name)
    for pattern in _LEFT_OUT:
        content = pattern.sub("", content)
    return content.strip()
