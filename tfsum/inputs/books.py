"""Books and documents of other word processors: EPUB, OpenDocument and RTF."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import lxml.html
from striprtf.striprtf import rtf_to_text

from tfsum.inputs.content import Content, of_paragraphs
from tfsum.inputs.html_lines import html_lines

# Elements of OpenDocument whose text is no longer, or never was, one of the document.
_LEFT_OUT = frozenset(
    ["tracked-changes", "annotation", "note-citation", "sequence-decls", "forms", "hidden-text"]
)


def epub_content(data: bytes) -> Content:
    """The chapters of a book in their order.

    Args:
        data: Content of an EPUB file (EPUB 3.3, section 5).
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
        path = next(container.iterfind(".//{*}rootfile")).attrib["full-path"]
        package = ElementTree.fromstring(archive.read(path))
        items = {item.get("id"): item for item in package.iterfind(".//{*}item")}
        chapters = []
        for reference in package.iterfind(".//{*}itemref"):
            item = items[reference.attrib["idref"]]
            if reference.get("linear") == "no" or "nav" in item.get("properties", "").split():
                continue
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), item.attrib["href"]))
            chapters.append(html_lines(lxml.html.document_fromstring(archive.read(name))))
    return of_paragraphs(chapters)


def odt_content(data: bytes) -> Content:
    """The paragraphs of an OpenDocument text, its notes after the paragraph that they are of.

    Args:
        data: Content of an .odt file (OpenDocument 1.3, part 3).
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = ElementTree.fromstring(archive.read("content.xml"))
        body = next(content.iterfind(".//{*}body"))
    has_objects = body.find(".//{*}object") is not None
    return of_paragraphs(_paragraphs(body), ["formulas are not read"] * has_objects)


def _paragraphs(element: Element) -> Iterator[str]:
    name = _name(element)
    if name in ("p", "h"):
        notes: list[Element] = []
        yield "".join(_pieces(element, notes))
        for note in notes:
            yield from _paragraphs(note)
    elif name not in _LEFT_OUT:
        for child in element:
            yield from _paragraphs(child)


def _pieces(element: Element, notes: list[Element]) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        name = _name(child)
        if name in ("s", "tab", "line-break"):
            yield " "
        elif name in ("note", "text-box"):
            notes += child
        elif name not in _LEFT_OUT:
            yield from _pieces(child, notes)
        yield child.tail or ""


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def rtf_content(data: bytes) -> Content:
    """The text of a Rich Text Format document.

    Args:
        data: Content of a file.

    Example:
        >>> rtf_content(rb"{\\rtf1\\ansi It \\b rained\\b0 .\\par}").text
        'It rained.'
    """
    notes = ["the footnotes are not read"] * (rb"\footnote" in data)
    return Content(rtf_to_text(data.decode("latin-1"), errors="ignore").strip(), notes)
