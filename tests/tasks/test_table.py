"""The table of tasks: what each offers, how it is found, what is said where it is not."""

import dataclasses
import sys

import pytest

from tfsum.errors import Error, RecipeError
from tfsum.tasks import Task, recipes, register, task, task_of_config, task_of_export

WRITER = {
    "settings",
    "prepare",
    "training",
    "export",
    "golden",
    "evaluate",
    "explain",
    "exported_model",
}
# Task -> the parts that it has, beside those that it has not.
HAVE = {
    "bert_sum_ext": WRITER,
    "bert_sum_abs": WRITER,
    "transformer": WRITER,
    "bert_classifier": WRITER - {"prepare", "explain"},
    "bert_for_pretraining": {"settings", "prepare", "training"},
}
PARTS = [field.name for field in dataclasses.fields(Task) if field.name in WRITER]


@pytest.fixture(autouse=True)
def own_table(monkeypatch):
    """What a test registers is forgotten after it."""
    table = {name: task(name) for name in HAVE}
    monkeypatch.setattr(sys.modules[Task.__module__], "_TASKS", table)


@pytest.mark.parametrize("name", HAVE)
def test_a_task_has_the_parts_it_claims_and_each_loads(name):
    """That each is whole, mypy says of the built-in ones."""
    found = task(name)
    assert {part for part in PARTS if getattr(found, part) is not None} == HAVE[name]
    assert all(getattr(found, part)() for part in HAVE[name])
    assert (found.exported_model is not None) == (found.export_kind is not None)


@pytest.mark.parametrize(
    ("name", "export_kind", "config"),
    [
        ("bert_sum_ext", "extractive", {"model_type": "bert", "bert_sum_ext": {}}),
        ("bert_sum_abs", "abstractive", {"model_type": "bert", "bert_sum_abs": {}}),
        ("transformer", "abstractive", {"model_type": "transformer"}),
        (
            "bert_classifier",
            "classifier",
            {"model_type": "bert", "architectures": ["BertForSequenceClassification"]},
        ),
        (
            "bert_for_pretraining",
            None,
            {"model_type": "bert", "architectures": ["BertForPreTraining"]},
        ),
    ],
)
def test_a_task_is_found_by_recipe_export_and_config(name, export_kind, config):
    assert task(name).name == name
    assert task_of_config(config).name == name
    if export_kind is not None:
        assert task_of_export({"kind": export_kind, "config": config}).name == name


def test_an_export_kind_that_is_none_and_a_config_of_none_are_of_no_task():
    assert task_of_export({}) is None and task_of_export({"kind": "gist"}) is None
    assert task_of_config({"model_type": "t5"}) is None


def test_what_is_unknown_is_told_with_what_is_known():
    known = "no task 'gist'; known are bert_sum_ext, bert_sum_abs, transformer, bert_classifier"
    with pytest.raises(RecipeError, match=known):
        task("gist")
    with pytest.raises(RecipeError, match=known):
        recipes.recipe_class("gist")
    with pytest.raises(RecipeError, match='model.kind="gist": expected "bert_sum_ext", '):
        recipes.train({"model": {"kind": "gist"}})


def test_a_part_that_a_task_lacks_is_a_clear_error():
    classifier = task("bert_classifier")
    with pytest.raises(Error, match="'bert_classifier' has no part 'explain', which this needs"):
        classifier.need(classifier.explain, "explain")
    with pytest.raises(Error, match="'bert_classifier' has no part 'prepare'"):
        recipes.prepare("a.jsonl", "records", "vocab.txt", "bert_classifier")


def made(**parts):
    return Task(**{"name": "made", "owns": lambda config: False, **parts})


def test_a_task_from_elsewhere_is_found():
    register(made(owns=lambda config: config.get("model_type") == "made"))
    assert task("made").name == task_of_config({"model_type": "made"}).name == "made"
    with pytest.raises(Error, match="the task 'made' has no part 'settings'"):
        recipes.recipe_class("made")


def test_a_head_s_task_goes_before_the_encoder_s():
    register(
        made(export_kind="made", owns=lambda config: config.get("architectures") == ["Made"]),
    )
    assert task_of_config({"model_type": "bert", "architectures": ["Made"]}).name == "made"
    assert task_of_config({"model_type": "bert"}).name == "bert_for_pretraining"


def test_a_name_belongs_to_one_task():
    register(task("bert_sum_ext"))
    one = made()
    register(one)
    register(one)
    with pytest.raises(Error, match="the task 'made' is registered already; take another name"):
        register(made())
