"""What the writer of a mail wrote, and what the mail quotes: told apart by what mail programs write
above a quoted mail, in the words of `quoted_mail.toml`."""

import pathlib
import re
import tomllib

FEW = 12  # words above a mail that is forwarded and not answered
LONGEST = 250  # characters of an introduction, which may take three lines

_MARKS = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


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
    if not _PROGRAM.fullmatch(lines[place]):
        return False
    is_last = place + 1 == len(lines) or _opens_header(lines[place + 1])
    return is_last or bool(_introduction_size(lines, place + 1))


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
    marks = (_RULE, _ORIGINAL, _FORWARDED)
    return not line.strip() or any(mark.fullmatch(line) for mark in marks)


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
        opens = has_verb and bool(_OPENING.match(text))
        return opens or (is_timed and (has_verb or has_address))
    return is_timed and has_address and bool(_WROTE_LAST.search(text))
