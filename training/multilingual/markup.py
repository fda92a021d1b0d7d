"""The text of Markdown, reStructuredText and gettext: a line for each paragraph, heading or item.

Code, tables, addresses, e-mail and emoji are left out.
"""

import html
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

Rules = Sequence[tuple[str, str]]  # expressions and what takes their place, in this order

ADDRESSES = r"(?:https?|ftp)://[^\s<>\"'）)\]，。、]+|www\.[^\s<>\"'）)\]]+"
TIDY: Rules = (
    (ADDRESSES, ""),
    (r"[\w.+-]+@[\w-]+\.[\w.-]+", ""),
    (r"[\u200b\u200e\u200f\ufeff\u00ad\u202a-\u202e\u2060\ufe0f]", ""),
    (r"[\U0001F000-\U0001FAFF\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff]", ""),
    (r"\(\s*\)|\[\s*\]|<\s*>|（\s*）", ""),
    (r"[ \t\u00a0\u3000]+", " "),
    (r" ([,.;:!?)\]،؛؟。，、])(?=\s|$)", r"\1"),
)
LINK = (r"\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*\)", r"\1")
INLINE: Rules = (
    (r"!\[[^\]]*\]\([^)]*\)", ""),
    (r"!\[[^\]]*\]\[[^\]]*\]", ""),
    LINK,
    LINK,  # around a link or an image
    (r"\[([^\[\]]+)\]\[[^\]]*\]", r"\1"),
    (r"\[*\[\d+\]\]*\([^)]*\)|\]\([^)\s]*\)?", ""),
    (r"\[\^[^\]]*\]", ""),
    (r"<(https?:[^>]*|[\w.+-]+@[^>]*)>", ""),
    (r"</?[A-Za-z][^<>]*>", ""),
    (r"`+([^`]*)`+", r"\1"),
    (r"(\*\*\*|\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2"),
    (r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])", r"\1"),
    (r"(?<![\w_])_(?=\S)([^_]+?)(?<=\S)_(?![\w_])", r"\1"),
    (r"~~(.+?)~~", r"\1"),
    (r"\*\*", ""),
    (r"\\([\\`*_{}\[\]()#+.!<>|$-])", r"\1"),
    (r"\{[#:/.][^}]*\}", ""),
    (r"\s*<a name=.*$", ""),
)
AFTERWARDS: Rules = (  # what characters that were written as entities make
    ("`", ""),
    (r"</?(?:a|em|strong|code|p|br|span|img|div|b|i|li|ul|td|tr)\b[^<>]*>|<a\d+", ""),
    (r"^\[[^\]\s]{3,20}\]\s+(?=\S{2})", ""),
)
ELEMENTS = (
    "script|style|svg|pre|table|figure|Sandpack|YouWillLearn|Diagram|DiagramGroup|CodeDiagram"
    "|Challenges|Hint|Solution|ConsoleBlock|TerminalBlock"
)
BLOCKS: Rules = (
    (r"\r\n?", "\n"),
    (r"(?s)<!--.*?-->", ""),
    (r"(?s)\{/\*.*?\*/\}", ""),
    (r"(?ms)^[ \t>]*(?P<f>`{3,}|~{3,})[^\n]*\n.*?^[ \t>]*(?P=f)[`~]*[ \t]*$", "\n"),
    (rf"(?s)<({ELEMENTS})\b[^>]*>.*?</\1>", "\n"),
    (r"\{\{[<%]\s*/?\*?\s*glossary_tooltip[^}]*?text=[\"“](.*?)[\"”][^}]*?[%>]\}\}", r"\1"),
    (r"(?s)\{\{[<%]\s*highlight.*?/highlight\s*[%>]\}\}", "\n"),
    (r"(?s)\{\{[<%].*?[%>]\}\}", ""),
    (r"(?s)\{%-?\s*highlight.*?endhighlight\s*-?%\}", "\n"),
    (r"(?s)\{%.*?%\}|\{\{.*?\}\}", ""),
    (r"\[!(?:INCLUDE|include|VIDEO|IMAGE)[^\]]*\](?:\([^)]*\))?[^\n]*", ""),
    (r"<a name=\"[^\"]*\"\s*>\s*</a>", ""),
    (r"(?ms)^\$\$.*?^\$\$\s*$", "\n"),
)
NOT_PROSE = re.compile(
    r"""(?x)
    (?:import|export)\ .*(?:from|default|const|\{)
    | \[!\w+[^\]]*\]\s*$          # [!NOTE] alone
    | \[!div
    | [-=*_ ]{3,}$                # a rule, or the line under a heading
    | :::
    | \[[^\]]+\]:\s*\S+           # the target of a link
    | </?[A-Za-z][^<>]*/?>$
    | \{[:%#.].*\}$
    | \|                          # a row of a table
    | \[\^[^\]]+\]:               # a footnote
    """
)
HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
ITEM = re.compile(r"\s*(?:[-*+•✅]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s*)?(.*)$")
COMMAND = re.compile(
    r"print\(|\$ |sudo |npm |pip3? |import \w+$|from \w+ import|curl |git \w+ |docker |kubectl "
    r"|azd |def \w+\(|#\w|//|[\w.]+\(.*\);?$"
)
FRONT_MATTER = re.compile(r"(?s)\s*(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|$)")
FIELD = re.compile(r"(\w[\w.-]*)\s*[:=]\s*(.*)$")

RST_INLINE: Rules = (
    (r":[\w:+-]+:`([^`<]*?)\s*<[^`>]*>`", r"\1"),
    (r":[\w:+-]+:`[~!]?([^`]*)`", r"\1"),
    (r"`([^`<]*?)\s*<[^`>]*>`__?", r"\1"),
    (r"``([^`]*)``", r"\1"),
    (r"`([^`]*)`_*", r"\1"),
    (r"\[#?[\w.-]*\]_", ""),
    (r"\|[^|\s][^|]*\|", ""),
    (r"(\*\*|\*)(?=\S)(.+?)(?<=\S)\1", r"\2"),
    (r"\\ ?", ""),
    (r"::\s*$", ":"),
)
RST_NOTE = re.compile(r"\.\. (note|warning|tip|admonition|important|seealso|attention|hint)::")
RST_NOT_PROSE = re.compile(r"([=\-~^\"'*+#.:_`])\1{2,}$|\+-|\||\+=|[= ]{6,}$")
RST_ITEM = re.compile(r"(?:[-*•]|\d+\.|#\.|[a-z]\))\s+(.*)")
ENTRY = re.compile(r'(msgid_plural|msgid|msgstr(?:\[\d\])?)\s+"(.*)"\s*$')
FAR_EAST = re.compile(r"[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef]")


def replaced(text: str, rules: Rules) -> str:
    """A text after each of the rules."""
    for expression, new in rules:
        text = re.sub(expression, new, text)
    return text


def join(lines: Iterable[str]) -> str:
    """Lines as one."""
    return " ".join(filter(None, map(str.strip, lines)))


def tidy(line: str) -> str:
    """A line without entities, addresses, emoji, invisible characters and doubled spaces."""
    return replaced(unicodedata.normalize("NFC", html.unescape(line)), TIDY).strip()


def inline(line: str) -> str:
    """A paragraph of Markdown without links, emphasis and HTML."""
    return replaced(tidy(replaced(line, INLINE)), AFTERWARDS).strip()


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The fields at the head of a page, simple YAML or TOML, and the rest of it."""
    match = FRONT_MATTER.match(text)
    if not match:
        return {}, text

    fields: dict[str, str] = {}
    lines = match[2].split("\n")
    while lines:
        field = FIELD.match(lines.pop(0))
        if not field:
            continue
        is_block = re.fullmatch(r"([|>][+-]?\d?)?", field[2].strip())
        value = "" if is_block else field[2].strip()
        goes_on = r"[ \t]|\s*$" if is_block else r"  (?!\s*-\s)(?!\s*\w+:)"

        more = []
        while lines and re.match(goes_on, lines[0]):
            more.append(lines.pop(0).strip())
        if not any(line.startswith("- ") for line in more):  # a list is no text
            value = join([value, *more])

        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1].replace("''", "'").replace('\\"', '"')
        fields.setdefault(field[1].lower(), value)
    return fields, text[match.end() :]


def markdown(text: str) -> list[str]:
    """Lines of Markdown, as Hugo, Jekyll, DocFX and MDX have it."""
    paragraphs: list[list[str]] = [[]]
    after_blank, in_list = True, False
    for line in replaced(text, BLOCKS).split("\n"):
        line = re.sub(r"^(?:\s*>)+\s?", "", line.rstrip())
        bare = line.strip()
        if not bare or NOT_PROSE.match(bare) or bare.count("|") > 2:
            paragraphs.append([])
            after_blank = after_blank or not bare
            continue

        bare = re.sub(r"^\[!\w+\]\s*", "", bare)
        if heading := HEADING.match(bare):
            paragraphs += [[heading[1]], []]
            after_blank, in_list = False, False
            continue
        if item := ITEM.match(line):
            paragraphs.append([item[1]])
            after_blank, in_list = False, True
            continue

        indent = len(line) - len(line.lstrip(" \t")) + 3 * line.count("\t", 0, 2)
        if after_blank and indent >= 4 and not in_list:
            continue  # code
        if indent == 0:
            in_list = in_list and not after_blank
        paragraphs[-1].append(bare)
        after_blank = False

    lines = [inline(join(paragraph)) for paragraph in paragraphs if paragraph]
    return [line for line in lines if line and not is_code(line)]


def is_code(line: str) -> bool:
    """Whether a line is a command, or was a table."""
    is_table = re.search(r"\|\s*:?-{3,}|-{3,}\s*\|", line) or line.count(" | ") > 1
    return bool(is_table or COMMAND.match(line))


def rst(text: str) -> list[str]:
    """Lines of reStructuredText."""
    paragraphs: list[list[str]] = [[]]
    skipped = math.inf  # what is indented more belongs to a directive, or is code
    for line in text.split("\n"):
        line = line.rstrip()
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if not bare:
            paragraphs.append([])
            continue
        if indent > skipped:
            continue
        skipped = math.inf

        is_directive = bare.startswith("..")
        if is_directive and not RST_NOTE.match(bare):
            skipped = indent
        if is_directive or re.match(r":[\w -]+:", bare) or RST_NOT_PROSE.match(bare):
            paragraphs.append([])
            continue
        if item := RST_ITEM.match(bare):
            paragraphs.append([])
            bare = item[1]
        if bare.endswith("::"):
            skipped = indent
            bare = bare[:-1]
        paragraphs[-1].append(bare)

    lines = [rst_inline(join(paragraph)) for paragraph in paragraphs if paragraph]
    return [line for line in lines if line]


def rst_inline(line: str) -> str:
    """A paragraph of reStructuredText without roles, links and emphasis."""
    return tidy(replaced(line, RST_INLINE))


def po(text: str) -> tuple[list[str], float]:
    """The translated paragraphs of a file of gettext, and which share of the file they are."""
    lines, translated, total = [], 0, 0
    for block in re.split(r"\n\s*\n", text):
        if re.search(r"(?m)^#~", block):
            continue
        fields, name = {"msgid": "", "msgstr": ""}, ""
        for line in block.split("\n"):
            if entry := ENTRY.match(line):
                name = entry[1]
                fields[name] = entry[2]
            elif name and re.match(r'"(.*)"\s*$', line):
                fields[name] += line.strip()[1:-1]
        original, translation = (
            fields[name].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
            for name in ("msgid", "msgstr")
        )

        total += len(original)
        is_fuzzy = re.search(r"(?m)^#,.*fuzzy", block)
        if not original or translation in ("", original) or is_fuzzy:
            continue
        translated += len(original)
        if "\n" in translation.strip() and re.search(r">>>|    |\$ ", translation):
            continue  # code
        line = rst_inline(join(translation.split("\n")))
        if len(line) >= (12 if FAR_EAST.search(line) else 25):
            lines.append(line)
    return lines, translated / max(total, 1)
