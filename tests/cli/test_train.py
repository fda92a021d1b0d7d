"""`tfsum train`: the recipe and its overrides reach the library, and only the folder is a
result."""

import pathlib

import pytest

import tfsum
from tfsum.cli import train as verb
from tfsum.cli.main import main
from tfsum.errors import Stopped

RECIPES = pathlib.Path(__file__).parents[2] / "training"
RECIPE = str(RECIPES / "bert_sum_ext_news.toml")


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
    assert main(["train", RECIPE, "--set", "train.seed=2", "--set", "model.head=classifier"]) == 0
    assert recipes[0].train.seed == 2 and recipes[0].model.head == "classifier"
    out, err = capsys.readouterr()
    assert out == "runs/news/best\n" and "epoch 1" in err


def test_a_stopped_run_is_75(recipes, monkeypatch, capsys):
    def stopped(recipe):
        raise Stopped("stopped after step 3")

    monkeypatch.setitem(vars(tfsum), "train", stopped)
    assert main(["train", RECIPE]) == 75
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

    assert main(["train", "--keys", str(RECIPES / "transformer_tatoeba_en_fr.toml")]) == 0
    assert capsys.readouterr().out == keys
    assert main(["train", "--keys", "gist"]) == 2
    assert "gist: no such recipe" in capsys.readouterr().err
