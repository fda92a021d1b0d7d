"""A file that is read in a process of its own."""

import asyncio
import contextlib
import gzip
import io
import os
import signal
import sys

import pytest

from tfsum.errors import DataError
from tfsum.inputs import apart


def text_apart(data, name, seconds=60, limit=1 << 20):
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

    asked = {}

    class System:
        prctl = staticmethod(lambda *arguments: asked.update(prctl=arguments))

    monkeypatch.setattr(resource, "setrlimit", asked.__setitem__)
    monkeypatch.setattr(apart.ctypes, "CDLL", lambda _: System)
    monkeypatch.setattr(apart.os, "nice", lambda _: None)
    monkeypatch.setattr(apart.sources, "read_content", lambda *_: [])
    monkeypatch.setattr(apart.sources, "UNPACKED", 1 << 20)
    monkeypatch.setattr(apart.sys, "argv", ["apart", "a.txt", "7", "1000"])
    monkeypatch.setattr(apart.sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    apart.main()
    assert asked[resource.RLIMIT_CPU] == (7, 7) and asked[resource.RLIMIT_AS] == (1 << 30, 1 << 30)
    assert asked["prctl"] == (1, signal.SIGKILL)
