"""A file that is read in a process of its own."""

import asyncio
import contextlib
import gzip
import io
import json
import os
import signal
import sys
import time

import pytest

from tfsum.errors import DataError
from tfsum.inputs import apart, reading_process
from tfsum.inputs.sources import Document, Source, read_source


def text_apart(data, name, seconds=600, limit=1 << 20):
    return asyncio.run(apart.text_apart(data, name, seconds, limit))


def test_a_text_in_its_encoding():
    text = "비가 왔다. " * 20
    assert text_apart(text.encode("cp949"), "a.txt") == text


@pytest.mark.parametrize(
    "data, message",
    [
        (bytes(range(256)), "a: is binary data, expected text"),
        (b'{"text": "It rained."}\n', "a: holds rows"),
        (b"%PDF-1.7\nnothing", "a: cannot be read as a PDF file"),
        (b"<html><body></body></html>", "a: no text was found in HTML"),
        (b"It rained. " * 200_000, "a: has more than 1048576 bytes of text"),
        (gzip.compress(b"It rained. " * 200_000), "a: is larger than 1 MB when decompressed"),
    ],
)
def test_what_is_wrong_is_one_error(data, message):
    with pytest.raises(DataError, match=message):
        text_apart(data, "a")


def test_a_limit_of_time():
    with pytest.raises(DataError, match="a.txt: was not read in 0.001 s"):
        text_apart(b"It rained.", "a.txt", 0.001)


def test_a_process_that_ends_without_an_answer(monkeypatch):
    monkeypatch.setattr("tfsum.inputs.apart.sys.executable", "false")
    with pytest.raises(DataError, match="a.txt: cannot be read"):
        text_apart(b"It rained.", "a.txt")


def test_a_mailbox_is_one_text():
    mail = b"From a@b Mon Mar 11 16:45:00 2024\nSubject: Rain\n\nIt rained.\n\n"
    assert text_apart(mail * 2, "a.mbox") == "It rained.\n\nIt rained."


def test_nothing_of_the_working_folder_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("open('run', 'w')")
    assert text_apart(b"It rained.", "a.txt") == "It rained."
    assert not (tmp_path / "run").exists()


@pytest.fixture
def sleeping(tmp_path, monkeypatch):
    """A process that writes its number to a file, which is returned, and reads for ever."""
    number, program = tmp_path / "number", tmp_path / "python"
    program.write_text(
        f"#!/bin/sh\necho $$ > {number}.new; mv {number}.new {number}; exec sleep 600\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(apart.sys, "executable", str(program))
    return number


def test_the_process_ends_when_nobody_waits(sleeping):
    async def give_up():
        reading = asyncio.create_task(apart.text_apart(b"It rained.", "a.txt", 600, 1000))
        while not sleeping.exists():
            await asyncio.sleep(0.01)
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading

    asyncio.run(give_up())
    with pytest.raises(ProcessLookupError):
        os.kill(int(sleeping.read_text()), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="the system cannot do it")
def test_the_process_has_limits_and_ends_with_its_parent(monkeypatch):
    import resource

    asked, answers = {}, io.TextIOWrapper(io.BytesIO())

    class System:
        prctl = staticmethod(lambda *arguments: asked.update(prctl=arguments))

    monkeypatch.setattr(resource, "setrlimit", asked.__setitem__)
    monkeypatch.setattr(reading_process.ctypes, "CDLL", lambda _: System)
    monkeypatch.setattr(reading_process.os, "nice", lambda _: None)
    monkeypatch.setattr(
        reading_process.sources, "read_content", lambda *_, **__: print("printed") or []
    )
    monkeypatch.setattr(reading_process.sources, "UNPACKED", 1 << 20)
    limits = {"seconds": 7, "limit": 1000, "memory": 1 << 30}
    head = json.dumps({"size": 2, "name": "a.txt", "encoding": None, **limits}).encode()
    monkeypatch.setattr(reading_process.sys, "stdin", io.TextIOWrapper(io.BytesIO(head + b"\nIt")))
    monkeypatch.setattr(reading_process.sys, "stdout", answers)
    before = time.process_time()
    reading_process.main()
    assert asked[resource.RLIMIT_AS] == (1 << 30, 1 << 30)
    # from now on, in whole seconds
    assert before + 7 <= asked[resource.RLIMIT_CPU][0] < time.process_time() + 8
    assert asked["prctl"] == (1, signal.SIGKILL)
    assert answers.buffer.getvalue() == b'{"documents": []}\n'


LIMIT = 1 << 20  # bytes of a text
MAIL = b"From a@b Mon Mar 11 16:45:00 2024\nSubject: Rain\n\nIt rained.\n> Did it rain?\n\n"


def test_files_of_the_command_line_are_read_in_one_process():
    read = apart.ApartReader()
    first, second = read(MAIL * 2, "a.mbox", LIMIT)
    assert (first["name"], second["text"]) == ("a.mbox:1", "It rained.") and first["left_out"]
    process = read._process
    with pytest.raises(DataError, match="b.pdf: cannot be read as a PDF file"):
        read(b"%PDF-1.7\nnothing", "b.pdf", LIMIT)
    (text,) = read("Es regnete, und es ist schön.".encode("utf-16"), "c.txt", LIMIT, "utf-16")
    assert Document(**text) == Document("Es regnete, und es ist schön.", name="c.txt")
    assert read._process is process


def test_after_a_file_that_ends_the_process_comes_another(monkeypatch):
    read = apart.ApartReader()
    with monkeypatch.context() as patch:
        patch.setattr("tfsum.inputs.apart.sys.executable", "false")
        with pytest.raises(DataError, match="a.txt: cannot be read; it seems to be damaged"):
            read(b"It rained. " * 100_000, "a.txt", LIMIT)
    (text,) = read(b"It rained.", "a.txt", LIMIT)
    assert text["text"] == "It rained."


def test_a_limit_of_time_on_the_command_line(sleeping, monkeypatch):
    monkeypatch.setattr(apart, "OWN_SECONDS", 0.01)
    read = apart.ApartReader()
    with pytest.raises(DataError, match="a.pdf: was not read in 0.01 s, the limit for a file"):
        read(b"%PDF-1.7", "a.pdf", LIMIT)
    assert read._process is None


def test_only_plain_text_and_rows_are_read_in_this_process(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        apart, "read_apart", lambda data, name, *_: asked.append((data, name)) or []
    )
    html = b"<html><body>It rained.</body></html>"
    contents = {
        "a.pdf": b"%PDF-1.7",
        "b.html": html,
        "c.html.gz": gzip.compress(html),
        "d.eml": MAIL,
        "e.txt": b"It rained.",
        "f.txt.gz": gzip.compress(b"It rained."),
        "g.jsonl": b'{"text": "It rained."}',
    }
    found = {}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        field = "text" if name == "g.jsonl" else None
        found[name] = [one.text for one in read_source(Source(str(tmp_path / name)), field)]
    assert [os.path.basename(name) for _, name in asked] == [
        "a.pdf",
        "b.html",
        "c.html.gz",
        "d.eml",
    ]
    assert asked[2][0] == html
    assert [name for name, texts in found.items() if texts == ["It rained."]] == [*contents][4:]
