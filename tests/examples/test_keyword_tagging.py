"""examples/keyword_tagging: a task outside the package goes the whole way, by the functions and by
the command line."""

import ast
import dataclasses
import json

import pytest

pytest.importorskip("tensorflow")
import keyword_tagging

import tfsum
from tfsum.cli.main import main
from tfsum.errors import Error
from tfsum.export.golden import TEXTS
from tfsum.tasks import register, task

pytestmark = pytest.mark.slow  # trains, exports and trains again; .ci/run runs it
RECIPE = keyword_tagging.HERE / "recipe.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the example itself writes."""
    folder = tmp_path_factory.mktemp("keywords")
    keyword_tagging.main(folder)
    return folder


@pytest.fixture(scope="module")
def tagger(folder):
    return tfsum.load(folder / "keywords")


def overrides(folder):
    return [f"data.corpus={keyword_tagging.HERE / 'corpus.txt'}", f"train.folder={folder / 'run'}"]


def test_it_is_trained_exported_and_verified(folder, tagger):
    history = json.loads((folder / "run" / "history.json").read_text())
    assert history["best"]["f1"] > 90 and tagger.description["validation"] == history["best"]
    report = tfsum.verify(folder / "keywords")
    assert report["kind"] == "keyword_tagging" and report["golden_answers"] == len(TEXTS)
    assert "A keyword tagger for TensorFlow" in (folder / "keywords" / "README.md").read_text()


def test_it_has_learned_the_rule(tagger):
    """Nouns are keywords, but not behind "no"."""
    texts = [
        "the bridge of the town has no ferry",
        "no school was near a river",
        "a fire in the market",
    ]
    found = [[word for word, probability in row if probability > 0.5] for row in tagger(texts)]
    assert found == [["bridge", "town"], ["river"], ["fire", "market"]]
    assert [word for word, _ in tagger([texts[0]])[0]] == texts[0].split()


def test_a_text_that_is_too_long_is_cut_and_one_without_words_has_no_tags(tagger):
    long, empty = tagger(["bridge " * 40, " "])
    assert len(long) == 30 and empty == []


def test_a_run_that_is_done_is_not_trained_again(folder):
    before = (folder / "run" / "history.json").read_bytes()
    assert tfsum.train(RECIPE, overrides(folder)) == folder / "run" / "best"
    assert (folder / "run" / "history.json").read_bytes() == before


def test_the_verbs_know_the_task(folder, tmp_path, capsys):
    sets = [word for text in [*overrides(tmp_path), "train.steps=2"] for word in ("--set", text)]
    assert main(["train", str(RECIPE), *sets]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "run" / "best")
    assert (
        main(["export", str(folder / "run" / "best"), str(tmp_path / "served"), "--ops", "text"])
        == 0
    )
    assert main(["verify", str(tmp_path / "served")]) == 0
    assert "kind: keyword_tagging" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["train", str(RECIPE), "--set", "model.hiden_size=3"],
            "model.hiden_size: unknown; did you mean model.hidden_size?",
        ),
        (
            ["train", str(RECIPE), "--set", "model.kind=keyword"],
            '"bert_for_pretraining" or "keyword_tagging"',
        ),
        (
            ["export", "RUN", "DESTINATION", "--storage", "small"],
            "storage: no option of the task 'keyword_tagging'; its options are ops",
        ),
        (
            ["evaluate", "EXPORTED", str(RECIPE)],
            "the task 'keyword_tagging' has no part 'evaluate'",
        ),
        (["classify", "EXPORTED", str(RECIPE)], "no classifier"),
        (["summarize", "--model", "EXPORTED", str(RECIPE)], "keyword_tagging"),
    ],
)
def test_what_it_has_not_is_told(folder, tmp_path, capsys, words, says):
    places = {
        "RUN": folder / "run" / "best",
        "EXPORTED": folder / "keywords",
        "DESTINATION": tmp_path / "served",
    }
    assert main([str(places.get(word, word)) for word in words]) in (1, 2)
    assert says in capsys.readouterr().err


def test_its_name_is_taken():
    assert task("keyword_tagging") is keyword_tagging.TASK
    with pytest.raises(Error, match="the task 'keyword_tagging' is registered already"):
        register(dataclasses.replace(keyword_tagging.TASK, verb="tag"))


def test_it_is_short():
    tree = ast.parse((keyword_tagging.HERE / "keyword_tagging.py").read_text())
    assert sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) < 175
