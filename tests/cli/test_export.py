"""`tfsum export`: the words of the command become the arguments of the function."""

import inspect

import pytest

import tfsum
from tfsum.cli.export import take_search
from tfsum.cli.main import main, parse
from tfsum.decoding import BeamSearch, Sampling
from tfsum.tasks import task


@pytest.fixture
def called(monkeypatch):
    """The calls of the library."""
    calls = []

    def export_model(*arguments, **options):
        calls.append((arguments, options))
        return "served/news/1"

    monkeypatch.setitem(vars(tfsum), "export_model", export_model)
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
    words = (
        "export m d --ops text --storage small -n 2 --max-sentences 5 --selection score"
        " --keep-repeats".split()
    )
    options = vars(parse(words))
    assert take_search(options) == {}
    given = options.keys() - {"run", "parser", "model", "destination"}
    assert given <= set(inspect.signature(task("bert_sum_ext").export()).parameters)
    every = (
        "--search beam --width 2 --length-penalty 1 --normalization length --max-length 5"
        " --max-source-length 7"
    )
    options = vars(parse(["export", "m", "d", *every.split()]))
    export = task("transformer").export()
    assert take_search(options).keys() <= set(inspect.signature(export).parameters)


def test_a_missing_folder_is_a_wrong_call(called, capsys):
    assert main(["export", "absent", "x"]) == 2
    assert "absent: no such folder; expected NAME" in capsys.readouterr().err and not called


def test_a_keras_file_names_the_folder_that_is_needed(tmp_path, capsys):
    path = tmp_path / "t.keras"
    path.touch()
    assert main(["export", str(path), str(tmp_path / "served")]) != 0
    assert "t.keras: is a file, expected a model folder" in (error := capsys.readouterr().err)
    assert "save_pretrained(folder, vocabulary)" in error
