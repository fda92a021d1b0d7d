"""Fine-tuning a tiny classifier by its recipe: what it learns, what it keeps, how it goes on, what
it refuses."""

import json

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file

from tfsum.errors import DataError, Error, RecipeError
from tfsum.models import Bert, BertClassifier
from tfsum.tasks.bert_classifier.batches import pack_texts, read_labelled
from tfsum.tasks.bert_classifier.train import (
    ClassificationData,
    ClassificationValidation,
    build_model,
    prepare_data,
)
from tfsum.tasks.recipes import load_recipe, train
from tfsum.text.word_piece import WordPiece
from tfsum.training.checkpoints import Checkpoints

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(20))]
RECIPE = """
[data]
train = "{folder}/texts.tsv"
text = "1"
label = "2"
validation_share = 0.2
[text]
max_length = 12
[model]
kind = "bert_classifier"
encoder = "{folder}/encoder"
[train]
folder = "{folder}/run"
steps = 24
tokens_per_batch = 160
learning_rate = 2e-2
encoder_learning_rate = 5e-3
warmup_steps = 4
validate_every = 12
average_decay = 0.5
"""


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """A tiny encoder, and texts of two labels that share no words."""
    folder = tmp_path_factory.mktemp("material")
    keras.utils.set_random_seed(1)  # a random encoder may learn too slowly
    Bert(
        vocab_size=25,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=16,
        initializer_range=0.2,
    ).save_pretrained(folder / "encoder")
    (folder / "encoder" / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "encoder" / "tfsum.json").write_text(
        '{"text": {"lowercase": false, "strip_accents": null}}'
    )
    random = np.random.default_rng(0)
    lines = [
        " ".join(f"w{n + 10 * (i % 2)}" for n in random.integers(0, 10, 5))
        + ("\tthere" if i % 2 else "\tnot")
        for i in range(120)
    ]
    (folder / "texts.tsv").write_text("\n".join(lines) + "\n")
    (folder / "recipe.toml").write_text(RECIPE.format(folder=folder))
    return folder


def recipe(material, *overrides):
    return load_recipe(material / "recipe.toml", overrides)


@pytest.fixture(scope="module")
def best(material):
    return train(recipe(material))


def test_it_learns_and_says_how_well(material, best):
    told = json.loads((best / "tfsum.json").read_text())
    assert told["validation"]["accuracy"]["value"] > 90
    assert told["validation"]["accuracy"]["low"] <= told["validation"]["accuracy"]["value"]
    assert {"f1", "f1_macro", "labels", "step", "texts"} < told["validation"].keys()
    assert told["text"] == {
        "lowercase": False,
        "strip_accents": None,
        "max_length": 12,
        "pair": False,
    }
    assert (
        "folder" not in told["recipe"]["train"]
        and told["recipe"]["model"]["kind"] == "bert_classifier"
    )
    model, texts = (
        BertClassifier.from_pretrained(best),
        read_labelled(material / "texts.tsv", "1", "2"),
    )
    assert model.label_names == ("not", "there")
    packed = pack_texts(
        texts, model.label_names, WordPiece.from_file(best / "vocab.txt", lowercase=False), 12
    )
    answers = ClassificationValidation(model, packed, 160).probabilities()
    np.testing.assert_allclose(answers.sum(1), 1.0, atol=1e-5)
    assert (answers.argmax(1) == packed.labels).mean() > 0.9


def test_an_encoder_that_knows_few_words_is_told_of(material, tmp_path, capsys):
    text = (material / "texts.tsv").read_text()
    (tmp_path / "texts.tsv").write_text(text.replace("w1", "비"))
    prepare_data(recipe(material))
    assert "of the words" not in capsys.readouterr().err
    prepare_data(recipe(material, f"data.train={tmp_path / 'texts.tsv'}"))
    assert "of the words" not in capsys.readouterr().err  # half of them are enough
    (tmp_path / "texts.tsv").write_text(text.replace("w", "비"))
    prepare_data(recipe(material, f"data.train={tmp_path / 'texts.tsv'}"))
    assert capsys.readouterr().err.count("warning: only 0% of the words of the training") == 1


@pytest.mark.slow  # the engine is that of bert_sum_ext, which is not slow; .ci/run runs it
def test_a_resumed_run_is_bit_by_bit_one_that_never_stopped(material, best, tmp_path):
    def stop_at_12(self, step, state, save=Checkpoints.save):
        save(self, step, state)
        if step == 12:
            raise KeyboardInterrupt

    elsewhere = recipe(material, f"train.folder={tmp_path / 'run'}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "save", stop_at_12)
        with pytest.raises(KeyboardInterrupt):
            train(elsewhere)
    again = load_file(train(elsewhere) / "model.safetensors")
    for name, value in load_file(best / "model.safetensors").items():
        np.testing.assert_array_equal(again[name], value, err_msg=name)


def test_the_control_begins_with_new_weights(material):
    data = ClassificationData(("a", "b"), {}, [], {})
    there, control = (
        build_model(recipe(material, "model.freeze_layers=1", f"model.pretrained={p}"), data)
        for p in ("true", "false")
    )
    stored = load_file(material / "encoder" / "model.safetensors")[
        "embeddings.word_embeddings.weight"
    ]
    np.testing.assert_array_equal(there.bert.word_embeddings.embeddings, stored)
    assert not np.array_equal(control.bert.word_embeddings.embeddings, stored)
    assert control.bert.config == there.bert.config
    assert [v.path.split("/")[-2] for v in there.trainable_variables] == ["pooler"] * 2 + [
        "classifier"
    ] * 2


@pytest.mark.parametrize(
    ("override", "error", "says"),
    [
        (
            'data.labels=["not", "here"]',
            DataError,
            r"(\d+) of \d+ texts have labels outside the list, .* 'there' \(\1\)",
        ),
        ("text.max_length=17", RecipeError, "max_length is 17; the model has positions for 16"),
        ("data.label=3", RecipeError, "data.label=3: expected a text"),
        ("model.head=lstm", RecipeError, "model.head: unknown"),
    ],
)
def test_mistakes_are_named(material, override, error, says, tmp_path):
    with pytest.raises(error, match=says):
        train(recipe(material, f"train.folder={tmp_path / 'run'}", override))


@pytest.mark.parametrize(
    ("override", "says"),
    [
        (
            'data.label="1"',
            r"started with \[data\] label = '2', and the recipe now has '1'; to start over, choose",
        ),
        (
            'data.labels=["there", "not"]',
            r"\[data\] labels = nothing, and the recipe now has \['there', 'not'\]",
        ),
        ("text.max_length=11", r"\[text\] max_length = 12, and the recipe now has 11"),
        ("model.freeze_layers=1", r"\[model\] freeze_layers = 0"),
    ],
)
def test_a_run_is_not_gone_on_with_from_other_data_or_another_model(material, best, override, says):
    before = (best.parent / "recipe.toml").read_bytes()
    with pytest.raises(RecipeError, match=says):
        train(recipe(material, override))
    assert (best.parent / "recipe.toml").read_bytes() == before
    assert train(recipe(material)) == best  # the same recipe: the run is done


def test_what_training_changes_on_the_way_is_told(material, best, capsys):
    settings = recipe(material).train
    steps, rate = settings.steps, settings.learning_rate
    assert train(recipe(material, f"train.steps={steps - 1}", "train.learning_rate=0.25")) == best
    told = capsys.readouterr().err
    assert f"[train] learning_rate was {rate!r} and is 0.25 from here on" in told
    assert f"[train] steps was {steps} and is {steps - 1} from here on" in told
    assert f"{steps} steps are done and {steps - 1} were asked for, so nothing is trained" in told
    assert train(recipe(material)) == best  # recipe.toml is as it was


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("train.steps=0", "train.steps=0: expected a whole number from 1"),
        ("train.validate_every=-1", "validate_every=-1: expected a whole number from 1"),
        ("train.learning_rate=0.0", "learning_rate=0.0: expected a number above 0"),
        (
            "train.encoder_learning_rate=-1.0",
            "=-1.0: expected a number from 0",
        ),
        ("train.folder={material}/texts.tsv", "texts.tsv: is a file, expected a run folder"),
    ],
)
def test_a_run_that_cannot_be_is_refused(material, tmp_path, override, says):
    with pytest.raises(Error, match=says):
        train(
            recipe(material, f"train.folder={tmp_path / 'run'}", override.format(material=material))
        )


@pytest.mark.parametrize("name", ["bert_classify_disaster_tweets", "bert_classify_nsmc_ko"])
def test_the_shipped_recipes_are_whole(name):
    recipe = load_recipe(name, ["data.train=tweets.jsonl"])
    assert recipe.model.pretrained and recipe.data.labels == ["0", "1"]
