"""Corpus files as people write them, broken ones included."""

import csv
import gzip
import json
import re

import pytest

from tfsum.data.readers import fingerprint, read_corpus, read_documents, read_pairs
from tfsum.errors import DataError

ROWS = [
    {"id": "a", "text": 'One, "two".\nThree.', "summary": "One\nThree"},
    {"id": "b", "text": "텍스트 하나.", "summary": "하나"},
]


def _write(path, rows):
    name = path.name.removesuffix(".gz")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if name.endswith(".jsonl"):
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, ROWS[0], delimiter="\t" if name.endswith("tsv") else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz", "c.csv", "c.tsv", "c.tsv.gz"])
def test_every_format_gives_the_same_documents(tmp_path, name):
    assert list(read_corpus(_write(tmp_path / name, ROWS))) == ROWS


@pytest.mark.parametrize("name", ["c.json", "c.ndjson", "c.txt", "c", "c.csv", "c.jsonl.gz"])
@pytest.mark.parametrize("compressed", [False, True])
def test_json_lines_are_recognized_by_their_content(tmp_path, name, compressed):
    content = _write(tmp_path / "a.jsonl", ROWS).read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(content) if compressed else content)
    assert list(read_corpus(tmp_path / name)) == ROWS
    assert list(read_documents(tmp_path / name, "text")) == [row["text"] for row in ROWS]


def test_names_and_missing_ids(tmp_path):
    rows = [
        {"body": ["x", "y"], "abstract": "s"},
        {"body": " ", "abstract": ""},
        {"body": "x\ny", "abstract": "s"},
    ]
    path = _write(tmp_path / "c.jsonl", rows)
    found = list(read_corpus(path, text="body", summary="abstract"))
    assert [d["id"] for d in found] == ["1", "2", "3"] and found[0]["text"] == "x\ny"


def test_a_corpus_without_summaries(tmp_path):
    path = _write(tmp_path / "c.jsonl", [{"text": "x"}])
    assert list(read_corpus(path, summary=None)) == [{"id": "1", "text": "x", "summary": ""}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "c.jsonl",
            b'{"text": "a", "summary": "b"}\n{"text": 3, "summary": "b"}\n',
            r"c.jsonl:2: field 'text': found int 3",
        ),
        ("c.jsonl", b'{"text": "a"}\n', r"c.jsonl:1: field 'summary': found fields text"),
        ("c.jsonl", b"{oops}\n", r"c.jsonl:1: not JSON"),
        ("c.jsonl", b"[1]\n", r"c.jsonl:1: found .1., expected"),
        (
            "c.jsonl",
            b'{"text": "a", "summary": "b"}\n{"text": ' + b"[" * 100_000 + b"\n",
            r"c.jsonl:2: not JSON .Arrays or objects nested too deep at column 1: ",
        ),
        (
            "c.jsonl",
            b'{"text": ' + b"9" * 5_000 + b"}\n",
            r"c.jsonl:1: not JSON .Exceeds the limit",
        ),
        (
            "c.jsonl",
            b'{"text": "\xff"}\n',
            r"c.jsonl:1: field 'text': not UTF-8 .character 1 is '.udcff',",
        ),
        (
            "c.csv",
            b"text,summary\n" + b"a,b\n" * 5000 + b"\xc3\xa9,\xe9\n",
            r"c.csv:5002: field 'summary': not UTF-8",
        ),
        (
            "c.csv",
            "본문,summary\na,b\n".encode("cp949"),
            r"c.csv:1: the header line: not UTF-8 .character 1 is '.udcba', .*; convert the file",
        ),
        (
            "c.jsonl",
            b'{"text": "ab\\ud800", "summary": ""}\n',
            r"c.jsonl:1: .*character 3 is '.ud800', half",
        ),
        ("c.csv", b"id,text\n1,a\n", r"c.csv:2: field 'summary': found fields id, text"),
        ("c.csv", b"text,summary\na,b,c\n", r"c.csv:2: found 3 cells, expected 2"),
        ("c.csv", b"", r"c.csv:1: the file is empty"),
        ("c.csv", b'text,summary\n"a"b,c\n', r"c.csv:2: .*expected after"),
        ("c.jsonl.gz", b"not gzip", r"c.jsonl.gz:1: not JSON"),
        (
            "c.jsonl.gz",
            gzip.compress(b'{"text": "a", "summary": "b"}\n', mtime=0)[:-4],
            r"c.jsonl.gz: cannot be read after line 1 .*; expected a whole .jsonl file",
        ),
        ("c.docx", b"", r"c.docx: the name ends in '.docx'"),
    ],
)
def test_errors_name_the_place(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        list(read_corpus(tmp_path / name))
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


WRONG = [
    (b"{oops", "not JSON"),
    (b"[1]", "found .1., expected an object"),
    (b'{"text": "a"}', "field 'summary': found fields text"),
    (b'{"text": 3, "summary": "b"}', "field 'text': found int 3"),
    (b'{"text": "caf\xe9", "summary": "b"}', "field 'text': not UTF-8 .character 4 is '.udce9'"),
    (b'{"text": "\\ud800", "summary": "b"}', "field 'text': not UTF-8 .character 1"),
]


def test_a_wrong_row_never_stops_a_file(tmp_path):
    """Without it the file reads the same; what is wrong with it is told, with its place."""
    right = [{"id": str(i), "text": f"Text {i}.", "summary": f"Line {i}"} for i in range(7)]
    lines = [json.dumps(row).encode() for row in right]
    wrong = [line for line, _ in WRONG]
    mixed = [line for pair in zip(lines, [*wrong, b""]) for line in pair]
    (tmp_path / "c.jsonl").write_bytes(b"\n".join(mixed))
    told = []
    assert list(read_corpus(tmp_path / "c.jsonl", wrong=told.append)) == right
    for number, (problem, (_, says)) in enumerate(zip(told, WRONG, strict=True), start=1):
        assert re.match(f"{tmp_path}/c.jsonl:{2 * number}: {says}", problem)

    told = []
    pairs = read_pairs(tmp_path / "c.jsonl", source="text", target="summary", wrong=told.append)
    assert list(pairs) == [(row["text"], row["summary"]) for row in right]
    assert len(told) == len(WRONG)


def test_a_wrong_row_in_memory_is_passed_over():
    told = []
    assert [row["text"] for row in read_corpus([3, ROWS[0]], wrong=told.append)] == [
        ROWS[0]["text"]
    ]
    assert told == ["rows:1: found a int, expected a dict with the names of columns"]


def test_a_wrong_line_of_a_plain_text_never_stops_it(tmp_path):
    (tmp_path / "a.en").write_bytes(b"one\ntw\xf6\n\nthree")
    (tmp_path / "a.de").write_bytes(b"eins\nzwei\n\ndrei")
    told = []
    pairs = read_pairs(tmp_path / "a.en", tmp_path / "a.de", wrong=told.append)
    assert list(pairs) == [("one", "eins"), ("", ""), ("three", "drei")]
    assert list(read_documents(tmp_path / "a.en", "text", told.append)) == ["three"]
    assert [problem.partition(": not UTF-8")[0] for problem in told] == [
        f"{tmp_path}/a.en and {tmp_path}/a.de:2: field 'source'",
        f"{tmp_path}/a.en:1: field 'text'",
    ]


def test_a_wrong_document_of_a_paper_never_stops_its_file(tmp_path):
    right = {"src": [["It", "rained", "."]], "tgt": [["Rain"]]}
    (tmp_path / "a.json").write_text(json.dumps([{}, right, {"src": [["a"]], "tgt": 3}]))
    told = []
    (document,) = read_corpus(tmp_path / "a.json", wrong=told.append)
    assert document == {"id": "2", "text": "It rained .", "summary": "Rain"}
    assert "a.json: document 1: src" in told[0] and "a.json: document 3: tgt" in told[1]


def test_a_line_without_end_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("tfsum.data.rows.MAX_ROW", 1000)
    file = tmp_path / "c.jsonl.gz"
    row = b'{"text": "' + b"a" * 900 + b'", "summary": "s"}\n'
    file.write_bytes(gzip.compress(row))
    assert len(list(read_corpus(file))) == 1
    file.write_bytes(gzip.compress(row + row.replace(b"a", b"aa")))
    with pytest.raises(DataError, match=r"c.jsonl.gz:2: the line has more than 1000 characters"):
        list(read_corpus(file))


def test_a_cell_longer_than_the_library_allows(tmp_path):
    rows = [{"id": "a", "text": "word " * 60_000, "summary": "s"}]
    assert list(read_corpus(_write(tmp_path / "c.csv", rows))) == rows


@pytest.mark.reference
def test_the_news_corpus(shared):
    documents = list(read_corpus(shared / "data/news/validation.jsonl.gz"))
    assert len({fingerprint(row["text"], row["summary"]) for row in documents}) == 500
    assert all(row["text"].strip() and row["summary"].strip() for row in documents)
