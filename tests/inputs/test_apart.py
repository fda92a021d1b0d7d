"""A file that is read in a process of its own."""

import pytest

from tfsum.errors import DataError
from tfsum.inputs.apart import text_apart


def test_a_text_in_its_encoding():
    text = "비가 왔다. " * 20
    assert text_apart(text.encode("cp949"), "a.txt", 60) == text


@pytest.mark.parametrize(
    "data, message",
    [
        (bytes(range(256)), "a: is binary data, expected text"),
        (b'{"text": "It rained."}\n', "a: holds rows"),
        (b"%PDF-1.7\nnothing", "a: cannot be read as a PDF file"),
        (b"<html><body></body></html>", "a: no text was found in HTML"),
    ],
)
def test_what_is_wrong_is_one_error(data, message):
    with pytest.raises(DataError, match=message):
        text_apart(data, "a", 60)


def test_a_limit_of_time():
    with pytest.raises(DataError, match="a.txt: was not read in 0.001 s"):
        text_apart(b"It rained.", "a.txt", 0.001)


def test_a_process_that_ends_without_an_answer(monkeypatch):
    monkeypatch.setattr("tfsum.inputs.apart.sys.executable", "false")
    with pytest.raises(DataError, match="a.txt: cannot be read"):
        text_apart(b"It rained.", "a.txt", 60)


def test_a_mailbox_is_one_text():
    mail = b"From a@b Mon Mar 11 16:45:00 2024\nSubject: Rain\n\nIt rained.\n\n"
    assert text_apart(mail * 2, "a.mbox", 60) == "It rained.\n\nIt rained."
