"""`tfsum doctor`: what it finds is told with its cure, and its status says whether something is wrong."""

import configparser
import importlib.metadata
import json
import pathlib

import pytest

from tfsum.cli import diagnosis
from tfsum.cli.diagnosis import Finding, satisfies
from tfsum.cli.main import main


@pytest.mark.parametrize(
    ("version", "bounds", "right"),
    [
        ("2.21.0", "<2.22,>=2.21", True),
        ("2.21.1", ">=2.21,<2.22", True),
        ("2.22.0rc1", ">=2.21,<2.22", False),
        ("2.9.1", ">=2.21", False),
        ("3.12", ">=3.12", True),
        ("2.13.0+cpu", "==2.13.0", True),
        ("1.0", "", True),
    ],
)
def test_versions_are_compared_as_numbers(version, bounds, right):
    assert satisfies(version, bounds) is right


def test_a_missing_and_an_old_package_come_with_the_command(monkeypatch):
    asked = ["tensorflow<2.22,>=2.21", "numpy", "torch==2.13.0; extra == 'reference'", "tqdm"]
    installed = {"tensorflow": "2.20.0", "numpy": "2.4.6"}

    def version(name):
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(importlib.metadata, "requires", lambda name: asked)
    monkeypatch.setattr(importlib.metadata, "version", version)
    found = {finding.name: finding for finding in diagnosis.packages()}
    assert found["tensorflow"][2:4] == ("2.20.0, expected <2.22,>=2.21", "wrong")
    assert found["tensorflow"].cure == "pip install 'tensorflow<2.22,>=2.21'"
    assert found["tqdm"].cure == "pip install 'tqdm'" and found["numpy"].state == "ok"
    assert "torch" not in found


def test_a_look_that_breaks_is_itself_a_finding(monkeypatch):
    def broken():
        raise OSError("no /proc here")

    monkeypatch.setattr(diagnosis, "machine", broken)
    monkeypatch.setattr(diagnosis, "tensorflow", list)
    first = diagnosis.examine()[0]
    assert first.state == "wrong" and first.found == "OSError: no /proc here"


@pytest.mark.parametrize(("state", "status"), [("ok", 0), ("optional", 0), ("wrong", 1)])
def test_text_json_and_status(monkeypatch, capsys, state, status):
    findings = [Finding("machine", "python", "3.11.7")]
    findings += [Finding("models", "shipped", "none", state, "reinstall")]
    monkeypatch.setattr(diagnosis, "examine", lambda: findings)
    assert main(["doctor"]) == status
    text = capsys.readouterr().out
    assert "  ok  python   3.11.7\n" in text and "-> reinstall" in text
    assert main(["doctor", "--format", "json"]) == status
    assert json.loads(capsys.readouterr().out)[1]["state"] == state


def test_every_extra_is_looked_for():
    extras = configparser.ConfigParser()
    extras.read(pathlib.Path(__file__).parents[2] / "setup.cfg")
    for extra in extras["options.extras_require"]:
        assert any(f"'.[{extra}]'" in cure for cure in diagnosis.OPTIONAL.values()), extra


def test_this_machine_can_be_examined():
    sections = {finding.section for finding in diagnosis.examine()}
    assert sections == {"machine", "packages", "optional packages", "tensorflow", "models"}
