"""The text of a PDF file: the paragraphs of its columns, without what runs over its pages."""

import collections
import dataclasses
import io
import itertools
import logging
import re
from collections.abc import Iterator

import pypdf
from pdfminer.high_level import extract_pages
from pdfminer.layout import LTChar, LTPage, LTTextContainer, LTTextLine
from pdfminer.pdfdocument import PDFPasswordIncorrect

from tfsum.inputs.broken_words import join_lines, whole_words
from tfsum.inputs.content import Content

MARGIN = 0.15  # share of a page's height at its head and at its foot
REPEATED = 0.25  # of the pages, and two at least: a line that stands on so many runs over them
SHORT = 0.7  # of the width of the lines: where a paragraph or a heading may end
GAP = 0.35  # of a letter's height: between words of a line that is none, but one of each column
CLOSE = 0.4  # of the lines of a page, and four at least: so many have such a gap at one place
_LETTERS = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\0": " "}
)
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|p\.|seite|página|pagina|strona|стр\.|第)\s*)?(?:#|[ivxl]+)"
    r"(?:\s*(?:of|von|de|di|van|/|aus|sur)\s*#)?\s*(?:쪽|페이지|頁|ページ|页)?\W*",
    re.I,
)
_ENDED = re.compile(r"""[.!?:;…。！？।](?:["'”’»)\]]|\[\d+\]|[¹²³⁰-⁹])*$""")


@dataclasses.dataclass(frozen=True)
class _Line:
    """A line of a page.

    Attributes:
        text: Its text.
        box: Number of the block of the page that it belongs to.
        height: Height of its middle over the foot, as a share of the page's height.
    """

    text: str
    box: int
    height: float

    @property
    def pattern(self) -> tuple[str, int]:
        """What is equal on all pages that it runs over: page numbers are not."""
        return re.sub(r"\d+", "#", self.text), round(100 * self.height)


def pdf_content(data: bytes) -> Content:
    """The paragraphs of a file, column by column.

    Running heads, feet and page numbers are left out, and words that lines break are whole.

    Args:
        data: Content of a PDF file.

    Raises:
        PermissionError: It is protected by a password.
    """
    for library in ("pdfminer", "pypdf"):  # what they warn of is an error, or mended
        logging.getLogger(library).setLevel(logging.ERROR)
    try:
        layouts = list(extract_pages(io.BytesIO(data)))
    except PDFPasswordIncorrect:
        raise PermissionError from None
    pages = [_lines(page) for page in layouts]
    counts = collections.Counter(pattern for page in pages for pattern in {x.pattern for x in page})
    least = max(2, REPEATED * len(pages))

    def runs(line: _Line) -> bool:
        is_at_edge = not MARGIN < line.height < 1 - MARGIN
        is_repeated = counts[line.pattern] >= least
        return is_at_edge and (is_repeated or bool(_PAGE_NUMBER.fullmatch(line.pattern[0])))

    blocks = [
        "\n".join(line.text for line in page if line.box == box and not runs(line))
        for page in pages
        for box in dict.fromkeys(line.box for line in page)
    ]
    text = flowing("\n\n".join(filter(None, blocks)))
    if not text:  # its syntax is not quite right
        damaged = pypdf.PdfReader(io.BytesIO(data)).pages
        text = flowing("\n".join(page.extract_text() for page in damaged))
        return Content(text, ["is damaged; its lines are in the order of the file"])
    close = [str(number) for number, page in enumerate(layouts, 1) if _has_close_columns(page)]
    note = f"columns that stand close are read as one, on page {', '.join(close)}"
    return Content(text, [note] if close else [])


def _lines(page: LTPage) -> list[_Line]:
    """The lines of a page in the order in which they are read."""
    return [
        _Line(text, number, (line.y0 + line.y1) / 2 / page.height)
        for number, line in _text_lines(page)
        if (text := " ".join(line.get_text().translate(_LETTERS).split()))
    ]


def _text_lines(page: LTPage) -> Iterator[tuple[int, LTTextLine]]:
    """The lines of a page, with the number of the box that each is in."""
    boxes = [box for box in page if isinstance(box, LTTextContainer)]
    # letters below each other are a stamp at the page's edge
    upright = [box for box in boxes if box.width > 0.2 * box.height]
    for number, box in enumerate(upright):
        yield from ((number, line) for line in box if isinstance(line, LTTextLine))


def _has_close_columns(page: LTPage) -> bool:
    """Whether many lines go on at one place behind a gap: they are two, side by side."""
    lines = [line for _, line in _text_lines(page)]
    begins = collections.Counter[int]()
    for line in lines:
        letters = [one for one in line if isinstance(one, LTChar) and one.get_text().strip()]
        wide = (b for a, b in itertools.pairwise(letters) if b.x0 - a.x1 > GAP * b.size)
        begins.update({round(letter.x0) for letter in wide})
    return max(begins.values(), default=0) >= max(4, CLOSE * len(lines))


def flowing(text: str) -> str:
    """The text of pages with a line for each paragraph.

    A line of a page ends where the page does, and means nothing. A paragraph ends with a short
    line where the next begins with no lower-case letter, and with a block of lines that ends with
    a mark.

    Args:
        text: Lines of pages, with an empty line between blocks.

    Example:
        >>> flowing("Rain\\nIt rained all day in the north of the\\ncountry, and the river rose.")
        'Rain\\n\\nIt rained all day in the north of the country, and the river rose.'
    """
    lines, words = text.splitlines(), whole_words(text)
    lengths = sorted(len(line) for line in lines if line)
    long = SHORT * lengths[len(lengths) * 9 // 10] if lengths else 0
    paragraphs: list[str] = []
    last = ""
    for before, line in zip(["", *lines], lines):
        if not line:
            continue
        is_broken = last.endswith(("-", "\xad")) or (line[0].islower() and not _ENDED.search(last))
        fills = len(last) >= long and (
            bool(before) or (len(line) >= long and not _ENDED.search(last))
        )
        if last and (is_broken or fills or (before and line[0].islower())):
            paragraphs[-1] = join_lines(paragraphs[-1], line, words)
        else:
            paragraphs.append(line)
        last = line
    return "\n\n".join(paragraphs)
