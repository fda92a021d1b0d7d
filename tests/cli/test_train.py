"""`tfsum train`: the recipe and its overrides reach the library, and only the folder is a
result."""

import pytest

import tfsum
from tfsum.cli import train as verb
from tfsum.cli.main import main
from tfsum.errors import Stopped
from tfsum.training.recipe_file import shipped_recipes

CORPORA = ["--set", "data.train=train.jsonl", "--set", "data.validation=validation.jsonl"]
RECIPE = ["train", "bert_sum_ext_news", *CORPORA]


@pytest.fixture
def recipes(monkeypatch):
    """The calls of the library, recorded instead of made."""
    calls = []

    def train(recipe):
        calls.append(recipe)
        print("epoch 1: loss 0.3")
        return "runs/news/best"

    monkeypatch.setitem(vars(tfsum), "train", train)
    monkeypatch.setattr(verb, "load_tensorflow", lambda: None)
    return calls


def test_only_the_folder_goes_to_standard_output(recipes, capsys):
    assert main([*RECIPE, "--set", "train.seed=2", "--set", "model.head=classifier"]) == 0
    assert recipes[0].train.seed == 2 and recipes[0].model.head == "classifier"
    out, err = capsys.readouterr()
    assert out == "runs/news/best\n" and "epoch 1" in err


def test_a_stopped_run_is_75(recipes, monkeypatch, capsys):
    def stopped(recipe):
        raise Stopped("stopped after step 3")

    monkeypatch.setitem(vars(tfsum), "train", stopped)
    assert main(RECIPE) == 75
    assert capsys.readouterr().out == ""


def test_a_wrong_recipe_is_a_wrong_call(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(verb, "load_tensorflow", lambda: None)
    path = tmp_path / "news.toml"
    path.write_text("[train]\nlearning_rat = 1\n[modle]\n")
    assert main(["train", str(path)]) == 2
    err = capsys.readouterr().err
    assert "learning_rat: unknown" in err and "did you mean model?" in err


def test_the_keys_of_a_recipe(capsys):
    assert main(["train", "--keys", "transformer"]) == 0
    keys = capsys.readouterr().out
    assert "[train]\nfolder  (required)\n    Folder of the run." in keys
    assert "learning_rate = 0.001\n    Peak learning rate" in keys
    assert 'metric = "bleu"\n' in keys and 'Expects "bleu", "rouge" or "loss".' in keys

    assert main(["train", "--keys", "transformer_tatoeba_en_fr"]) == 0
    assert capsys.readouterr().out == keys
    assert main(["train", "--keys", "gist"]) == 2
    assert "gist: no such recipe" in capsys.readouterr().err


def test_the_shipped_recipes_are_listed(capsys):
    assert main(["train", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*shipped_recipes()]
    (news,) = [line for line in lines if line.startswith("bert_sum_ext_news ")]
    assert news.split(maxsplit=1)[1].startswith("BertSumExt on news, trained from MiniLM")
    assert all(line[-1] in ".?" and len(line) <= 130 for line in lines)


def test_a_file_wins_over_the_shipped_recipe_of_its_name(recipes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = shipped_recipes()["bert_sum_ext_news"].read_text(encoding="utf-8")
    mine = recipe.replace("steps = 1800", "steps = 7")
    (tmp_path / "bert_sum_ext_news").write_text(mine, encoding="utf-8")
    assert main(RECIPE) == 0
    assert recipes[0].train.steps == 7


def test_without_a_recipe_or_with_a_wrong_name(capsys):
    assert main(["train"]) == 2
    assert "required: RECIPE" in capsys.readouterr().err
    assert main(["train", "bert_sum_ext_newz"]) == 2
    assert "did you mean bert_sum_ext_news? `tfsum train --list`" in capsys.readouterr().err
