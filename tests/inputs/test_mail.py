"""Mail: what its writers wrote is there, what they quote is left out and said to be."""

import email.message
import time
from email.headerregistry import ContentTypeHeader

import pytest

from tfsum.inputs.mail import mail_content, split_mailbox, without_quotes

ROOF = "The roof will be done in autumn, after the season."
POOL = "The council agreed that the pool opens on the first of June."
HTML = f"<html><body><p>{POOL}</p><p>{ROOF}</p></body></html>"


def mail(subject="Pool"):
    message = email.message.EmailMessage()
    message["From"], message["To"] = "Anna Holt <anna@example.org>", "ben@example.org"
    message["Subject"] = subject
    return message


HEADERS = {
    "outlook": "From: Ben <b@x.org>\nSent: Monday, 11 March 2024\nTo: Anna\nSubject: Pool",
    "rule": "________________\nFrom: Ben\nSent: Monday\nTo: Anna; Carla\nCc: Dan\nSubject: Pool",
    "marked": "-----Original Message-----\nFrom: Ben\nSent: Monday\nTo: Anna\nSubject: Pool",
    "German": "Von: Ben\nGesendet: Montag, 11. März 2024 16:45\nAn: Anna\nBetreff: Bad",
    "French": "De : Ben\nEnvoyé : lundi 11 mars 2024 16:45\nÀ : Anna\nObjet : Piscine",
    "Korean": "보낸 사람: Ben <b@x.org>\n보낸 날짜: 2024년 3월 11일\n받는 사람: Anna\n제목: 수영장",
    "addresses": "From: Ben\nTo: Anna <a@x.org>;\n Carla <c@x.org>\nDate: Monday\nSubject: Pool",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_quoted_mail_below_a_header_is_left_out(header):
    kept, left_out = without_quotes(f"{POOL}\n\nAnna\n\n{header}\n\n{ROOF}\n", "Re: Pool")
    assert kept == f"{POOL}\n\nAnna" and left_out.endswith(ROOF)


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
@pytest.mark.parametrize("subject", ["Pool", "Fwd: Pool", "WG: Pool", "전달: 수영장"])
def test_a_forwarded_mail_is_kept_without_its_header(header, subject):
    kept, left_out = without_quotes(f"FYI, see below.\n\n{header}\n\n{ROOF}\n", subject)
    assert kept.split("\n") == ["FYI, see below.", "", ROOF] and not left_out


INTRODUCTIONS = [
    "On Mon, 11 Mar 2024 at 16:45, Ben Okafor <ben@example.org> wrote:",
    "On Mon, 11 Mar 2024 at 16:45, Ben Okafor\n<ben@example.org> wrote:",
    "Am 11. März 2024 um 16:45 schrieb Ben Okafor <ben@example.org>:",
    "Le lun. 11 mars 2024 à 16:45, Ben Okafor <ben@example.org>\na écrit :",
    "El lun, 11 mar 2024 a las 16:45, Ben Okafor (<ben@example.org>) escribió:",
    "2024년 3월 11일 (월) 오후 4:45, Ben Okafor <ben@example.org>님이 작성:",
    "2024年3月11日(月) 16:45 Ben Okafor <ben@example.org>のメール:",
    "On Monday, Ben wrote:",
]


@pytest.mark.parametrize("introduction", INTRODUCTIONS)
def test_a_quote_ends_itself_and_not_what_follows(introduction):
    kept, left_out = without_quotes(f"{POOL}\n\n{introduction}\n\n> When?\n> Why?\n\n{ROOF}")
    assert kept.split() == [*POOL.split(), *ROOF.split()]
    assert left_out.split() == [*introduction.split(), *"> When? > Why?".split()]


def test_prose_with_the_words_of_a_header_or_an_introduction_stays():
    for text in (
        "From: the start it was clear.\nNobody asked.",
        "On 5 May 2024 the minister wrote: we agree.\nThen it rained.",
        "To: be or not.\nDate: unknown.",
    ):
        assert without_quotes(text) == (text, "")


def test_a_signature_ends_with_its_paragraph():
    kept, left_out = without_quotes(f"{POOL}\n\n-- \nAnna Holt\nHead of Leisure\n\n{ROOF}")
    assert kept == f"{POOL}\n\n{ROOF}" and left_out == "-- \nAnna Holt\nHead of Leisure"


def test_all_text_parts_also_after_a_picture():
    message = mail()
    message.set_content(POOL)
    message.add_attachment(b"\x89PNG", "image", "png", disposition="inline")
    message.add_attachment(ROOF, disposition="inline")
    assert mail_content(bytes(message)).text == f"{POOL}\n\n{ROOF}"


def test_attached_files_are_named_and_attached_mails_are_read():
    message, inner = mail(), mail("Roof")
    inner.set_content(ROOF)
    message.set_content(POOL)
    message.add_attachment(inner)
    message.add_attachment(b"%PDF-", "application", "pdf", filename="plan.pdf")
    content = mail_content(bytes(message))
    assert content.text == f"{POOL}\n\n{ROOF}"
    assert content.notes == ["the attached file plan.pdf is not read"]


@pytest.mark.parametrize("plain", ["", " \n", "This message needs a program that shows HTML."])
def test_html_where_the_plain_part_is_blank_or_a_stub(plain):
    message = mail()
    message.set_content(plain)
    message.add_alternative(HTML + "<p>" + "More words. " * 30 + "</p>", subtype="html")
    assert mail_content(bytes(message)).text.startswith(f"{POOL}\n\n{ROOF}")
    message = mail()
    message.set_content(f"{POOL} {ROOF}")
    message.add_alternative(HTML, subtype="html")
    assert mail_content(bytes(message)).text == f"{POOL} {ROOF}"


QUOTES = {
    "gmail": '<div class="gmail_quote"><div class="gmail_attr">On Mon, 11 Mar 2024 at 16:45, Ben'
    ' wrote:<br></div><blockquote class="gmail_quote"><p>{}</p></blockquote></div>',
    "apple": "<div>On 11 Mar 2024, at 16:45, Ben wrote:</div>"
    '<blockquote type="cite"><div>{}</div></blockquote>',
    "outlook": '<div style="border-top:solid #E1E1E1 1.0pt"><p><b>From:</b> Ben<br><b>Sent:</b>'
    " Monday<br><b>To:</b> Anna<br><b>Subject:</b> Pool</p></div><p>{}</p>",
}


@pytest.mark.parametrize("quote", QUOTES.values(), ids=QUOTES)
def test_quotes_in_html(quote):
    message = mail("Re: Pool")
    message.set_content(f"<p>{POOL}</p><p>Anna</p>{quote.format(ROOF)}", subtype="html")
    content = mail_content(bytes(message))
    assert content.text == f"{POOL}\n\nAnna" and ROOF in content.left_out


@pytest.mark.parametrize("charset", ["utf-8", "us-ascii", "x-unknown"])
def test_a_wrong_encoding_is_recognized_and_said(charset):
    head = f"From: a@x.org\nSubject: Cafe\nContent-Type: text/plain; charset={charset}\n"
    body = "Das Café öffnet am ersten Juni – endlich. Es kostet £300.".encode("cp1252")
    data = f"{head}Content-Transfer-Encoding: 8bit\n\n".encode() + body
    content = mail_content(data)
    assert content.text == body.decode("cp1252")
    assert any("cp1252" in note for note in content.notes)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mailbox_has_each_of_its_mails(end):
    lines = []
    for number in range(3):
        lines += ["From ben@example.org Mon Mar 11 16:45:00 2024", f"Subject: {number}", ""]
        lines += [f"It rained {number} times.", ">From here on too.", "", "-- ", "Ben", ""]
    mails = split_mailbox(end.join(lines).encode())
    texts = [mail_content(one).text for one in mails]
    assert texts == [f"It rained {n} times.\nFrom here on too." for n in range(3)]


@pytest.mark.parametrize("end", [b";", b'"', b"\n a"])
def test_headers_are_cut(monkeypatch, end):
    """Python reads them in a time that grows as the square of their length: 25 kB took 26 s."""
    read, lengths = ContentTypeHeader.value_parser, []
    parse = staticmethod(lambda value: [lengths.append(len(value)), read(value)][1])
    monkeypatch.setattr(ContentTypeHeader, "value_parser", parse)
    data = b"Subject: Rain\nContent-Type: text/plain; " + end * 3000 + b"\n\nIt rained.\n"
    assert mail_content(data).text == "It rained." and 0 < max(lengths) <= 1000


def test_many_lines_take_no_time_squared():
    begin = time.process_time()
    without_quotes("\n" * 50_000 + "x\n" * 50_000 + "> y\n" * 50_000)
    first = time.process_time() - begin
    begin = time.process_time()
    without_quotes("\n" * 200_000 + "x\n" * 200_000 + "> y\n" * 200_000)
    assert time.process_time() - begin < 16 * max(first, 0.1)
