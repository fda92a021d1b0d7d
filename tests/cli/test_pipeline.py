"""`tfsum pipeline`: the words become the arguments of the library, what follows -- those of
Beam."""

import json
import sys

import pytest

pytest.importorskip("apache_beam", reason="needs apache-beam: pip install '.[beam]'")

import tfsum.beam
from tfsum.cli.main import main, parse


@pytest.fixture
def called(monkeypatch):
    """The calls of the library; `counts` is what it returns."""
    calls = []
    calls_counts = {"documents": 12_000, "answers": 11_999, "dead_letters": 1}

    def library(*arguments, **options):
        calls.append((arguments, options))
        return calls_counts

    monkeypatch.setattr(tfsum.beam, "summarize_files", library, raising=False)
    monkeypatch.setattr(tfsum.beam, "prepare", library, raising=False)
    library.calls, library.counts = calls, calls_counts
    return library


def test_summarize(called, capsys):
    assert main(["pipeline", "summarize", "--input", "docs/*.jsonl.gz", "--output", "out"]) == 0
    ((arguments, options),) = called.calls
    assert arguments == ("docs/*.jsonl.gz", "out")
    assert options == {
        "runner": "DirectRunner",
        "pipeline_options": [],
    }
    assert capsys.readouterr().out.splitlines()[0].split() == ["documents", "12,000"]


def test_summarize_with_all_options(called, capsys):
    words = [
        "--input",
        "a",
        "--output",
        "b",
        "--field",
        "body",
        "--id",
        "url",
        "--output-format",
        "jsonl",
        "--shards",
        "2",
        "--model",
        "m",
        "-n",
        "5",
        "--newline",
        "space",
        "--max-characters",
        "10",
        "--runner",
        "FlinkRunner",
        "--format",
        "json",
        "--",
        "--parallelism=4",
        "--model",
        "x",
    ]
    assert main(["pipeline", "summarize", *words]) == 0
    ((_, options),) = called.calls
    assert options == {
        "field": "body",
        "id_field": "url",
        "output_format": "jsonl",
        "shards": 2,
        "model": "m",
        "max_characters": 10,
        "runner": "FlinkRunner",
        "sentences": 5,
        "newline": "space",
        "pipeline_options": ["--parallelism=4", "--model", "x"],
    }
    assert json.loads(capsys.readouterr().out) == called.counts


def test_the_exit_status_says_whether_anything_was_answered(called):
    words = ["pipeline", "summarize", "--input", "a", "--output", "b"]
    called.counts.update(documents=5, answers=0, dead_letters=5)
    assert main(words) == 1
    called.counts.update(documents=0, answers=0, dead_letters=0)
    assert main(words) == 0


def test_prepare(called, tmp_path, capsys):
    (tmp_path / "c.jsonl").touch()
    words = [
        "pipeline",
        "prepare",
        str(tmp_path / "c.jsonl"),
        "--output",
        "out",
        "--vocabulary",
        "v",
        "--shards",
        "64",
        "--runner",
        "SparkRunner",
        "--text",
        "body",
        "--format",
        "json",
        "--",
        "--parallelism=4",
    ]
    assert main(words) == 0
    ((arguments, options),) = called.calls
    assert arguments == (str(tmp_path / "c.jsonl"), "out", "v", "bert_sum_ext")
    assert options == {
        "runner": "SparkRunner",
        "pipeline_options": ["--parallelism=4"],
        "shards": 64,
        "columns": {"text": "body"},
    }
    assert json.loads(capsys.readouterr().out) == called.counts


@pytest.mark.parametrize(
    "words, message",
    [
        (["pipeline"], "the following arguments are required: PIPELINE"),
        (["pipeline", "sum"], "invalid choice: 'sum'"),
        (
            ["pipeline", "summarize", "--output", "b"],
            "the following arguments are required: --input",
        ),
        (
            ["pipeline", "summarize", "--input", "a", "--output", "b", "--max-per-document=1"],
            "unrecognized arguments: --max-per-document=1",
        ),
        (
            ["pipeline", "summarize", "--input", "a", "--output", "b", "--paralelism=4"],
            "unrecognized arguments: --paralelism=4",
        ),
        (
            ["pipeline", "prepare", "recipe.toml", "--output", "b", "--vocabulary", "v"],
            "recipe.toml: is a recipe",
        ),
        (
            [
                "pipeline",
                "prepare",
                "c.jsonl",
                "--output",
                "b",
                "--vocabulary",
                "v",
                "--processes",
                "2",
            ],
            "unrecognized arguments: --processes 2",
        ),
        (
            ["pipeline", "prepare", "none.jsonl", "--output", "b", "--vocabulary", "v"],
            "no such file or folder: none.jsonl",
        ),
    ],
)
def test_wrong_calls(called, capsys, words, message):
    assert main(words) == 2 and message in capsys.readouterr().err


def test_other_verbs_keep_their_double_dash():
    assert parse(["summarize", "--", "-n.txt"]).files == ["-n.txt"]


def test_without_apache_beam_the_cure_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    for name in [name for name in sys.modules if name.startswith("tfsum.beam.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(tfsum.beam, "summarize_files", raising=False)
    assert main(["pipeline", "summarize", "--input", "a", "--output", "b"]) == 1
    assert (
        "tfsum.beam needs the package apache_beam; pip install 'tfsum[beam]'"
        in capsys.readouterr().err
    )
