"""Workers that were started with another recipe, corpus or version are refused, with the
differences."""

import json

import pytest
import tensorflow as tf

import tfsum
from tfsum.data.settings import DocumentSettings
from tfsum.errors import RecipeError
from tfsum.training.settings import ModelSettings, Recipe, RunSettings
from tfsum.training.workers import check_same_training


class Machine:
    """A worker that only says what it trains; the first one is told what the others said."""

    def __init__(self, *others):
        self.count, self._others = 1 + len(others), others

    def exchange(self, mine):
        self.said = mine
        return json.loads(json.dumps([mine, *self._others]))


def said(recipe):
    """What a worker with this recipe, on this machine, says."""
    machine = Machine({})
    with pytest.raises(RecipeError):
        check_same_training(machine, recipe)
    return machine.said


@pytest.fixture
def recipe(tmp_path):
    """A recipe with a corpus."""
    (tmp_path / "news.jsonl").write_text("one\ntwo\n")
    return {
        "data": {"train": str(tmp_path / "news.jsonl")},
        "train": {"steps": 3},
    }


class MyRecipe(Recipe):
    data: DocumentSettings


def test_the_folders_of_a_recipe_are_not_compared():
    recipe = MyRecipe(
        data=DocumentSettings(train="a.jsonl", validation="b.jsonl", records="records"),
        model=ModelSettings(kind="mine"),
        train=RunSettings(folder="runs/mine", steps=3),
    )
    sections = recipe.without_folders()
    assert sections["data"]["train"] == "a.jsonl" and "records" not in sections["data"]
    assert sections["train"]["steps"] == 3 and "folder" not in sections["train"]
    check_same_training(Machine(said(sections)), sections)


def test_another_corpus_of_the_same_name_and_size_is_refused(recipe):
    other = said(recipe)
    path = recipe["data"]["train"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("one\nTwo\n")
    with pytest.raises(
        RecipeError,
        match=rf"the workers train different things: the corpus {path} is 'SHA-256 \w+' on "
        r"worker 2 and 'SHA-256 \w+' on worker 0\. Start all with the same recipe",
    ):
        check_same_training(Machine(said(recipe), other), recipe)


STORY = "08bf018473aacbd6e9c698630d0d04a695c82f5c.story"  # of the address below


@pytest.mark.parametrize("kind", ["folder", "pattern", "list of addresses"])
def test_all_files_of_a_corpus_count(tmp_path, kind):
    stories = tmp_path / "stories"
    stories.mkdir()
    for name in ("a.story", STORY):
        (stories / name).write_text("It rained.")
    (tmp_path / "urls.txt").write_text("http://www.cnn.com/a\n")
    corpus = {
        "folder": stories,
        "pattern": stories / "*.story",
        "list of addresses": tmp_path / "urls.txt",
    }[kind]
    recipe = {"data": {"train": str(corpus), "text": "text"}}
    before = said(recipe)
    check_same_training(Machine(before), recipe)

    (stories / STORY).write_text("It snowed.")
    with pytest.raises(RecipeError, match=r"the corpus .* is 'SHA-256 \w+' on worker 1"):
        check_same_training(Machine(before), recipe)
    (stories / STORY).unlink()
    with pytest.raises(RecipeError, match=r"the corpus .* on worker 1"):
        check_same_training(Machine(before), recipe)


def test_a_folder_that_is_no_corpus_is_not_compared(tmp_path, monkeypatch):
    """A column may have the name of a folder beside the recipe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").mkdir()
    recipe = {"data": {"text": "text", "summary": "", "pattern": "none*.pt"}}
    assert not [name for name in said(recipe) if "the corpus" in name]


@pytest.mark.parametrize("package", [tfsum, tf], ids=["tfsum", "tensorflow"])
def test_another_version_is_refused(recipe, monkeypatch, package):
    installed, name = package.__version__, package.__name__
    with monkeypatch.context() as other_worker:
        other_worker.setattr(package, "__version__", "0.0.7")
        other = said(recipe)
    with pytest.raises(
        RecipeError,
        match=(f"the version of {name} is '0.0.7' on worker 1 and '{installed}' on worker 0"),
    ):
        check_same_training(Machine(other), recipe)


def test_all_differences_are_named(recipe):
    other = {**recipe, "train": {"steps": 4, "seed": 1}}
    with pytest.raises(
        RecipeError,
        match=r"\[train\] seed is '1' on worker 1 and None on worker 0; \[train\] steps is "
        r"'4' on worker 1 and '3' on worker 0",
    ):
        check_same_training(Machine(said(other)), recipe)
