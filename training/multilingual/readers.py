"""Documents in the files of repositories, by the kind of file: `READERS`."""

import collections
import dataclasses
import hashlib
import html
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator

from markup import front_matter, inline, markdown, po, rst, tidy


@dataclasses.dataclass
class Document:
    """A text, and what its authors wrote about it.

    Attributes:
        path: Where it is: a path, with `!` and a name in an archive, with `#` and its part.
        lines: Its paragraphs, headings and items.
        title: Its title, or "".
        summary: Its summary by its authors, or "".
        kind: What the summary is: a description, key points or an introduction.
        translation: HT by people, MT by a machine, "" where nothing is said.
    """

    path: str
    lines: list[str]
    title: str = ""
    summary: str = ""
    kind: str = ""
    translation: str = ""


def mixed(paths: Iterable[str]) -> list[str]:
    """Paths in a fixed order, so that a limit does not take the first ones of the alphabet."""
    return sorted(paths, key=lambda path: hashlib.md5(path.encode()).digest())


def decoded(data: bytes) -> str:
    """The text of a file."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n").lstrip("\ufeff")


def tidy_lines(data: bytes) -> list[str]:
    """The lines of plain text."""
    return list(filter(None, map(tidy, decoded(data).split("\n"))))


def page(
    path: str, fields: dict[str, str], body: str, summary: str = "", kind: str = ""
) -> Document:
    """A page of Markdown, without the notice of the program that translated it."""
    lines = markdown(body)
    notices = [i for i, line in enumerate(lines) if re.search("[Cc]o-op[- ][Tt]ranslator", line)]
    if notices and notices[0] > len(lines) - 4:
        lines = lines[: max(0, notices[0] - 1)]  # with its heading
    elif notices:
        del lines[notices[0]]

    title = inline(fields.get("title", ""))
    if not title and lines and len(lines[0]) < 150:
        title = lines[0]
    return Document(path, lines, title, summary, kind, fields.get("ms.translationtype", ""))


def read_markdown(path: str, data: bytes) -> Iterator[Document]:
    """A page whose summary is its description."""
    fields, body = front_matter(decoded(data))
    description = fields.get("description", "")
    if len(description) < 20:
        description = ""
    yield page(path, fields, body, inline(description), "description")


def read_react(path: str, data: bytes) -> Iterator[Document]:
    """A page whose summary is its section of key points, or else its introduction."""
    fields, body = front_matter(decoded(data))
    recaps = re.findall(r"(?s)<Recap>(.*?)</Recap>", body)
    introduction = re.search(r"(?s)<Intro>(.*?)</Intro>", body)
    if len(recaps) == 1:
        body = re.sub(r"(?s)\n[^\n]*\n+<Recap>.*?</Recap>", "\n", body)
        yield page(path, fields, body, "\n".join(markdown(recaps[0])), "keypoints")
    elif introduction and len(introduction[1].strip()) > 60:
        body = body.replace(introduction[0], "")
        yield page(path, fields, body, "\n".join(markdown(introduction[1])), "introduction")
    else:
        yield page(path, fields, body)


def read_notebook(path: str, data: bytes) -> Iterator[Document]:
    """The prose of a notebook of TensorFlow."""
    lines = []
    for cell in json.loads(decoded(data)).get("cells", []):
        if cell.get("cell_type") == "markdown":
            lines += markdown("".join(cell.get("source", "")))
    furniture = re.compile("Apache|Copyright|Licensed under|colab|Google Colab|GitHub.{0,15}$")
    lines = [line for line in lines if not furniture.search(line)]
    yield titled_by_first_line(path, lines)


def read_rst(path: str, data: bytes) -> Iterator[Document]:
    yield titled_by_first_line(path, rst(decoded(data)))


def titled_by_first_line(path: str, lines: list[str]) -> Document:
    """A document whose first line may be its title."""
    return Document(path, lines, lines[0][:150] if lines else "")


def read_po(path: str, data: bytes) -> Iterator[Document]:
    """A file of gettext, most of which is translated."""
    lines, share = po(decoded(data))
    if share >= 0.6:
        yield Document(path, lines)


def read_plain(path: str, data: bytes) -> Iterator[Document]:
    yield Document(path, tidy_lines(data))


def read_thai_news(path: str, data: bytes) -> Iterator[Document]:
    """An article of the Thai government, without source and date."""
    furniture = re.compile(r"ที่มา|(พิมพ์|--|\.|-)$|วัน\S*ที่ \d+ \S+ 25\d\d$|[\d/ .:น]+$|[-_=*.#…\s]+$")
    lines = [line for line in tidy_lines(data) if not furniture.match(line)]
    if len(lines) < 2:
        return
    title = re.sub("^รัฐบาลไทย-ข่าวทำเนียบรัฐบาล-|^รัฐบาลไทย-[^-]{0,40}-", "", lines[0]).strip()
    body = [line for line in lines[1:] if line not in (title, lines[0])]
    body = [line.replace("\u0e4d\u0e32", "\u0e33") for line in body]  # one character, not two
    if len(body) > 1 and body[1].startswith(body[0][:80]):
        del body[0]  # a cut copy of the first paragraph
    yield Document(path, body, title)


def read_story(path: str, data: bytes) -> Iterator[Document]:
    """A children's story, if its own licence is CC BY."""
    text = decoded(data)
    if not re.search(r"License:\s*\[CC-BY\]", text):
        return
    title = re.search(r"(?m)^# (.*)$", text)
    credits = "License|Text|Illustration|Translation|Language|Adaptation|Audio"
    text = re.sub(rf"(?m)^\s*\* ({credits})\b.*$|^#+\s*$", "", text)
    lines = [line for line in markdown(text) if line.strip("#")]
    yield Document(path, lines, title[1].strip() if title else "")


def read_parliament(path: str, data: bytes) -> Iterator[Document]:
    """Debates of ParlaMint (TEI), of some thousand characters each."""
    if not path.endswith(".zip"):
        yield from debates(path, decoded(data))
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".xml")]
        for name in mixed(n for n in names if ".ana" not in n and "__MACOSX" not in n):
            yield from debates(f"{path}!{name}", decoded(archive.read(name)))


def debates(path: str, text: str) -> Iterator[Document]:
    """Runs of the longer speeches of a session, without the speakers' names."""
    body = re.search(r"(?s)<body\b.*</body>", text)
    if not body or not re.search(r"creativecommons\.org/licenses/by/4\.0", text):
        return
    run: list[str] = []
    size = number = 0
    for speech in re.findall(r"(?s)<u\b[^>]*>(.*?)</u>", body[0]):
        paragraphs = speech_paragraphs(speech)
        length = sum(map(len, paragraphs))
        if length < 200:
            continue
        if length > 1500 or size + length > 6000:
            if size >= 800:
                yield Document(f"{path}#{number}", run)
                number += 1
            run, size = [], 0
        run += paragraphs
        size += length
        if size > 3000:
            yield Document(f"{path}#{number}", run)
            number += 1
            run, size = [], 0
    if size >= 800:
        yield Document(f"{path}#{number}", run)


def speech_paragraphs(speech: str) -> list[str]:
    """The paragraphs of a speech; segments are lines of print in some files, which are joined."""
    paragraphs: list[str] = []
    for segment in re.findall(r"(?s)<seg\b[^>]*>(.*?)</seg>", speech):
        notes = r"(?s)<(note|vocal|kinesic|incident|gap|desc|pb)\b[^>]*?(?:/>|>.*?</\1>)"
        segment = re.sub("<[^>]*>", "", re.sub(notes, " ", segment))
        segment = tidy(re.sub(r"\s+", " ", segment))
        if segment in ("", "DR."):
            continue
        last = paragraphs[-1] if paragraphs else ""
        is_cut = last and not re.search(r"[.!?…:\"”»)]$", last)
        if is_cut or (0 < len(last) < 150 and len(segment) < 90):
            paragraphs[-1] += " " + segment
        else:
            paragraphs.append(segment)
    return paragraphs


def read_translations(path: str, data: bytes) -> Iterator[Document]:
    """Articles of a translation memory of TICO-19, forty sentences each."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith("tmx")]
        data = max((archive.read(name) for name in names if "MACOSX" not in name), key=len)
    articles = collections.defaultdict(list)
    for unit in re.findall(r"(?s)<tu\b.*?</tu>", decoded(data)):
        segments = re.findall("(?s)<seg>(.*?)</seg>", unit)
        if len(segments) == 2:
            article = re.search('tuid="([^":]*)', unit)[1]
            articles[article].append(tidy(html.unescape(segments[1].strip())))

    for article, lines in articles.items():
        if article.startswith("CMU"):  # single phrases of a hospital
            continue
        lines = list(filter(None, lines))
        for i in range(0, len(lines), 40):
            yield Document(f"{path}#{article}.{i // 40}", lines[i : i + 40])


READERS = {
    "markdown": read_markdown,
    "react": read_react,
    "notebook": read_notebook,
    "rst": read_rst,
    "po": read_po,
    "plain": read_plain,
    "thai_news": read_thai_news,
    "story": read_story,
    "parliament": read_parliament,
    "translations": read_translations,
}
