"""The small corpus for a first training."""

import json
import pathlib

from tfsum.data.readers import fingerprint, read_corpus

NEWS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "news"


def test_the_rows_of_the_three_files_are_right_and_different():
    counts = {file.stem: len(list(read_corpus(file))) for file in NEWS.glob("*.jsonl")}
    assert counts == {"train": 28, "validation": 6, "test": 6}
    page = (NEWS / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}.jsonl` | {count} |" in page for name, count in counts.items())

    rows = [row for file in NEWS.glob("*.jsonl") for row in read_corpus(file)]
    assert len({fingerprint(row["text"]) for row in rows}) == len(rows) == 40
    for row in rows:
        assert 1 <= len(row["summary"].split("\n")) <= 3
        assert len(row["summary"]) < len(row["text"]) / 2


def test_a_row_shows_its_format():
    for file in NEWS.glob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert list(json.loads(line)) == ["text", "summary"]
    assert sum(file.stat().st_size for file in NEWS.iterdir()) < 60_000
