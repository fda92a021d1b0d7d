"""`tfsum export` and `tfsum verify`: the words of the command become the arguments of the functions."""

import inspect
import json

import pytest

import tfsum
from tfsum.cli import export, verify
from tfsum.cli.main import main, parse
from tfsum.cli.search_options import take_search
from tfsum.decoding import BeamSearch, Sampling
from tfsum.errors import ExportError
from tfsum.tasks import task


@pytest.fixture
def called(monkeypatch):
    """The calls of the library."""
    calls = []

    def export_model(*arguments, **options):
        calls.append((arguments, options))
        return "served/news/1"

    def verified(folder):
        calls.append(folder)
        return {"weights": 103}

    monkeypatch.setitem(vars(tfsum), "export_model", export_model)
    monkeypatch.setitem(vars(tfsum), "verify", verified)
    monkeypatch.setattr(export, "load_tensorflow", lambda: None)
    monkeypatch.setattr(verify, "load_tensorflow", lambda: None)
    return calls


def test_export_passes_on_what_was_given_and_prints_the_folder(called, tmp_path, capsys):
    assert main(["export", str(tmp_path), "served/news"]) == 0
    assert called == [((str(tmp_path), "served/news"), {})]
    assert capsys.readouterr().out == "served/news/1\n"
    main(
        [
            "export",
            str(tmp_path),
            "x",
            "--ops",
            "text",
            "--storage",
            "small",
            "-n",
            "2",
            "--keep-repeats",
            "--selection",
            "expected_rouge",
        ]
    )
    assert called[1][1] == {
        "ops": "text",
        "storage": "small",
        "sentences": 2,
        "selection": "expected_rouge",
        "block_trigrams": False,
    }


def test_a_search_becomes_a_strategy(called, tmp_path, capsys):
    main(
        [
            "export",
            str(tmp_path),
            "x",
            "--width",
            "5",
            "--no-repeat-ngram",
            "3",
            "--max-length",
            "9",
        ]
    )
    words = "--search sampling --temperature 0.7 --top-k 5 --search-seed 3 --max-source-length 8"
    main(["export", str(tmp_path), "x", *words.split()])
    assert called[0][1] == {"strategy": BeamSearch(5, no_repeat_ngram=3), "max_length": 9}
    assert called[1][1] == {"strategy": Sampling(0.7, top_k=5, seed=3), "max_source_length": 8}
    assert main(["export", str(tmp_path), "x", "--search", "greedy", "--width", "5"]) == 1
    assert (
        "search 'greedy' has no option width; it has min_length, no_repeat_ngram"
        in capsys.readouterr().err
    )


def test_every_option_of_export_is_an_argument_of_a_function():
    pytest.importorskip("tensorflow")
    words = "export m d --ops text --storage small -n 2 --max-sentences 5 --selection score --keep-repeats".split()
    options = vars(parse(words))
    assert take_search(options) == {}
    given = options.keys() - {"run", "parser", "model", "destination"}
    assert given <= set(
        inspect.signature(task("extractive").part("export").export_model).parameters
    )
    every = "--search beam --width 2 --length-penalty 1 --normalization length --max-length 5 --max-source-length 7"
    options = vars(parse(["export", "m", "d", *every.split()]))
    export = task("abstractive").part("export").export_model
    assert take_search(options).keys() <= set(inspect.signature(export).parameters)


def test_verify_prints_the_report_of_a_folder(called, tmp_path, capsys):
    assert main(["verify", str(tmp_path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"weights": 103}
    assert called == [str(tmp_path)]


def test_verify_takes_a_version_or_the_newest(tmp_path, monkeypatch):
    from tfsum.export import verification

    checked = []
    monkeypatch.setattr(verification, "verify_export", lambda folder, *_: checked.append(folder))
    for number in ("2", "10"):
        (tmp_path / number / "assets.extra").mkdir(parents=True)
        (tmp_path / number / "saved_model.pb").touch()
        (tmp_path / number / "assets.extra" / "tfsum.json").write_text('{"kind": "extractive"}')
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
    assert out == "" and "it was 0.7" in err


@pytest.mark.parametrize("words", [["verify", "absent"], ["export", "absent", "x"]])
def test_a_missing_folder_is_a_wrong_call(called, words, capsys):
    assert main(words) == 2
    assert "no such folder: absent" in capsys.readouterr().err and not called
