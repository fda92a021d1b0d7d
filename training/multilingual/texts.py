"""Writes the texts that `corpus.py` reads: a file LANGUAGE.jsonl.gz for each of thirty languages.

    python training/multilingual/texts.py CLONES TEXTS --keep-out CORPORA

CLONES holds the repositories of `sources.toml` as OWNER/NAME; what is not there is fetched from
GitHub, some gigabytes for all languages. CORPORA holds evaluation corpora, *.jsonl.gz with `text`.

A row has its text, a paragraph, heading or item a line; the `summary` by its authors, or "", and
its `summary_kind`; a title; its `source`, REPOSITORY@COMMIT:PATH; a licence and a domain;
`translation`, HT by people or MT by a machine, where it is known; `cut` where the text goes on.

A text that is near another one or near an evaluation corpus is left out, as are foreign lines,
and lines that stand in ten texts of a language.
"""

import argparse
import collections
import pathlib
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from corpus import LANGUAGES, first_lines, read, write
from languages import FAR_EASTERN, is_foreign, lines_in
from markup import front_matter, markdown
from readers import Document, decoded
from sources import KEPT_OUT, Source, files, sources

CHARACTERS = 3_000_000  # of a language
LONGEST = 19_999  # characters of a text
SHINGLE = 20  # characters

Row = dict[str, Any]


class Lengths(NamedTuple):
    """The least characters of a text, of a line of prose, of a summary, and of a line that is
    looked for in other texts."""

    text: int
    prose: int
    summary: int
    line: int


def lengths(language: str) -> Lengths:
    """What is least in a language."""
    return Lengths(150, 21, 10, 12) if language in FAR_EASTERN else Lengths(300, 51, 20, 25)


class Shingles:
    """Which texts share how many sequences of characters; an eighth of them is looked at."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._texts: dict[int, list[int]] = {}

    @staticmethod
    def of(text: str) -> set[int]:
        """Numbers of the sequences of a text."""
        text = re.sub(r"\s+", " ", text.lower())
        starts = range(len(text) - SHINGLE + 1)
        numbers = (zlib.crc32(text[i : i + SHINGLE].encode()) for i in starts)
        return {number for number in numbers if number % 8 == 0}

    def add(self, shingles: set[int]) -> None:
        """Adds a text."""
        for shingle in shingles:
            self._texts.setdefault(shingle, []).append(len(self._sizes))
        self._sizes.append(len(shingles))

    def nearest(self, shingles: set[int]) -> list[tuple[int, int]]:
        """How many sequences the nearest texts share with this one, and how many they have."""
        shared = collections.Counter(
            text for shingle in shingles for text in self._texts.get(shingle, ())[:50]
        )
        return [(number, self._sizes[text]) for text, number in shared.most_common(3)]


def kept_out(corpora: pathlib.Path | None, clones: pathlib.Path) -> Shingles:
    """The texts of evaluation corpora, and all pages of the repositories that some are of."""
    found = Shingles()
    for path in sorted(corpora.rglob("*.jsonl.gz")) if corpora else ():
        for row in read(path):
            found.add(Shingles.of(row["text"]))
    for repository, commit in KEPT_OUT.items():
        for _, data in files(clones, repository, commit, r".*/.*\.md"):
            text = "\n".join(markdown(front_matter(decoded(data))[1]))
            if len(text) > 200:
                found.add(Shingles.of(text))
    return found


def is_near_test(shingles: set[int], tests: Shingles) -> bool:
    """Whether a text and an evaluation text share 15 % of one of them."""
    return any(
        number >= 0.15 * len(shingles) or number >= max(5, 0.15 * size)
        for number, size in tests.nearest(shingles)
    )


def is_twin(shingles: set[int], others: Shingles) -> bool:
    """Whether a text and another one share more than 60 % of the smaller."""
    return any(number > 0.6 * min(len(shingles), size) for number, size in others.nearest(shingles))


def row_of(document: Document, source: Source, language: str) -> Row | None:
    """The row of a document; None if it is short, foreign or no prose."""
    least = lengths(language)
    lines = document.lines
    if len(lines) > 1 and lines[0] == document.title:
        lines = lines[1:]
    lines = lines_in(lines, language)
    if source.drop:
        lines = [line for line in lines if not re.search(source.drop, line)]

    whole = "\n".join(lines)
    text = first_lines(whole, LONGEST, 1)
    prose = sum(len(line) for line in text.split("\n") if len(line) >= least.prose)
    if len(text) < least.text or prose < 0.5 * len(text):
        return None

    summary = document.summary.strip()
    fits = least.summary <= len(summary) <= 0.6 * len(text)
    if not fits or is_foreign(summary, language):
        summary = ""
    row = {
        "id": "",
        "lang": language,
        "text": text,
        "summary": summary,
        "summary_kind": document.kind if summary else "",
        "title": document.title,
        "source": f"{source.repository}@{source.commit}:{document.path}",
        "licence": source.licence,
        "domain": source.domain,
    }
    if translation := source.translation or document.translation:
        row["translation"] = translation
    if len(text) < len(whole):
        row["cut"] = True
    return row


def rows_of(source: Source, language: str, clones: pathlib.Path) -> Iterator[Row]:
    """The rows of a source."""
    for document in source.documents(clones):
        if row := row_of(document, source, language):
            yield row


def collected(language: str, clones: pathlib.Path, tests: Shingles) -> list[Row]:
    """Rows that are near neither a test nor each other."""
    rows, others, room = [], Shingles(), CHARACTERS
    for source in sources(language):
        if room <= 0:
            break
        rest = max(0, room - source.limit)
        for row in rows_of(source, language, clones):
            if room <= rest:
                break
            shingles = Shingles.of(row["text"] + "\n" + row["summary"])
            if is_near_test(shingles, tests) or is_twin(shingles, others):
                continue
            others.add(shingles)
            rows.append(row)
            room -= len(row["text"])
    return rows


def without_furniture(rows: list[Row], language: str) -> list[Row]:
    """Rows without the longer lines that stand in ten or more of them."""
    least = lengths(language)
    often = collections.Counter(line for row in rows for line in set(row["text"].split("\n")))
    for row in rows:
        lines = row["text"].split("\n")
        row["text"] = "\n".join(
            line for line in lines if len(line) < least.line or often[line] < 10
        )
    return [row for row in rows if len(row["text"]) >= least.text]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=pathlib.Path, help="folder of the repositories")
    parser.add_argument("texts", type=pathlib.Path, help="folder to write to")
    parser.add_argument("--keep-out", type=pathlib.Path, help="folder of evaluation corpora")
    parser.add_argument(
        "--language", action="append", choices=LANGUAGES, help="one of those to write; else all"
    )
    options = parser.parse_args()

    options.texts.mkdir(parents=True, exist_ok=True)
    tests = kept_out(options.keep_out, options.clones)
    for language in options.language or LANGUAGES:
        rows = without_furniture(collected(language, options.clones, tests), language)
        for number, row in enumerate(rows):
            row["id"] = f"{language}-{number:05d}"
        write(options.texts / f"{language}.jsonl.gz", rows)
        summaries = sum(bool(row["summary"]) for row in rows)
        print(f"{language}: {len(rows)} texts, {summaries} with a summary", flush=True)


if __name__ == "__main__":
    main()
