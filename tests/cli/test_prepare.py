"""`tfsum prepare`: the words of the command become the arguments of the function, and nothing
else."""

import json

import pytest

from tfsum.cli import prepare as verb
from tfsum.cli.main import main
from tfsum.cli.options import Parser, add_options

FIELDS = {
    name
    for kind in ("bert_sum_ext", "bert_for_pretraining", "transformer")
    for name in verb.preparation_of(kind).model_fields
}


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "train.jsonl"
    path.touch()
    return str(path)


@pytest.fixture
def called(monkeypatch):
    """The calls of the library."""
    calls = []

    def write(preparation, corpus, out_dir, vocabulary, run):
        calls.append(((corpus, out_dir, vocabulary), preparation.model_dump(exclude_unset=True)))
        return {"documents": 12_000, "duplicates": 3}

    for kind in ("bert_sum_ext", "bert_for_pretraining", "transformer"):
        monkeypatch.setattr(verb.preparation_of(kind), "write", write)
    monkeypatch.setattr(verb, "load_tensorflow", lambda: None)
    return calls


def test_only_what_was_given_is_passed_on(called, corpus, capsys):
    assert main(["prepare", corpus, "--output", "r", "--vocabulary", "v.txt"]) == 0
    assert called == [((corpus, "r", "v.txt"), {"columns": None})]
    assert capsys.readouterr().out == "documents       12,000\nduplicates           3\n"


def test_options_keep_their_names_and_types(called, corpus, capsys):
    words = (
        "--labels soft --temperature 0.1 --shards 4 --cased --text article --newline space --format"
        " json"
    )
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


def test_pretraining_has_options_of_its_own(called, corpus, capsys):
    call = [
        "prepare",
        corpus,
        "--output",
        "r",
        "--vocabulary",
        "v.txt",
        "--task",
        "bert_for_pretraining",
    ]
    words = (
        "--text 1 --max-length 64 --next-sentence none --same-document-share 0.5 --keep-accents"
        " --duplicates 10"
    )
    assert main([*call, *words.split()]) == 0
    assert called == [
        (
            (corpus, "r", "v.txt"),
            {
                "text": "1",
                "max_length": 64,
                "next_sentence": "none",
                "same_document_share": 0.5,
                "strip_accents": False,
                "duplicates": 10,
            },
        )
    ]
    assert main([*call, "--labels", "soft", "--id", "name"]) == 2
    assert "--labels, --id: no option of --task bert_for_pretraining" in capsys.readouterr().err
    assert main([*call[:-2], "--max-length", "64"]) == 2
    assert "--max-length: no option of --task bert_sum_ext" in capsys.readouterr().err


def test_pairs_have_options_of_their_own(called, corpus, capsys):
    call = ["prepare", corpus, "--output", "r", "--vocabulary", "v.txt", "--task", "transformer"]
    words = (
        "--source 1 --target 2 --cut-sources --target-lines 1 --max-source-length 128 --lowercase"
    )
    assert main([*call, *words.split(), "--target-corpus", corpus]) == 0
    assert called == [
        (
            (corpus, "r", "v.txt"),
            {
                "source": "1",
                "target": "2",
                "cut_sources": True,
                "target_lines": 1,
                "max_source_length": 128,
                "lowercase": True,
                "target_corpus": corpus,
            },
        )
    ]
    assert main([*call, "--target-corpus", "absent.de"]) == 2
    assert "no such file or folder: absent.de" in capsys.readouterr().err
    assert main([*call, "--labels", "soft"]) == 2
    assert "--labels: no option of --task transformer" in capsys.readouterr().err


def test_every_option_is_a_field():
    parser = Parser()
    add_options(parser, verb.OPTIONS, verb.CLASSES)
    names = {action.dest for action in parser._actions}
    others = {"help", "format", "task", "corpus", "output", "vocabulary", "overrides"}
    assert names - others - {"id", "text", "summary"} <= FIELDS


def test_ctrl_c_is_75_and_says_that_it_goes_on(called, corpus, monkeypatch, capsys):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(verb.preparation_of("bert_sum_ext"), "write", stopped)
    assert main(["prepare", corpus, "--output", "r", "--vocabulary", "v.txt"]) == 75
    assert "run the same command to resume" in capsys.readouterr().err


def test_a_missing_corpus_is_a_wrong_call(called, capsys):
    assert main(["prepare", "absent.jsonl", "--output", "r", "--vocabulary", "v.txt"]) == 2
    assert "no such file or folder: absent.jsonl" in capsys.readouterr().err


def test_a_recipe_says_the_rest(capsys):
    assert (
        main(["prepare", "news.toml", "--output", "x", "--task", "transformer", "--shards", "3"])
        == 2
    )
    assert (
        "--output, --task, --shards: not with a recipe, which says it; use --set"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--labels best", 'labels="best": expected "greedy", "combination", "soft" or "corpus"'),
        ("--max-sentences 0", "max_sentences=0: expected a whole number from 1"),
        ("--task transformer --max-source-length 2", "max_source_length=2: expected a whole"),
    ],
)
def test_a_wrong_value_is_named_as_in_a_recipe(called, corpus, capsys, words, sentence):
    call = ["prepare", corpus, "--output", "r", "--vocabulary", "v.txt"]
    assert main([*call, *words.split()]) == 2
    assert f"tfsum prepare: error: {sentence}" in capsys.readouterr().err and not called
