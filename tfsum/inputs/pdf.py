"""The text of a PDF file: the paragraphs of its columns, without what runs over its pages."""

import collections
import dataclasses
import io
import itertools
import logging
import math
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import pypdf
from pdfminer.high_level import extract_pages
from pdfminer.layout import (
    LAParams,
    LTChar,
    LTExpandableContainer,
    LTPage,
    LTTextContainer,
    LTTextLine,
)
from pdfminer.pdfdocument import PDFPasswordIncorrect

from tfsum.inputs.documents import Document
from tfsum.inputs.plain_text import join_lines, whole_words

MARGIN = 0.15  # share of a page's height at its head and at its foot
REPEATED = 0.25  # of the pages, and two at least: a line that stands on so many runs over them
SHORT = 0.7  # of the width of the lines: where a paragraph or a heading may end
COLUMN = 0.18  # of a page's width: what is narrower is no column
BESIDE = 3  # lines that columns have at least
GUTTER = 0.5  # of a line's height: the room between columns
SPACE = 0.1  # of a line's height: between words
WIDE = 3.0  # of a line's height: what stands so far apart is no line
LEADING = 0.5  # of a line's height: between paragraphs
_Gaps: TypeAlias = list[tuple[float, float]]
_Row: TypeAlias = LTExpandableContainer[LTTextLine]
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


def pdf_content(data: bytes) -> Document:
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
        # each piece of a line is a word, or what spaces hold together
        layout = LAParams(char_margin=0.3, boxes_flow=None)
        pages = [_lines(page) for page in extract_pages(io.BytesIO(data), laparams=layout)]
    except PDFPasswordIncorrect:
        raise PermissionError from None
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
        file = pypdf.PdfReader(io.BytesIO(data))
        text = flowing("\n".join(page.extract_text() for page in file.pages))
        return Document(text, ["is damaged; its lines are in the order of the file"])
    return Document(text)


def _lines(page: LTPage) -> list[_Line]:
    """The lines of a page in the order in which they are read."""
    words = [
        piece
        for box in page
        if isinstance(box, LTTextContainer)
        for piece in box
        if isinstance(piece, LTTextLine) and piece.get_text().strip()
        # no stamp at the page's edge, which is turned
        if any(isinstance(one, LTChar) and one.upright for one in piece)
    ]
    lines: list[_Line] = []
    box = 0
    for column in _columns(words, COLUMN * page.width):
        before = None
        for row in itertools.chain.from_iterable(map(_apart, _rows(column))):
            box += before is None or not _follows(row, before)
            text = " ".join(_joined(row).translate(_LETTERS).split())
            lines.append(_Line(text, box, (row.y0 + row.y1) / 2 / page.height))
            before = row
    return lines


def _row(words: Iterable[LTTextLine]) -> _Row:
    """Words that stand beside each other, with the rectangle around them."""
    row: _Row = LTExpandableContainer()
    row.extend(words)
    return row


def _rows(words: list[LTTextLine]) -> list[_Row]:
    """The rows of words, from top to bottom."""
    rows: list[_Row] = []
    for word in sorted(words, key=lambda word: -word.y0 - word.y1):
        other = next(iter(rows[-1])) if rows else word
        overlap = min(word.y1, other.y1) - max(word.y0, other.y0)
        if rows and overlap > 0.5 * min(word.height, other.height):
            rows[-1].add(word)
        else:
            rows.append(_row([word]))
    return rows


def _apart(row: _Row) -> Iterator[_Row]:
    """The parts of a row that stand so far apart that they are no one line, each in order."""
    part = _row([])
    for word in sorted(row, key=lambda word: word.x0):
        if word.x0 - part.x1 > WIDE * word.height and len(part):
            yield part
            part = _row([])
        part.add(word)
    yield part


def _joined(row: _Row) -> str:
    """The text of a row, with a space where there is room for one."""
    text, right = "", row.x0
    for word in row:
        text += " " * (word.x0 - right > SPACE * word.height) + word.get_text().rstrip("\n")
        right = word.x1
    return text


def _follows(row: _Row, other: _Row) -> bool:
    """Whether it stands close below another, and begins, ends or is centred where that is."""
    near = LEADING * row.height
    left, right = row.x0 - other.x0, row.x1 - other.x1
    is_below = row.y1 <= other.y1 - near and other.y0 - row.y1 <= near
    return is_below and min(abs(left), abs(right), abs(left + right) / 2) < near


def _columns(words: list[LTTextLine], narrowest: float) -> Iterator[list[LTTextLine]]:
    """The words of each column, and of what stands over, between or below columns.

    Args:
        words: Words of a page.
        narrowest: Width that a column must have.
    """
    alone: list[_Row] = []
    columns: list[list[LTTextLine]] = []
    before: _Gaps = []
    for strip, found in _strips(_rows(words)):
        gaps = [
            gap
            for gap in found
            if all(
                _row(part).width > narrowest and len(_rows(part)) >= BESIDE
                for part in _parts(strip, [gap])
            )
        ]
        go_on = len(gaps) == len(before) == len(_common(before, gaps, 0.0))
        if not gaps:
            yield from columns
            columns = []
            alone += strip
        elif go_on:
            columns = [[*one, *more] for one, more in zip(columns, _parts(strip, gaps))]
        else:
            first = len(alone)  # a column may begin above the others
            while first and all(gap in _common([gap], _gaps(alone[first - 1]), 0) for gap in gaps):
                first -= 1
            yield from columns
            yield list(itertools.chain(*alone[:first]))
            columns = _parts(alone[first:] + strip, gaps)
            alone = []
        before = gaps
    yield from columns
    yield list(itertools.chain(*alone))


def _parts(rows: list[_Row], gaps: _Gaps) -> list[list[LTTextLine]]:
    """The words between gaps, from left to right."""
    edges = [-math.inf, *((left + right) / 2 for left, right in gaps), math.inf]
    return [
        [word for row in rows for word in row if left <= word.x0 < right]
        for left, right in itertools.pairwise(edges)
    ]


def _strips(rows: list[_Row]) -> Iterator[tuple[list[_Row], _Gaps]]:
    """Parts a page, from top to bottom, where the gaps between its columns begin and end."""
    strip: list[_Row] = []
    free: _Gaps = [(-math.inf, math.inf)]
    begin, end = math.inf, -math.inf
    least = GUTTER * sorted(row.height for row in rows)[len(rows) // 2] if rows else 0.0
    for row in rows:
        common = _common(free, _gaps(row), least)
        left, right = min(begin, row.x0), max(end, row.x1)
        if strip and bool(_inner(free, begin, end)) != bool(_inner(common, left, right)):
            yield strip, _inner(free, begin, end)
            strip, common, left, right = [], _gaps(row), row.x0, row.x1
        strip.append(row)
        free, begin, end = common, left, right
    if strip:
        yield strip, _inner(free, begin, end)


def _gaps(row: _Row) -> _Gaps:
    """Where a row has no words, from left to right."""
    ordered = sorted(row, key=lambda word: word.x0)
    rights = itertools.accumulate((word.x1 for word in ordered), max, initial=-math.inf)
    return list(zip(rights, [*(word.x0 for word in ordered), math.inf]))


def _common(some: _Gaps, others: _Gaps, least: float) -> _Gaps:
    """What is wide enough of the gaps that two rows have in common."""
    both = ((max(a, c), min(b, d)) for a, b in some for c, d in others)
    return [(left, right) for left, right in both if right - left > least]


def _inner(gaps: _Gaps, begin: float, end: float) -> _Gaps:
    """The gaps that have words on both sides."""
    return [(left, right) for left, right in gaps if begin < left and right < end]


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
