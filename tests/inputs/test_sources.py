"""From names to documents: folders, patterns, rows, encodings, mail, pages; what is wrong is one
error."""

import email.message
import gzip
import http.server
import importlib
import json
import os
import re
import sys
import textwrap
import threading

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tfsum.errors import DataError
from tfsum.inputs.kinds import decode
from tfsum.inputs.mail import mail_content
from tfsum.inputs.pdf import flowing
from tfsum.inputs.sources import Source, find_sources, read_content, read_plain, read_source

GERMAN = (
    "Das Wetter wird schöner, sagen die Leute in Köln. Über Nacht fielen dreißig Liter Regen auf"
    " die Straßen."
)
KOREAN = "오늘은 날씨가 좋습니다. 내일은 비가 온다고 합니다. 사람들은 우산을 준비하고 있습니다."
PAGE = (
    "<!doctype html><html><head><title>Rain</title><script>var x ="
    " 1;</script></head><body><nav>Home | News</nav><article><h1>Rain</h1><p>It rained all day on"
    " Monday, and the river rose above its banks in the night.</p><p>People left their houses, and"
    " the mayor asked the army for help with the boats.</p></article></body>"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("b.txt", "a.txt", "deep/c.txt", ".hidden", "deep/.hidden"):
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"This is {name}.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*given, **options):
    return [source.name for source in find_sources(given, **options)]


def text(path, **options):
    (document,) = read_source(Source(str(path)), **options)
    return document.text


def test_folders_and_patterns(folder):
    assert names("texts", recursive=True) == ["texts/a.txt", "texts/b.txt", "texts/deep/c.txt"]
    assert names("texts/*.txt") == ["texts/a.txt", "texts/b.txt"]
    assert names("texts/**/*.txt") == ["texts/a.txt", "texts/b.txt", "texts/deep/c.txt"]
    (folder / "a[1].txt").write_text("")
    assert names("a[1].txt") == ["a[1].txt"]  # a file of that name, though it looks like a pattern


def test_only_what_is_not_there_is_said_to_be_missing(folder):
    with pytest.raises(DataError, match=r"no such file: none.txt, x\*y"):
        find_sources(["none.txt", "texts/a.txt", "x*y"])
    with pytest.raises(
        DataError, match="texts: is a folder, expected a file; `tfsum summarize --recursive` reads"
    ):
        find_sources(["texts"])
    os.makedirs("no/texts")
    with pytest.raises(DataError, match="no: holds no file; expected texts in it or below it"):
        find_sources(["no"], recursive=True)
    os.symlink("nowhere", "link")
    with pytest.raises(DataError, match=r"link: cannot be read \(No such file or directory\)"):
        text(find_sources(["link"])[0].name)
    with pytest.raises(DataError, match=r"texts: cannot be read \(Is a directory\)"):
        text("texts")


def test_rows(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"id": 1, "text": "It rained."}\n\n{"id": 2, "text": ["It", "snowed."]}\n'
    )
    (tmp_path / "a.csv").write_text('id;text\n1;"It rained; it snowed."\n')
    rows = list(read_source(Source(str(tmp_path / "a.jsonl")), "text"))
    assert [(row.name.rpartition("/")[2], row.text) for row in rows] == [
        ("a.jsonl:1", "It rained."),
        ("a.jsonl:3", "It\nsnowed."),
    ]
    assert [row.text for row in read_source(Source(str(tmp_path / "a.csv")), "text")] == [
        "It rained; it snowed."
    ]
    with pytest.raises(
        DataError, match="a.jsonl: holds rows .the first has the fields id, text.; `tfsum summarize"
    ):
        text(tmp_path / "a.jsonl")
    with pytest.raises(DataError, match="a.csv: no row has the field 'body'; .* fields id, text;"):
        list(read_source(Source(str(tmp_path / "a.csv")), "body"))
    (tmp_path / "prose.txt").write_text("It rained, and, it is said, snowed.\nIt was cold.\n")
    with pytest.raises(DataError, match="is text, and its first line .* the field 'text'; .* JSON"):
        list(read_source(Source(str(tmp_path / "prose.txt")), "text"))
    names = [row.name for row in read_source(Source(str(tmp_path / "a.csv")), "text", id="id")]
    assert names == [f"{tmp_path / 'a.csv'}:1"]


def test_compressed_and_empty_rows(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "It rained."}\n'))
    assert text(tmp_path / "a.jsonl.gz", field="text") == "It rained."
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"It rained.\n"))
    assert text(tmp_path / "a.txt.gz") == "It rained.\n"
    for name, content, says in (
        ("b.jsonl.gz", gzip.compress(b'{"text": "x"}')[:-9], "cannot be decompressed"),
        ("b.csv", b"id,text\n", "holds no row"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=says):
            text(tmp_path / name, field="text")


WRONG = {
    "deep": (b'{"text": ' + b"[" * 100_000, "not JSON .*nested too deep"),
    "number": (b'{"text": ' + b"9" * 5_000 + b"}", "not JSON .Exceeds the limit"),
    "cut": (b'{"text": "It ra', "not JSON"),
    "null": (b"null", "found null"),
    "log": (b"INFO: 3 rows", "not JSON"),
    "field": (b'{"body": "It rained."}', "field 'text': found fields body"),
}


def found_rows(path, content):
    """The texts of the right rows, and the place and the error of each wrong one."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = list(read_source(Source(str(path)), "text"))
    assert all(one.text == "" for one in found if one.error)
    return (
        [one.text for one in found if one.error is None],
        [str(one.error).rpartition("/")[2] for one in found if one.error],
    )


@pytest.mark.parametrize("row, says", WRONG.values(), ids=WRONG)
def test_a_wrong_row_stops_no_other(tmp_path, row, says):
    right = b'{"text": "It rained."}'
    for place in range(3):
        rows = [right, right]
        rows.insert(place, row)
        texts, (error,) = found_rows(tmp_path / "a.jsonl", b"\n".join(rows))
        assert texts == ["It rained."] * 2 and re.match(f"a.jsonl:{place + 1}: {says}", error)


ARRAYS = {  # the second and third rows are wrong, or one of them
    "cut": ('[{"text": "a"}, {"text": "b', ["a"], ["2: not JSON"]),
    "no end": ('[{"text": "a"},', ["a"], ["2: not JSON .the array has no end"]),
    "null": (
        '[{"text": "a"}, null, 7, {"text": "b"}]',
        ["a", "b"],
        ["2: found null", "3: found 7"],
    ),
    "quotes": ('[{"text": "a"}, {"text": "x "y""},\n{"text": "b"}]', ["a", "b"], ["2: not JSON"]),
    "two arrays": ('[{"text": "a"}]\n[{"text": "b"}]', ["a", "b"], []),
}


@pytest.mark.parametrize("content, right, wrong", ARRAYS.values(), ids=ARRAYS)
def test_a_wrong_row_of_an_array_stops_no_other(tmp_path, content, right, wrong):
    texts, errors = found_rows(tmp_path / "a.json", content)
    assert texts == right and len(errors) == len(wrong)
    assert all(re.match(f"a.json:{one}", error) for one, error in zip(wrong, errors))


TABLE = {
    "ragged": ("3,a,b", "3: found 3 cells, expected 2 .id, text."),
    "open quote": ('3,"a', "3: a quote is open"),
    "tab": ("3\ta", "3: found 1 cells"),
    "letters behind a quote": ('3,"a"b', "3: .*expected after"),
}


@pytest.mark.parametrize("row, says", TABLE.values(), ids=TABLE)
def test_a_wrong_row_of_a_table_stops_no_other(tmp_path, row, says):
    content = f'\nid,text\n1,"It\nrained."\n{row}\n\n2,5" of rain\n3,"We\nstayed."\n'
    texts, (error,) = found_rows(tmp_path / "a.csv", content)
    assert texts == ["It\nrained.", '5" of rain', "We\nstayed."]
    assert re.match(f"a.csv:{says.replace('3:', '5:')}", error)


def test_a_quote_in_a_table_with_tabs_may_be_a_letter(tmp_path):
    content = 'id\ttext\n1\t"It rained.\n2\t"We" stayed.\n3\t"a\tb"\n4\ta\tb\n'
    texts, errors = found_rows(tmp_path / "a.tsv", content)
    assert texts == ['"It rained.', '"We" stayed.', "a\tb"]
    assert re.match("a.tsv:5: found 3 cells", errors[0])


def test_an_array_and_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"id": 1, "text": "It rained."}, {"id": 2, "text": "We stayed."}]
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=1))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.json", "a.parquet"):
        found = list(read_source(Source(str(tmp_path / name)), "text"))
        assert [one.row for one in found] == rows and found[1].name.endswith(f"{name}:2")
    with pytest.raises(DataError, match="a.json: is a JSON document.*--field text"):
        text(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("written", "encoding"),
    [
        (GERMAN, "latin-1"),
        (GERMAN, "cp1252"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "utf-8"),
        (GERMAN, "utf-8-sig"),
        (KOREAN * 3, "euc-kr"),
        (KOREAN, "utf-16"),
        (KOREAN, "utf-16-be"),
        ("L'été dernier, la rivière a débordé. Les habitants ont été évacués.", "latin-1"),
        (
            "Wczoraj zażółciły się liście, mówią ludzie w Łodzi. Źródła rzeki są blisko." * 3,
            "cp1250",
        ),
        ("Погода улучшается, говорят люди в городе. " * 3, "cp1251"),
        ("今日は天気が良いです。明日は雨が降ります。" * 3, "shift_jis"),
    ],
)
def test_encodings_are_recognized(tmp_path, written, encoding):
    (tmp_path / "a.txt").write_bytes(written.encode(encoding))
    (document,) = read_source(Source(str(tmp_path / "a.txt")))
    assert document.text == written
    assert bool(document.notes) == (not encoding.startswith("utf-8"))
    if encoding != "utf-8-sig":
        assert text(tmp_path / "a.txt", encoding=encoding) == written


def test_wrong_encodings():
    with pytest.raises(DataError, match="a.txt: is not utf-8 .* at byte 19.; leave --encoding out"):
        decode(GERMAN.encode("latin-1"), "a.txt", "utf-8")
    with pytest.raises(DataError, match="encoding 'utf-9' is unknown"):
        decode(b"", "a.txt", "utf-9")
    found, notes = decode(GERMAN.encode() * 20 + b"\xff", "a.txt")
    assert found == GERMAN * 20 + "\ufffd" and notes == [
        "1 place(s) were not UTF-8, read as U+FFFD"
    ]


def test_mail_without_header_quotes_and_signature(tmp_path):
    message = email.message.EmailMessage()
    message["From"], message["Subject"] = "Anna <a@example.org>", "Re: Überschwemmung"
    message.set_content(
        "Der Fluß ist über die Ufer getreten.\n\nOn Monday, Ben wrote:\n> Did it rain?\n> Anna\n\n"
        "We left.\n\n-- \nAnna\nTel. 12345\n"
    )
    message.add_alternative("<p>HTML</p>", subtype="html")
    (tmp_path / "a.eml").write_bytes(bytes(message))
    assert text(tmp_path / "a.eml").split("\n\n") == [
        "Der Fluß ist über die Ufer getreten.",
        "We left.",
    ]


def test_a_forwarded_mail_keeps_what_it_forwards(tmp_path):
    (tmp_path / "a.eml").write_text(
        "From: a@example.org\nSubject: Fwd\n\n---- Forwarded message ----\nIt rained.\n"
    )
    assert "It rained." in text(tmp_path / "a.eml")


def test_pages_and_documents(tmp_path):
    pytest.importorskip("trafilatura")
    docx = pytest.importorskip("docx")
    pypdf = pytest.importorskip("pypdf")
    (tmp_path / "a.html").write_text(PAGE)
    found = text(tmp_path / "a.html")
    assert "the river rose above its banks" in found and "var x" not in found and "<p>" not in found
    document = docx.Document()
    for line in ("It rained all day.", "The river rose."):
        document.add_paragraph(line)
    table = document.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "The council met."
    table.cell(1, 1).text = "It approved the dam."
    document.add_paragraph("Then it was dry.")
    document.save(tmp_path / "a.docx")
    assert text(tmp_path / "a.docx").split("\n\n") == [
        "It rained all day.",
        "The river rose.",
        "The council met.",
        "It approved the dam.",
        "Then it was dry.",
    ]
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(tmp_path / "a.pdf")
    with pytest.raises(
        DataError, match="a.pdf: no text was found in a PDF file; its pages may be images"
    ):
        text(tmp_path / "a.pdf")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7\nand no more")
    with pytest.raises(DataError, match="b.pdf: cannot be read as a PDF file"):
        text(tmp_path / "b.pdf")


def test_rows_of_tables_are_no_sentences(tmp_path):
    table = (
        "<table><tr><th>Town</th><th>Rain</th></tr><tr><td>Bergen</td><td>12 mm</td></tr></table>"
    )
    (tmp_path / "a.html").write_text(PAGE.replace("<p>People", f"{table}<p>People"))
    found = text(tmp_path / "a.html")
    assert "the river rose" in found and "the mayor asked" in found
    assert "Bergen" not in found and "12 mm" not in found
    (tmp_path / "a.md").write_text("It rained.\n\n|Town|Rain|\n|-|-|\n|Bergen|12|\n\nIt stopped.\n")
    assert text(tmp_path / "a.md").split() == ["It", "rained.", "It", "stopped."]


def test_a_cell_that_says_it_spans_ten_million_columns_is_read_once(tmp_path):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    cell.text = "It rained."
    cell._tc.grid_span = 10_000_000
    document.save(tmp_path / "a.docx")
    assert text(tmp_path / "a.docx") == "It rained."


def test_a_mail_of_blank_lines_takes_no_time_squared():
    # Before: 8 s for 40 kB, and 87 minutes for this one.
    mail = b"From: Anna\nSubject: Rain\n\nIt rained.\n" + b"\n" * (1 << 20) + b"> quoted\n"
    assert mail_content(mail).text == "It rained."


def test_a_small_file_that_decompresses_to_much(tmp_path, monkeypatch):
    monkeypatch.setattr("tfsum.inputs.sources.UNPACKED", 1 << 20)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a" * (1 << 20)))
    assert len(text(tmp_path / "a.txt.gz")) == 1 << 20
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"a" * (1 << 24)))
    with pytest.raises(DataError, match="b.txt.gz: is larger than 1 MB when decompressed"):
        text(tmp_path / "b.txt.gz")


WORD = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=9)


@given(st.lists(st.lists(WORD, min_size=1, max_size=60), min_size=1, max_size=4))
def test_no_line_of_a_page_ends_a_sentence(paragraphs):
    """Wrapped paragraphs of small letters come back whole, an empty line between them."""
    whole = [f"{' '.join(words)}." for words in paragraphs]
    wrapped = "\n\n".join(textwrap.fill(paragraph, 50) for paragraph in whole)
    assert flowing(wrapped) == "\n\n".join(whole)


def test_headings_of_a_page_stay_alone():
    page = (
        "Annual Report\n1. Weather\nIt rained on most of the days of the year, as the\n"
        "Meteorological Office said, and the rivers of the\nnorth rose.\nTrains stopped twice, each"
        " time for a well-\nknown reason of the company that runs them all.\n"
    )
    assert flowing(page).split("\n\n") == [
        "Annual Report",
        "1. Weather",
        "It rained on most of the days of the year, as the Meteorological Office said, and the"
        " rivers of the north rose.",
        "Trains stopped twice, each time for a well-known reason of the company that runs them"
        " all.",
    ]


def test_a_pdf_has_its_text(tmp_path):
    pytest.importorskip("pypdf")
    figure = pytest.importorskip("matplotlib.figure").Figure()
    figure.text(0.1, 0.5, "It rained all day.")
    figure.savefig(tmp_path / "a.pdf", metadata={"CreationDate": None})
    assert "It rained all day." in text(tmp_path / "a.pdf")


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    monkeypatch.delitem(sys.modules, "tfsum.inputs.html_text", raising=False)
    with pytest.raises(DataError, match=r"a.html: is HTML, .* pip install 'tfsum\[documents\]'"):
        list(read_content(PAGE.encode(), "a.html"))


def test_what_is_no_text_is_named(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\x7fELF\x02\x01" + bytes(40))
    with pytest.raises(DataError, match="a.txt: is an ELF program, expected text, HTML, PDF"):
        text(tmp_path / "a.txt")
    with pytest.raises(DataError, match="a.txt: is an ELF program, expected plain text"):
        read_plain(str(tmp_path / "a.txt"))


def test_an_address_is_fetched(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("It rained.")
    handler = type(
        "Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None}
    )
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *a: handler(*a, directory=str(tmp_path))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        (source,) = find_sources([f"{address}/a.txt"])
        assert text(source.name) == "It rained."
        with pytest.raises(DataError, match=r"none.txt: cannot be fetched \(File not found\)"):
            text(f"{address}/none.txt")
    finally:
        server.shutdown()
        server.server_close()


def test_the_article_of_a_page_with_very_many_tags_is_not_looked_for(monkeypatch):
    pytest.importorskip("trafilatura")
    html_text = importlib.import_module("tfsum.inputs.html_text")
    monkeypatch.setattr(html_text, "TAGS", 100)
    monkeypatch.setattr("trafilatura.extract", None)
    content = html_text.page_content(b"<html><body>" + b"<p><b>It rained." * 60)
    assert content.text.count("It rained.") == 60
    assert content.notes == [
        "it has more than 100 tags, so that all of its text is read, menus too"
    ]
