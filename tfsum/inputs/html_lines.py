"""HTML as lines of plain text, broken as a browser breaks them: of mail, books and Markdown."""

import re

import lxml.html
from lxml.html import HtmlElement

SKIPPED = frozenset(
    ["head", "script", "style", "template", "noscript", "svg", "select", "textarea"]
)
LINES = frozenset(
    "address article aside body center dd div dl dt fieldset figcaption figure footer form header"
    " html li main nav section tbody td th thead tr".split()
)
PARAGRAPHS = frozenset("blockquote h1 h2 h3 h4 h5 h6 hr ol p pre table ul".split())
HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?!\.?\d)", re.I)
# White space of HTML, and letters of no width, with which mail fills its preview.
_BLANKS = re.compile(r"[ \t\r\n\f\xad\u034f\u200b\u200c\ufeff]+")


# What follows them is shown too, such as what a mailing list adds, and lost by lxml.
CLOSING = re.compile(rb"</(?:body|html)\s*>", re.I)


def parse_html(text: str) -> HtmlElement:
    """The tree of a page or of a part of one.

    Args:
        text: HTML, not empty.

    Example:
        >>> parse_html("<html><body>It rained.</body></html><p>The list.").text_content()
        'It rained.The list.'
    """
    parser = lxml.html.HTMLParser(encoding="utf-8")
    return lxml.html.document_fromstring(CLOSING.sub(b"", text.encode("utf-8")), parser=parser)


def html_lines(root: HtmlElement) -> str:
    """The text of a tree of HTML, a line for each that a reader sees.

    Lines of a quoted mail begin with `> `, as in plain text.

    Args:
        root: Element of lxml.

    Example:
        >>> html_lines(parse_html("<p>It <b>rained</b>.<br>A lot.</p><p>We stayed.</p>"))
        'It rained.\\nA lot.\\n\\nWe stayed.'
    """
    lines = [""]

    def write(text: str | None, quote: str, is_pre: bool) -> None:
        parts = [text or ""]
        if is_pre:
            parts = parts[0].split("\n")
        for number, part in enumerate(parts):
            if number:
                lines.append(quote)
            begun = lines[-1] or quote
            words = _BLANKS.sub(" ", part)
            lines[-1] = begun + (words if begun.strip("> ") else words.lstrip())

    def break_line(tag: str, quote: str) -> None:
        is_begun = bool(lines[-1].strip("> "))
        if tag == "br" or (tag in LINES and is_begun):
            lines.append(quote)
        elif tag in PARAGRAPHS:
            lines.extend(["", quote] if is_begun else [quote])

    def walk(element: HtmlElement, quote: str, is_pre: bool) -> None:
        # a comment has no tag of a name
        if not isinstance(element.tag, str) or element.tag in SKIPPED or is_hidden(element):
            return
        if element.tag == "blockquote" and _is_cited(element):
            quote += "> "
        break_line(element.tag, quote)
        is_pre = is_pre or element.tag == "pre"
        write(element.text, quote, is_pre)
        for child in element:
            walk(child, quote, is_pre)
            write(child.tail, quote, is_pre)
        if element.tag != "br":
            break_line(element.tag, quote)

    walk(root, "", False)
    text = "\n".join(line.rstrip() for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def is_hidden(element: HtmlElement) -> bool:
    """Whether a browser does not show an element.

    Args:
        element: Element of lxml.

    Example:
        >>> is_hidden(lxml.html.fromstring("<p style='display: none'>A secret.</p>"))
        True
    """
    # a program that reads aloud has the text of the picture in the place of a caption
    is_silent = element.get("aria-hidden") == "true" and element.tag != "figcaption"
    return "hidden" in element.attrib or is_silent or bool(HIDDEN.search(element.get("style", "")))


def _is_cited(element: HtmlElement) -> bool:
    """Whether it is a quoted mail, as Gmail, Apple Mail and Thunderbird mark it."""
    return element.get("type") == "cite" or "quote" in element.get("class", "")
