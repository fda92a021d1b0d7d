"""Files of JSON lines to documents: what cannot be read is reported, with its place, and takes
nothing with it."""

import gzip
import json

import pytest

beam = pytest.importorskip("apache_beam", reason="needs apache-beam: pip install '.[beam]'")

from tfsum.beam import ReadDocuments
from tfsum.beam.transforms import lines


@pytest.fixture
def read(run_pipeline):
    """Reads files by a pipeline: the documents, and key -> error of the failed ones."""

    class Read(beam.PTransform):
        def __init__(self, pattern, **options):
            super().__init__()
            self._read = ReadDocuments(str(pattern), **options)

        def expand(self, nothing):
            found = nothing.pipeline | self._read
            return type("Outputs", (), {"answers": found.documents, "failed": found.failed})

    def read(pattern, **options):
        documents, failed = run_pipeline([], Read(pattern, **options))
        return documents, {row.key: row.error for row in failed}

    return read


def write(path, *rows) -> None:
    content = b"".join(
        row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows
    )
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def test_documents_of_several_files(tmp_path, read):
    write(tmp_path / "a.jsonl", {"text": "One."}, b"\n", {"text": ["Two.", "Three."], "id": 7})
    write(tmp_path / "b.jsonl.gz", {"text": "Four."})
    (tmp_path / "c.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "Five."}')
    (tmp_path / "empty.jsonl").touch()
    documents, failed = read(tmp_path / "*.jsonl*")
    places = {
        f"{tmp_path}/a.jsonl:1": "One.",
        f"{tmp_path}/a.jsonl:3": "Two.\nThree.",
        f"{tmp_path}/b.jsonl.gz:1": "Four.",
        f"{tmp_path}/c.jsonl:1": "Five.",
    }
    assert dict(documents) == places and len(documents) == 4 and not failed


def test_parquet_is_known_by_its_content(tmp_path, read):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    write(tmp_path / "a.rows", {"text": "One.", "id": 3})
    rows = [{"text": text, "id": number} for number, text in enumerate(["Two.", None, "Three."])]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "b.rows")
    cut = (tmp_path / "b.rows").read_bytes()[:-9]
    (tmp_path / "c.rows").write_bytes(cut)
    documents, failed = read(tmp_path / "*.rows", id_field="id")
    assert sorted(documents) == [("0", "Two."), ("2", "Three."), ("3", "One.")]
    assert failed.keys() == {f"{tmp_path}/b.rows:2", f"{tmp_path}/c.rows"}
    assert "field 'text': found NoneType" in failed[f"{tmp_path}/b.rows:2"]
    assert "cannot be read as Parquet" in failed[f"{tmp_path}/c.rows"]


def test_gzip_is_known_by_its_content(tmp_path, read):
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(b'{"text": "One."}\n'))
    assert read(tmp_path / "a.jsonl") == ([(f"{tmp_path}/a.jsonl:1", "One.")], {})


def test_a_field_becomes_the_key(tmp_path, read):
    write(
        tmp_path / "a.jsonl",
        {"text": "One.", "id": "x"},
        {"text": "Two.", "id": 7},
        {"text": "Three."},
    )
    documents, failed = read(tmp_path / "a.jsonl", id_field="id")
    assert sorted(documents) == [("7", "Two."), ("x", "One.")]
    assert "field 'id': found fields text, expected a string" in failed[f"{tmp_path}/a.jsonl:3"]


BAD_LINES = {
    b"{not JSON\n": "not JSON",
    b"[" * 100_000 + b"\n": "not JSON",
    b'["It rained."]\n': 'found ["It rained."], expected an object',
    b'{"body": "It rained."}\n': "field 'text': found fields body",
    b'{"text": null}\n': "field 'text': found NoneType None",
    b'{"text": true}\n': "field 'text': found bool True",
    b'{"text": 7}\n': "field 'text': found int 7, expected a string",
    b'{"text": "\xff"}\n': "not UTF-8 (invalid start byte at byte 11)",
    b'{"text": "\\ud800"}\n': "field 'text': not UTF-8 (character 1 is '\\ud800', half of a pair",
    b'{"text": " "}\n': "the document is empty",
    b'{"text": "It \x00"}\n': "not JSON",
}


def test_bad_lines_take_no_other_with_them(tmp_path, read):
    good = json.dumps({"text": "It rained."}).encode() + b"\n"
    write(tmp_path / "a.jsonl", *(row for bad in BAD_LINES for row in (bad, good)))
    documents, failed = read(tmp_path / "a.jsonl")
    places = [f"{tmp_path}/a.jsonl:{number}" for number in range(1, 2 * len(BAD_LINES) + 1)]
    assert sorted(documents) == sorted((place, "It rained.") for place in places[1::2])
    assert failed.keys() == set(places[::2])
    for place, what in zip(places[::2], BAD_LINES.values()):
        assert what in failed[place]


def test_a_file_that_ends_early_is_read_as_far_as_it_goes(tmp_path, read):
    rows = [{"text": f"It rained {i} times. {hash(str(i))}"} for i in range(2000)]
    write(tmp_path / "a.jsonl.gz", *rows)
    whole = (tmp_path / "a.jsonl.gz").read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    write(tmp_path / "b.jsonl", rows[0])
    documents, failed = read(tmp_path / "*.jsonl*")
    assert 100 < len(documents) < 2000 and (f"{tmp_path}/b.jsonl:1", rows[0]["text"]) in documents
    (error,) = failed.values()
    assert (
        f"a.jsonl.gz: cannot be read after line {len(documents) - 1} (Compressed file ended"
        in error
    )


def test_a_file_that_is_gone_is_reported(tmp_path, read, monkeypatch):
    write(tmp_path / "a.jsonl", {"text": "One."})
    from tfsum.beam import transforms

    monkeypatch.setattr(
        transforms.FileSystems, "open", lambda *_, **__: (_ for _ in ()).throw(OSError("no rights"))
    )
    found = list(transforms._read_file("a.jsonl", "text", None, 100))
    assert (
        found[0].value.error
        == "a.jsonl: cannot be read after line 0 (no rights); fetch it again, or look at its rights"
    )


def test_a_document_of_50_megabytes_is_passed_over(tmp_path, read):
    write(tmp_path / "a.jsonl", {"text": "It rained. " * 4_600_000}, {"text": "It rained."})
    documents, failed = read(tmp_path / "a.jsonl")
    assert documents == [(f"{tmp_path}/a.jsonl:2", "It rained.")]
    assert (
        "50600000 characters, and 1000000 are allowed (max_characters)"
        in failed[f"{tmp_path}/a.jsonl:1"]
    )


def test_a_line_beyond_the_limit_is_never_held(tmp_path):
    whole = b"z" * 99 + b"\n"
    (tmp_path / "a.jsonl").write_bytes(
        b"x" * 10_000 + b"\nshort\n" + whole + b"z" + whole + b"y" * 99
    )
    assert list(lines(str(tmp_path / "a.jsonl"), longest=100)) == [
        None,
        b"short\n",
        whole,
        None,
        b"y" * 99,
    ]


def test_a_line_beyond_the_limit_is_a_dead_letter(tmp_path, read, monkeypatch):
    monkeypatch.setattr("tfsum.beam.transforms.LINE_BYTES", 2000)
    write(tmp_path / "a.jsonl", {"text": "It rained. " * 300}, {"text": "It rained."})
    documents, failed = read(tmp_path / "a.jsonl", max_characters=100)
    assert documents == [(f"{tmp_path}/a.jsonl:2", "It rained.")]
    assert failed == {
        f"{tmp_path}/a.jsonl:1": (
            f"{tmp_path}/a.jsonl:1: longer than 2000 bytes; divide the document, or "
            "raise max_characters"
        )
    }
