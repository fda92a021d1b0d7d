"""The commands on files of many kinds: no traceback, no control character, no file destroyed."""

import json

import inputs
import pytest

import tfsum


@pytest.mark.slow
@pytest.mark.parametrize(
    "verbs", [("summarize", "explain", "prepare", "train")], ids=["four verbs"]
)
def test_every_sixth_kind(monkeypatch, capsys, verbs):
    every = inputs.files()
    monkeypatch.setattr(inputs, "files", lambda: dict(list(every.items())[::6]))
    monkeypatch.setattr(tfsum, "load", tfsum.load)  # main replaces it
    monkeypatch.setattr("sys.argv", ["inputs.py", "--verbs", *verbs])
    assert inputs.main() == 0, capsys.readouterr().err
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[-1]["bad"] == 0 and rows[-1]["calls"] == len(verbs) * -(-len(every) // 6)
    status = {(row["file"], row["verb"]): row["status"] for row in rows[:-1]}
    assert status["plain.txt", "summarize"] == 0 and {row["status"] for row in rows[:-1]} == {
        0,
        1,
        2,
    }


def test_there_are_sixty_kinds():
    assert len(inputs.files()) >= 60
