"""Texts wrapped at a width are told from texts whose lines mean something, and joined without
moving a byte."""

import pathlib
import textwrap

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfsum.inputs.plain_text import whole_lines
from tfsum.text.hard_wraps import join_hard_wraps
from tfsum.text.sentence_splitter import SentenceSplitter

PARAGRAPH = (
    "The bridge over the river was closed on Monday morning, since engineers had found cracks in"
    " two of its pillars, the city said. Drivers must take the ferry until the repairs are done."
    " Nobody knows how long that will be. Dr. Smith, who inspected it, expects weeks."
)
KOREAN = (
    "서울시는 월요일 아침 한강의 다리를 닫았다고 밝혔다. "
    "기술자들이 두 개의 기둥에서 금이 간 곳을 찾았기 때문이다. "
    "수리가 끝날 때까지 운전자들은 다른 길로 돌아가야 한다. 얼마나 걸릴지는 아무도 모른다고 시장은"
    " 말했다."
)
CHINESE = (
    2 * "星期一早上，工程师在两根桥墩上发现了裂缝，因此市政府关闭了这座大桥。司机必须改道，"
    "直到维修完成为止。没有人知道要多久。"
)


# The many texts of a property share one graph; the others have the operations one by one.
in_graph = tf.function(join_hard_wraps, input_signature=[tf.TensorSpec([None], tf.string)])


def joined(text, join=join_hard_wraps):
    given, wrapped = join(tf.constant([text]))
    assert len(given.numpy()[0]) == len(text.encode())
    return given.numpy()[0].decode(), bool(wrapped.numpy()[0])


@pytest.mark.parametrize("width", [50, 64, 72, 80, 99])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_wrapped_paragraphs(width, end):
    text = "\n\n".join(
        textwrap.fill(PARAGRAPH, width, break_on_hyphens=False) for _ in range(3)
    ).replace("\n", end)
    found, wrapped = joined(text)
    assert wrapped
    assert [" ".join(line.split()) for line in found.split("\n") if line.strip()] == [PARAGRAPH] * 3


@pytest.mark.parametrize("width", range(40, 100, 7))
def test_initials_and_citations_are_no_items(width):
    text = PARAGRAPH + (
        " The report was written by J. Smith and A. B. Jones for M. Kazimi of the council. See Doe"
        " v. Roe, 410 F. Supp. 2d 113, 118 (D. Mass. 1973); Smith v. Roe, 93 S. Ct. 705. Under 42"
        " U. S. C. § 1983 a person may sue. Fed. R. Civ. P. 56(c) says so; see ¶ 12. Nobody knew. "
    )
    text += PARAGRAPH
    assert joined(textwrap.fill(text, width, break_on_hyphens=False)) == (text, True)


@pytest.mark.parametrize("hyphen", ["-", "\u2010", "\xad"])
def test_a_broken_word_goes_on_in_the_next_line(hyphen):
    lines = [
        "The regional council decided on Monday to close the swim-",
        "ming pool in Harlow Bay. The buil-",
        "ding costs 400,000 pounds a year, and the roof must be re-",
        "placed before winter. Parents gathered outside the town",
        "hall to protest against the decision of the council-",
        "lors.",
    ]
    text = "\n".join(lines).replace("-\n", f"{hyphen}\n")
    assert joined(text) == (text.replace("\n", " "), True)
    assert "\n" not in joined(whole_lines(text).strip())[0]


MAIL = """From: Anna Holt <anna@example.org>
Subject: Office closed on Friday

Dear all,

the office will be closed on Friday, because the electricity of the whole
street is switched off from seven in the morning. Please work from home, or
take a day off. The servers keep running in the data centre, so mail and the
shop are not affected.

Best regards,
Anna

-- 
Anna Holt
Facility management
"""  # noqa: W291 - the mark of a signature
HELP = """options:
  -h, --help            show this help message and exit
  -n N, --sentences N   of an extractive model: sentences at most (default 3;
                        the shipped model gives up to 10); a model is exported
                        with more by `tfsum export --max-sentences`
  --field NAME          of JSON lines, CSV and TSV: the field that holds the
                        text
"""


def test_mail_with_its_header_and_a_page_of_options():
    found, wrapped = joined(MAIL)
    lines = found.split("\n")
    assert wrapped and lines[:2] == MAIL.split("\n")[:2] and lines[-3:] == MAIL.split("\n")[-3:]
    assert (
        "because the electricity of the whole street is switched off from seven in the morning."
        in found
    )
    found, wrapped = joined(HELP)
    assert wrapped and "  -h, --help            show this help message and exit" in found.split(
        "\n"
    )
    assert (
        "(default 3; the shipped model gives up to 10); a model is exported with more by"
        in " ".join(found.split())
    )


def test_text_that_was_wrapped_by_hand():
    """The licence of this package, indented and with room at the ends of its lines."""
    licence = (pathlib.Path(__file__).resolve().parents[2] / "LICENSE").read_text(encoding="utf-8")
    found, wrapped = joined(licence)
    assert wrapped and licence.split() == found.split()
    paragraphs = [" ".join(line.split()) for line in found.split("\n")]
    assert (
        '"Licensor" shall mean the copyright owner or entity authorized by the copyright owner that'
        " is granting the License." in paragraphs
    )


def wide_fill(text, columns):
    """Wraps at columns of which an ideograph takes two, between any two of them."""
    lines, width = [""], 0
    for character in text:
        width += 2
        if width > columns:
            lines.append("")
            width = 2
        lines[-1] += character
    return "\n".join(lines)


def test_wide_letters_take_two_columns():
    for text in (
        textwrap.fill(KOREAN, 44),
        wide_fill(KOREAN.replace(" ", ""), 72),
        wide_fill(CHINESE, 72),
        textwrap.fill(CHINESE, 50),
    ):
        assert joined(text)[1]


@pytest.mark.parametrize(
    "text",
    [
        PARAGRAPH,
        "\n".join(PARAGRAPH.split(". ")),
        "One line.\nAnother line.",
        "",
        "\n\n\n",
        "A headline of some length\n"
        + PARAGRAPH
        + "\nAnother headline of that length\n"
        + PARAGRAPH,
        (
            "Shall I compare thee to a summer's day?\nThou art more lovely and more"
            " temperate:\nRough winds do shake the darling buds of May,\nAnd summer's lease hath"
            " all too short a date;"
        ),
        (
            "ANNA: Did you see it?\nBEN: No, I was at home all the day and the evening, too.\nANNA:"
            " It was on the news."
        ),
        (
            "- milk and bread for the whole of the week\n- eggs\n- a newspaper, if they still have"
            " one, or two\n- soap"
        ),
        (
            "It rained all day.\nThe river rose above its banks in the night.\nPeople left their"
            " houses.\nIt was cold."
        ),
    ],
    ids=range(10),
)
def test_texts_whose_lines_mean_something(text):
    assert joined(text) == (text, False)


def test_headings_lists_and_signatures_keep_their_lines():
    text = (
        "Closed bridge\n"
        + textwrap.fill(PARAGRAPH, 60)
        + "\n\n- "
        + textwrap.fill(PARAGRAPH, 60)
        + "\n- "
        + textwrap.fill(PARAGRAPH, 60)
        + "\nYours,\nAnna"
    )
    found, wrapped = joined(text)
    assert wrapped
    assert found.split("\n") == [
        "Closed bridge",
        PARAGRAPH,
        "",
        "- " + PARAGRAPH,
        "- " + PARAGRAPH,
        "Yours,",
        "Anna",
    ]


@given(st.lists(st.text(alphabet="ab .\n\r\tÄ다。", max_size=80), max_size=5))
def test_no_byte_moves_and_company_changes_nothing(texts):
    together, wrapped = in_graph(tf.constant(texts, tf.string))
    for text, given_text, flag in zip(texts, together.numpy(), wrapped.numpy()):
        data = text.encode()
        assert len(given_text) == len(data)
        assert all(
            new == old or (new == 32 and old in b"\n\r") for new, old in zip(given_text, data)
        )
        assert joined(text, in_graph) == (given_text.decode(), bool(flag))


def test_the_splitter_gives_the_sentences_of_the_text_as_it_is():
    plain, auto = SentenceSplitter(), SentenceSplitter("auto")
    text = textwrap.fill(PARAGRAPH, 72) + "\n\n" + textwrap.fill(PARAGRAPH, 72)
    found = auto.split([text, PARAGRAPH + "\n" + PARAGRAPH, ""])
    assert found["wrapped"].numpy().tolist() == [True, False, False]
    expected = plain.split([PARAGRAPH + "\n" + PARAGRAPH])["sentences"].to_list()[0]
    rows = found["sentences"].to_list()
    assert [b" ".join(sentence.split()) for sentence in rows[0]] == expected == rows[1]
    data = text.encode()
    for sentence, start, end in zip(rows[0], found["start"][0].numpy(), found["end"][0].numpy()):
        assert data[start:end] == sentence
    assert len(rows[0]) == 8 < len(plain.split([text])["sentences"].to_list()[0])
