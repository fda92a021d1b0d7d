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
    "bold": "*From:* Ben\n*Sent:* Monday\n*To:* Anna\n*Subject:* Pool",
    "date first": "Gesendet: Montag um 16:45 Uhr\nVon: Ben <b@x.org>\nAn: Anna\nBetreff: Bad",
    "Outlook for Mac": "From: Ben\nDate: Monday, 11 March 2024\nTo: Anna\nSubject: Pool",
    "Orange": "Message du : 11/03/2024 16:45\nDe : Ben\nA : Anna\nCopie à :\nSujet : Piscine",
    "Spanish": "De: Ben\nEnviado el: lunes, 11 de marzo de 2024 16:45\nPara: Anna\nAsunto: Piscina",
    "Portuguese": "De: Ben\nEnviada em: segunda-feira, 11 de março\nPara: Anna\nAssunto: Piscina",
    "Italian": "Da: Ben\nInviato: lunedì 11 marzo 2024 16:45\nA: Anna\nOggetto: Piscina",
    "Dutch": "Van: Ben\nVerzonden: maandag 11 maart 2024 16:45\nAan: Anna\nOnderwerp: Zwembad",
    "Danish": "--- Oprindelig besked ---\nFra: Ben\nDato: 11.03.2024\nTil: Anna\nEmne: Bad",
    "Polish": "Od: Ben\nWysłano: poniedziałek, 11 marca 2024 16:45\nDo: Anna\nTemat: Basen",
    "Czech": "Od: Ben\nOdesláno: pondělí 11. března 2024 16:45\nKomu: Anna\nPředmět: Bazén",
    "Hungarian": "Feladó: Ben\nElküldve: 2024. március 11.\nCímzett: Anna\nTárgy: Uszoda",
    "Turkish": "Kimden: Ben\nGönderildi: 11 Mart 2024 16:45\nKime: Anna\nKonu: Havuz",
    "Russian": "От: Ben\nОтправлено: 11 марта 2024 г. 16:45\nКому: Anna\nТема: Бассейн",
    "Japanese": "差出人: Ben\n送信日時: 2024年3月11日 16:45\n宛先: Anna\n件名: プール",
    "Chinese": "发件人: Ben\n发送时间: 2024年3月11日 16:45\n收件人: Anna\n主题: 泳池",
    "QQ": "------------------ 原始邮件 ------------------\n发件人: Ben;\n日期: 2024\n收件人: Anna",
    "Taiwan": "寄件者: Ben\n寄件日期: 2024年3月11日\n收件者: Anna\n主旨: 泳池",
    "Naver": "-----Original Message-----\nFrom: Ben\nTo: Anna\nCc:\nSent: 2024\nSubject: 수영장",
    "Daum": "--- 원본 메일 ---\n보낸사람: Ben\n받는사람: Anna\n날짜: 2024년\n제목: 수영장",
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
    "2024年3月11日(月) 16:45 Ben Okafor <ben@example.org>:",
    "2024/03/11 16:45、Ben Okafor <ben@example.org>のメール:",
    "Ben Okafor <ben@example.org> 于2024年3月11日周一 16:45写道：",
    "在 2024-03-11 16:45:11，Ben 写道：",
    "2024-03-11 오후 4:45에 Ben 이(가) 쓴 글:",
    "pon., 11 mar 2024 o 16:45 Ben Okafor <ben@example.org>\nnapisał(a):",
    "пн, 11 мар. 2024 г. в 16:45, Ben Okafor <ben@example.org>:",
    "11.03.2024 16:45, Ben пишет:",
    "Понедельник, 11 марта 2024, 16:45 +03:00 от Ben <ben@example.org>:",
    "Em seg., 11 de mar. de 2024 às 16:45, Ben <ben@example.org> escreveu:",
    "Il giorno lun 11 mar 2024 alle ore 16:45 Ben <ben@example.org> ha scritto:",
    "Op ma 11 mrt 2024 om 16:45 schreef Ben <ben@example.org>:",
    "man. 11. mar. 2024 kl. 16:45 skrev Ben <ben@example.org>:",
    "Am Montag, 11. März 2024 um 16:45:11 MEZ hat Ben <ben@example.org> Folgendes geschrieben:",
    "On Monday, March 11, 2024 at 04:45:11 PM GMT+1, Ben <ben@example.org> wrote:",
    "On Monday, March 11th, 2024 at 4:45 PM, Ben <ben@example.org> wrote:",
    "---- On Mon, 11 Mar 2024 16:45:11 +0100 Ben <ben@example.org> wrote ----",
    "2024.03.11. 16:45 keltezéssel, Ben írta:",
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
        "We met at 16:45 on 11 March 2024.\nWrite to Ben:\nhe knows.",
        "The letter was not\nsent from the capital.\n\nSent from Rome, it took a week.",
    ):
        assert without_quotes(text) == (text, "")


@pytest.mark.parametrize("introduction", INTRODUCTIONS)
def test_an_introduction_begins_below_what_was_written(introduction):
    kept, left_out = without_quotes(f"On Thursday we will.\n{introduction}\n> When?\n")
    assert kept == "On Thursday we will." and left_out.startswith(introduction)


@pytest.mark.parametrize(
    "line",
    [
        "Sent from my iPhone",
        "Get Outlook for iOS<https://aka.ms/o0ukef>",
        "Sent with [Proton Mail](https://proton.me/mail/home) secure email.",
        "Von meinem iPad gesendet",
        "Gesendet von Outlook für Android<https://aka.ms/x>",
        "Envoyé de mon iPhone",
        "Enviado desde mi iPhone",
        "Inviato da iPhone",
        "Отправлено с iPhone",
        "iPhoneから送信",
        "나의 iPhone에서 보냄",
        "发自我的 iPhone",
    ],
)
def test_what_a_program_puts_below_a_mail_is_left_out(line):
    for end in ("", "\n\n> When?", "\nOn Mon, 11 Mar 2024 at 16:45 Ben <b@x.org> wrote:\n> When?"):
        kept, left_out = without_quotes(f"{POOL}\n\n{line}{end}")
        assert kept == POOL and left_out.startswith(line)


def test_a_mail_that_only_quotes_is_read():
    data = f"Subject: Re: Pool\n\nOn Mon, 11 Mar 2024 at 16:45 Ben wrote:\n> {POOL}\n".encode()
    assert POOL in mail_content(data).text


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
    "thunderbird": '<div class="moz-cite-prefix">On 11/03/2024 16:45, Ben wrote:<br></div>'
    '<blockquote type="cite" cite="mid:x"><p>{}</p></blockquote>'
    '<pre class="moz-signature">-- \nAnna Holt\nHead of Leisure</pre>',
    "yahoo": '<div class="yahoo_quoted"><div>On Monday, March 11, 2024 at 04:45:11 PM GMT+1, Ben'
    " &lt;ben@example.org&gt; wrote:</div><div><br></div><div>{}</div></div>",
    "proton": '<div class="protonmail_signature_block-proton">Sent with <a href="https://proton.me">'
    'Proton Mail</a> secure email.</div><div class="protonmail_quote">On Monday, March 11th, 2024'
    ' at 4:45 PM, Ben wrote:<br><blockquote class="protonmail_quote">{}</blockquote></div>',
    "outlook on the web": '<hr><div id="divRplyFwdMsg"><b>From:</b> Ben<br><b>Sent:</b> Monday<br>'
    "<b>To:</b> Anna<br><b>Subject:</b> Pool<div>&nbsp;</div></div><div>{}</div>",
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
    without_quotes("\n" * 12_500 + "x\n" * 12_500 + "> y\n" * 12_500)
    first = time.process_time() - begin
    begin = time.process_time()
    without_quotes("\n" * 50_000 + "x\n" * 50_000 + "> y\n" * 50_000)
    assert time.process_time() - begin < 16 * max(first, 0.1)
