"""News in the files of repositories, by the repository: `READERS`.

A document has a line for each paragraph; its summary is the one by its authors, or "".
"""

import csv
import html
import io
import re
from collections.abc import Iterator

from markup import Rules, front_matter, replaced
from readers import Document, decoded

SENTENCE_END = re.compile(r"[.!?…]+[\"»”’)\]]*(?=\s|$)|[。！？；]|[।۔؟]")

FRENCH_DATE = r"\d{1,2}(?:er)? \w+ \d{4}"
FRENCH_DATE_LINE = re.compile(rf"(Publié le )?{FRENCH_DATE} ?\.? ?[–-]? ?$")
FRENCH_FURNITURE = re.compile(
    r"Source|Voir aussi|Vous pouvez également|Cet article|Notes?\b|↑|.*:$"
)
FRENCH: Rules = (  # tokens that were set apart
    (r"\b([ldjnmtscLDJNMTSC]|[Qq]u)(['’]) +", r"\1\2"),
    (r"\b1 er\b", "1er"),
    (r"\b([IVX]+) (e|er|ème)\b", r"\1\2"),
    (r"\b(\d+) (e|ème)\b", r"\1\2"),
    (r"\s*\[\d+\]", ""),
    (r"\(\s+", "("),
    (r"\s+([,.)])", r"\1"),
    (rf"^{FRENCH_DATE}\s*[.–-]+\s*–?\s*", ""),
)
ENGLISH_DATE_LINE = re.compile(r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \w+ \d+, \d{4}$")
ITALIAN: Rules = (  # words and marks with spaces between them
    (r" ([,.;:!?)\]»%…])", r"\1"),
    (r"([(\[«]) ", r"\1"),
    (r"(\w['’]) (?=\w)", r"\1"),
    (r'" ?([^"]*?)(?:\s*(")|$)', r'"\1\2'),
)
ITALIAN_FURNITURE = re.compile(r"Wikinotizie|Wikipedia|^Fonti?\b|^Articolo")
POINT_RELEASE = re.compile(r"\d\.\d+\.\d|\b[6789]\.(?!0)\d+\b")
DEFINITION = re.compile(r"(?s)<define-tag (\w+)>(.*?)</define-tag>")
WML: Rules = (
    (r"(?s)<define-tag.*?</define-tag>", ""),
    (r"(?m)^#.*$", ""),
    (r"\\\n\s*", ""),
)
WML_ELEMENTS: Rules = (
    (r"(?s)<table.*?</table>|<pre.*?</pre>|<:.*?:>|<(correction|dsa)\b.*?>", ""),
    (r"(?s)<h\d[^>]*>.*?</h\d>", ""),
    (r"(?s)<q>(.*?)</q>", r"“\1”"),
)
WML_PARAGRAPH = re.compile(r"(?s)<(?:p|li)\b[^>]*>(.*?)(?=</p>|</li>|<p\b|<li\b|<ul|$)")

POST: Rules = (
    (r"(?s)\{\{[<%].*?[>%]\}\}", ""),
    (r"(?s)<!--.*?-->|<(script|style|table|figure)\b.*?</\1>", ""),
    (r"!\[[^\]]*\]\([^)]*\)", ""),
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"\[([^\]]*)\]\[[^\]]*\]", r"\1"),
    (r"<[^>]+>", ""),
)
POST_BREAK = re.compile(r"\n\s*\n|\n(?=\s*[-*+] |\s*\d+\. )")
POST_PARAGRAPH: Rules = (
    (r"^(?:[-*+>]|\d+\.)\s+", ""),
    (r"\*\*|__|`", ""),
    (r"(?<!\w)[*_]([^*_]+)[*_](?!\w)", r"\1"),
    (r"\\(\W)", r"\1"),
)
FIELD_MARKUP: Rules = ((r"<[^>]+>", ""), (r"\[([^\]]*)\]\([^)]*\)", r"\1"))


def number_of_sentences(text: str) -> int:
    """How many sentences end in a text."""
    return len(SENTENCE_END.findall(text))


def lines_of(text: str) -> list[str]:
    """The lines of a text without empty ones."""
    return list(filter(None, map(str.strip, text.split("\n"))))


def read_winer(path: str, data: bytes) -> Iterator[Document]:
    """An article of the French Wikinews, without date, captions and list of sources."""
    title, *lines = lines_of(decoded(data)) or [""]
    if len(lines) < 2 or re.match(r"Gilets jaunes ?: \w+ \d", title):  # a diary of one subject
        return
    lines = [line for line in lines if not FRENCH_DATE_LINE.match(line)]
    while lines and len(lines[-1]) < 170 and number_of_sentences(lines[-1]) < 2:
        lines.pop()
    kept = [line for line in lines if len(line) >= 40 and not FRENCH_FURNITURE.match(line)]
    yield Document(path, [replaced(line, FRENCH) for line in kept], replaced(title, FRENCH))


def read_wikinews(path: str, data: bytes) -> Iterator[Document]:
    """The articles of a table of the English Wikinews, without dates."""
    for number, row in enumerate(csv.DictReader(io.StringIO(decoded(data)))):
        lines = [line for line in lines_of(row["text"]) if not ENGLISH_DATE_LINE.match(line)]
        yield Document(f"{path}#{number}", lines, row["title"])


def read_kind(path: str, data: bytes) -> Iterator[Document]:
    """The articles of the Italian Wikinews in a table of words, where a sentence without a mark at
    its end is taken for the title of an article if its words stand at the beginning of that."""
    number, title, lines = -1, "", list[str]()
    for sentence in [*italian_sentences(decoded(data)), ""]:
        if sentence and sentence[-1] in '.!?"»:;…”)':
            lines.append(sentence)
            continue
        lines = [line for line in lines if not ITALIAN_FURNITURE.search(line)]
        if is_headline(title, " ".join(lines[:3])):
            yield Document(f"{path}#{number}", lines, title)
        number, title, lines = number + 1, sentence, []


def italian_sentences(table: str) -> Iterator[str]:
    """The sentences of a table of words; a colon or a semicolon ends none."""
    words = list[str]()
    for block in re.split(r"\n\s*\n", table.strip()):
        words += [line.split("\t")[0] for line in block.split("\n")]
        if words[-1][-1:] not in (":", ";"):
            yield replaced(" ".join(words), ITALIAN)
            words = []


def is_headline(title: str, beginning: str) -> bool:
    """Whether a line may be the title of a text: two of its longer words, by their first letters,
    stand in the beginning of that."""
    stems, others = (
        {word[:5] for word in re.findall(r"\w{5,}", text.lower())} for text in (title, beginning)
    )
    begins_well = title[:1].isupper() or title[:1] in ('"', "«")
    return begins_well and len(title) <= 180 and len(stems & others) >= 2


def join_words(text: str) -> str:
    """A text with single spaces between its words."""
    return " ".join(text.split())


def read_debian(path: str, data: bytes) -> Iterator[Document]:
    """An announcement in Website META Language, unless it is of corrected packages; without its
    last two sections, which are about Debian and its addresses."""
    text = decoded(data)
    definitions = dict(DEFINITION.findall(text))
    title = definitions.pop("pagetitle", "")
    if not title:
        return
    text = replaced(text, WML)
    headings = [match.start() for match in re.finditer("<h2", text)]
    if len(headings) > 1:
        text = text[: headings[-2]]

    text = replaced(text, WML_ELEMENTS)
    for name, value in definitions.items():
        if "<" not in value and "\n" not in value.strip():
            text, title = (each.replace(f"<{name}>", value.strip()) for each in (text, title))
    title = re.sub("<[^>]+>", "", title)
    if POINT_RELEASE.search(title):
        return

    paragraphs = [re.sub("<[^>]+>", "", paragraph) for paragraph in WML_PARAGRAPH.findall(text)]
    lines = [join_words(html.unescape(paragraph)) for paragraph in paragraphs]
    lines = [line for line in lines if len(line) >= 25 and "$(" not in line]
    yield Document(path, [line for line in lines if not line.endswith((":", "："))], title)


def post(text: str) -> list[str]:
    """The longer paragraphs and items of a post in Markdown, without headings."""
    lines = []
    for paragraph in POST_BREAK.split(replaced(text, POST)):
        line = join_words(paragraph)
        if line.startswith(("#", "|", "```", "[", "<")):
            continue
        line = replaced(line, POST_PARAGRAPH)
        if len(line) >= 40 and not (line.endswith(":") and len(line) < 90):
            lines.append(line)
    return lines


def read_digitalgov(path: str, data: bytes) -> Iterator[Document]:
    """A post with a summary that is not its beginning, unless another site had it first."""
    fields, body = front_matter(decoded(data))
    title = fields.get("title", "")
    if "source_url" in fields or "source" in fields:
        return
    if not title or re.search(r"[Hh]ow to|tips|\?$|^\d+ |^Trends on", title):
        return
    lines = [re.sub(" ?:[a-z_]+:", "", line) for line in post(body)]
    summary = join_words(replaced(fields.get("deck") or fields.get("summary", ""), FIELD_MARKUP))
    is_whole = 60 <= len(summary) <= 320 and not summary.endswith(("…", "...", "[…]"))
    if is_whole and not "\n".join(lines).startswith(summary[:60]):
        yield Document(path, lines, title, summary)


def read_okfn(path: str, data: bytes) -> Iterator[Document]:
    """A post of the Open Knowledge Foundation Germany, some of which have an excerpt."""
    fields, body = front_matter(decoded(data))
    title = fields.get("title", "")
    if not title or "Out in the Open" in title:  # lists of links
        return
    lines = post(re.sub(r"\[\^\d+\]|\{:.*?\}", "", body))
    names = ("excerpt", "description", "teaser", "summary")
    given = next(filter(None, map(fields.get, names)), "")
    summary = join_words(replaced(given, FIELD_MARKUP))
    if not 50 <= len(summary) <= 320 or "\n".join(lines).startswith(summary[:50]):
        summary = ""
    yield Document(path, lines, title, summary)


READERS = {
    "winer": read_winer,
    "wikinews": read_wikinews,
    "kind": read_kind,
    "debian": read_debian,
    "digitalgov": read_digitalgov,
    "okfn": read_okfn,
}
