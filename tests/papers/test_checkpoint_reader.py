"""Checkpoints of BertSum and PreSumm as models, and back to the original's names."""

import zipfile

import numpy as np
import pytest

from tfsum.errors import CheckpointError
from tfsum.formats.torch_file import read_torch_file
from tfsum.papers.checkpoint_names import bertsum_tensors
from tfsum.papers.checkpoint_reader import read_bertsum

pytestmark = pytest.mark.reference
FOUR_HEADS = {"num_attention_heads": 4}


def checkpoint(shared, name):
    return shared / "parity" / f"{name}.pt"


@pytest.fixture
def altered(monkeypatch):
    """Reads a file, but with some tensors changed or (None) taken away."""

    def read(path, changes):
        def other(path):
            content = read_torch_file(path)
            content["model"].update(changes)
            for name in [name for name, value in changes.items() if value is None]:
                del content["model"][name]
            return content

        monkeypatch.setattr("tfsum.formats.torch_file.read_torch_file", other)
        return read_bertsum(path, FOUR_HEADS)[0]

    return read


@pytest.mark.parametrize(
    "name",
    [
        "bertsum_ext_classifier_step0",
        "bertsum_ext_classifier_step3_legacy",
        "bertsum_ext_transformer_step0",
        "bertsum_ext_rnn_step0",
        "presumm_ext_transformer_step0",
        "presumm_ext_baseline_step0",
        "presumm_abs_step0",
    ],
)
def test_there_and_back(shared, name):
    original = read_torch_file(checkpoint(shared, name))["model"]
    model = read_bertsum(checkpoint(shared, name), FOUR_HEADS)[0]
    back = bertsum_tensors(model, "encoder." if name.startswith("bertsum") else "ext_layer.")
    assert sorted(back) == sorted(original)
    for key, value in back.items():
        if key.endswith("pos_emb.pe"):
            np.testing.assert_allclose(value[:, : original[key].shape[1]], original[key], atol=2e-5)
        elif key.endswith(".mask"):  # shorter in the fixture
            rows = original[key].shape[1]
            np.testing.assert_array_equal(value[:, :rows, :rows], original[key])
        elif "transformer_inter.0.layer_norm" not in key:  # never applied, so not kept
            np.testing.assert_array_equal(value, original[key], err_msg=key)


def test_sizes_come_from_shapes_and_opt(shared):
    config = read_bertsum(checkpoint(shared, "presumm_ext_transformer_step0"), FOUR_HEADS)[0].config
    assert (config["head"], config["head_layers"], config["head_num_heads"]) == (
        "transformer",
        2,
        4,
    )
    assert (config["head_feed_forward_width"], config["head_dropout"]) == (64, 0.0)
    assert config["window_length"] == 64  # the rows of the table of positions
    # its opt knows BERT's heads
    baseline = read_bertsum(checkpoint(shared, "presumm_ext_baseline_step0"))[0]
    assert baseline.bert.config["num_attention_heads"] == 4


def test_arguments_come_before_opt(shared):
    model = read_bertsum(
        checkpoint(shared, "bertsum_ext_transformer_step0"),
        FOUR_HEADS,
        head_num_heads=8,
        loss_reduction="sum",
    )[0]
    assert (model.config["head_num_heads"], model.config["loss_reduction"]) == (8, "sum")


def test_every_tensor_that_does_not_fit_is_named_at_once(shared, altered):
    changes = {
        "encoder.wo.bias": None,
        "encoder.extra.weight": np.zeros((2, 2), np.float32),
        "bert.model.pooler.dense.bias": np.zeros(7, np.float32),
    }
    with pytest.raises(CheckpointError, match="3 tensors") as caught:
        altered(checkpoint(shared, "bertsum_ext_transformer_step0"), changes)
    message = str(caught.value)
    assert (
        "missing: encoder.wo.bias" in message and "unknown: encoder.extra.weight [2, 2]" in message
    )
    assert "bert.model.pooler.dense.bias is [7], the config says [48]" in message


def test_positions_of_another_kind_are_refused(shared, altered):
    with pytest.raises(CheckpointError, match="sines and cosines"):
        altered(
            checkpoint(shared, "bertsum_ext_transformer_step0"),
            {"encoder.pos_emb.pe": np.zeros((1, 128, 48), np.float32)},
        )


def test_another_head_is_named(shared, altered):
    names = read_torch_file(checkpoint(shared, "bertsum_ext_classifier_step0"))["model"]
    other = {name: None for name in names if name.startswith("encoder.")}
    with pytest.raises(
        CheckpointError, match="the head has convolution; tfsum reads the classifier"
    ):
        altered(
            checkpoint(shared, "bertsum_ext_classifier_step0"),
            {"encoder.convolution.weight": np.zeros((2, 2), np.float32), **other},
        )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("decoder.pos_emb.pe", "sines and cosines"),
        ("decoder.transformer_layers.1.mask", "mask of later tokens"),
        ("generator.0.weight", "differs from decoder.embeddings.weight"),
    ],
)
def test_buffers_that_are_others_are_refused(shared, altered, name, message):
    stored = read_torch_file(checkpoint(shared, "presumm_abs_step0"))["model"][name]
    with pytest.raises(CheckpointError, match=message):
        altered(checkpoint(shared, "presumm_abs_step0"), {name: 1 - stored})


def test_a_config_of_another_model_is_refused(shared):
    with pytest.raises(CheckpointError, match="vocab_size is 120 in the file, 30522 was given"):
        read_bertsum(checkpoint(shared, "bertsum_ext_classifier_step0"), {"vocab_size": 30522})
    with pytest.raises(CheckpointError, match="num_attention_heads"):
        read_bertsum(checkpoint(shared, "bertsum_ext_classifier_step0"))


def test_a_file_without_a_state_dict(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}X\x05\x00\x00\x00modelK\x01s.")
    with pytest.raises(CheckpointError, match="no state_dict"):
        read_bertsum(tmp_path / "a.pt")
