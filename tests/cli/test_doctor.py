"""`tfsum doctor`: what it finds is told with its cure, and its status says whether something is
wrong."""

import configparser
import importlib.metadata
import json
import pathlib

import pytest

from tfsum.cli import doctor
from tfsum.cli.doctor import Finding
from tfsum.cli.main import main


def test_a_missing_and_an_old_package_come_with_the_command(monkeypatch):
    asked = [
        "tensorflow<2.22,>=2.21",
        "numpy",
        "tqdm",
        "wheel; platform_system == 'no such system'",
        "keras>=3.12",
        "torch==2.13.0; extra == 'reference'",
        "uvicorn; extra == 'serve'",
        "starlette; extra == 'serve'",
        "jax; extra == 'jax'",
    ]
    installed = {
        "tensorflow": "2.22.0rc1",
        "numpy": "2.4.6",
        "keras": "3.12",
        "torch": "2.13.0+cpu",
        "starlette": "0.50.0",
    }

    def version(name):
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(importlib.metadata, "requires", lambda name: asked)
    monkeypatch.setattr(importlib.metadata, "version", version)
    findings = {finding.name: finding for finding in doctor.packages()}
    assert findings["tensorflow"][2:4] == ("2.22.0rc1, expected <2.22,>=2.21", "wrong")
    assert findings["tensorflow"].cure == "pip install 'tensorflow<2.22,>=2.21'"
    assert findings["tqdm"].cure == "pip install 'tqdm'" and "wheel" not in findings
    assert findings["numpy"].state == findings["keras"].state == "ok"
    assert findings["reference"][2:] == ("torch 2.13.0+cpu", "ok", "")
    assert findings["serve"][2:4] == ("missing: uvicorn", "optional")
    assert "pip install 'tfsum[serve]'" in findings["serve"].cure and "torch" not in findings


def test_a_look_that_breaks_is_itself_a_finding(monkeypatch):
    def broken():
        raise OSError("no /proc here")

    monkeypatch.setattr(doctor, "machine", broken)
    monkeypatch.setattr(doctor, "tensorflow", list)
    first = doctor.examine()[0]
    assert first.state == "wrong" and first.found == "OSError: no /proc here"


@pytest.mark.parametrize(("state", "status"), [("ok", 0), ("optional", 0), ("wrong", 1)])
def test_text_json_and_status(monkeypatch, capsys, state, status):
    findings = [Finding("machine", "python", "3.11.7")]
    findings += [Finding("models", "shipped", "none", state, "reinstall")]
    monkeypatch.setattr(doctor, "examine", lambda: findings)
    assert main(["doctor"]) == status
    text = capsys.readouterr().out
    assert "  ok  python   3.11.7\n" in text and "-> reinstall" in text
    assert main(["doctor", "--format", "json"]) == status
    assert json.loads(capsys.readouterr().out)[1]["state"] == state


def test_every_extra_is_looked_for():
    setup = configparser.ConfigParser()
    setup.read(pathlib.Path(__file__).parents[2] / "setup.cfg")
    assert set(setup["options.extras_require"]) == set(doctor.EXTRAS)


def test_this_machine_can_be_examined():
    sections = {finding.section for finding in doctor.examine()}
    assert sections == {"machine", "packages", "optional packages", "tensorflow", "models"}
