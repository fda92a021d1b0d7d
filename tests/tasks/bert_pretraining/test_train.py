"""Pretraining on tiny corpora: from a learned vocabulary or an encoder; stop and resume; what is
measured."""

import json
import random

import numpy as np
import pytest
from tiny_bert import write_encoder

import tfsum
from tfsum.errors import DataError, Error, RecipeError, Stopped
from tfsum.formats.open_folder import open_folder
from tfsum.models import Bert, BertForPretraining
from tfsum.tasks import recipes
from tfsum.tasks.bert_pretraining.batches import SentencePairBatcher, load_sentence_pairs
from tfsum.tasks.bert_pretraining.masking import Masking
from tfsum.tasks.bert_pretraining.train import (
    PretrainingRun,
    PretrainingValidation,
    build_model,
)
from tfsum.tasks.starting_point import PreparedRecords
from tfsum.text.word_piece import WordPiece
from tfsum.training.train import set_precision_and_seed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *(f"w{chr(97 + i)}" for i in range(14))]
SETTINGS = {
    "steps": 7,
    "tokens_per_batch": 256,
    "validate_every": 4,
    "warmup_steps": 2,
    "learning_rate": 1e-2,
    "average_decay": 0.9,
    "seed": 3,
}


def sentence(rng, topic):
    return (
        " ".join(
            rng.choices(WORDS[6 + 7 * topic : 13 + 7 * topic], k=rng.randint(2, 6))
        ).capitalize()
        + "."
    )


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """A tiny encoder with dropout, and a corpus of documents of two topics."""
    folder = tmp_path_factory.mktemp("material")
    write_encoder(folder / "encoder", WORDS)
    rng = random.Random(0)
    documents = [
        "\n".join(sentence(rng, i % 2) for _ in range(rng.randint(2, 9))) for i in range(60)
    ]
    (folder / "corpus.txt").write_text("\n\n".join(documents) + "\n")
    for name, share in (("train", 0.5), ("validation", 0.0), ("same_document", 1.0)):
        tfsum.prepare(
            folder / "corpus.txt",
            folder / name,
            folder / "encoder",
            "bert_for_pretraining",
            max_length=32,
            shards=2,
            same_document_share=share,
            seed=len(name),
            progress=False,
        )
    return folder


def run(material, folder, **changes):
    settings = {**SETTINGS, **changes}
    set_precision_and_seed("float32", settings["seed"])
    recipe = recipes.load_recipe(
        {
            "data": {"train": str(material / "corpus.txt"), "records": str(material)},
            "model": {"kind": "bert_for_pretraining", "encoder": str(material / "encoder")},
            "train": {"folder": str(folder), **settings},
        }
    )
    records = {name: material / name for name in ("train", "validation", "same_document")}
    word_piece = WordPiece.from_file(material / "encoder" / "vocab.txt")
    data = PreparedRecords({}, records, [word_piece])
    return PretrainingRun(recipe, data, build_model(recipe, data))


@pytest.mark.slow  # the engine is that of bert_sum_ext, which is not slow; .ci/run runs it
def test_stopped_and_resumed_is_never_stopped(material, uninterrupted, tmp_path, stop_after, same):
    """Bit by bit, masks and dropout included."""
    first = run(material, tmp_path)
    stop_after(first, 3)
    with pytest.raises(Stopped, match="stopped after step 3 of 7"):
        first.fit()
    second = run(material, tmp_path)
    assert second.fit() == tmp_path / "best"
    assert same(second, uninterrupted)
    histories = [
        json.loads((r.folder / "history.json").read_text()) for r in (second, uninterrupted)
    ]
    assert histories[0]["history"] == histories[1]["history"]
    assert [row["step"] for row in histories[0]["history"]] == [4, 7]


@pytest.mark.slow  # a whole run; .ci/run runs it
def test_the_history_and_the_model_folder_tell_the_scores(english):
    best, history = english
    names = [
        "step",
        "masked_lm_accuracy",
        "next_sentence_accuracy",
        "same_document_accuracy",
        "loss",
    ]
    assert list(history["history"][0]) == names
    told = json.loads((best / "tfsum.json").read_text())
    assert told["validation"] in history["history"]
    assert (best / "vocab.txt").read_text().split() == WORDS


def right_and_loss(logits, label):
    return logits.argmax() == label, np.log(np.exp(logits).sum()) - logits[label]


@pytest.mark.slow
def test_scores_are_those_of_the_models_answers(material):
    """Counted one by one in numpy; of all pairs, and of some."""
    model = BertForPretraining.from_stored(open_folder(material / "encoder"), warn=False)
    options = {"masking": Masking(WORDS, seed=5), "cls_id": 2, "sep_id": 3}
    held_out = [load_sentence_pairs(material / name) for name in ("validation", "same_document")]
    validation = PretrainingValidation(
        model, [SentencePairBatcher(pairs, 500, **options) for pairs in held_out]
    )
    found = {}
    for name, pairs in zip(("validation", "same_document"), held_out):
        rows = SentencePairBatcher(pairs, 200, **options).dataset(training=False)
        masks, nexts = [], []
        for batch in rows.as_numpy_iterator():
            outputs = {
                k: np.asarray(v, np.float64) for k, v in model(batch, training=False).items()
            }
            for row, slot in np.argwhere(batch["masked_lm_weights"]):
                label = batch["masked_lm_ids"][row, slot]
                masks.append(right_and_loss(outputs["masked_lm_logits"][row, slot], label))
            nexts += map(
                right_and_loss, outputs["next_sentence_logits"], batch["next_sentence_labels"]
            )
        assert len(nexts) == len(pairs)
        found[name] = np.array(masks), np.array(nexts)
    masks, nexts = found["validation"]
    expected = {
        "masked_lm_accuracy": 100 * masks[:, 0].mean(),
        "next_sentence_accuracy": 100 * nexts[:, 0].mean(),
        "same_document_accuracy": 100 * found["same_document"][1][:, 0].mean(),
        "loss": masks[:, 1].mean() + nexts[:, 1].mean(),
    }
    scores = validation.scores()
    assert scores == pytest.approx(expected, abs=1e-3) and list(scores) == list(expected)
    few = PretrainingValidation(model, [SentencePairBatcher(held_out[0].some(20), 500, **options)])
    assert "same_document_accuracy" not in few.scores()


def test_biases_and_norms_do_not_decay(material, tmp_path):
    decayed = run(material, tmp_path, weight_decay=0.5, learning_rate=1e-2)
    optimizer = decayed.model.optimizer
    spared = {
        v.path for v in decayed.model.trainable_variables if not optimizer._use_weight_decay(v)
    }
    names = {path.split("/")[-1] for path in spared}
    assert names == {"bias", "gamma", "beta"}
    assert all(
        path.split("/")[-1] not in names
        for path in {v.path for v in decayed.model.trainable_variables} - spared
    )


@pytest.mark.slow
def test_an_encoder_may_have_a_rate_of_its_own(material, tmp_path):
    still = run(material, tmp_path, encoder_learning_rate=0.0, average_decay=0.0)
    before = {v.path: v.numpy() for v in still.model.trainable_variables}
    # the run's steps, without its validations
    batches = still.batches(0).dataset(still.model.distribute_strategy, still.settings.seed)
    still.model.run_eagerly = True  # three steps take less than their graph
    still.model.fit(batches, steps_per_epoch=3, verbose=0)
    moved = {
        v.path
        for v in still.model.trainable_variables
        if not np.array_equal(v.numpy(), before[v.path])
    }
    assert moved == {path for path in before if path[:5] != "bert/" or "/pooler/" in path}


def dry(recipe, tmp_path, *overrides):
    """Trains a shipped recipe at a tiny size: the folder of the best model and its history."""
    loaded = recipes.load_recipe(
        recipe,
        [
            f"data.records={tmp_path / 'records'}",
            f"train.folder={tmp_path / 'run'}",
            "train.precision=float32",
            "train.tokens_per_batch=512",
            "train.validate_every=10",
            "train.steps=20",
            "train.warmup_steps=2",
            "data.processes=1",
            "data.shards=2",
            *overrides,
        ],
    )
    best = recipes.train(loaded)
    return best, json.loads((tmp_path / "run" / "history.json").read_text())


KOREAN = [
    "정말",
    "재밌어요",
    "영화",
    "최고의",
    "감동",
    "지루한",
    "연기",
    "배우들",
    "별로",
    "다시",
    "보고",
    "싶다",
]


@pytest.mark.slow
def test_the_korean_recipe_learns_its_vocabulary_and_has_no_next_sentence(tmp_path):
    rng = random.Random(1)
    reviews = "".join(
        " ".join(rng.choices(KOREAN, k=rng.randint(2, 12))) + f"\t{i % 2}\n" for i in range(300)
    )
    (tmp_path / "reviews.tsv").write_text(reviews, encoding="utf-8")
    best, history = dry(
        "bert_pretrain_nsmc_ko",
        tmp_path,
        f"data.train={tmp_path / 'reviews.tsv'}",
        'data.text="1"',
        "data.validation_share=0.1",
        "text.vocabulary_size=420",
        "model.size=tiny",
    )
    assert [set(row) for row in history["history"]] == [{"step", "masked_lm_accuracy", "loss"}] * 2
    assert history["history"][1]["loss"] < history["history"][0]["loss"]
    text = json.loads((best / "tfsum.json").read_text())["text"]
    assert text == {"lowercase": True, "strip_accents": False, "max_length": 128}
    pieces = (best / "vocab.txt").read_text(encoding="utf-8").split("\n")
    assert any("영화" in piece for piece in pieces)  # whole syllables
    assert BertForPretraining.from_pretrained(best).bert.config["vocab_size"] == len(pieces) - 1


@pytest.fixture(scope="module")
def english(material, tmp_path_factory):
    """The best model that the English recipe makes of the tiny encoder, and its history."""
    return dry(
        "bert_pretrain_small",
        tmp_path_factory.mktemp("english"),
        f"model.encoder={material / 'encoder'}",
        *(f"data.{name}={material / 'corpus.txt'}" for name in ("train", "validation")),
        "data.max_length=32",
        "train.steps=4",
        "train.validate_every=2",
    )


@pytest.mark.slow
def test_the_english_recipe_takes_an_encoder_and_measures_both_kinds_of_false_sentences(english):
    best, history = english
    assert set(history["history"][1]) == {
        "step",
        "masked_lm_accuracy",
        "next_sentence_accuracy",
        "same_document_accuracy",
        "loss",
    }
    assert json.loads((best / "tfsum.json").read_text())["text"]["lowercase"] is True
    manifest = best.parents[1] / "records" / "train" / "manifest.json"
    counts = json.loads(manifest.read_text())["counts"]
    assert counts["same_document"] > 0 and counts["other_document"] > 0


def keep_at_once(run):
    """In place of `PretrainingRun.fit`: the best model is the one that the run begins with."""
    run.state["best"] = {"step": 0, "loss": 0.0}
    run.save_best(run.folder / "best")
    run.folder.joinpath("history.json").write_text(json.dumps(run.state))
    return run.folder / "best"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, lowercase", [("vocab.txt", True), ("cased.txt", False), ("folder", False)]
)
def test_a_new_model_takes_a_vocabulary_that_is_there_and_its_case(
    material, tmp_path, monkeypatch, name, lowercase
):
    """As a folder says, or else as the pieces look."""
    monkeypatch.setattr(PretrainingRun, "fit", keep_at_once)
    words = [*WORDS[:-1], "The"] if name == "cased.txt" else WORDS
    (tmp_path / "folder").mkdir()
    file = tmp_path / name if name.endswith(".txt") else tmp_path / name / "vocab.txt"
    file.write_text("\n".join(words) + "\n")
    (tmp_path / "folder" / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    corpus = [f"data.{split}={material / 'corpus.txt'}" for split in ("train", "validation")]
    best, _ = dry(
        "bert_pretrain_nsmc_ko",
        tmp_path,
        *corpus,
        f"text.vocabulary={tmp_path / name}",
        "text.vocabulary_size=",
        "text.lowercase=",
        "text.strip_accents=",
        "model.size=tiny",
        "train.steps=2",
        "train.warmup_steps=1",
    )
    assert (best / "vocab.txt").read_text().split() == words
    assert json.loads((best / "tfsum.json").read_text())["text"]["lowercase"] is lowercase
    assert BertForPretraining.from_pretrained(best).bert.config["vocab_size"] == len(WORDS)
    assert not (tmp_path / "records" / "vocabulary").exists()


def test_wrong_recipes_are_named(material, tmp_path):
    corpus = f"data.train={material / 'corpus.txt'}"
    with pytest.raises(
        RecipeError, match="encoder is 'x', .*vocabulary_size 8000; expected one of the three"
    ):
        dry("bert_pretrain_nsmc_ko", tmp_path, corpus, "model.encoder=x")
    with pytest.raises(
        RecipeError, match="vocabulary 'v' and vocabulary_size 8000; expected one of the three"
    ):
        dry("bert_pretrain_nsmc_ko", tmp_path, corpus, "text.vocabulary=v")
    with pytest.raises(DataError, match="v: no such vocabulary"):
        dry(
            "bert_pretrain_nsmc_ko",
            tmp_path,
            corpus,
            "text.vocabulary=v",
            "text.vocabulary_size=",
        )
    with pytest.raises(
        RecipeError, match="max_length is 64; the model has positions for 32 tokens"
    ):
        dry("bert_pretrain_small", tmp_path, corpus, f"model.encoder={material / 'encoder'}")
    for name, says in (
        ("evaluate.pairs=0", "pairs=0: expected a whole number from 1"),
        ("train.next_sentence_weight=-1.0", "sentence_weight=-1.0: expected a number from 0"),
    ):
        with pytest.raises(Error, match=says):
            dry(
                "bert_pretrain_small",
                tmp_path,
                corpus,
                f"data.validation={material / 'corpus.txt'}",
                f"model.encoder={material / 'encoder'}",
                "data.max_length=32",
                name,
            )
    with pytest.raises(RecipeError, match='model.size="huge": expected "tiny", "mini"'):
        dry("bert_pretrain_nsmc_ko", tmp_path, "model.size=huge")


@pytest.mark.slow  # a whole run; the Korean recipe, which is not slow, has no next sentences either
def test_an_encoder_of_one_segment_learns_words_alone(material, tmp_path):
    config = Bert.from_pretrained(material / "encoder").config
    Bert(**{**config, "type_vocab_size": 1}).save_pretrained(tmp_path / "one")
    (tmp_path / "one" / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    given = [f"data.{name}={material / 'corpus.txt'}" for name in ("train", "validation")]
    given += [
        f"model.encoder={tmp_path / 'one'}",
        "data.max_length=32",
        "train.steps=2",
        "train.warmup_steps=1",
    ]
    with pytest.raises(
        RecipeError,
        match=r"one segment \(type_vocab_size 1\), and a pair of sentences .* needs two",
    ):
        dry("bert_pretrain_small", tmp_path, *given)
    _, history = dry("bert_pretrain_small", tmp_path, *given, "data.next_sentence=none")
    assert history["history"]


@pytest.mark.slow
def test_what_can_be_known_is_learned(tmp_path):
    """Each document repeats one of 25 words: its neighbours tell a masked word, and the words a
    false sentence."""
    rng, words = random.Random(2), [chr(ord("a") + i) for i in range(25)]
    documents = [
        "\n".join(
            " ".join([words[number % 25]] * rng.randint(4, 8)) for _ in range(rng.randint(4, 10))
        )
        for number in range(400)
    ]
    (tmp_path / "corpus.txt").write_text("\n\n".join(documents) + "\n")
    corpora = [f"data.{name}={tmp_path / 'corpus.txt'}" for name in ("train", "validation")]
    write_encoder(
        tmp_path / "encoder",
        [*WORDS[:6], *words],
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=40,
    )
    _, history = dry(
        "bert_pretrain_small",
        tmp_path,
        f"model.encoder={tmp_path / 'encoder'}",
        *corpora,
        "data.max_length=40",
        "data.same_document_share=0.0",
        "train.learning_rate=3e-3",
        "train.steps=250",
        "train.validate_every=250",
        "train.warmup_steps=30",
        "train.encoder_learning_rate=",
        "train.next_sentence_weight=",
        "train.tokens_per_batch=1024",
        "train.average_decay=0.95",
    )
    (scores,) = history["history"]
    # One false sentence of 25 has the right word, and cannot be told.
    assert scores["masked_lm_accuracy"] > 95 and scores["next_sentence_accuracy"] > 94, scores
    assert scores["same_document_accuracy"] < 65
