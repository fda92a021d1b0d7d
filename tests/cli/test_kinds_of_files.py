"""The commands on files of many kinds: no traceback, no control character, no file destroyed."""

import functools
import unicodedata

import kinds_of_files
import pytest

import tfsum
from tfsum.cli.main import main
from tfsum.inference.saved_model import shipped_model

VOCABULARY = shipped_model() / "assets" / "vocab.txt"
FILES = kinds_of_files.files()


def command(verb, file, folder):
    """The words of a verb on a file."""
    rows = file.name.removesuffix(".gz").endswith((".jsonl", ".csv", ".tsv"))
    records = folder / f"records_{file.name}"
    return [verb, str(file)] + {
        "summarize": ["--field", "text"] if rows else [],
        "explain": ["--output", str(folder / "explained.html")],
        "prepare": ["--vocabulary", VOCABULARY, "--output", records, "--processes", "1"],
        "train": [],
    }[verb]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["summarize", "explain", "prepare", "train"])
def test_every_sixth_kind(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tfsum.tasks.load.load", functools.cache(tfsum.load))
    statuses = {}
    for name, content in list(FILES.items())[::6]:
        file = tmp_path / name
        file.write_bytes(content)
        statuses[name] = main([str(word) for word in command(verb, file, tmp_path)])

        printed = "".join(capsys.readouterr())
        assert "Traceback" not in printed, name
        controls = {c for c in printed if unicodedata.category(c) == "Cc"} - set("\n\t\r")
        assert not controls, name
        assert file.read_bytes() == content, name
    assert set(statuses.values()) <= {0, 1, 2}
    assert verb != "summarize" or statuses["plain.txt"] == 0


def test_there_are_sixty_kinds():
    assert len(FILES) >= 60
