"""Writes the rows that `bert_sum_ext_multilingual.toml` trains on, and the list of their sources.

    python training/multilingual/corpus.py CORPORA TEXTS corpus/

CORPORA holds `free_docs`, `openstax`, `ko_press` and `ja_wikinews`, TEXTS what `texts.py` writes,
a file LANGUAGE.jsonl.gz for each of thirty languages. Each row has its `licence`, and its `source`,
REPOSITORY@COMMIT:PATH; a licence that is not one of `LICENCES` stops the program. Documents with a
summary by their authors teach what to choose; other texts and single sentences teach vectors alone,
and have an empty summary. Of a corpus without a validation split, that is a tenth, by a hash of the
ids.
"""

import argparse
import collections
import gzip
import hashlib
import json
import pathlib
import random
import re
from collections.abc import Iterable

LANGUAGES = (
    "ar bg cs da de el es fa fi fr he hi hu id it ja ko nb nl nn pl pt ro ru sv th tr uk vi zh"
).split()
LICENCES = re.compile(
    r"(public domain|CC0-1\.0|CC-BY-(2\.5|3\.0|4\.0)|MIT|Apache-2\.0|BSD-[23]-Clause|ISC"
    r"|XSF permissive|KOGL type 1)( .*)?"  # which says more of it
)
# Characters of three windows of a language, and of one; the others' pieces have more characters.
LONGEST = {"zh": 2300, "ja": 2300, "ko": 2800, "th": 3700}
BEGINNING = {"zh": 800, "ja": 800, "ko": 1000, "th": 1300}
DESIGN_DOCUMENTS = 4600  # of free_docs, of whose 7,900 a quarter is about blockchains
WIKINEWS = 900  # Japanese articles, whose summaries are titles
PRODUCTS = 80  # a language's descriptions of product documents, which follow one pattern
TEXTS, LESSONS = 240, 320  # a language's texts, and with lessons that a machine translated
SENTENCES = 1000  # a language's sentences and titles
SEED = 7
# Of the second training, which begins from a model that has read them all: rows of a group with
# summaries, less English and fewer titles; and sentences of a language.
AGAIN = {
    "free_docs": 600,
    "openstax_en": 350,
    "openstax_es": 200,
    "openstax_pl": 200,
    "ko_press": 130,
    "ja_wikinews": 130,
    "short_en": 300,
}
TEXTS_AGAIN, SENTENCES_AGAIN = 75, 80  # of the other groups

Row = dict[str, str]
Groups = dict[str, list[Row]]


def read(path: pathlib.Path) -> list[Row]:
    """The rows of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(path: pathlib.Path, rows: Iterable[Row]) -> None:
    """Writes rows to a file."""
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def divided(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Rows for training, and a tenth of them for validation."""
    parts: tuple[list[Row], list[Row]] = [], []
    for row in rows:
        digest = hashlib.sha256(row["id"].encode()).hexdigest()
        parts[int(digest, 16) % 10 == 0].append(row)
    return parts


def by_temperature(draw: random.Random, rows: list[Row], number: int) -> list[Row]:
    """About so many rows, of each domain by the square root of its size."""
    domains = collections.defaultdict(list)
    for row in rows:
        domains[row["domain"]].append(row)
    total = sum(len(of_one) ** 0.5 for of_one in domains.values())
    chosen = []
    for of_one in domains.values():
        draw.shuffle(of_one)
        chosen += of_one[: round(number * len(of_one) ** 0.5 / total)]
    return chosen


def first_lines(text: str, most: int, newline: int) -> str:
    """The lines of the beginning that have so many characters, the first one whole; a new line
    counts as `newline` of them."""
    kept, size = list[str](), 0
    for line in text.split("\n"):
        if size + len(line) > most and kept:
            break
        kept.append(line)
        size += len(line) + newline
    return "\n".join(kept)


def summarized(
    draw: random.Random, corpora: pathlib.Path, texts: Groups, design: list[Row]
) -> tuple[Groups, Groups, Groups]:
    """The documents with summaries for training and validation, and a language's texts without."""
    train, validation, others = Groups(), Groups(), Groups()
    train["free_docs"] = by_temperature(draw, design, DESIGN_DOCUMENTS)
    validation["free_docs"] = read(corpora / "free_docs/validation.jsonl.gz")
    train["openstax_en"] = read(corpora / "openstax/train.jsonl.gz")
    validation["openstax_en"] = read(corpora / "openstax/validation.jsonl.gz")
    for language in ("es", "pl"):
        group = f"openstax_{language}"
        train[group], validation[group] = divided(
            read(corpora / f"openstax/train_{language}.jsonl.gz")
        )
    press = [row for row in read(corpora / "ko_press/all.jsonl.gz") if row["kogl"] == "1"]
    press += read(corpora / "ko_press/wikinews.jsonl.gz")
    train["ko_press"], validation["ko_press"] = divided(press)
    news, validation["ja_wikinews"] = divided(read(corpora / "ja_wikinews/all.jsonl.gz"))
    train["ja_wikinews"] = draw.sample(news, WIKINEWS)

    for language, rows in texts.items():
        group = f"texts_{language}"
        mine, validation[group] = divided([row for row in rows if row["summary"]])
        products = [row for row in mine if row["domain"] == "product documents"]
        draw.shuffle(products)
        train[group] = [row for row in mine if row["domain"] != "product documents"]
        train[group] += products[:PRODUCTS]

        free = [row for row in rows if not row["summary"]]
        lessons = [row for row in free if row["domain"] == "lessons"]
        draw.shuffle(lessons)
        rest = [row for row in free if row["domain"] != "lessons"]
        draw.shuffle(rest)
        rest = rest[:TEXTS]
        others[language] = rest + lessons[: LESSONS - len(rest)]
    return train, validation, others


def sentences(draw: random.Random, texts: Groups, design: list[Row]) -> list[Row]:
    """Single sentences and titles, since a question is one."""
    found = []
    for language, rows in texts.items():
        lines = []
        for row in rows:
            if row["title"]:
                lines.append((row, row["title"].strip()))
            parts = re.split(r"(?<=[.!?。！？।])\s*", row["text"].replace("\n", " "))
            parts = [part.strip() for part in parts if part.strip()]
            lines += [(row, part) for part in draw.sample(parts, min(4, len(parts)))]
        lines = [(row, line) for row, line in lines if 8 <= len(line) <= 300]
        draw.shuffle(lines)
        found += [unlabelled("short", language, row, line) for row, line in lines[:SENTENCES]]
    for row in draw.sample(design, 3000):
        parts = re.split(r"(?<=[.!?])\s+", row["text"].replace("\n", " "))
        if parts := [part for part in parts if 20 <= len(part) <= 300]:
            found.append(unlabelled("short", "en", row, draw.choice(parts)))
        if row["title"]:
            found.append(unlabelled("short_title", "en", row, row["title"]))
    return found


def unlabelled(kind: str, language: str, row: Row, text: str) -> Row:
    """A row whose sentences have no labels."""
    return {
        "id": f"{kind}_{language}/{row['id']}",
        "text": text,
        "summary": "",
        "licence": row["licence"],
        "source": row["source"],
        "lang": language,
    }


def labelled(group: str, row: Row) -> Row:
    """A row for training; what lies beyond three windows is never read."""
    language = row.get("lang", group[-2:])
    return {
        "id": f"{group}/{row['id']}",
        "text": first_lines(row["text"], LONGEST.get(language, 6200), 1),
        "summary": row["summary"],
        "licence": row["licence"],
        "source": row["source"],
        "lang": language,
    }


def grouped(group: str, row: Row) -> Row:
    """A row for validation, by groups."""
    return {
        "id": f"{group}/{row['id']}",
        "text": row["text"],
        "summary": row["summary"],
        "group": group,
    }


def again(rows: list[Row]) -> list[Row]:
    """The rows of the second training."""
    draw, groups = random.Random(11), collections.defaultdict(list)
    for row in rows:
        groups[row["id"].partition("/")[0], bool(row["summary"])].append(row)
    chosen = []
    for (group, has_summary), of_one in groups.items():
        draw.shuffle(of_one)
        if has_summary:
            chosen += of_one[: AGAIN.get(group, TEXTS_AGAIN)]
        elif group.startswith("short"):
            chosen += of_one[: AGAIN.get(group, SENTENCES_AGAIN)]
    draw.shuffle(chosen)
    return chosen


def sources(rows: Iterable[Row]) -> str:
    """A table of the repositories and licences of rows."""
    counts = collections.Counter((row["source"].partition(":")[0], row["licence"]) for row in rows)
    lines = [f"{source}: {licence}, {count} rows" for (source, licence), count in counts.items()]
    return "\n".join(sorted(lines, key=str.lower)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", type=pathlib.Path, help="folder of the corpora")
    parser.add_argument("texts", type=pathlib.Path, help="folder of the texts by language")
    parser.add_argument("folder", type=pathlib.Path, help="folder to write to")
    options = parser.parse_args()
    draw = random.Random(SEED)

    texts = {  # without Norwegian laws under NLOD, which asks for its own attribution
        language: [
            row
            for row in read(options.texts / f"{language}.jsonl.gz")
            if not row["licence"].startswith("NLOD")
        ]
        for language in LANGUAGES
    }
    design = [  # without CC BY-SA, since what is made of it is to be shared alike
        row
        for row in read(options.corpora / "free_docs/train.jsonl.gz")
        if row["licence"] != "CC-BY-SA-4.0"
    ]
    train, validation, others = summarized(draw, options.corpora, texts, design)
    rows = [labelled(group, row) for group, of_one in train.items() for row in of_one]
    draw.shuffle(rows)

    some = []
    for group, of_one in validation.items():
        most = 8 if group.startswith("texts_") else 30
        some += draw.sample([grouped(group, row) for row in of_one], min(most, len(of_one)))
    draw.shuffle(some)

    for language, of_one in others.items():
        most = BEGINNING.get(language, 2200)
        for row in of_one:
            text = first_lines(row["text"], most, 0)[: 2 * most]
            rows.append(unlabelled("text", language, row, text))
    rows += sentences(draw, texts, design)
    draw.shuffle(rows)

    refused = sorted({row["licence"] for row in rows if not LICENCES.fullmatch(row["licence"])})
    if refused:
        raise SystemExit(f"rows whose licence is not one that allows production: {refused}")
    options.folder.mkdir(parents=True, exist_ok=True)
    write(options.folder / "train.jsonl.gz", rows)
    write(options.folder / "train_again.jsonl.gz", again(rows))
    write(options.folder / "validation.jsonl.gz", some)
    every = [grouped(group, row) for group, of_one in validation.items() for row in of_one]
    write(options.folder / "validation_all.jsonl.gz", every)
    (options.folder / "sources.txt").write_text(sources(rows), encoding="utf-8")
    print(f"{len(rows)} rows, {sum(bool(row['summary']) for row in rows)} with a summary;")
    print(f"{len(some)} of {len(every)} rows for validation")


if __name__ == "__main__":
    main()
