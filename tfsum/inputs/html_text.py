"""HTML: the article of a page of the web, and the lines of other HTML: mail, books, Markdown."""

import re
from collections.abc import Iterator, Mapping

import lxml.html
from lxml.html import HtmlElement

from tfsum.inputs.documents import Document

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
# A table of words and numbers, not one that lays out a page.
_TABLE = "//table[not(.//p or .//br or .//div or .//table)]"
_HEADING = (
    "ancestor-or-self::*[self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6]"
)
_BANNER = re.compile(
    r"cookie|consent|gdpr|onetrust|didomi|usercentrics|cmp-|privacy-(?:banner|notice|popup)", re.I
)
_NEW_LINE = re.compile(r"\s*\n\s*")
_ENDED = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*\s*$""")
TAGS = 60_000  # beyond which the article is not looked for, at half a millisecond each
MOST = 0.5  # of the page's words: what has more is no banner, and an aside that has, no aside
BEGINNING = 30  # characters by which a paragraph is known
LONG = 40  # characters of a line that goes on in the next


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
        # a quoted mail, as Gmail, Apple Mail and Thunderbird mark it
        is_cited = element.get("type") == "cite" or "quote" in element.get("class", "")
        quote += "> " * (element.tag == "blockquote" and is_cited)
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


def page_content(data: bytes) -> Document:
    """The article of a page.

    Args:
        data: Content of an HTML file, in any encoding.

    Example:
        >>> text = "<p>The council decided on Monday to close the pool. Parents protested.</p>"
        >>> page_content(f"<html><body>{text}</body></html>".encode()).text
        'The council decided on Monday to close the pool. Parents protested.'
    """
    import trafilatura

    page = trafilatura.load_html(CLOSING.sub(b"", data))
    if page is None:
        return Document("")
    if data.count(b"<") > TAGS:
        note = f"it has more than {TAGS} tags, so that all of its text is read, menus too"
        return Document(html_lines(page), [note])
    words = len(page.text_content().split())
    # a space for every new line that means no more than one, which trafilatura may keep
    for text in page.xpath("//text()[contains(., '\n') and not(ancestor::pre)]"):
        setattr(text.getparent(), "tail" if text.is_tail else "text", _NEW_LINE.sub(" ", text))
    for element in list(page.iter()):
        if not isinstance(element.tag, str) or element.getparent() is None:
            continue
        share = len(element.text_content().split()) / (words or 1)
        if is_hidden(element) or (_is_beside(element) and share < MOST):
            element.drop_tree()
        elif element.tag == "aside" and share > MOST:
            element.tag = "div"
        elif element.tag == "br" and _goes_on(element):
            element.tail = f" {element.tail}"
            element.drop_tag()

    headings = dict(_headings(page))
    article = trafilatura.extract(
        page,
        include_comments=False,
        include_tables=False,
        prune_xpath=_TABLE,  # else the rows of a table are in the text of short pages
        favor_recall=True,
    )
    return Document("\n".join(_with_headings((article or "").split("\n"), headings)))


def _headings(page: HtmlElement) -> Iterator[tuple[str, str]]:
    """The beginning of a text -> the heading right before it."""
    heading = None
    for text in page.xpath(
        "//text()[normalize-space() and not(ancestor::script or ancestor::style)]"
    ):
        inside = text.getparent()
        if text.is_tail:
            inside = inside.getparent()
        found = inside.xpath(_HEADING)
        if not found and heading is not None:
            yield text.strip()[:BEGINNING], " ".join(heading.text_content().split())
        heading = next(iter(found), None)


def _with_headings(lines: list[str], headings: Mapping[str, str]) -> Iterator[str]:
    """The lines of an article with the headings that trafilatura has left out."""
    there = {*lines}
    for line in lines:
        heading = headings.get(line[:BEGINNING])
        if heading and heading not in there:
            yield heading
        yield line


def _is_beside(element: HtmlElement) -> bool:
    """Whether it is a banner, or a part of the page that its article is no part of."""
    name = f"{element.get('id', '')} {element.get('class', '')}"
    is_dialog = element.get("role") in ("dialog", "alertdialog")
    return element.tag in ("footer", "nav") or is_dialog or bool(_BANNER.search(name))


def _goes_on(line_break: HtmlElement) -> bool:
    """Whether a sentence goes on after a `<br>`, as in text that an editor has wrapped."""
    previous = line_break.getprevious()
    before = line_break.getparent().text if previous is None else previous.tail
    before, after = (before or "").strip(), (line_break.tail or "").strip()
    goes_on = after[:1].islower() or (len(before) >= LONG and after[:1].isalpha())
    return bool(before) and goes_on and not _ENDED.search(before)
