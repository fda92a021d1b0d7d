"""The table of tasks: what each offers, how it is found, what is said where it is not."""

import types

import pytest

from tfsum import tasks
from tfsum.errors import Error, RecipeError
from tfsum.tasks import (
    PARTS,
    recipes,
    register,
    task,
    task_of_config,
    task_of_export,
    task_of_recipe,
)

# Task -> the parts that it has, beside those that it has not.
HAVE = {
    "bert_sum_ext": {
        "settings",
        "prepare",
        "train",
        "export",
        "golden",
        "card",
        "evaluate",
        "explain",
        "load",
    },
    "bert_sum_abs": {
        "settings",
        "prepare",
        "train",
        "export",
        "golden",
        "card",
        "evaluate",
        "explain",
        "load",
    },
    "transformer": {
        "settings",
        "prepare",
        "train",
        "export",
        "golden",
        "card",
        "evaluate",
        "explain",
        "load",
    },
    "bert_classifier": {"settings", "train", "export", "golden", "card", "evaluate", "load"},
    "bert_for_pretraining": {"settings", "prepare", "train"},
}
# What `tfsum.tasks` says that a part offers.
OFFERS = {
    "settings": ["RecipeSettings"],
    "prepare": ["prepare"],
    "train": ["prepare_data", "build_model", "make_run"],
    "export": ["export_model"],
    "golden": ["signatures", "requests", "ask", "warmup"],
    "card": ["WHAT", "ANSWERS", "table"],
    "evaluate": ["evaluate"],
    "explain": ["explain_page"],
    "load": ["load"],
}


@pytest.fixture(autouse=True)
def own_table(monkeypatch):
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(tasks, "_MODULES", {name: tasks._MODULES[name] for name in HAVE})


@pytest.mark.parametrize("name", HAVE)
def test_a_task_has_the_parts_it_claims_and_each_is_whole(name):
    found = task(name)
    assert {part for part in PARTS if found.has(part)} == HAVE[name]
    for part in HAVE[name]:
        missing = [offered for offered in OFFERS[part] if not hasattr(found.part(part), offered)]
        assert not missing, f"{found.part(part).__name__} lacks {missing}"
    assert found.has("load") == (found.module.EXPORT_KIND is not None)


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
    assert task_of_recipe(name).name == name
    assert task_of_config(config).name == name
    if export_kind is not None:
        assert task_of_export({"kind": export_kind, "config": config}).name == name


def test_an_export_kind_that_is_none_and_a_config_of_none_are_of_no_task():
    assert task_of_export({}) is None and task_of_export({"kind": "gist"}) is None
    assert task_of_config({"model_type": "t5"}) is None


def test_what_is_unknown_is_told_with_what_is_known():
    with pytest.raises(
        Error,
        match="no task 'gist'; known are bert_sum_ext, bert_sum_abs, transformer, bert_classifier",
    ):
        task("gist")
    with pytest.raises(
        RecipeError, match="kind is 'gist'; known are bert_sum_ext, bert_sum_abs, transformer, "
    ):
        task_of_recipe("gist")
    with pytest.raises(RecipeError, match="kind is 'gist'; known are bert_sum_ext"):
        recipes.recipe_class("gist")
    with pytest.raises(RecipeError, match='model.kind="gist": expected "bert_sum_ext", '):
        recipes.train({"model": {"kind": "gist"}})
    with pytest.raises(Error, match="no part 'explian'; known are settings, prepare, train"):
        task("bert_sum_ext").has("explian")
    register("made", made())
    for name in ("bert_sum_ext", "made"):  # a folder that has such a file, and one module
        with pytest.raises(Error, match="no part 'validation'; known are settings, prepare"):
            task(name).part("validation")


def test_a_part_that_a_task_lacks_is_a_clear_error():
    with pytest.raises(
        Error,
        match=r"'bert_classifier' has no part 'explain' \(no function 'explain_page'\); tasks "
        "that have it: bert_sum_ext, bert_sum_abs, transformer",
    ):
        task("bert_classifier").part("explain")


def made(**offered):
    module = types.ModuleType("made")
    every = {"EXPORT_KIND": None, "VERB": None, "owns": lambda config: False}
    vars(module).update(every, **offered)
    return module


def test_one_module_may_be_a_task():
    register("made", made(evaluate=len, owns=lambda config: config.get("model_type") == "made"))
    found = task("made")
    assert {part for part in PARTS if found.has(part)} == {"evaluate"} and found.part(
        "evaluate"
    ).evaluate is len
    assert task_of_recipe("made").name == task_of_config({"model_type": "made"}).name == "made"


def test_a_head_s_task_goes_before_the_encoder_s():
    register(
        "made",
        made(EXPORT_KIND="made", owns=lambda config: config.get("architectures") == ["Made"]),
    )
    assert task_of_config({"model_type": "bert", "architectures": ["Made"]}).name == "made"
    assert task_of_config({"model_type": "bert"}).name == "bert_for_pretraining"


def test_a_name_belongs_to_one_module():
    register("bert_sum_ext", "tfsum.tasks.bert_sum_ext")
    module = made()
    register("made", module)
    register("made", module)
    with pytest.raises(
        Error, match="the task 'made' is registered already, by <module 'made'>; take another name"
    ):
        register("made", made())


def test_a_module_that_is_no_task_is_named():
    register("math", "math")
    with pytest.raises(Error, match=r"the task 'math' \(math\) lacks EXPORT_KIND, VERB, owns"):
        tasks.tasks()
