"""Files are told by their content: what is text is read, what is not is named."""

import gzip
import io
import pickle
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfsum.inputs.kinds import READ, kind_of, utf_16

OFFICE, LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "\0EncryptedPackage".encode("utf-16-le")
TEXT = "It rained all day. The river rose above its banks.\nPeople left their houses.\n"


def zipped(*names):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return data.getvalue()


def tar():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    return data.getvalue()


def array():
    data = io.BytesIO()
    np.save(data, np.zeros(3))
    return data.getvalue()


def database(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table a (b text)")
    return (tmp_path / "a.db").read_bytes()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (gzip.compress(TEXT.encode()), "gzip-compressed"),
        (zipped("a.txt"), "a ZIP archive"),
        (zipped("word/document.xml"), "docx"),
        (zipped("xl/workbook.xml"), "an Excel workbook"),
        (tar(), "a tar archive"),
        (pickle.dumps([TEXT]), "a pickle"),
        (array(), "a NumPy array"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a PNG image"),
        (OFFICE + bytes(600), "an old Office document (.doc, .xls)"),
        (OFFICE + LOCKED, "an Office document that a password protects"),
        (zlib.compress(TEXT.encode() * 50), "binary data"),
        (b"PK\x03\x04 and no more", "a damaged ZIP archive"),
        (b"<?xml version='1.0'?><rss/>", "XML"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html><p>It rained.", "html"),
        (b"<!-- a page -->\n<HTML>", "html"),
        (b"%PDF-1.7\n", "pdf"),
        (b'{"text": "It rained."}\n', "rows"),
        (b"From: anna@example.org\nSubject: Rain\n\nIt rained.\n", "mail"),
        (b"From anna Mon Nov 23 00:00:00 2026\nReceived: here\nDate: now\n\nIt rained.\n", "mail"),
        (b"{\\rtf1 It rained.}", "rtf"),
        (b"", "text"),
        (TEXT.encode(), "text"),
        (b"MZ is a mark of programs, and these are words.", "text"),
        (b"From: the start, it rained.\n\nAnd so on.", "text"),
        (b"\x1b[31mred\x1b[0m words of a log\n" * 3, "text"),
        (TEXT.encode("utf-16"), "text"),
        (TEXT.encode("utf-16-be"), "text"),
        (TEXT.encode("latin-1"), "text"),
        (b"{curly} words begin here", "text"),
    ],
    ids=range(29),
)
def test_told_by_the_content(data, kind):
    assert kind_of(data) == kind


def test_comments_that_no_tag_follows_are_read_once():
    """In a process that can be ended: an expression that tries all ways takes years."""
    script = (
        "from tfsum.inputs.kinds import kind_of\n"
        "for begin in ('', '<?xml?>'):\n"
        "    data = (begin + '<!-- rain --> ' * 400).encode()\n"
        "    print(kind_of(data), kind_of(data + b'It rained.'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.splitlines() == ["text text", "XML XML"]


def test_programs_and_databases(tmp_path):
    with open(sys.executable, "rb") as program:
        assert kind_of(program.read()) == "an ELF program"
    assert kind_of(database(tmp_path)) == "an SQLite database"


def test_a_mark_of_utf_32_is_text():
    for encoding, mark in (("utf-32-le", b"\xff\xfe\0\0"), ("utf-32-be", b"\0\0\xfe\xff")):
        assert kind_of(mark + TEXT.encode(encoding)) == "text"


def test_a_name_decides_what_the_content_leaves_open():
    assert kind_of(b"id,text\n1,It rained.\n", "a.csv") == "rows"
    assert kind_of(b"id,text\n1,It rained.\n") == "text"
    assert kind_of(b"Thread: rain\n\nIt rained.", "a.eml") == "mail"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200))
def test_any_text_is_text(text):
    assert kind_of(("It rained. " + text).encode()) == "text"


@given(
    st.text(
        st.characters(codec="latin-1", exclude_categories=["Cc", "Cf"]), min_size=4, max_size=80
    )
)
def test_utf_16_without_a_mark(text):
    text = f"It rained. {text}"
    assert (
        utf_16(text.encode("utf-16-le")) == "utf-16-le"
        and utf_16(text.encode("utf-16-be")) == "utf-16-be"
    )
    assert utf_16(text.encode()) is None


@given(st.binary(max_size=300))
def test_any_bytes_have_a_kind(data):
    kind = kind_of(data)
    assert (
        kind in READ
        or kind.startswith(("a ", "an ", "XML", "binary", "PGP"))
        or kind.endswith(("compressed", "audio", "video"))
    )


def test_html_without_a_head_has_its_name():
    assert (
        kind_of(b"<p>It rained.</p>", "a.html") == kind_of(b"<p>It rained.</p>", "A.HTM") == "html"
    )
    assert kind_of(b"<p>It rained.</p>", "a.txt") == "text"
    assert kind_of(bytes(range(256)), "a.html") == "binary data"
