"""Runs of tiny Transformers: stopped and resumed as if never stopped, one device as two, tasks
learned whole."""

import contextlib
import io
import json
import pathlib

import numpy as np
import pytest

from tfsum.data.records import make_pair_record, write_shard
from tfsum.errors import Error, RecipeError, Stopped
from tfsum.formats.weight_names import variables_by_path
from tfsum.models import Transformer
from tfsum.tasks.recipes import load_recipe, train
from tfsum.tasks.starting_point import PreparedRecords
from tfsum.tasks.transformer.batches import load_pairs
from tfsum.tasks.transformer.train import PairRun, build_model
from tfsum.text.word_piece import WordPiece
from tfsum.training.train import set_precision_and_seed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(15))]
SETTINGS = {
    "steps": 7,
    "tokens_per_batch": 64,
    "validate_every": 4,
    "warmup_steps": 2,
    "learning_rate": 1e-2,
    "average_decay": 0.9,
    "clip_norm": 1.0,
    "seed": 3,
}


def tiny_recipe(folder, model=(), **train):
    """A recipe for a tiny Transformer."""
    size = {
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
        "d_model": 8,
        "num_heads": 2,
        "feed_forward_width": 12,
        "max_length": 8,
    }
    names = ("metric", "documents")
    return load_recipe(
        {
            "data": dict.fromkeys(("train", "validation", "records"), str(folder)),
            "model": {"kind": "transformer", **size, **dict(model)},
            "train": {
                "folder": str(folder),
                **{name: value for name, value in train.items() if name not in names},
            },
            "evaluate": {name: train[name] for name in names if name in train},
        }
    )


def data_of(material):
    """What `prepare_data` gives for the records of the material."""
    records = {split: material / split for split in ("train", "validation")}
    return PreparedRecords({"lowercase": True}, records, (WordPiece(WORDS), WordPiece(WORDS)))


def write_pairs(folder, number, lengths, target_of, seed):
    """Records of random sources and what a task makes of them."""
    random = np.random.default_rng(seed)
    folder.mkdir()

    def records():
        for _ in range(number):
            source = random.integers(5, len(WORDS), random.integers(*lengths)).tolist()
            texts = (" ".join(WORDS[i] for i in ids) for ids in (source, target_of(source)))
            yield make_pair_record(source, target_of(source), *texts)

    write_shard(folder / "pairs.tfrecord", records())


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("material")
    write_pairs(folder / "train", 40, (2, 7), lambda ids: ids[::-1], 0)
    write_pairs(folder / "validation", 12, (2, 7), lambda ids: ids[::-1], 1)
    return folder


def run(material, folder, **changes):
    settings = {**SETTINGS, **changes}
    recipe, data = tiny_recipe(folder, **settings), data_of(material)
    set_precision_and_seed("float32", settings["seed"])
    return PairRun(recipe, data, build_model(recipe, data))


def history(folder):
    return json.loads((pathlib.Path(folder) / "history.json").read_text())


@pytest.mark.slow  # the engine is that of bert_sum_ext, which is not slow; .ci/run runs it
def test_stopped_and_resumed_is_never_stopped(material, uninterrupted, tmp_path, stop_after, same):
    """Bit by bit, with dropout on: weights, optimizer, average and every score."""
    first = run(material, tmp_path)
    stop_after(first, 3)
    with pytest.raises(Stopped, match="stopped after step 3 of 7"):
        first.fit()
    second = run(material, tmp_path)
    assert second.fit() == tmp_path / "best"
    assert same(second, uninterrupted)
    assert history(tmp_path)["history"] == history(uninterrupted.folder)["history"]


def test_what_a_run_leaves(uninterrupted):
    found = history(uninterrupted.folder)
    assert [set(h) for h in found["history"]] == [{"step", "loss", "bleu"}] * 2
    assert found["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    best = uninterrupted.folder / "best"
    settings = json.loads((best / "tfsum.json").read_text())
    assert settings["signature"] == found["signature"] and settings["validation"] == found["best"]
    assert (best / "vocab.txt").read_text().split() == WORDS and not (
        best / "target_vocab.txt"
    ).exists()
    assert Transformer.from_pretrained(best).config["d_model"] == 8


def test_the_loss_is_that_of_the_model(material, uninterrupted):
    """All pairs in one batch, each target token weighing the same."""
    validation, model = uninterrupted.validation, uninterrupted.model
    pairs = load_pairs(material / "validation")
    batch = validation._batcher.assemble(np.arange(len(pairs)))
    expected = float(
        model.summed_loss(batch, None, training=False) / model.loss_weight(batch, None)
    )
    assert validation.loss() == pytest.approx(expected, rel=1e-5)


def test_answers_are_those_of_predict(material, uninterrupted):
    validation, model = uninterrupted.validation, uninterrupted.model
    answers = validation.answers()
    assert len(answers) == 12
    pairs = load_pairs(material / "validation")
    for row in (0, 5, 11):
        first = int(pairs.source_counts[:row].sum())
        source = [2, *pairs.sources[first : first + int(pairs.source_counts[row])], 3]
        ids = model.predict_on_batch({"source_ids": np.array([source], np.int32)})[0]
        assert answers[row].split() == [WORDS[i] for i in ids if i > 4]


@pytest.mark.slow  # the same code as the mirrored run of bert_sum_ext, which is not slow
def test_mirrored_shares_each_batch(tmp_path, train_mirrored):
    """Two replicas, each with every second row, give the weights and the losses of one device."""
    train_mirrored("mirrored_run.py", rtol=1e-6)
    one, mirrored = (history(tmp_path / name)["history"] for name in ("one", "mirrored"))
    assert [h["step"] for h in mirrored] == [2, 4]
    for a, b in zip(one, mirrored, strict=True):
        assert a["bleu"] == b["bleu"] and a["loss"] == pytest.approx(b["loss"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_a_task_is_learned_whole(tmp_path, task):
    """10,000 sources of 3 to 8 tokens teach to copy or reverse 200 others without one mistake."""
    target_of = {"copy": lambda ids: ids, "reverse": lambda ids: ids[::-1]}[task]
    write_pairs(tmp_path / "train", 10000, (3, 9), target_of, 0)
    write_pairs(tmp_path / "validation", 200, (3, 9), target_of, 1)
    sizes = {"dropout": 0.0, "d_model": 64, "num_heads": 4, "feed_forward_width": 128}
    recipe = tiny_recipe(
        tmp_path / "run",
        {**sizes, "max_length": 12, "label_smoothing": 0.0},
        steps=1000,
        tokens_per_batch=1024,
        learning_rate=2e-3,
        warmup_steps=100,
        decay="linear",
        average_decay=0.9,
        validate_every=500,
    )
    set_precision_and_seed("float32", 0)
    data = data_of(tmp_path)
    learner = PairRun(recipe, data, build_model(recipe, data))
    learner.fit()
    with learner.average.applied():
        assert learner.validation.answers() == learner.validation._references


RECIPE = """
[data]
train = "{train}"
validation = "{validation}"
records = "{folder}/records"
source = "1"
target = "2"
[text]
vocabulary_size = {size}
[model]
kind = "transformer"
num_encoder_layers = 1
num_decoder_layers = 1
d_model = 8
num_heads = 2
feed_forward_width = 12
max_length = 8
[train]
folder = "{folder}/run"
steps = 2
tokens_per_batch = 64
validate_every = 2
[evaluate]
metric = "rouge"
"""


def write_recipe(folder):
    random = np.random.default_rng(0)
    for split, number in (("train", 30), ("validation", 5)):
        words = [
            " ".join(random.choice(["sea", "wind", "boat", "Salz"], 4)) for _ in range(2 * number)
        ]
        (folder / f"{split}.tsv").write_text(
            "".join(f"{a}\t{b}\n" for a, b in zip(words[::2], words[1::2]))
        )
    path = folder / "recipe.toml"
    path.write_text(
        RECIPE.format(
            folder=folder,
            train=folder / "train.tsv",
            size=500,
            validation=folder / "validation.tsv",
        )
    )
    return path


@pytest.fixture
def recipe(tmp_path):
    return write_recipe(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A recipe that was trained, its overrides, the folder of the best model, and what training
    told."""
    path, overrides = write_recipe(tmp_path_factory.mktemp("recipe")), ["model.max_length=4"]
    with contextlib.redirect_stderr(io.StringIO()) as told:
        best = train(load_recipe(path, overrides))
    return path, overrides, best, told.getvalue()


@pytest.mark.slow  # a whole run; .ci/run runs it
def test_from_a_recipe_to_a_model_folder(trained):
    recipe, _, best, told = trained
    assert "30 training targets have more than 4 tokens" in told  # of four words and an end
    text = json.loads((best / "tfsum.json").read_text())["text"]
    assert text == {
        "lowercase": False,
        "strip_accents": None,
        "max_source_length": 512,
        "cut_sources": False,
    }
    assert set(history(recipe.parent / "run")["best"]) == {
        "step",
        "loss",
        "rouge1",
        "rouge2",
        "rougeLsum",
    }
    learned = recipe.parent / "records" / "vocabulary" / "vocab.txt"
    assert (best / "vocab.txt").read_text() == learned.read_text() and "sea" in learned.read_text()
    assert (recipe.parent / "run" / "recipe.toml").is_file()


@pytest.mark.slow
def test_a_model_goes_on_from_another_ones_weights(trained, tmp_path, first_model):
    recipe, overrides, best, _ = trained
    more = [*overrides, f"train.folder={tmp_path}/more", f"model.start={best}"]
    with pytest.raises(
        RecipeError,
        match="of another shape; .model. must have num_encoder_layers = 1, d_model = 8$",
    ):
        train(load_recipe(recipe, [*more, "model.num_encoder_layers=2", "model.d_model=16"]))
    with pytest.raises(
        RecipeError, match='other word pieces; .text. needs vocabulary = .*best/vocab.txt" in place'
    ):
        train(load_recipe(recipe, [*more, "text.lowercase=true", f"data.records={tmp_path}/other"]))
    again = first_model(
        recipe,
        [
            *more,
            "text.vocabulary_size=",
            f"text.vocabulary={best}/vocab.txt",
            "model.dropout=0.3",
            f"data.records={tmp_path}/more_records",
        ],
    )
    weights = variables_by_path(again)
    for path, weight in variables_by_path(Transformer.from_pretrained(best)).items():
        np.testing.assert_array_equal(weights[path], weight)


TWO_VOCABULARIES = ["text.target_vocabulary_size=480"]


def test_two_vocabularies_need_two_tables(recipe):
    with pytest.raises(
        RecipeError, match="shared_embeddings is true, and source and target have vocabularies"
    ):
        train(load_recipe(recipe, TWO_VOCABULARIES))


@pytest.mark.slow  # a whole run more than `trained`; .ci/run runs it
def test_a_run_with_two_vocabularies(recipe, tmp_path):
    changes = [*TWO_VOCABULARIES, "model.shared_embeddings=false", "evaluate.metric=loss"]
    best = train(load_recipe(recipe, changes))
    assert (best / "target_vocab.txt").read_text() != (best / "vocab.txt").read_text()
    assert set(history(tmp_path / "run")["best"]) == {"step", "loss"}


def test_wrong_recipes_are_named(recipe):
    with pytest.raises(RecipeError, match='="meteor": expected "bleu", "rouge" or "loss"'):
        load_recipe(recipe, ["evaluate.metric=meteor"])
    with pytest.raises(RecipeError, match="model.encoder: unknown"):
        load_recipe(recipe, ["model.encoder=minilm"])
    with pytest.raises(RecipeError, match='kind="transfromer": expected "bert_sum_ext"'):
        load_recipe(recipe, ["model.kind=transfromer"])
    with pytest.raises(Error, match="expected exactly one of vocabulary and vocabulary_size"):
        train(load_recipe(recipe, ["text.vocabulary=vocab.txt"]))


def test_shuffled_sources_are_the_same_sources_beside_other_targets(material):
    pairs = load_pairs(material / "train")
    shuffled = pairs.with_shuffled_sources(5)

    def sources(of):
        return [tuple(part) for part in np.split(of.sources, np.cumsum(of.source_counts)[:-1])]

    assert sorted(sources(shuffled)) == sorted(sources(pairs)) and sources(shuffled) != sources(
        pairs
    )
    np.testing.assert_array_equal(shuffled.targets, pairs.targets)
    np.testing.assert_array_equal(
        shuffled.with_shuffled_sources(5).target_counts, pairs.target_counts
    )
