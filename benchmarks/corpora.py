"""The documents that are measured."""

import gzip
import itertools
import json
import pathlib
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
ARTICLE = ROOT / "examples" / "article.txt"


def read(corpus: str | pathlib.Path, limit: int | None = None) -> list[dict[str, Any]]:
    """The first documents of JSON lines, also packed by gzip; their `text` is a string."""
    opened = gzip.open if str(corpus).endswith(".gz") else open
    with opened(corpus, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in itertools.islice(lines, limit)]
    for row in rows:
        for field in ("text", "summary"):
            if isinstance(row.get(field), list):
                row[field] = "\n".join(row[field])
    return rows


def read_evenly(corpus: str | pathlib.Path, limit: int) -> list[dict[str, Any]]:
    """Documents evenly from all of a corpus."""
    rows = read(corpus)
    return rows[:: max(1, len(rows) // limit)][:limit]


def article(kilobytes: int) -> str:
    """So much of examples/article.txt, again and again."""
    text = ARTICLE.read_text(encoding="utf-8")
    return (text * (1000 * kilobytes // len(text) + 1))[: 1000 * kilobytes]
