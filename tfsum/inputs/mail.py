"""Mail and mailboxes: all that their writers wrote, without the mail that they answer."""

import dataclasses
import email.policy
import re
from email.message import EmailMessage
from typing import cast

from tfsum.inputs.content import Content, of_paragraphs
from tfsum.inputs.kinds import decode

# Lines of the header above a quoted mail, in the languages of mail programs.
_FROM = "From|Von|De|Da|Van|Från|Fra|Od|От|보낸 ?사람|발신자?|差出人|发件人|寄件者|寄件人"
_FIELDS = (
    "Sent|Date|Gesendet|Datum|Envoyé|Enviado|Fecha|Inviato|Data|Verzonden|Skickat|Sendt|Wysłano"
    "|Отправлено|Дата|보낸 ?날짜|날짜|送信日時|日付|日時|发送时间|日期|寄件日期|傳送日期"
    "|To|An|À|A|Para|Aan|Till|Til|Do|Кому|받는 ?사람|수신자?|宛先|收件人"
    "|Cc|Bcc|Kopie|Copia|참조|抄送|Копия|Reply-To|Importance|Priorité|Wichtigkeit|중요도"
    "|Subject|Betreff|Objet|Asunto|Assunto|Oggetto|Onderwerp|Ämne|Emne|Temat|Тема|제목|件名|主题|主旨"
)
_FROM_LINE = re.compile(rf"\s*\*?(?:{_FROM})\s?\*?\s?[:：]", re.I)
_FIELD_LINE = re.compile(rf"\s*\*?(?:{_FROM}|{_FIELDS})\s?\*?\s?[:：]", re.I)
_RULE = re.compile(r"\s*[-_*=─]{5,}\s*")
_ORIGINAL = re.compile(
    r"\s*-{2,}\s*(?:Original[ -]?(?:Message|Nachricht)|Ursprüngliche Nachricht|Message d'origine"
    r"|Mensaje original|Messaggio originale|Oorspronkelijk bericht|원본 ?(?:메시지|메일)|원본"
    r"|元のメッセージ|原始邮件|原始郵件)\s*-{2,}\s*",
    re.I,
)
_FORWARDED = re.compile(
    r"\s*(?:-{2,}\s*(?:Forwarded|Weitergeleitete|Message transféré|Mensaje reenviado"
    r"|Messaggio inoltrato|Doorgestuurd|Vidarebefordrat|Przekazana|전달된|転送|转发).*"
    r"|(?:Begin forwarded message|Anfang der weitergeleiteten (?:Nachricht|E-?Mail)"
    r"|Début du message (?:réexpédié|transféré)|Inizio messaggio inoltrato|전달된 (?:메시지|이메일)"
    r")\s*[:：]?\s*)",
    re.I,
)
# "On Monday at 16:45 Ben wrote:", in up to three lines.
_INTRODUCTION = re.compile(
    r"\s*(?:On|Am|Le|El|Em|Il|Op|Den|W dniu|Dnia|\d{4} ?[年년/.-]|在|于)"
    r".{3,200}?(?:wrote|writes|schrieb|a écrit|escribió|escreveu"
    r"|ha scritto|schreef|skrev|napisał\(?a?\)?|пишет|написал\(?а?\)?|작성|썼습니다"
    r"|のメール|写道|寫道)"
    r".{0,80}[:：]\s*"
)
_DATED = re.compile(r".*(?:\d{4}|\d[:.h]\d\d|@)", re.S)
_QUOTED = re.compile(r"\s*[>|].*")
_SIGNATURE = re.compile(r"-- ?")
_FORWARDS = re.compile(
    r"\s*(?:fwd?|wg|tr|rv|rif|enc|doorst|vb|vs|vl|pd|전달|転送|转发|轉寄)\s*[:：]", re.I
)
_ANSWERS = re.compile(r"\s*(?:re|aw|sv|antw?|odp|r|답장|回复|回覆)\s*(?:\[\d+\])?[:：]", re.I)
FEW = 12  # words above a mail that is forwarded and not answered
HEADER = 1000  # characters of a header; RFC 5322 lets a line have 998
STUB = 0.25  # of the words of HTML: a plain part with fewer says to look at that
_BEGIN = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From \S+[^\r\n]*\d\d:\d\d[^\r\n]*\r?\n")


class _Policy(email.policy.EmailPolicy):
    """Cuts headers, which Python reads in a time that grows as the square of their length."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:HEADER]


def split_mailbox(data: bytes) -> list[bytes]:
    """The mails of a mailbox (mbox, RFC 4155); of a file with one mail, that.

    Args:
        data: Content of the file.

    Example:
        >>> box = b"From a@b Mon Mar 11 16:45:00 2024\\nSubject: %d\\n\\nIt rained.\\n\\n"
        >>> [mail[:10] for mail in split_mailbox(box % 1 + box % 2)]
        [b'Subject: 1', b'Subject: 2']
    """
    begins = list(_BEGIN.finditer(data))
    if not begins:
        return [data]
    ends = [*(begin.start() for begin in begins[1:]), len(data)]
    mails = [data[begin.end() : end] for begin, end in zip(begins, ends)]
    return [re.sub(rb"(?m)^>(>*From )", rb"\1", mail) for mail in mails]


def mail_content(data: bytes) -> Content:
    """The text of a mail: of all its parts, and of the mails that are attached to it.

    Args:
        data: Content of one mail.

    Example:
        >>> content = mail_content(b"Subject: Re: Rain\\n\\nIt did.\\n> Did it rain?\\n")
        >>> content.text, content.left_out
        ('It did.', '> Did it rain?')
    """
    parsed = email.message_from_bytes(data, _class=EmailMessage, policy=_Policy())
    message = cast(EmailMessage, parsed)
    content = _content(message, str(message.get("Subject", "")))
    if content.left_out:
        words = len(content.left_out.split())
        content.notes.append(f"{words} words of quoted mail and signatures are left out")
    return content


def _content(part: EmailMessage, subject: str) -> Content:
    if part.get_content_type() == "message/rfc822":
        attached = cast(EmailMessage, part.get_payload(0))
        return _content(attached, str(attached.get("Subject", "")))
    if not part.is_multipart():
        return _leaf(part, subject)
    parts = [_content(cast(EmailMessage, one), subject) for one in part.iter_parts()]
    if part.get_content_type() != "multipart/alternative" or not parts:
        notes = [note for one in parts for note in one.notes]
        left_out = "\n".join(one.left_out for one in parts if one.left_out)
        return dataclasses.replace(
            of_paragraphs((one.text for one in parts), notes), left_out=left_out
        )
    # all say the same, the plain text first, which may be empty or say only that there is HTML
    plain, best = parts[0], max(parts, key=lambda one: len(one.text.split()))
    return best if len(plain.text.split()) < STUB * len(best.text.split()) else plain


def _leaf(part: EmailMessage, subject: str) -> Content:
    kind, file = part.get_content_type(), part.get_filename()
    if kind not in ("text/plain", "text/html") or part.is_attachment():
        is_named = file and part.get_content_maintype() != "image"
        return Content("", [f"the attached file {file} is not read"] if is_named else [])

    text, notes = _decoded(part)
    if kind == "text/html" and text.strip():
        from tfsum.inputs.html_lines import html_lines, parse_html

        text = html_lines(parse_html(text))
    kept, left_out = without_quotes(text, subject)
    return Content(kept, notes, left_out)


def _decoded(part: EmailMessage) -> tuple[str, list[str]]:
    """The text of a part in the encoding that it names; recognized where that is wrong."""
    data = cast(bytes, part.get_payload(decode=True) or b"")
    named = part.get_content_charset("ascii")
    try:
        return data.decode(named), []
    except (LookupError, UnicodeDecodeError):
        text, notes = decode(data, "mail")
        return text, notes if named in ("ascii", "us-ascii") else [f"is not {named}", *notes]


def without_quotes(text: str, subject: str = "") -> tuple[str, str]:
    """Parts what the writer of a mail wrote from what the mail quotes.

    A signature ends with its paragraph. A quoted mail without `>` goes on to the end; one that is
    forwarded, as the subject, a line or a few words above it say, is kept without its header.

    Args:
        text: Body of a mail.
        subject: Its subject.

    Returns:
        The text, and the lines that are left out.

    Example:
        >>> without_quotes("It did.\\n\\nOn 11 Mar 2024 Ben wrote:\\n> Did it rain?\\n\\nA lot.")
        ('It did.\\n\\nA lot.', 'On 11 Mar 2024 Ben wrote:\\n> Did it rain?')
    """
    lines, place = text.splitlines(), 0
    kept, left_out = list[str](), list[str]()
    keeps = bool(_FORWARDS.match(subject))
    while place < len(lines):
        if not lines[place].strip():
            end = place + 1
            kept.append("")
        elif size := _header_size(lines, place):
            few = len(" ".join(kept).split()) <= FEW and not _ANSWERS.match(subject)
            keeps = keeps or few or any(map(_FORWARDED.fullmatch, lines[place : place + size]))
            end = place + size if keeps else len(lines)
            left_out += [] if keeps else lines[place:]
        elif size := _introduction_size(lines, place):
            end = place + size
            following = next((line for line in lines[end:] if line.strip()), "")
            is_dated = _DATED.match("\n".join(lines[place:end]))
            if not _QUOTED.match(following):
                end = len(lines) if is_dated else end
            (left_out if is_dated or _QUOTED.match(following) else kept).extend(lines[place:end])
        elif _SIGNATURE.fullmatch(lines[place]):
            blanks = (i for i in range(place + 2, len(lines)) if not lines[i].strip())
            end = next(blanks, len(lines))
            left_out += lines[place:end]
        else:
            end = place + 1
            (left_out if _QUOTED.match(lines[place]) else kept).append(lines[place])
        place = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), "\n".join(left_out)


def _header_size(lines: list[str], place: int) -> int:
    """The number of lines of the header of a quoted mail that begins here; 0 where none does."""
    first = place
    while first < min(len(lines), place + 4) and _opens_header(lines[first]):
        first += 1
    is_marked = any(
        _ORIGINAL.fullmatch(line) or _FORWARDED.fullmatch(line) for line in lines[place:first]
    )

    end = first
    while end < len(lines) and _continues_header(lines[end], is_first=end == first):
        end += 1
    if sum(bool(_FIELD_LINE.match(line)) for line in lines[first:end]) >= 3:
        return end - place
    return first - place if is_marked else 0


def _opens_header(line: str) -> bool:
    marks = (_RULE, _ORIGINAL, _FORWARDED)
    return not line.strip() or any(mark.fullmatch(line) for mark in marks)


def _continues_header(line: str, is_first: bool) -> bool:
    """Whether a line is one of a header: a field, or more of the addresses of one."""
    if is_first:
        return bool(_FROM_LINE.match(line))
    return bool(_FIELD_LINE.match(line)) or bool(line.strip() and re.search(r"^\s|[@;>]", line))


def _introduction_size(lines: list[str], place: int) -> int:
    """The number of lines of an "On ... wrote:" that begins here; 0 where none does."""
    sizes = range(1, 4)
    return next(
        (n for n in sizes if _INTRODUCTION.fullmatch(" ".join(lines[place : place + n]))), 0
    )
