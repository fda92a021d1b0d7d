"""PDF files: paragraphs of columns, whole words, no running heads; files written by hand here."""

import io
import itertools
import textwrap

import pytest

pytest.importorskip("pdfminer", reason="needs the extra `documents`")
from pdfminer.high_level import extract_pages

from tfsum.errors import DataError
from tfsum.inputs.documents import documents_of
from tfsum.inputs.pdf import flowing, pdf_content
from tfsum.inputs.plain_text import join_lines, whole_words

LEFT = (
    "The regional council decided on Monday to close the swimming pool in Harlow Bay at the end of"
    " March. Heating the building costs 400,000 pounds a year, and the roof must be replaced."
)
RIGHT = (
    "Parents gathered outside the town hall to protest against the decision of the councillors. A"
    " group of residents hopes to run the pool itself from April, and has asked for help."
)


def pdf(*pages):
    """A file; each page is a list of (x, y, line)."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids ["
        + " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
        + "] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for page in pages:
        drawn = "\n".join(f"BT /F1 10 Tf {x} {y} Td ({line}) Tj ET" for x, y, line in page)
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842]"
            f" /Contents {len(objects) + 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    bodies = [f"{number} 0 obj\n{body}\nendobj\n" for number, body in enumerate(objects, 1)]
    places = list(itertools.accumulate((len(body) for body in bodies), initial=len("%PDF-1.4\n")))
    table = "".join(f"{place:010d} 00000 n \n" for place in places[:-1])
    return (
        f"%PDF-1.4\n{''.join(bodies)}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{places[-1]}\n%%EOF\n"
    ).encode("latin-1")


def column(text, x, width=45, top=700):
    return [(x, top - 12 * i, line) for i, line in enumerate(textwrap.wrap(text, width))]


@pytest.mark.parametrize("by_rows", [False, True])
def test_columns_are_read_one_after_the_other(by_rows):
    first, second = column(LEFT, 50), column(RIGHT, 310)
    lines = [*first, *second]
    if by_rows:  # as programs write that draw a table
        lines = [line for pair in itertools.zip_longest(first, second) for line in pair if line]
    text = pdf_content(pdf([(50, 740, "Pool to close"), *lines])).text
    assert text.split("\n\n") == ["Pool to close", LEFT, RIGHT]


@pytest.mark.parametrize("room", [6, 12, 40])
def test_columns_that_stand_close_are_read_one_after_the_other(room):
    first, second = column(LEFT * 2, 0), column(RIGHT * 2, 0)
    end = 50 + max(width_of(line) for _, _, line in first)
    first = [(end - width_of(line), y, line) for _, y, line in first]
    second = [(end + room, y, line) for _, y, line in second]
    pairs = itertools.zip_longest(first, second)  # as programs write that draw a table
    lines = [line for pair in pairs for line in pair if line]
    content = pdf_content(pdf(column(LEFT, 50), lines))
    assert content.text.split() == f"{LEFT} {LEFT * 2} {RIGHT * 2}".split() and not content.notes


def justified(text, x, width, top=700):
    """Words of lines that fill a column, each drawn alone, which may stand far apart."""
    for i, line in enumerate(lines := textwrap.wrap(text, 24)):
        words = line.split()
        widths = [width_of(word) for word in words]
        room = (width - sum(widths)) / max(1, len(words) - 1) if i + 1 < len(lines) else 4
        begins = itertools.accumulate((one + room for one in widths), initial=x)
        yield from ((begin, top - 12 * i, word) for begin, word in zip(begins, words))


@pytest.mark.parametrize("top", [700, 712, 676])
def test_narrow_columns_whose_words_stand_apart(top):
    columns = [*justified(LEFT, 50, 150), *justified(RIGHT, 212, 150, top)]
    columns += justified(LEFT, 374, 150)
    text = pdf_content(pdf([(50, 760, "Pool to close"), *columns, (50, 300, RIGHT[:90])])).text
    assert text.split() == f"Pool to close {LEFT} {RIGHT} {LEFT} {RIGHT[:90]}".split()


def test_columns_below_a_head_that_stands_otherwise():
    head = [(50, 800, "Draft of 11 March"), (300, 800, "The pool of Harlow Bay"), (540, 30, "1/2")]
    first, second = column(LEFT, 50, top=760), column(RIGHT, 294, top=752)
    text = pdf_content(pdf([*head, *first, *second])).text
    assert LEFT in text and RIGHT in text[text.index(LEFT) :]


def width_of(line):
    (page,) = extract_pages(io.BytesIO(pdf([(0, 400, line)])))
    return max(box.x1 for box in page)


@pytest.mark.parametrize(
    "head, foot",
    [
        ("Harlow Bay Council - Minutes of 11 March 2024", "Page {} of 3"),
        ("Draft", "- {} -"),
        ("The Journal of Pools 12", "{}"),
    ],
)
def test_running_heads_feet_and_page_numbers_are_left_out(head, foot):
    cut = LEFT.index("Heating") + len("Heating the")
    parts = [LEFT[:cut], LEFT[cut:], RIGHT]
    pages = [
        [(50, 800, head), *column(part.strip(), 50, 80), (250, 30, foot.format(number))]
        for number, part in enumerate(parts, 1)
    ]
    assert pdf_content(pdf(*pages)).text.split("\n\n") == [LEFT, RIGHT]
    assert pdf_content(pdf(pages[0])).text.startswith(head)  # which runs over no other page


@pytest.mark.parametrize(
    "before, after, right",
    [
        ("the swim-", "ming pool", "the swimming pool"),
        ("must be re-", "placed", "must be replaced"),
        ("a re-elec-", "tion", "a re-election"),
        ("a well-", "known club", "a well-known club"),
        ("the state-of-the-", "art pool", "the state-of-the-art pool"),
        ("the Anglo-", "Saxon", "the Anglo-Saxon"),
        ("pre-", "and postwar", "pre- and postwar"),
        ("from 2019-", "2024", "from 2019-2024"),
        ("die Gemeinde-", "verwaltung", "die Gemeindeverwaltung"),
        ("the swim\xad", "ming pool", "the swimming pool"),
        ("the y-", "axis", "the y-axis"),
        ("a Carbon-", "14 date", "a Carbon-14 date"),
        ("It rained", "a lot", "It rained a lot"),
        ("the river -", "a lot", "the river - a lot"),
    ],
)
def test_broken_words_are_whole(before, after, right):
    assert join_lines(before, after) == right


def test_a_hyphen_stays_where_the_text_has_it_elsewhere():
    words = whole_words("a drive-through pharmacy")
    assert join_lines("the drive-", "through", words) == "the drive-through"
    assert join_lines("the low-", "lands", whole_words("lowlands")) == "the lowlands"


def test_headings_and_paragraphs_stay_apart():
    lines = textwrap.wrap(LEFT, 60)
    text = "\n".join(["What comes next", *lines, "", *textwrap.wrap(RIGHT, 60)])
    assert flowing(text).split("\n\n") == ["What comes next", LEFT, RIGHT]
    assert flowing("") == ""


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_password_is_said_to_be_one(algorithm):
    pypdf = pytest.importorskip("pypdf")
    for password in ("", "secret"):  # the empty one is that of files that may only be read
        writer = pypdf.PdfWriter(io.BytesIO(pdf(column(LEFT, 50))))
        writer.encrypt(password, owner_password="owner", algorithm=algorithm)
        data = io.BytesIO()
        writer.write(data)
        if not password:
            assert documents_of("pdf", data.getvalue(), "a.pdf")[0].text == LEFT
    with pytest.raises(DataError, match=r"^a.pdf: is a PDF file that a password protects; save a"):
        documents_of("pdf", data.getvalue(), "a.pdf")


def test_a_file_that_is_not_quite_right_is_read_all_the_same():
    data = pdf(column(LEFT, 50)).replace(b"\nendobj", b"endobj")
    content = pdf_content(data)
    assert content.text == LEFT
    assert content.notes == ["is damaged; its lines are in the order of the file"]
