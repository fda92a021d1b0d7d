"""Recipes: what is right comes back the same, what is wrong is named with the cure, all at once."""

import pathlib
import tomllib
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfsum.errors import RecipeError
from tfsum.training.recipe_file import Key, keys_of, read_recipe
from tfsum.training.recipe_writer import to_toml, write_recipe


def learn(
    dataset, learning_rate: float = 1e-3, steps: int = 100, groups: list[float] | None = None
):
    """A function that a recipe configures."""


class Head:
    def __init__(
        self, kind: Literal["classifier", "transformer"] = "classifier", layers: int = 2, **more
    ):
        pass


def write_out(folder: pathlib.Path | None, name: str, whole: bool = True, ops: str | int = "core"):
    """Another one, with arguments that have no default."""


SCHEMA = {
    "data": {"corpus": Key((str,)), "limit": Key((int,), 0)},
    "model": keys_of(Head),
    "train": keys_of(learn, "dataset"),
    "export": keys_of(write_out, "folder"),
}


def schema_of(given):
    return SCHEMA


RIGHT = """
[data]
corpus = "news"
[train]
learning_rate = 2
[export]
name = "바다"
"""


@pytest.fixture
def recipe(tmp_path):
    def write(text: str) -> pathlib.Path:
        path = tmp_path / "recipe.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_defaults_come_from_the_signatures(recipe):
    read = read_recipe(recipe(RIGHT), schema_of)
    assert read == {
        "data": {"corpus": "news", "limit": 0},
        "model": {"kind": "classifier", "layers": 2},
        "train": {"learning_rate": 2.0, "steps": 100, "groups": None},
        "export": {"name": "바다", "whole": True, "ops": "core"},
    }
    assert type(read["train"]["learning_rate"]) is float


def test_keys_of_reads_types_choices_and_what_is_required():
    assert keys_of(Head)["kind"] == Key((str,), "classifier", ("classifier", "transformer"))
    assert keys_of(learn, "dataset")["groups"].types[0] is list
    assert list(keys_of(write_out, "folder")) == ["name", "whole", "ops"]
    assert "more" not in keys_of(Head)


def test_overrides_are_toml_values_and_bare_words_are_strings(recipe):
    overrides = ["train.learning_rate=1e-4", "train.steps = 1_000", "train.groups=[0.5, 1.0]"]
    overrides += ['export.name="a b"', "export.ops=text", "model.kind=transformer"]
    read = read_recipe(recipe(RIGHT), schema_of, overrides)
    assert read["train"] == {"learning_rate": 1e-4, "steps": 1000, "groups": [0.5, 1.0]}
    assert read["export"]["name"] == "a b" and read["export"]["ops"] == "text"
    assert read["model"]["kind"] == "transformer"


def test_an_override_without_a_value_takes_the_key_out(recipe):
    read = read_recipe(
        recipe(RIGHT + "whole = false"), schema_of, ["export.whole=", "data.corpus=mine"]
    )
    assert read["export"]["whole"] is True and read["data"]["corpus"] == "mine"
    with pytest.raises(
        RecipeError, match=r"--set export.wohle=: removes a key.* has no \[export\] wohle"
    ):
        read_recipe(recipe(RIGHT), schema_of, ["export.wohle="])
    with pytest.raises(RecipeError, match="corpus is missing"):
        read_recipe(recipe(RIGHT), schema_of, ["data.corpus="])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RIGHT + "nmae = 1", "[export] nmae: unknown key; did you mean name?"),
        (RIGHT + "steps = 1", "[export] steps: unknown key; it belongs in [train]"),
        (RIGHT + "zzz = 1", "[export] zzz: unknown key; its keys are name, ops, whole"),
        (RIGHT + "[trian]\nx = 1", "unknown section [trian]; did you mean [train]?"),
        ("x = 1\n" + RIGHT, "unknown key x outside of a section"),
        (RIGHT + "whole = 1", "[export] whole: expected bool, found int 1"),
        (RIGHT.replace("2", '"fast"'), "[train] learning_rate: expected float, found str 'fast'"),
        (RIGHT + "[model]\nlayers = true", "[model] layers: expected int, found bool True"),
        (
            RIGHT + "[model]\nkind = 'lstm'",
            "kind: expected 'classifier' or 'transformer', found str 'lstm'",
        ),
        (RIGHT.replace('"바다"', "3"), 'put in quotes: name = "3" or --set \'export.name="3"\''),
        (
            RIGHT.replace("2", '2\ngroups = "[a, b]"'),
            'put it in quotes: --set \'train.groups=["a", "b"]\'',
        ),
        (RIGHT.replace('corpus = "news"', ""), "[data] corpus is missing"),
        ("data = 3", "data: expected a section [data], found the value 3"),
        ("[data", "not TOML"),
    ],
)
def test_each_mistake_is_named(recipe, text, words):
    with pytest.raises(RecipeError) as raised:
        read_recipe(recipe(text), schema_of)
    assert words in str(raised.value) and "recipe.toml" in str(raised.value)


def test_all_mistakes_at_once(recipe):
    with pytest.raises(RecipeError) as raised:
        read_recipe(
            recipe("[train]\nstep = 1\nlearning_rate = 'x'"),
            schema_of,
            ["nonsense", "model.layer=3"],
        )
    message = str(raised.value)
    assert "6 error(s)" in message
    expected = [
        "mean steps?",
        "found str 'x'",
        "--set nonsense",
        "mean layers?",
        "corpus is",
        "name is",
    ]
    for words in expected:
        assert words in message, words


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(RecipeError, match="no such recipe"):
        read_recipe(tmp_path / "absent.toml", schema_of)
    with pytest.raises(RecipeError, match="cannot be read"):
        read_recipe(tmp_path, schema_of)


def test_written_and_read_again_is_the_same(recipe, tmp_path):
    read = read_recipe(recipe(RIGHT), schema_of, ["train.groups=[1.0, 1e-5]"])
    written = write_recipe(read, tmp_path / "runs" / "resolved.toml")
    assert read_recipe(written, schema_of) == read
    assert [path.name for path in written.parent.iterdir()] == ["resolved.toml"]


TEXTS = st.text(st.characters(codec="utf-8"))
SCALARS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXTS
NAMES = st.from_regex(r"[a-z_]{1,9}", fullmatch=True)


@given(st.dictionaries(NAMES, SCALARS | st.lists(SCALARS, max_size=3)))
def test_every_plain_value_survives_toml(table):
    assert tomllib.loads(to_toml({"train": table}))["train"] == table


def test_what_toml_cannot_hold_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(RecipeError, match=r"\[train\] schedule: object .* has no form in TOML"):
        write_recipe({"train": {"schedule": object()}}, tmp_path / "r.toml")
    assert not list(tmp_path.iterdir())
