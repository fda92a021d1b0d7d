"""Mail and mailboxes: all that their writers wrote, without the mail that they answer.

It is told apart by what mail programs write above a quoted mail, in the words of
`quoted_mail.toml`.
"""

import dataclasses
import email.policy
import pathlib
import re
import tomllib
from email.message import EmailMessage
from typing import cast

from tfsum.inputs.documents import Document, of_paragraphs
from tfsum.inputs.kinds import decode

HEADER = 1000  # characters of a header; RFC 5322 lets a line have 998
STUB = 0.25  # of the words of HTML: a plain part with fewer says to look at that
_BEGIN = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From \S+[^\r\n]*\d\d:\d\d[^\r\n]*\r?\n")
FEW = 12  # words above a mail that is forwarded and not answered
LONGEST = 250  # characters of an introduction, which may take three lines

_MARKS = tomllib.loads(
    pathlib.Path(__file__).with_name("quoted_mail.toml").read_text(encoding="utf-8")
)


_FEW_WORDS = r"(?:[^.,!?:;\n]|\]\(\S+\)){1,50}?"  # and addresses of Markdown


def _any(name: str) -> str:
    """A pattern of the phrases of a list, the longest first."""
    phrases = sorted(_MARKS[name], key=len, reverse=True)
    patterns = [re.escape(phrase).replace(r"\ ", r"\s*") for phrase in phrases]
    return "|".join(pattern.replace(r"\*", _FEW_WORDS) for pattern in patterns)


_DASHES = r"\s*[-‐]{2,}\s*"
_FROM_LINE = re.compile(rf"\s*[*_]*(?:{_any('from')})\s?[*_]*\s?[:：]", re.I)
_FIELD_LINE = re.compile(rf"\s*[*_]*(?:{_any('from')}|{_any('fields')})\s?[*_]*\s?[:：]", re.I)
_RULE = re.compile(r"\s*[-_*=─]{5,}\s*")
_ORIGINAL = re.compile(rf"{_DASHES}(?:{_any('original')}){_DASHES}", re.I)
_FORWARDED = re.compile(
    rf"{_DASHES}(?:{_any('forwarded')}).*|\s*(?:{_any('forwarded')})\s*[:：]\s*", re.I
)
_OPENING = re.compile(rf"\s*(?:(?:{_any('opening')})(?![^\W\d_])|\d{{4}} ?[년年/.-])")
_WROTE = re.compile(_any("wrote"))
_WROTE_LAST = re.compile(rf"(?:{_any('wrote')})\s*(?:-{{2,}})?\s*\Z")
_DATE = re.compile(r"\d{4}|\d{1,2}[./-]\d{1,2}[./-]\d{2}")
_TIME = re.compile(r"\d{1,2}[:.h]\d{2}")
_ADDRESS = re.compile(r"[^\s@]@[^\s@]+\.\w")
_DATED = re.compile(r".*(?:\d{4}|\d[:.h]\d\d|@)", re.S)
_QUOTED = re.compile(r"\s*[>|].*")
_SIGNATURE = re.compile(r"-- ?")
_PROGRAM = re.compile(rf"\s*(?:{_any('signature')})\.?\s*(?:[<\[(]\S+[>\])])?\s*")
_FORWARDS = re.compile(rf"\s*(?:{_any('forwards')})\s*[:：]", re.I)
_ANSWERS = re.compile(rf"\s*(?:{_any('answers')})\s*(?:\[\d+\])?[:：]", re.I)


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
    mails = _BEGIN.split(data)[1:]
    return [re.sub(rb"(?m)^>(>*From )", rb"\1", mail) for mail in mails] or [data]


def mailbox_contents(data: bytes) -> list[Document]:
    """The texts of the mails of a mailbox; of a file with one mail, that.

    Args:
        data: Content of the file.
    """
    return [*map(mail_content, split_mailbox(data))]


def mail_content(data: bytes) -> Document:
    """The text of a mail: of all its parts, and of the mails that are attached to it.

    Args:
        data: Content of one mail.

    Example:
        >>> content = mail_content(b"Subject: Re: Rain\\n\\nIt did.\\n> Did it rain?\\n")
        >>> content.text, content.left_out
        ('It did.', '> Did it rain?')
    """
    message = cast(EmailMessage, email.message_from_bytes(data, EmailMessage, policy=_Policy()))
    content = _content(message, str(message.get("Subject", "")))
    if not content.text:  # it says nothing of its own: a reader gets what it quotes
        return dataclasses.replace(content, text=content.left_out, left_out="")
    if words := content.left_out.split():
        content.notes.append(f"{len(words)} words of quoted mail and signatures are left out")
    return content


def _content(part: EmailMessage, subject: str) -> Document:
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


def _leaf(part: EmailMessage, subject: str) -> Document:
    kind, file = part.get_content_type(), part.get_filename()
    if kind not in ("text/plain", "text/html") or part.is_attachment():
        is_named = file and part.get_content_maintype() != "image"
        return Document("", [f"the attached file {file} is not read"] if is_named else [])

    text, notes = _decoded(part)
    if kind == "text/html" and text.strip():
        from tfsum.inputs.html_text import html_lines, parse_html

        text = html_lines(parse_html(text))
    kept, left_out = without_quotes(text, subject)
    return Document(kept, notes, left_out)


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
    r"""Parts what the writer of a mail wrote from what the mail quotes.

    A signature ends with its paragraph. A quoted mail without `>` goes on to the end; one that is
    forwarded, as the subject, a line or a few words above it say, is kept without its header.

    Args:
        text: Body of a mail.
        subject: Its subject.

    Returns:
        The text, and the lines that are left out.

    Example:
        >>> without_quotes("It did.\n\nOn 11 Mar 2024 Ben wrote:\n> Did it rain?\n\nA lot.")
        ('It did.\n\nA lot.', 'On 11 Mar 2024 Ben wrote:\n> Did it rain?')
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
            is_left_out = _QUOTED.match(lines[place]) or _is_of_program(lines, place)
            (left_out if is_left_out else kept).append(lines[place])
        place = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), "\n".join(left_out)


def _is_of_program(lines: list[str], place: int) -> bool:
    """Whether a line is what a program puts below a mail: the last, or one above a quote."""
    is_last = place + 1 == len(lines) or _opens_header(lines[place + 1])
    is_program = bool(_PROGRAM.fullmatch(lines[place]))
    return is_program and (is_last or bool(_introduction_size(lines, place + 1)))


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
    header = lines[first:end]
    if sum(map(bool, map(_FIELD_LINE.match, header))) >= 3 and any(map(_FROM_LINE.match, header)):
        return end - place
    return first - place if is_marked else 0


def _opens_header(line: str) -> bool:
    return not line.strip() or any(mark.fullmatch(line) for mark in (_RULE, _ORIGINAL, _FORWARDED))


def _continues_header(line: str, is_first: bool) -> bool:
    """Whether a line is one of a header: a field, or more of the addresses of one."""
    is_more = not is_first and line.strip() and re.search(r"^\s|[@;>]", line)
    return bool(_FIELD_LINE.match(line) or is_more)


def _introduction_size(lines: list[str], place: int) -> int:
    """The number of lines of an "On ... wrote:" that begins here; 0 where none does."""
    for size in range(1, 4):
        taken = lines[place : place + size]
        # what begins below is an introduction without the line here
        begins_below = any(_introduces(" ".join(taken[i:])) for i in range(1, size))
        if not all(map(str.strip, taken)) or any(map(_QUOTED.match, taken)) or begins_below:
            return 0
        if _introduces(" ".join(taken)):
            return size
    return 0


def _introduces(text: str) -> bool:
    if len(text) > LONGEST:
        return False
    is_timed = bool(_DATE.search(text) and _TIME.search(text))
    has_verb, has_address = bool(_WROTE.search(text)), bool(_ADDRESS.search(text))
    if text.rstrip().endswith((":", "：")):
        return bool(has_verb and _OPENING.match(text)) or (is_timed and (has_verb or has_address))
    return is_timed and has_address and bool(_WROTE_LAST.search(text))
