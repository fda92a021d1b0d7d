"""`tfsum convert`: the words of the command become the arguments of the function."""

import pytest

import tfsum
from tfsum.cli import convert
from tfsum.cli.main import main, parse
from tfsum.errors import CheckpointError


@pytest.fixture
def called(monkeypatch):
    """The calls of the library."""
    pytest.importorskip("tensorflow")
    calls = []

    def convert_instead(*arguments, **options):
        calls.append((arguments, options))
        return ["left out 1 tensor"]

    monkeypatch.setitem(vars(tfsum), "convert", convert_instead)
    return calls


def test_the_folder_goes_to_stdout_and_notes_to_stderr(called, capsys):
    assert main(["convert", "bert", "out", "--to", "google"]) == 0
    assert called == [(("bert", "out", "google"), {})]
    assert capsys.readouterr() == ("out\n", "tfsum: bert: left out 1 tensor\n")


@pytest.mark.parametrize(("word", "lowercase"), [("--cased", False), ("--uncased", True)])
def test_case(called, word, lowercase):
    main(["convert", "bert", "out", "--to", "tfsum", word])
    assert called[0][1] == {"lowercase": lowercase}


def test_the_formats_are_those_of_the_library():
    pytest.importorskip("tensorflow")
    from tfsum.conversion.convert import FORMATS

    assert convert.FORMATS == FORMATS
    assert parse(["convert", "a", "b", "--to", "hugging-face"]).to == "hugging-face"


def test_what_a_checkpoint_does_not_contain(called):
    words = "--vocabulary vocab.txt --heads 4 --head-heads 2 --legacy"
    assert main(["convert", "a.pt", "out", "--to", "tfsum", *words.split()]) == 0
    options = {
        "vocabulary": "vocab.txt",
        "bert": {"num_attention_heads": 4},
        "head_heads": 2,
        "legacy": True,
    }
    assert called == [(("a.pt", "out", "tfsum"), options)]


@pytest.mark.parametrize(
    "words",
    [
        ["convert", "a", "b"],
        ["convert", "a", "b", "--to", "onnx"],
        ["convert", "a", "b", "--to", "tfsum", "--cased", "--uncased"],
    ],
)
def test_wrong_calls(words):
    assert main(words) == 2


def test_what_cannot_be_read_is_status_1(called, monkeypatch, capsys):

    def wrong(*_):
        raise CheckpointError("bert/config.json: no such file")

    monkeypatch.setitem(vars(tfsum), "convert", wrong)
    assert main(["convert", "bert", "out", "--to", "google"]) == 1
    assert capsys.readouterr() == ("", "tfsum convert: error: bert/config.json: no such file\n")
