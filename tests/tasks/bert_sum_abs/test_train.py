"""A BertSumAbs from its recipe to its summaries: prepared, trained, exported, and started from
other models."""

import contextlib
import dataclasses
import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf
from tiny_bert import BERT_BEGINNING

import tfsum
from tfsum.data.documents.summary_batches import SummaryBatcher, load_summaries
from tfsum.data.documents.windows import DocumentBatcher, load_windows
from tfsum.errors import RecipeError
from tfsum.models import Bert, BertSumAbs, BertSumExt
from tfsum.tasks.bert_sum_abs.train import target_tokens
from tfsum.tasks.recipes import prepare_recipe
from tfsum.text.word_piece import WordPiece

WORDS = [*BERT_BEGINNING, ".", *(f"w{chr(97 + i)}" for i in range(20))]
RECIPE = """
[data]
train = "corpus.jsonl"
validation = "corpus.jsonl"
records = "records"
shards = 1

[model]
kind = "bert_sum_abs"
encoder = "encoder"
num_decoder_layers = 1
num_heads = 2
feed_forward_width = 12
max_length = 12

[train]
folder = "run"
steps = 6
validate_every = 3
tokens_per_batch = 128
max_windows = 2
learning_rate = 0.01
warmup_steps = 2
encoder_learning_rate = 0.001
encoder_warmup_steps = 3

[evaluate]
documents = 5
"""


def write_place(folder):
    """Writes a tiny encoder, a corpus and a recipe."""
    encoder = {
        "vocab_size": len(WORDS),
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 12,
        "max_position_embeddings": 16,
    }
    Bert(**encoder).save_pretrained(folder / "encoder")
    (folder / "encoder" / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    random = np.random.default_rng(0)

    def sentence():
        return " ".join(random.choice(WORDS[9:], random.integers(2, 5))) + "."

    with open(folder / "corpus.jsonl", "w") as file:
        for _ in range(20):
            text = [sentence() for _ in range(random.integers(1, 6))]
            file.write(
                json.dumps({"text": " ".join(text), "summary": f"{text[0]}\n{sentence()}"}) + "\n"
            )
    (folder / "recipe.toml").write_text(RECIPE)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a tiny encoder, a corpus and a recipe, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    write_place(tmp_path)
    return tmp_path


@dataclasses.dataclass
class Trained:
    """What the recipe makes: the best model, and its export."""

    folder: pathlib.Path
    best: pathlib.Path
    exported: pathlib.Path

    def texts(self) -> list[str]:
        lines = (self.folder / "corpus.jsonl").read_text().splitlines()
        return [json.loads(line)["text"] for line in lines]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder like `place` whose recipe has been trained and exported."""
    folder = tmp_path_factory.mktemp("trained")
    write_place(folder)
    with contextlib.chdir(folder):
        best = folder / tfsum.train("recipe.toml")
        strategy = tfsum.decoding.BeamSearch(3)
        exported = tfsum.export_model(best, folder / "served" / "writer", strategy=strategy)
    return Trained(folder, best, exported)


@pytest.mark.slow  # a whole run; .ci/run runs it
def test_from_a_recipe_to_a_summary(trained):
    model = BertSumAbs.from_pretrained(trained.best)
    assert (model.start_id, model.end_id, model.max_length, model.window_length) == (1, 2, 12, 16)
    settings = json.loads((trained.best / "tfsum.json").read_text())
    assert settings["text"]["max_windows"] == 2 and settings["text"]["line_break"] == "[unused2]"
    assert set(settings["validation"]) >= {"loss", "rouge1", "rouge2", "rougeLsum"}

    verified = tfsum.verify(trained.exported)
    assert verified["signatures"] == ["attend", "generate_ids", "serving_default"]

    write, texts = tfsum.load(trained.exported), trained.texts()
    answers = write([*texts, ""])
    assert answers[-1].summary == "" and answers[-1].coverage == 1.0
    assert [answer.summary for answer in answers[:-1]] == [write(text).summary for text in texts]
    assert any("unused" not in answer.summary for answer in answers[:-1])

    corpus = trained.folder / "corpus.jsonl"
    report = tfsum.evaluate(trained.exported, corpus, source="text", target="summary")
    assert json.loads(report.to_json())["texts"] == 20


@pytest.mark.slow
def test_the_export_reads_what_training_read(trained):
    """The ids of the records, by the batches of training and by the graph of the export."""
    word_piece, records = WordPiece(WORDS), trained.folder / "records" / "train"
    documents = load_windows(records, 16, 2)
    summaries = load_summaries(records, lambda texts: word_piece.tokenize(texts).to_list(), 3, 12)
    sources = DocumentBatcher(documents, 128, cls_id=word_piece.cls_id, sep_id=word_piece.sep_id)
    batcher = SummaryBatcher(sources, summaries, 128, 1, 2)
    model = tf.saved_model.load(str(trained.exported))
    attend = model.signatures["attend"]
    for row, text in enumerate(trained.texts()):
        batch = batcher.assemble(np.array([row]))
        read = attend(text=tf.constant([text]))["source_ids"].numpy()[0]
        expected = batch["source_ids"][0]
        assert read[read > 0].tolist() == expected[expected > 0].tolist()
        ids = model.signatures["generate_ids"](
            **{name: tf.constant(batch[name], tf.int32) for name in ("source_ids", "segment_ids")}
        )["ids"].numpy()
        answered = model.signatures["serving_default"](text=tf.constant([text]))
        assert (
            answered["coverage"].numpy()[0] == pytest.approx(1.0)
            or documents.counts["sentences_dropped"]
        )
        assert ids.shape == (1, 12)


def test_targets(place):
    word_piece = WordPiece(WORDS)
    prepare_recipe("recipe.toml")
    whole = load_summaries(
        "records/train", lambda texts: word_piece.tokenize(texts).to_list(), 3, 140
    )
    short = load_summaries(
        "records/train", lambda texts: word_piece.tokenize(texts).to_list(), 3, 5
    )
    assert whole.cut == 0 and short.cut == sum(whole.counts >= 5) and short.counts.max() == 4
    rows = np.split(whole.pieces, np.cumsum(whole.counts)[:-1])
    for text, row in zip(whole.texts, rows, strict=True):
        first, second = text.split("\n")
        expected = [
            *word_piece.tokenize([first]).to_list()[0],
            3,
            *word_piece.tokenize([second]).to_list()[0],
        ]
        assert row.tolist() == expected


@pytest.mark.slow
def test_it_starts_from_an_extractive_model_and_from_itself(place, first_model):
    encoder = Bert.from_pretrained("encoder")
    extractive = BertSumExt(encoder, "classifier")
    extractive.build()
    for weight in extractive.bert.trainable_weights:
        weight.assign_add(np.full(weight.shape, 0.01, np.float32))
    text = {"text": {"lowercase": True, "strip_accents": None}}
    extractive.save_pretrained("extractive", WORDS, text)

    started = first_model("recipe.toml", ["model.encoder=", "model.start=extractive"])
    for new, old in zip(started.bert.weights, extractive.bert.weights, strict=True):
        np.testing.assert_array_equal(new, old)
    # the decoder's embedding begins as a copy of BERT's
    np.testing.assert_array_equal(
        started.target_embedding.embeddings, extractive.bert.word_embeddings.embeddings
    )

    started.save_pretrained("abstractive", WORDS, text)
    changes = ["model.encoder=", "model.start=abstractive", "train.folder=again"]
    second = first_model("recipe.toml", changes)
    for new, old in zip(second.weights, started.weights, strict=True):
        np.testing.assert_array_equal(new, old)

    other = [*changes, "model.feed_forward_width=8", "train.folder=other"]
    with pytest.raises(
        RecipeError, match=r"another shape; \[model\] must have feed_forward_width = 12"
    ):
        tfsum.train("recipe.toml", other)


@pytest.mark.parametrize("changes", [["model.encoder="], ["model.start=encoder"]])
def test_one_of_encoder_and_start(place, changes):
    with pytest.raises(RecipeError, match="model: give either encoder or start"):
        tfsum.train("recipe.toml", changes)


def test_vocabularies_without_unused_tokens():
    assert target_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]) == (
        "[CLS]",
        "[SEP]",
        "[MASK]",
    )


@pytest.mark.slow
def test_options_of_the_other_kind(trained, tmp_path):
    with pytest.raises(
        tfsum.Error,
        match="max_source_length: no option of the task 'bert_sum_abs'; its options are ops, str",
    ):
        tfsum.export_model(trained.best, tmp_path / "writer", max_source_length=8)


def words_of(text):
    return set(text.replace(".", " ").lower().split())


@pytest.mark.slow  # two trainings and two exports more than `trained`; .ci/run runs it
def test_copying_gap_sentences_and_case_of_the_source(place):
    """All that helps a writer with few summaries, from the recipe to the export."""
    copying = ["model.copy=true", "model.label_smoothing=0.0"]
    first = tfsum.train(
        "recipe.toml",
        [*copying, "train.gap_sentences=1", "train.gap_kept=0.5", "train.folder=gaps"],
    )
    assert BertSumAbs.from_pretrained(first).copy_attention is not None
    best = tfsum.train("recipe.toml", [*copying, "model.encoder=", f"model.start={first}"])
    exported = tfsum.export_model(best, place / "served" / "writer", restore_case=True)
    tfsum.verify(exported)
    text = json.loads((exported / "assets.extra" / "tfsum.json").read_text())["text"]
    assert text["restore_case"]
    texts = [
        json.loads(line)["text"].replace("w", "W")
        for line in (place / "corpus.jsonl").read_text().splitlines()
    ]
    answers = tfsum.load(exported)(texts)
    assert any(answer.summary for answer in answers)
    for text, answer in zip(texts, answers):
        of_text = words_of(answer.summary) & words_of(text)
        written = answer.summary.replace(".", " ").split()
        assert all(word[0] == "W" for word in written if word.lower() in of_text)


@pytest.mark.slow
def test_copying_has_no_smoothed_labels(place):
    with pytest.raises(
        tfsum.Error, match="label_smoothing is 0.1; it must be 0 where copy is true"
    ):
        tfsum.train("recipe.toml", ["model.copy=true"])
