"""Writes the news that `corpus.py` reads: a file LANGUAGE.jsonl.gz for each of twenty languages.

    python training/multilingual/news.py CLONES NEWS --keep-out CORPORA

CLONES holds the repositories of the tables `news` of `sources.toml` as OWNER/NAME; what is not
there is fetched from GitHub. CORPORA holds evaluation corpora, *.jsonl.gz with `text`.

A row has its text, a paragraph a line; a title; the `summary` by its authors, or else the title;
its `source`, REPOSITORY@COMMIT:PATH; a licence and a domain. A text that is short, long, near
another one or near an evaluation corpus is left out.
"""

import argparse
import html
import pathlib
import re
from collections.abc import Iterator

from corpus import Row, write
from languages import is_in
from news_readers import join_words, number_of_sentences
from readers import Document
from sources import TABLE, Source, sources
from texts import Shingles, evaluation_texts, is_near_test

LANGUAGES = sorted(
    {name.partition("=")[0] for entry in TABLE["news"] for name in entry["languages"].split()}
)
ROWS = 400  # of a language
LONGEST = 8000  # characters of a text
LONG = 2500  # characters of a text that is long enough to be taken before others
SENTENCES = 6  # that a text has at least
KNOWN = 0.4  # the share of a text that may stand in those before it
LEAST = {"ja": (300, 10), "zh": (300, 10), "ko": (600, 12)}  # characters of a text and of a title


def parts_of(source: Source, document: Document) -> re.Match[str]:
    """The parts of the path of a document."""
    return re.fullmatch(source.files, document.path.partition("#")[0])


def documents(source: Source, clones: pathlib.Path) -> list[Document]:
    """The documents of a source in the order in which they are taken: by their paths, but with a
    summary first, and then new ones, or else long ones where the source asks for it."""
    found = sorted(source.documents(clones), key=lambda document: document.path.partition("#")[0])
    if source.longest_first:
        found.sort(key=lambda document: -min(LONG, len("\n".join(document.lines))))
    found.sort(
        key=lambda document: parts_of(source, document).groupdict().get("date", ""), reverse=True
    )
    found.sort(key=lambda document: not document.summary)
    return found


def plain(text: str) -> str:
    """A text without entities, doubled spaces and empty lines."""
    text = re.sub(r"[ \t\u00a0\u200b]+", " ", html.unescape(text)).strip()
    return re.sub(r" ?\n+ ?", "\n", text)


def rows_of(source: Source, language: str, clones: pathlib.Path) -> Iterator[Row]:
    """The rows of a source that are neither short nor long, with a title."""
    least, least_title = LEAST.get(language, (600, 20))
    for document in documents(source, clones):
        text = plain("\n".join(document.lines))
        title = join_words(html.unescape(document.title))
        if not least <= len(text) <= LONGEST or number_of_sentences(text) < SENTENCES:
            continue
        if len(title) < least_title or not is_in(text, language):
            continue
        name = parts_of(source, document).expand(source.ids)
        number = document.path.partition("#")[2]
        yield {
            "id": f"news_{language}/{name}{number}",
            "lang": language,
            "title": title,
            "text": text,
            "summary": join_words(html.unescape(document.summary)) or title,
            "source": f"{source.repository}@{source.commit}:{document.path}",
            "licence": source.licence,
            "domain": source.domain,
        }


def collected(language: str, clones: pathlib.Path, tests: Shingles) -> list[Row]:
    """Rows that are near neither a test nor each other, with different titles."""
    rows, titles, seen = list[Row](), set[str](), set[int]()
    for source in sources(language, "news"):
        for row in rows_of(source, language, clones):
            title = re.sub(r"\W", "", row["title"].lower())
            shingles = Shingles.of(row["text"])
            is_known = title in titles or len(shingles & seen) >= KNOWN * len(shingles)
            if is_known or is_near_test(shingles, tests):
                continue
            if len(rows) == ROWS:
                return rows
            titles.add(title)
            seen |= shingles
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=pathlib.Path, help="folder of the repositories")
    parser.add_argument("news", type=pathlib.Path, help="folder to write to")
    parser.add_argument("--keep-out", type=pathlib.Path, help="folder of evaluation corpora")
    options = parser.parse_args()

    options.news.mkdir(parents=True, exist_ok=True)
    tests = evaluation_texts(options.keep_out)
    for language in LANGUAGES:
        rows = collected(language, options.clones, tests)
        write(options.news / f"{language}.jsonl.gz", rows)
        print(f"{language}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    main()
