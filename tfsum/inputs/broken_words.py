"""Words that the end of a line has broken."""

import re

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
