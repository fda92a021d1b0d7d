"""Rows of the third training: news and other texts whose first sentences stand for a summary."""

import random
import re

# Of a language's sentences, the least characters of one that may be chosen; of the others, 40.
SHORTEST = {"ja": 15, "ko": 15, "th": 15, "zh": 15}
FIRST = 12  # sentences, among which those are looked for
SENTENCES = 6  # that a text has at least
LONGEST = 14_000  # characters of a text
NEWS = {"ja": 300, "ko": 330, "th": 60}  # rows of a language; of the others, 150
TEXTS = 15  # rows of a language
NO_LEAD = ("parliament", "glossary", "law", "government news", "essays, corrected")  # domains

ENDS = re.compile(r"(?<=[.!?।؟])\s+|(?<=[。！？])|\n+")
WHOLE = re.compile(r"(?s).*[.!?。！？।؟…][\"”’»)\]」』]*")
JAPANESE_SOURCE = re.compile(
    r"[^。『]{0,40}『[^』]*』?[。.]?"
    r"|[^。、,]{1,40}[、,] ?\d{4}年\d{1,2}月\d{1,2}日[。.]?"
    r"|ニュース、.*"
)

Row = dict[str, str]
Groups = dict[str, list[Row]]


def without_sources(text: str) -> str:
    """An article of the Japanese Wikinews without the lines of its list of sources."""
    lines = text.split("\n")
    return "\n".join(line for line in lines if not JAPANESE_SOURCE.fullmatch(line.strip()))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text."""
    parts = [part.strip() for part in ENDS.split(text)]
    return [part for part in parts if len(part) > 1]


def lead(text: str, language: str) -> list[str]:
    """The first three sentences of a text that are whole and not short; none of a text that lacks
    them, is short or is long."""
    sentences, shortest = sentences_of(text), SHORTEST.get(language, 40)
    if len(text) > LONGEST or len(sentences) < SENTENCES:
        return []
    fit = [part for part in sentences[:FIRST] if WHOLE.fullmatch(part) and len(part) >= shortest]
    return fit[:3] if len(fit) >= 3 else []


def row_of(group: str, row: Row, summary: list[str]) -> Row:
    """A row for training with a sentence of its summary a line."""
    return {
        "id": f"{group}/{row['id']}",
        "text": row["text"],
        "summary": "\n".join(summary),
        "licence": row["licence"],
        "source": row["source"],
        "lang": group[-2:],
    }


def with_leads(
    draw: random.Random, language: str, rows: list[Row], number: int
) -> list[tuple[Row, list[str]]]:
    """So many of the rows that have a lead, with it."""
    draw.shuffle(rows)
    leads = [(row, lead(row["text"], language)) for row in rows]
    return [(row, first) for row, first in leads if first][:number]


def of_news(draw: random.Random, language: str, rows: list[Row]) -> list[Row]:
    """Some news, whose summary is the title and up to two sentences."""
    number = NEWS.get(language, 150)
    if language == "th":  # whose sentences end in no mark
        chosen = [(row, sentences_of(row["text"])) for row in draw.sample(rows, number)]
    else:
        chosen = with_leads(draw, language, rows, number)
    return [
        row_of(f"news_{language}", row, [row["title"], *first[: draw.randrange(3)]])
        for row, first in chosen
    ]


def of_texts(draw: random.Random, language: str, rows: list[Row]) -> list[Row]:
    """Some texts without a summary, for which their first one to three sentences stand."""
    rows = [row for row in rows if not row["summary"] and row["domain"] not in NO_LEAD]
    return [
        row_of(f"begin_{language}", row, first[: draw.randrange(3) + 1])
        for row, first in with_leads(draw, language, rows, TEXTS)
    ]


def third(again: list[Row], news: Groups, texts: Groups) -> tuple[list[Row], list[Row]]:
    """The rows of the third training, and those of them that the first one did not have.

    Of the second training's rows, those with summaries are kept, but for news, whose were titles.
    """
    draw = random.Random(3)
    new = [row for language, rows in news.items() for row in of_news(draw, language, rows)]
    for language, rows in texts.items():
        new += of_texts(draw, language, rows)

    titles = ("ja_wikinews", "ko_press")
    kept = [row for row in again if row["summary"] and not row["id"].startswith(titles)]
    rows = kept + new
    draw.shuffle(rows)
    return rows, new
