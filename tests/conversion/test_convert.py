"""From every format to every format, bit by bit."""

import itertools
import json
import pathlib
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_bert import write_encoder

from tfsum.conversion.convert import FOLDERS, convert
from tfsum.errors import CheckpointError
from tfsum.formats import weight_names
from tfsum.formats.google import google_name
from tfsum.formats.open_folder import open_folder
from tfsum.formats.text_settings import read_text_settings
from tfsum.models import Bert, BertClassifier
from tfsum.models.bert_for_pretraining import BertForPretraining
from tfsum.text.escape import PIECES

pytest.importorskip("tensorflow")
WHOLE = pathlib.Path(__file__).parents[1] / "fixtures" / "bert_pretraining" / "whole"
CASED = [f"[unused{i}]" for i in range(38)] + ["The", "the"]


@pytest.fixture
def source(tmp_path):
    """transformers' model with a vocabulary."""
    folder = pathlib.Path(shutil.copytree(WHOLE, tmp_path / "source"))
    (folder / "vocab.txt").write_bytes("\r\n".join(CASED).encode())
    return folder


def full(stored):
    """The tensors of a file as Hugging Face has them."""
    names = weight_names.bert_names(2, "bert.")
    names += BertForPretraining(stored.config).head_names()
    tensors = {}
    for name, _, transposed in names:
        own, as_stored = stored.name(name, transposed)
        if own in stored.tensors:
            tensors[name] = (
                stored.tensors[own].T if as_stored != transposed else stored.tensors[own]
            )
    return tensors


def equal(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_round_trips_through_all_formats(source, tmp_path):
    """Each format follows each: tensors bit by bit, arguments, vocabulary and case come back."""
    first = open_folder(source)
    assert len(full(first)) == 5 + 16 * 2 + 2 + 5 + 2
    chain = [
        "google",
        "hugging-face",
        "tfsum",
        "google",
        "tfsum",
        "hugging-face",
        "google",
        "google",
        "hugging-face",
        "hugging-face",
        "tfsum",
        "tfsum",
    ]
    assert set(itertools.pairwise(chain)) == set(itertools.product(FOLDERS, FOLDERS))
    last = source
    for i, to in enumerate(chain):
        convert(last, tmp_path / f"{i}", to)
        last = tmp_path / f"{i}"
        found = open_folder(last)
        equal(full(first), full(found))
        assert found.config == first.config
        assert (last / "vocab.txt").read_bytes() == (source / "vocab.txt").read_bytes()
        assert [p.name for p in last.parent.iterdir() if p.name.startswith(f"{i}.")] == []
    assert (last / "model.safetensors").read_bytes() == (
        tmp_path / "9" / "model.safetensors"
    ).read_bytes()


def test_the_outputs_are_the_same(source, tmp_path):
    convert(source, tmp_path / "google", "google")
    ids = np.arange(1, 15, dtype=np.int32)[None]
    before, after = (
        BertForPretraining.from_pretrained(f)({"token_ids": ids})
        for f in (source, tmp_path / "google")
    )
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)


def test_a_classifier_keeps_its_layer_and_its_labels(tmp_path):
    """Through Google's format and back: output_weights and output_bias, which the original has
    outside any scope."""
    model = BertClassifier.from_pretrained(WHOLE.parents[1] / "bert_classifier")
    model.save_pretrained(tmp_path / "first")
    last = tmp_path / "first"
    for to in ("google", "tfsum", "google", "hugging-face"):
        assert convert(last, tmp_path / f"{last.name}_{to}", to) == [] or to == "google"
        last = tmp_path / f"{last.name}_{to}"
        again = BertClassifier.from_pretrained(last)
        assert again.label_names == model.label_names and again.classifier_dropout == 0.3
        equal(model.tensors(), again.tensors())
    assert {"output_weights", "output_bias"} < open_folder(tmp_path / "first_google").tensors.keys()


def test_what_the_folders_hold(source, tmp_path):
    for to in FOLDERS:
        convert(source, tmp_path / to, to)
    held = {to: sorted(p.name for p in (tmp_path / to).iterdir()) for to in FOLDERS}
    assert held == {
        "google": [
            "bert_config.json",
            "bert_model.ckpt.data-00000-of-00001",
            "bert_model.ckpt.index",
            "vocab.txt",
        ],
        "hugging-face": ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"],
        "tfsum": ["config.json", "model.safetensors", "tfsum.json", "vocab.txt"],
    }


def test_case_is_read_or_given(source, tmp_path):
    convert(source, tmp_path / "a", "tfsum")
    assert read_text_settings(tmp_path / "a")["lowercase"] is False  # "The" is in the vocabulary
    convert(source, tmp_path / "b", "google", lowercase=True)
    convert(tmp_path / "b", tmp_path / "c", "hugging-face")
    assert read_text_settings(tmp_path / "c")["lowercase"] is True


def test_an_encoder_alone_stays_one(tmp_path):
    Bert(10, 8, 1, 2, 8, max_position_embeddings=9).save_pretrained(tmp_path / "encoder")
    convert(tmp_path / "encoder", tmp_path / "google", "google")
    convert(tmp_path / "google", tmp_path / "back", "hugging-face")
    assert (tmp_path / "encoder" / "config.json").read_bytes() == (
        tmp_path / "back" / "config.json"
    ).read_bytes()
    assert not (tmp_path / "back" / "vocab.txt").exists()
    equal(*(load_file(tmp_path / name / "model.safetensors") for name in ("encoder", "back")))


def test_one_head_alone_stays_one(source, tmp_path):
    tensors = load_file(source / "model.safetensors")
    alone = {k: v.copy() for k, v in tensors.items() if "seq_relationship" not in k}
    save_file(alone, source / "model.safetensors")
    convert(source, tmp_path / "google", "google")
    names = open_folder(tmp_path / "google").tensors.keys()
    assert names == {google_name(name, True)[0] for name in alone}


@pytest.mark.parametrize(
    ("head", "architecture"),
    [
        ("cls.", "BertForPreTraining"),
        ("cls.predictions", "BertForMaskedLM"),
        ("cls.seq_relationship", "BertForNextSentencePrediction"),
        ("no head", "BertModel"),
    ],
)
def test_the_class_is_named_by_the_heads(source, tmp_path, head, architecture):
    tensors = load_file(source / "model.safetensors")
    save_file(
        {k: v.copy() for k, v in tensors.items() if k.startswith(("bert.", head))},
        source / "model.safetensors",
    )
    convert(source, tmp_path / "out", "hugging-face")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["architectures"] == [
        architecture
    ]


def test_a_vocabulary_out_of_tokenizer_json(source, tmp_path):
    (source / "vocab.txt").unlink()
    content = {"model": {"type": "WordPiece", "vocab": {piece: i for i, piece in enumerate(CASED)}}}
    (source / "tokenizer.json").write_text(json.dumps(content))
    for to in FOLDERS:
        convert(source, tmp_path / to, to)
        assert (tmp_path / to / "vocab.txt").read_text().splitlines() == CASED
    assert read_text_settings(tmp_path / "tfsum")["lowercase"] is False  # "The" is in it


def test_a_vocabulary_that_marks_spaces_is_told(tmp_path):
    pieces = ["[PAD]", "[UNK]", *PIECES]
    write_encoder(tmp_path / "source", pieces, max_position_embeddings=8)
    for to in FOLDERS:
        notes = convert(tmp_path / "source", tmp_path / to, to)
        assert any("nearly every word is [UNK]" in note for note in notes) == (to != "tfsum")


def test_double_precision_is_rounded_and_told(source, tmp_path):
    first = open_folder(source)
    tensors = {k: v.astype(np.float64) for k, v in load_file(source / "model.safetensors").items()}
    save_file(tensors, source / "model.safetensors")
    notes = convert(source, tmp_path / "out", "tfsum")
    assert notes == [f"{len(tensors)} tensors of float64 are rounded to float32"]
    equal(full(first), full(open_folder(tmp_path / "out")))


def test_what_the_reader_is_told(source, tmp_path):
    tensors = {k: v.copy() for k, v in load_file(source / "model.safetensors").items()}
    more = {
        "classifier.weight": np.zeros((3, 16), np.float32),
        "classifier.bias": np.zeros(3, np.float32),
    }
    save_file(tensors | more, source / "model.safetensors")
    notes = convert(source, tmp_path / "google", "google")
    assert (
        notes[0] == "left out 2 tensors of heads of other tasks: classifier.bias, classifier.weight"
    )
    assert "tanh form" in notes[1] and "layer_norm_eps is 1e-07" in notes[2] and len(notes) == 3
    assert convert(tmp_path / "google", tmp_path / "tfsum", "tfsum") == []


def test_a_destination_that_is_taken(source, tmp_path):
    (tmp_path / "empty").mkdir()
    convert(source, tmp_path / "empty", "tfsum")
    for place in (tmp_path / "empty", source, source / "vocab.txt"):
        with pytest.raises(CheckpointError, match="already exists"):
            convert(source, place, "google")
    with pytest.raises(CheckpointError, match="cannot be written"):
        convert(source, source / "vocab.txt" / "x", "google")


def test_a_source_that_does_not_fit_leaves_nothing(source, tmp_path):
    tensors = {k: v.copy() for k, v in load_file(source / "model.safetensors").items()}
    del tensors["bert.pooler.dense.bias"]
    save_file(tensors, source / "model.safetensors")
    with pytest.raises(CheckpointError, match="missing: bert.pooler.dense.bias"):
        convert(source, tmp_path / "out", "google")
    with pytest.raises(
        CheckpointError, match="no format 'onnx'; known are google, hugging-face, tfsum"
    ):
        convert(source, tmp_path / "out", "onnx")
    assert [p.name for p in tmp_path.iterdir()] == ["source"]
