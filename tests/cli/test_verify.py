"""`tfsum verify`: what it prints, and its exit status."""

import json

import pytest

import tfsum
from tfsum.cli.main import main
from tfsum.errors import ExportError
from tfsum.export.golden import VerificationReport


@pytest.fixture
def called(monkeypatch):
    """The calls of the library."""
    calls = []

    def verified(folder):
        calls.append(folder)
        return {"weights": 103}

    monkeypatch.setitem(vars(tfsum), "verify", verified)
    return calls


def test_verify_prints_the_report_of_a_folder(called, tmp_path, capsys):
    assert main(["verify", str(tmp_path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"weights": 103}
    assert called == [str(tmp_path)]


def test_verify_takes_a_version_or_the_newest(tmp_path, monkeypatch):
    from tfsum.export import golden

    checked = []
    monkeypatch.setattr(golden, "verify_export", lambda folder, *_: checked.append(folder))
    description = {"kind": "extractive", "config": {"model_type": "bert", "bert_sum_ext": {}}}
    for number in ("2", "10"):
        (tmp_path / number / "assets.extra").mkdir(parents=True)
        (tmp_path / number / "saved_model.pb").touch()
        file = tmp_path / number / "assets.extra" / "tfsum.json"
        file.write_text(json.dumps(description))
    tfsum.verify(tmp_path / "2")
    tfsum.verify(tmp_path)
    assert checked == [tmp_path / "2", tmp_path / "10"]


def test_what_verify_finds_wrong_is_status_1(called, tmp_path, monkeypatch, capsys):
    def wrong(folder):
        raise ExportError(f"{folder}: the score of sentence 2 is 0.4, it was 0.7")

    monkeypatch.setitem(vars(tfsum), "verify", wrong)
    (tmp_path / "saved_model.pb").touch()
    assert main(["verify", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    problem = f"{tmp_path}: the score of sentence 2 is 0.4, it was 0.7"
    assert out == "" and err == f"tfsum verify: error: failed ({problem})\n"


def test_a_model_that_passes_is_said_to(called, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(vars(tfsum), "verify", lambda _: VerificationReport(golden_answers=8))
    (tmp_path / "saved_model.pb").touch()
    assert main(["verify", str(tmp_path)]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("passed: ")


def test_a_missing_folder_is_a_wrong_call(called, capsys):
    assert main(["verify", "absent"]) == 2
    assert "absent: no such folder; expected NAME" in capsys.readouterr().err and not called
