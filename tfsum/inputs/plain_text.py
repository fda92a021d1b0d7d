"""The prose of plain texts: what was said, in subtitles, transcripts with times or numbered lines
and exported chats; words that the ends of lines break; no tables."""

import html
import re
from collections.abc import Iterable

_TIME = r"(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
_CUE = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}.*")
_TIMED = re.compile(rf"\s*[\[(]?{_TIME}(?:\s*(?:-->|[-–])\s*{_TIME})?[\])]?[\s:–-]*(?=\D|$)")
_SPEAKER = re.compile(
    rf"(\S[^\n:]{{0,40}}?)\s+[\[(]?{_TIME}(?:\s?[AP]M)?[\])]?\s*$"
)  # Anna Holt  0:03
_BEGINS = re.compile(r"\s*(?:[\[(]|00?:)")  # at nought, or in brackets: an agenda does not
_NUMBERED = re.compile(r"\s*(\d{1,2})(?:\s+|$)(.*)")
_MESSAGE = re.compile(
    r"\u200e?\[?(?:\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}\.?|\d{4}년 \d{1,2}월 \d{1,2}일),?\s+"
    r"(?:오전|오후)?\s?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?\s?m\.?)?\]?(?:\s[-–]|,)?\s(.*)",
    re.I,
)
_SAID = re.compile(r"\u200e?[^:\n]{1,60}(?: :|:)\s")  # who, in a message
_VOICE = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]+)>")
_TAG = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_SOUND = re.compile(r"[\W_]*(?:\[[^\]]*\]|\([^)]*\)|[♪♫].*)[\W_]*")
_TURN = re.compile(r"[-–—>]+\s*\S|[QA][.:]\s|[QA]\s{2,}|[^\W\d_][\w .'-]{0,30}:(?:\s|$)")
MOST = 0.6  # share of the lines that have a mark in such a file
SOME = 0.3  # the same where several lines may follow one with it
# A line with `|`, a line of dashes for each column, and the lines with `|` that follow.
_DASHES = r"[^\S\r\n]*+:*+-[-:]*+[^\S\r\n]*+"
_TABLE = re.compile(
    r"(?<![^\r\n])[^|\r\n]*+\|[^\r\n]*+(?:\r\n|\r|\n)"
    rf"(?=[^|\r\n]*+\|)[^\S\r\n]*+\|*+{_DASHES}(?:\|{_DASHES})*+\|*+[^\S\r\n]*+"
    r"(?:(?:\r\n|\r|\n)[^|\r\n]*+\|[^\r\n]*+)*+(?=[\r\n]|\Z)"
)
# First parts of compounds that keep their hyphen: well-known, long-term.
_COMPOUND = frozenset(
    "well ill self half all cross ex non long short high low full part first second third fourth"
    " fifth last old new open close hard soft deep wide early late left right free fast slow good"
    " bad best big small one two three four five six seven eight nine ten twenty thirty forty fifty"
    " sixty seventy eighty ninety state north south east west mid co post pre anti middle real"
    " single double multi decision policy year month day week hour so".split()
)
_HYPHENS = "\u2010\xad-"
_LETTERS = r"[^\W\d_]+"
_FIRST = re.compile(rf"({_LETTERS}(?:[-'’\u2010]{_LETTERS})*)[{_HYPHENS}]$")
_BROKEN = re.compile(rf"[{_HYPHENS}]([^\S\r\n]*\r?\n[^\S\r\n]*)({_LETTERS}\S*)")
_LONGEST = 60  # letters of the first part of a word
_SECOND = re.compile(_LETTERS)
_SERIES = re.compile(r"(?:and|or|und|oder|bis|et|ou|y|o|e|en|of)\b")  # pre- and postwar


def prose(text: str) -> str:
    """A plain text as its model is to read it.

    Args:
        text: Content of a file.

    Example:
        >>> prose("the swim-\\nming pool")
        'the swimming\\n  pool'
    """
    said = spoken_text(text)
    if said is None:
        return whole_lines(without_tables(text))
    return said


def spoken_text(text: str) -> str | None:
    """What was said in a text, without times and numbers, a line for each who speaks.

    Lines of rolling captions, which repeat what stands above them, are there once; what a chat's
    program says in it, and sounds, are left out.

    Args:
        text: Content of a file.

    Returns:
        The words; None where the text is no subtitles, transcript or chat.

    Example:
        >>> print(
        ...     spoken_text('''1
        ... 00:00:01,000 --> 00:00:03,000
        ... It rained all day in the
        ...
        ... 2
        ... 00:00:03,000 --> 00:00:04,000
        ... north.
        ... ''')
        ... )
        It rained all day in the north.
    """
    every = text.lstrip("\ufeff").splitlines()
    lines = [line for line in every if line.strip()]

    def have(mark: re.Pattern[str], share: float) -> bool:
        return sum(bool(mark.match(line)) for line in lines) >= max(2, share * len(lines))

    if lines and (lines[0].startswith("WEBVTT") or any(map(_CUE.fullmatch, lines[:2]))):
        return _turns(_cues(every))
    if have(_MESSAGE, SOME):
        return _messages(lines)
    if have(_TIMED, MOST) and _BEGINS.match(lines[0]):
        return _turns(_TIMED.sub("", line, count=1) for line in lines)
    if have(_SPEAKER, SOME):
        return _turns(_SPEAKER.sub(r"\1: ", line) for line in lines)
    if have(_NUMBERED, MOST) and _counts(lines):
        return _turns(_NUMBERED.sub(r"\2", line, count=1) for line in lines)
    return None


def _counts(lines: list[str]) -> bool:
    """Whether the numbers of lines count them, as on the pages of a deposition."""
    numbers = [int(found[1]) for found in map(_NUMBERED.match, lines) if found]
    steps = sum(second == first + 1 for first, second in zip(numbers, numbers[1:]))
    return steps >= 0.9 * (len(numbers) - 1)


def _cues(lines: list[str]) -> Iterable[str]:
    """The words of subtitles (SubRip, WebVTT)."""
    voice = ""
    is_cue = False
    for line in lines:
        if _CUE.fullmatch(line):
            is_cue = True
        elif not line:  # what follows is the number or the name of the next
            is_cue = False
        elif is_cue:
            words = html.unescape(_TAG.sub("", line))
            found = _VOICE.search(line)
            if found and found[1] != voice:
                voice = found[1]
                words = f"{voice}: {words}"
            yield words


def _turns(lines: Iterable[str]) -> str:
    """Joins lines to one for each turn."""
    turns: list[str] = []
    before: list[str] = []
    for line in lines:
        words = " ".join(line.split())
        if not words or words in before or _SOUND.fullmatch(words):
            continue
        before = [*before[-1:], words]
        if turns and not _TURN.match(line.strip()):
            turns[-1] += f" {words}"
        else:
            turns.append(words.lstrip("-–—> "))
    return "\n".join(turns)


def _messages(lines: list[str]) -> str:
    """The messages of a chat, each with the name of who wrote it."""
    messages: list[str] = []
    is_said = False
    for line in lines:
        found = _MESSAGE.fullmatch(line)
        if found:
            is_said = bool(_SAID.match(found[1]))
        if is_said and found:
            messages.append(found[1])
        elif is_said:
            messages[-1] += f" {line.strip()}"
    return "\n".join(messages)


def without_tables(text: str) -> str:
    """A text with spaces in place of its tables, so that all else keeps its offset.

    A table is a line with `|`, below it a line of dashes for each column, and the lines with `|`
    that follow (GitHub Flavored Markdown, section 4.10); its rows are no sentences.

    Args:
        text: Text, which need not be Markdown.

    Example:
        >>> without_tables(
        ...     "It rained.\\n\\n| day | mm |\\n|---|--:|\\n| Monday | 12 |\\nIt stopped."
        ... )
        'It rained.\\n\\n            \\n         \\n               \\nIt stopped.'
    """
    return _TABLE.sub(lambda table: re.sub(r"[^\r\n]", " ", table[0]), text)


def join_lines(before: str, after: str, words: frozenset[str] = frozenset()) -> str:
    """One line of two, the second of which goes on where the first ends.

    A hyphen between them goes where it only breaks a word. It stays where the text has the word
    with it elsewhere, in compounds that are written with one, and before a capital.

    Args:
        before: A line without white space at its end.
        after: The next one, without white space at its begin.
        words: Words of the text, from `whole_words`.

    Example:
        >>> join_lines("They close the swim-", "ming pool of a well-")
        'They close the swimming pool of a well-'
        >>> join_lines("a well-", "known club"), join_lines("pre-", "and postwar")
        ('a well-known club', 'pre- and postwar')
    """
    first, second = _FIRST.search(before), _SECOND.match(after)
    if before.endswith("\xad"):
        return before[:-1] + after
    if not first or not second or _SERIES.match(after):
        is_hyphened = before[-1:] in tuple(_HYPHENS) and before[-2:-1].isalnum()
        is_number = before[-2:-1].isdigit() or after[:1].isdigit()
        return before + after if is_hyphened and is_number else f"{before} {after}"

    whole = f"{first[1]}{second[0]}".lower()
    compound = f"{first[1]}-{second[0]}".lower()
    last = first[1].lower().rpartition("-")[2]
    is_compound = last in _COMPOUND or len(last) == 1 or first[1].count("-") > 1
    if not second[0][0].islower() or compound in words or (is_compound and whole not in words):
        return before + after
    return before[:-1] + after


def whole_lines(text: str) -> str:
    """A text whose words are whole where its lines break them.

    The new line goes behind the word, and spaces take the place of a hyphen that goes: all else
    keeps its offset.

    Args:
        text: Text of lines.

    Example:
        >>> whole_lines("the swim-\\nming pool, the well-\\nknown club")
        'the swimming\\n  pool, the well-known\\n club'
    """
    words = whole_words(text)

    def whole(found: re.Match[str]) -> str:
        line_break, after = found.groups()
        before = text[max(0, found.start() - _LONGEST) : found.start() + 1].split()[-1]
        joined = join_lines(before, after, words)
        if joined == f"{before} {after}":
            return found[0]
        word = joined[len(before) - 1 :]  # with the hyphen, where that stays
        return word + line_break + " " * (1 + len(after) - len(word))

    return _BROKEN.sub(whole, text)


def whole_words(text: str) -> frozenset[str]:
    """The words that stand within the lines of a text, in lower case, with their hyphens.

    Args:
        text: Lines.

    Example:
        >>> sorted(whole_words("a well-known swim-\\nming pool"))
        ['a', 'ming', 'pool', 'well-known']
    """
    return frozenset(re.findall(rf"{_LETTERS}(?:-{_LETTERS})*(?![\w{_HYPHENS}])", text.lower()))
