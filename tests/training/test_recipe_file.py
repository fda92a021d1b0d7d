"""Recipes: what is right comes back the same, what is wrong is named with the cure, all at once."""

import pathlib
import tomllib
from typing import Literal

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from tfsum.errors import RecipeError
from tfsum.training import settings
from tfsum.training.recipe_file import (
    check_recipe,
    compare_with_started_run,
    read_recipe,
    write_recipe,
)
from tfsum.training.settings import Settings


class DataSettings(Settings):
    corpus: str = Field(description="The corpus.")
    limit: int = Field(0, ge=0, le=1000, description="Its documents.")
    labels: list[str | int] | None = Field(None, description="Its labels.")


class ModelSettings(settings.ModelSettings):
    kind: Literal["mine"] = Field("mine", description="Kind of the model.")
    head: Literal["classifier", "transformer"] = Field("classifier", description="Its head.")
    layers: int = Field(2, ge=1, description="Its layers.")
    copy_attention: bool = Field(False, alias="copy", description="Whether it copies.")


class Recipe(settings.Recipe):
    data: DataSettings
    model: ModelSettings
    train: settings.OptimizerSettings


RIGHT = """
[data]
corpus = "바다"
[train]
folder = "runs/mine"
steps = 10
learning_rate = 2
"""


def load(source, overrides=()):
    values, mistakes = read_recipe(source, overrides)
    return check_recipe(Recipe, values, mistakes, str(source))


@pytest.fixture
def recipe(tmp_path):
    def write(text: str) -> pathlib.Path:
        path = tmp_path / "recipe.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_keys_are_attributes_and_the_others_have_their_defaults(recipe):
    loaded = load(recipe(RIGHT))
    assert loaded.data == DataSettings(corpus="바다", limit=0, labels=None)
    assert loaded.model == ModelSettings(kind="mine", head="classifier", layers=2)
    assert loaded.train.learning_rate == 2.0 and type(loaded.train.learning_rate) is float
    assert loaded.train.warmup_steps == 100 and loaded.train.strategy == "auto"
    with pytest.raises(ValidationError, match="frozen"):
        loaded.train.steps = 3


def test_a_mapping_is_checked_as_a_file_is(recipe):
    sections = tomllib.loads(RIGHT)
    assert load(sections) == load(recipe(RIGHT))
    assert load(sections, ["train.steps=3"]).train.steps == 3
    assert sections == tomllib.loads(RIGHT)  # the caller's is as it was
    with pytest.raises(RecipeError, match=r"train.step: unknown; did you mean train.steps\?"):
        load({**sections, "train": {**sections["train"], "step": 1}})


def test_overrides_are_toml_values_and_bare_words_are_strings(recipe):
    overrides = ["train.learning_rate=1e-4", "train.steps = 1_000", 'data.labels=["a", 2]']
    overrides += ['data.corpus="a b"', "train.folder=b", "model.head=transformer"]
    loaded = load(recipe(RIGHT), [*overrides, "model.copy=true"])
    assert loaded.train.learning_rate == 1e-4 and loaded.train.steps == 1000
    assert loaded.data.corpus == "a b" and loaded.data.labels == ["a", 2]
    assert loaded.train.folder == "b" and loaded.model.head == "transformer"
    assert loaded.model.copy_attention is True


def test_an_override_without_a_value_takes_the_key_out(recipe):
    loaded = load(recipe(RIGHT), ["train.learning_rate=", "data.corpus=mine"])
    assert loaded.train.learning_rate == 1e-3 and loaded.data.corpus == "mine"
    with pytest.raises(
        RecipeError, match=r"--set train.stesp=: removes a key.* has no \[train\] stesp"
    ):
        load(recipe(RIGHT), ["train.stesp="])
    with pytest.raises(RecipeError, match="corpus is missing: The corpus."):
        load(recipe(RIGHT), ["data.corpus="])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RIGHT + "setps = 1", "train.setps: unknown; did you mean train.steps?"),
        (RIGHT + "layers = 1", "train.layers: unknown; did you mean model.layers?"),
        (
            RIGHT + "[model]\nzzz = 1",
            "zzz: unknown; there are model.kind, model.head, model.layers, model.copy",
        ),
        (RIGHT + "[text]\nzzz = 1", "zzz: unknown; there are none here"),
        (RIGHT + "[trian]\nx = 1", "trian: unknown; did you mean train?"),
        ("x = 1\n" + RIGHT, "x: unknown; there are data, text, model, train, evaluate"),
        (RIGHT + "tensorboard = 1", "train.tensorboard=1: expected true or false"),
        (RIGHT.replace("2", '"fast"'), 'train.learning_rate="fast": expected a number above 0'),
        (RIGHT.replace("2", "inf"), "learning_rate=Infinity: expected a finite number"),
        (RIGHT.replace("2", "0"), "train.learning_rate=0: expected a number above 0"),
        (
            RIGHT + "average_decay = 1.0",
            "train.average_decay=1.0: expected a number from 0 and below 1",
        ),
        (RIGHT + "keep = 0", "train.keep=0: expected a whole number from 1"),
        (RIGHT + "[model]\nlayers = true", "model.layers=true: expected a whole number from 1"),
        (
            RIGHT + "[model]\nhead = 'lstm'",
            'head="lstm": expected "classifier" or "transformer"',
        ),
        (
            RIGHT.replace('"바다"', "3"),
            "data.corpus=3: expected a text; put it in quotes, in a shell in both kinds: '\"3\"'",
        ),
        (
            RIGHT.replace('"바다"', '"바다"\nlabels = "[a, b]"'),
            'expected a list, such as ["a", "b"], in a shell in quotes: \'["a", "b"]\'',
        ),
        (
            RIGHT.replace('"바다"', '"바다"\nlimit = 1001'),
            "limit=1001: expected a whole number from 0 to 1000",
        ),
        (RIGHT.replace('corpus = "바다"', ""), "data.corpus is missing"),
        (
            RIGHT + "deterministic = true\njit_compile = true",
            "train: deterministic and jit_compile are both true",
        ),
        ("data = 3", "data=3: expected a table of names and values"),
        ("[data", "not TOML"),
    ],
)
def test_each_mistake_is_named(recipe, text, words):
    with pytest.raises(RecipeError) as raised:
        load(recipe(text))
    assert words in str(raised.value) and "recipe.toml" in str(raised.value)


def test_eleven_mistakes_at_once(recipe):
    wrong = """
        seed = 3
        [data]
        limit = -1
        labels = [1.5]
        [train]
        step = 100
        learning_rate = "x"
        strategy = "all"
        head = "classifier"
        [modle]
        layers = 3
    """
    with pytest.raises(RecipeError) as raised:
        load(recipe(wrong), ["nonsense", "train.folder=a"])
    first, *mistakes = str(raised.value).splitlines()
    assert first.endswith("recipe.toml: 11 mistakes")
    assert [mistake.strip() for mistake in mistakes] == [
        "--set nonsense: expected SECTION.KEY=VALUE, such as train.learning_rate=1e-4",
        "data.corpus is missing: The corpus.",
        "data.limit=-1: expected a whole number from 0 to 1000",
        "data.labels[0]=1.5: expected a text or a whole number",
        "train.steps is missing: Optimizer steps of the whole run.",
        'train.strategy="all": expected "auto", "one", "mirrored" or "multi_worker"',
        'train.learning_rate="x": expected a number above 0',
        "train.step: unknown; did you mean train.steps?",
        "train.head: unknown; did you mean model.head?",
        "seed: unknown; did you mean train.seed?",
        "modle: unknown; did you mean model?",
    ]


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(RecipeError, match="no such recipe"):
        read_recipe(tmp_path / "absent.toml")
    with pytest.raises(RecipeError, match="cannot be read"):
        read_recipe(tmp_path)


def test_written_and_read_again_is_the_same(recipe, tmp_path):
    loaded = load(recipe(RIGHT), ['data.labels=["a", "b"]', "model.copy=true"])
    written = tmp_path / "runs" / "resolved.toml"
    write_recipe(loaded, written)
    assert load(written) == loaded
    assert [path.name for path in written.parent.iterdir()] == ["resolved.toml"]


TEXTS = st.text(st.characters(codec="utf-8"))


@given(TEXTS, st.lists(TEXTS | st.integers(-(2**63), 2**63 - 1), max_size=3))
def test_every_text_survives_toml(text, labels):
    sections = {"data": {"corpus": text, "labels": labels}, "train": {"folder": text, "steps": 1}}
    written = tomli_w.dumps(check_recipe(Recipe, sections).model_dump(exclude_none=True))
    assert check_recipe(Recipe, tomllib.loads(written)) == check_recipe(Recipe, sections)


@pytest.fixture
def started(tmp_path):
    """A function: what is changed in a run that a recipe file of other sections has started."""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "ckpt-1.json").write_text("{}")

    def compare(text: str, *overrides: str) -> list[str]:
        (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
        new = load(tomllib.loads(RIGHT), [f"train.folder={tmp_path}", *overrides])
        return compare_with_started_run(new)

    return compare


def test_a_run_resumes_though_its_file_lacks_keys_or_has_more(started):
    """As the version before wrote it: what is not set is a comment, and a new key has its
    default."""
    assert started(RIGHT + "\n[model]\nkind = 'mine'\n# copy is not set\n") == []
    assert started(RIGHT + "\n[model]\nkind = 'mine'\nlayers = 2\nhead = 'classifier'\n") == []
    assert started(RIGHT.replace("steps = 10", "steps = 20"), "train.seed=4") == [
        "[train] seed was 0 and is 4 from here on",
        "[train] steps was 20 and is 10 from here on",
    ]


@pytest.mark.parametrize(
    ("text", "overrides", "words"),
    [
        (
            RIGHT + "[model]\nkind = 'other'\nwidth = 3",
            [],
            r"\[model\] kind = 'other', and .*'mine'",
        ),
        (RIGHT + "[model]\nlayers = 3", [], r"\[model\] layers = 3, and the recipe now has 2"),
        (
            RIGHT,
            ['data.labels=["a"]'],
            r"\[data\] labels = nothing, and the recipe now has \['a'\]",
        ),
    ],
)
def test_another_run_in_the_folder_is_refused(started, text, overrides, words):
    with pytest.raises(RecipeError, match=words):
        started(text, *overrides)
