"""What was said: subtitles, transcripts with times or numbered lines, and exported chats."""

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
