"""Documents of word processors, and books: Word, OpenDocument, RTF and EPUB."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from tfsum.inputs.documents import Document, of_paragraphs

# Elements whose text is no longer, or not yet, a text of the document.
_LEFT_OUT = frozenset(
    "del moveFrom instrText delText delInstrText Fallback pPr rPr tblPr sectPr".split()
)
_ENDED = re.compile(r".*[.!?:…。！？]\s*", re.S)
_PART = re.compile(r"word/(document|footnotes|endnotes|comments|styles)\d*\.xml")
# Elements of OpenDocument whose text is no longer, or never was, one of the document.
_LEFT_OUT_OF_ODT = frozenset(
    ["tracked-changes", "annotation", "note-citation", "sequence-decls", "forms", "hidden-text"]
)
_CHARACTERS = {"tab": " ", "ptab": " ", "noBreakHyphen": "-"}  # elements that stand for one
_PRIVATE = 0xE000  # first of the characters that only a font of symbols has


def word_content(data: bytes) -> Document:
    """The paragraphs of a Word document as Word shows them: with insertions, without deletions.

    Those of tables, text boxes and notes are in their order.

    Args:
        data: Content of a .docx file (ISO/IEC 29500-1).
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {
            found[1]: ElementTree.fromstring(archive.read(name))
            for name in archive.namelist()
            if (found := _PART.fullmatch(name))
        }
    document = _Document(parts)
    document.read(parts["document"])

    has_comments = "comments" in parts and any(map(str.strip, parts["comments"].itertext()))
    return of_paragraphs(
        document.paragraphs,
        ["hidden text is not read"] * document.has_hidden
        + ["the comments are not read"] * has_comments,
    )


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _value(element: Element, name: str) -> str | None:
    """An attribute, whatever its namespace."""
    return next((value for key, value in element.items() if key.endswith(f"}}{name}")), None)


def _is_on(mark: Element) -> bool:
    return _value(mark, "val") not in ("0", "false", "off")


class _Document:
    """Collects paragraphs; text boxes and notes follow the paragraph that they stand in.

    Args:
        parts: Root element of each part of the file.
    """

    def __init__(self, parts: dict[str, Element]) -> None:
        self.paragraphs = [""]  # the last one is still read
        self.has_hidden = False
        self._last = ""  # text before a line break
        self._notes = {
            (kind, _value(note, "id")): note
            for kind in ("footnote", "endnote")
            for note in parts.get(f"{kind}s", ())
        }
        self._hidden = {
            _value(style, "styleId")
            for style in parts.get("styles", ())
            if any(map(_is_on, style.iterfind("{*}rPr/{*}vanish")))
        }

    def read(self, element: Element) -> None:
        name = _name(element)
        if name == "p":
            self._read_paragraph(element)
        elif name == "AlternateContent":  # the first says it to new programs, the others to old
            self.read(element[0])
        elif name not in _LEFT_OUT:
            for child in element:
                self.read(child)

    def _read_paragraph(self, paragraph: Element) -> None:
        after: list[Element] = []
        self.paragraphs[-1] += "".join(self._pieces(paragraph, after))
        if paragraph.find("{*}pPr/{*}rPr/{*}del") is None:  # its mark is not deleted
            self.paragraphs.append("")
        for element in after:
            self.read(element)

    def _pieces(self, element: Element, after: list[Element]) -> Iterator[str]:
        """The text of a paragraph; its boxes and notes are added to `after`."""
        for child in element:
            name = _name(child)
            if name == "t":
                self._last = child.text or ""
                yield self._last
            elif name in ("br", "cr"):
                yield "\n" if _ENDED.fullmatch(self._last) else " "
            elif name in _CHARACTERS:
                yield _CHARACTERS[name]
            elif name == "sym":
                code = int(_value(child, "char") or "20", 16)
                yield chr(code) if code < _PRIVATE else ""
            elif name in ("footnoteReference", "endnoteReference"):
                note = self._notes.get((name.removesuffix("Reference"), _value(child, "id")))
                after += [] if note is None else [note]
            elif name == "txbxContent":
                after.append(child)
            elif name == "AlternateContent":
                yield from self._pieces(child[0], after)
            elif name == "r" and self._is_hidden(child):
                self.has_hidden = True
            elif name not in _LEFT_OUT:
                yield from self._pieces(child, after)

    def _is_hidden(self, run: Element) -> bool:
        mark, style = run.find("{*}rPr/{*}vanish"), run.find("{*}rPr/{*}rStyle")
        if mark is not None:
            return _is_on(mark)
        return style is not None and _value(style, "val") in self._hidden


def epub_content(data: bytes) -> Document:
    """The chapters of a book in their order.

    Args:
        data: Content of an EPUB file (EPUB 3.3, section 5).
    """
    import lxml.html

    from tfsum.inputs.html_text import html_lines

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
        path = next(container.iterfind(".//{*}rootfile")).attrib["full-path"]
        package = ElementTree.fromstring(archive.read(path))
        items = {item.get("id"): item for item in package.iterfind(".//{*}item")}
        read = [
            items[reference.attrib["idref"]]
            for reference in package.iterfind(".//{*}itemref")
            if reference.get("linear") != "no"
        ]
        names = [
            posixpath.normpath(posixpath.join(posixpath.dirname(path), item.attrib["href"]))
            for item in read
            if "nav" not in item.get("properties", "").split()
        ]
        chapters = [html_lines(lxml.html.document_fromstring(archive.read(name))) for name in names]
    return of_paragraphs(chapters)


def odt_content(data: bytes) -> Document:
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
    elif name not in _LEFT_OUT_OF_ODT:
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
        elif name not in _LEFT_OUT_OF_ODT:
            yield from _pieces(child, notes)
        yield child.tail or ""


def rtf_content(data: bytes) -> Document:
    """The text of a Rich Text Format document.

    Args:
        data: Content of a file.

    Example:
        >>> rtf_content(rb"{\\rtf1\\ansi It \\b rained\\b0 .\\par}").text
        'It rained.'
    """
    from striprtf.striprtf import rtf_to_text

    return Document(
        rtf_to_text(data.decode("latin-1"), errors="ignore").strip(),
        ["the footnotes are not read"] * (rb"\footnote" in data),
    )
