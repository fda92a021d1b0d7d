"""Mail and mailboxes: all that their writers wrote, without the mail that they answer."""

import dataclasses
import email.policy
import re
from email.message import EmailMessage
from typing import cast

from tfsum.inputs.content import Content, of_paragraphs
from tfsum.inputs.kinds import decode
from tfsum.inputs.quoted_mail import without_quotes

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
    if not content.text:  # it says nothing of its own: a reader gets what it quotes
        return dataclasses.replace(content, text=content.left_out, left_out="")
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
