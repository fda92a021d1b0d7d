"""The text of a page of the web: its article, without menus, banners and what is hidden."""

import re
from collections.abc import Iterator, Mapping

import trafilatura
from lxml.html import HtmlElement

from tfsum.inputs.content import Content
from tfsum.inputs.html_lines import CLOSING, html_lines, is_hidden

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


def page_content(data: bytes) -> Content:
    """The article of a page.

    Args:
        data: Content of an HTML file, in any encoding.

    Example:
        >>> text = "<p>The council decided on Monday to close the pool. Parents protested.</p>"
        >>> page_content(f"<html><body>{text}</body></html>".encode()).text
        'The council decided on Monday to close the pool. Parents protested.'
    """
    page = trafilatura.load_html(CLOSING.sub(b"", data))
    if page is None:
        return Content("")
    if data.count(b"<") > TAGS:
        note = f"it has more than {TAGS} tags, so that all of its text is read, menus too"
        return Content(html_lines(page), [note])
    words = len(page.text_content().split())
    _join_lines(page)
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

    # with `include_tables=False` alone, the rows of a table are in the text of short pages
    options = {"include_tables": False, "prune_xpath": _TABLE, "favor_recall": True}
    headings = dict(_headings(page))
    article = trafilatura.extract(page, include_comments=False, **options) or ""
    return Content("\n".join(_with_headings(article.split("\n"), headings)))


def _join_lines(page: HtmlElement) -> None:
    """Puts a space for every new line that means no more than one, which trafilatura may keep."""
    for text in page.xpath("//text()[contains(., '\n') and not(ancestor::pre)]"):
        setattr(text.getparent(), "tail" if text.is_tail else "text", _NEW_LINE.sub(" ", text))


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
    if element.tag in ("footer", "nav"):
        return True
    return element.get("role") in ("dialog", "alertdialog") or bool(_BANNER.search(name))


def _goes_on(line_break: HtmlElement) -> bool:
    """Whether a sentence goes on after a `<br>`, as in text that an editor has wrapped."""
    previous = line_break.getprevious()
    before = line_break.getparent().text if previous is None else previous.tail
    before, after = (before or "").strip(), (line_break.tail or "").strip()
    if not before or not after or _ENDED.search(before):
        return False
    return after[0].islower() or (len(before) >= LONG and after[0].isalpha())
