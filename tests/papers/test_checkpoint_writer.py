"""`tfsum convert` with checkpoints: to a model folder, and back to a file that torch loads."""

import json
import pathlib
import struct
import zipfile

import numpy as np
import pytest
from cases import as_slow

import tfsum
from tfsum.errors import CheckpointError, Error
from tfsum.formats.torch_file import read_torch_file, write_torch_file
from tfsum.papers.checkpoint_names import bertsum_tensors

HEADS = {"num_attention_heads": 4}
NOT_KEPT = (
    "pos_emb.pe",
    "transformer_inter.0.layer_norm.weight",
    "transformer_inter.0.layer_norm.bias",
    ".mask",
)
"""What the originals compute again or never use: tfsum writes it as they do, and does not keep
it."""
CHECKPOINTS = {
    "bertsum_ext_classifier_step0": "bertsum",
    "bertsum_ext_classifier_step3_legacy": "bertsum",
    "bertsum_ext_transformer_step0": "bertsum",
    "bertsum_ext_rnn_step0": "bertsum",
    "presumm_ext_transformer_step0": "presumm",
    "presumm_ext_baseline_step0": "presumm",
    "presumm_abs_step0": "presumm",
}


@pytest.fixture
def parity(shared):
    return shared / "parity"


def converted(parity, folder: pathlib.Path, name: str, **options) -> pathlib.Path:
    tfsum.convert(
        parity / f"{name}.pt",
        folder,
        "tfsum",
        vocabulary=parity / "vocab_tiny48.txt",
        bert=HEADS,
        **options,
    )
    return folder


# A head is like another, and tests/formats/test_torch_file.py reads the older format.
ALIKE = ("bertsum_ext_classifier_step3_legacy", "presumm_ext_baseline_step0")


@pytest.mark.parametrize(
    ("name", "to"),
    [as_slow(case) if case[0] in ALIKE else case for case in CHECKPOINTS.items()],
)
def test_there_and_back_bit_by_bit(parity, tmp_path, name, to):
    tfsum.convert(converted(parity, tmp_path / "model", name), tmp_path / "back.pt", to)
    original, back = (
        read_torch_file(path)["model"] for path in (parity / f"{name}.pt", tmp_path / "back.pt")
    )
    assert sorted(original) == sorted(back)
    for key, value in original.items():
        if not key.endswith(NOT_KEPT):
            np.testing.assert_array_equal(value, back[key], err_msg=key)
            assert value.dtype == back[key].dtype
    # and the file that was written is read as the original was
    tfsum.convert(
        tmp_path / "back.pt",
        tmp_path / "again",
        "tfsum",
        vocabulary=parity / "vocab_tiny48.txt",
        bert=HEADS,
    )
    assert (tmp_path / "again/config.json").read_text() == (
        tmp_path / "model/config.json"
    ).read_text()
    assert (tmp_path / "again/model.safetensors").read_bytes() == (
        tmp_path / "model/model.safetensors"
    ).read_bytes()


@pytest.mark.parametrize("name", ["bertsum_ext_classifier_step0", "presumm_abs_step0"])
def test_torch_loads_what_is_written(parity, tmp_path, name):
    torch = pytest.importorskip("torch")
    tfsum.convert(
        converted(parity, tmp_path / "model", name), tmp_path / "back.pt", CHECKPOINTS[name]
    )
    for mapped in (False, True):
        content = torch.load(
            tmp_path / "back.pt", map_location="cpu", weights_only=False, mmap=mapped
        )
        original = read_torch_file(parity / f"{name}.pt")["model"]
        assert content["model"].keys() == original.keys()
        for key, value in original.items():
            if not key.endswith(NOT_KEPT):
                np.testing.assert_array_equal(content["model"][key].numpy(), value, err_msg=key)


def test_a_plain_state_dict(parity, tmp_path, monkeypatch):
    """Without the trainer's dictionary there is no `opt`: the number of heads is asked for by
    name."""
    whole = converted(parity, tmp_path / "whole", "bertsum_ext_transformer_step0")
    monkeypatch.setattr(
        "tfsum.formats.torch_file.read_torch_file",
        lambda path: read_torch_file(path)["model"],
    )
    with pytest.raises(
        CheckpointError, match="does not contain the number of attention heads .*--head-heads N"
    ):
        converted(parity, tmp_path / "plain", "bertsum_ext_transformer_step0")
    plain = converted(parity, tmp_path / "plain", "bertsum_ext_transformer_step0", head_heads=4)
    assert (plain / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "does not contain its word pieces; .*--vocabulary vocab.txt"),
        ({"vocabulary": "short.txt", "bert": HEADS}, "3 word pieces, and .* has 120 rows"),
        (
            {"vocabulary": "vocab.txt"},
            "does not contain the number of BERT's attention heads.*--heads N",
        ),
        (
            {"vocabulary": "vocab.txt", "bert": HEADS, "legacy": True},
            "legacy is True; it must be left out where head is 'classifier'",
        ),
        (
            {"vocabulary": "vocab.txt", "bert": HEADS, "depth": 3},
            "is a BertSumExt, which has no depth",
        ),
    ],
)
def test_what_is_missing_or_does_not_fit(parity, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("short.txt").write_text("[PAD]\n[UNK]\n[CLS]\n")
    pathlib.Path("vocab.txt").write_text((parity / "vocab_tiny48.txt").read_text())
    with pytest.raises(Error, match=message):
        tfsum.convert(parity / "bertsum_ext_classifier_step0.pt", "model", "tfsum", **options)
    assert not pathlib.Path("model").exists() and sorted(p.name for p in tmp_path.iterdir()) == [
        "short.txt",
        "vocab.txt",
    ]


def test_presumms_tokens_are_where_it_has_them(parity, tmp_path):
    pieces = (parity / "vocab_tiny48.txt").read_text().replace("[unused0]", "[other]")
    (tmp_path / "vocab.txt").write_text(pieces)
    with pytest.raises(
        CheckpointError, match=r"\[unused0\] and \[unused1\] have the ids \[None, 2\]"
    ):
        tfsum.convert(
            parity / "presumm_abs_step0.pt",
            tmp_path / "model",
            "tfsum",
            vocabulary=tmp_path,
            bert=HEADS,
        )


@pytest.mark.parametrize(
    ("name", "to", "message"),
    [
        ("presumm_abs_step0", "bertsum", "abstractive model, which PreSumm has"),
        ("bertsum_ext_rnn_step0", "presumm", "head 'lstm', where it has classifier, transformer"),
        ("bertsum_ext_classifier_step0", "google", "converted to tfsum first"),
    ],
)
def test_what_the_original_does_not_have(parity, tmp_path, name, to, message):
    folder = converted(parity, tmp_path / "model", name)
    if to == "google":
        folder = parity / f"{name}.pt"
    with pytest.raises(CheckpointError, match=message):
        tfsum.convert(folder, tmp_path / "other.pt", to)
    assert not (tmp_path / "other.pt").exists()


def test_a_folder_of_checkpoints(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "model_step_1.pt").write_bytes(b"")
    with pytest.raises(
        CheckpointError, match="a folder with 1 checkpoints of torch; name one of them"
    ):
        tfsum.convert(tmp_path / "models", tmp_path / "out", "tfsum")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "bertsum_ext_classifier",
        "bertsum_ext_transformer",
        "bertsum_ext_rnn",
        "presumm_ext",
        "presumm_abs",
    ],
)
def test_keys_and_shapes_of_base_sizes(parity, name):
    expected = json.loads((parity / f"keys_{name}_base.json").read_text())["model"]
    if name == "presumm_abs":
        model: tfsum.BertSumExt | tfsum.BertSumAbs = tfsum.BertSumAbs({})
    else:
        head = {"classifier": "classifier", "rnn": "lstm"}.get(
            name.rpartition("_")[2], "transformer"
        )
        model = tfsum.BertSumExt({}, head)
    model.build()
    found = bertsum_tensors(model, "ext_layer." if name == "presumm_ext" else "encoder.")
    assert {key: [list(value.shape), value.dtype.name] for key, value in found.items()} == expected


def test_storages_are_aligned_and_shared(tmp_path):
    one = np.arange(5, dtype=np.float32)
    write_torch_file(
        tmp_path / "a.pt",
        {
            "one": one,
            "same": one,
            "empty": np.zeros((0, 3), np.float32),
            "number": np.array(7, np.int64),
        },
        {"name": "x", "list": [1, 2.5, None, True]},
    )
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        assert archive.testzip() is None
        content = (tmp_path / "a.pt").read_bytes()
        data = [info for info in archive.infolist() if "/data/" in info.filename]
        assert len(data) == 3
        for info in data:
            name, extra = struct.unpack(
                "<HH", content[info.header_offset + 26 : info.header_offset + 30]
            )
            assert (info.header_offset + 30 + name + extra) % 64 == 0
    stored = read_torch_file(tmp_path / "a.pt")
    np.testing.assert_array_equal(stored["model"]["same"], one)
    assert stored["model"]["empty"].shape == (0, 3) and stored["model"]["number"] == 7
    assert vars(stored["opt"]) == {"name": "x", "list": [1, 2.5, None, True]}
