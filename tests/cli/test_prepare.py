"""`tfsum prepare`: the words of the command become the arguments of the function, and nothing else."""

import argparse
import inspect
import json

import pytest

from tfsum.cli import prepare as verb
from tfsum.cli.main import main
from tfsum.data import prepare as library

PARAMETERS = set(inspect.signature(library.prepare).parameters)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "train.jsonl"
    path.touch()
    return str(path)


@pytest.fixture
def called(monkeypatch):
    """The calls of the library."""
    calls = []

    def prepare(*arguments, **options):
        calls.append((arguments, options))
        return {"documents": 12_000, "duplicates": 3}

    monkeypatch.setattr(library, "prepare", prepare)
    monkeypatch.setattr(verb, "load_tensorflow", lambda: None)
    return calls


def test_only_what_was_given_is_passed_on(called, corpus, capsys):
    assert main(["prepare", corpus, "--output", "r", "--vocabulary", "v.txt"]) == 0
    assert called == [((corpus, "r", "v.txt"), {"columns": None})]
    assert capsys.readouterr().out == "documents       12,000\nduplicates           3\n"


def test_options_keep_their_names_and_types(called, corpus, capsys):
    words = "--labels soft --temperature 0.1 --shards 4 --cased --text article --newline space --format json"
    assert main(["prepare", corpus, "--output", "r", "--vocabulary", "v.txt", *words.split()]) == 0
    assert called[0][1] == {
        "columns": {"text": "article"},
        "labels": "soft",
        "temperature": 0.1,
        "shards": 4,
        "lowercase": False,
        "newline": "space",
    }
    assert json.loads(capsys.readouterr().out)["documents"] == 12_000


def test_every_option_is_an_argument_of_the_function(called):
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    names = {action.dest for action in parser._actions}
    assert names - {"help", "format", "id", "text", "summary", "output"} <= PARAMETERS


def test_ctrl_c_is_75_and_says_that_it_goes_on(called, corpus, monkeypatch, capsys):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(library, "prepare", stopped)
    assert main(["prepare", corpus, "--output", "r", "--vocabulary", "v.txt"]) == 75
    assert "run the same command to go on" in capsys.readouterr().err


def test_a_missing_corpus_is_a_wrong_call(called, capsys):
    assert main(["prepare", "absent.jsonl", "--output", "r", "--vocabulary", "v.txt"]) == 2
    assert "no such file: absent.jsonl" in capsys.readouterr().err
