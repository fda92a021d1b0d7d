"""Google's files: names, and folders that are wrong in every way we know."""

import json
import pathlib
import shutil

import numpy as np
import pytest

from tfsum.conversion.convert import convert
from tfsum.errors import CheckpointError, Error
from tfsum.formats.google import google_config, read_google, write_google
from tfsum.models import Bert
from tfsum.models.bert_for_pretraining import BertForPretraining

tf = pytest.importorskip("tensorflow")
from agreement_google import google_variables


@pytest.fixture(scope="module")
def original(shared):
    return shared / "parity" / "google_bert_tiny"


@pytest.fixture
def folder(original, tmp_path):
    """A copy to spoil."""
    names = (
        "bert_config.json",
        "vocab.txt",
        "bert_model.ckpt.index",
        "bert_model.ckpt.data-00000-of-00001",
    )
    target = tmp_path / "model"
    target.mkdir()
    for name in names:
        shutil.copyfile(original / name, target / name)
    return target


def rewrite(folder, edit):
    """Writes the checkpoint again after `edit(variables)`."""
    prefix = str(folder / "bert_model.ckpt")
    arrays = google_variables(prefix)
    arrays = edit(arrays) or arrays
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=[tf.constant(value) for value in arrays.values()],
    )


def test_names_of_the_releases():
    """A model of three layers has 5 + 16 * 3 + 2 variables of the encoder, as the reference counts
    them."""
    from tfsum.formats.google import google_name
    from tfsum.formats.weight_names import bert_names

    names = [google_name(name, transposed)[0] for name, _, transposed in bert_names(3, "bert.")]
    assert len(set(names)) == 5 + 16 * 3 + 2
    assert {
        "bert/embeddings/LayerNorm/gamma",
        "bert/encoder/layer_2/attention/self/query/kernel",
        "bert/encoder/layer_0/output/LayerNorm/beta",
        "bert/pooler/dense/bias",
    } <= set(names)


def test_a_prefix_and_what_training_adds(folder):
    slot = np.zeros(32, np.float32)
    rewrite(
        folder,
        lambda v: (
            v
            | {
                "global_step": np.int64(7),
                "bert/pooler/dense/bias/adam_m": slot,
                "bert/pooler/dense/bias/adam_v": slot,
            }
        ),
    )
    for ending in ("index", "data-00000-of-00001"):
        (folder / f"bert_model.ckpt.{ending}").rename(folder / f"model.ckpt-20.{ending}")
    plain = np.asarray(Bert.from_pretrained(folder).pooler.kernel)
    np.testing.assert_array_equal(
        plain, Bert.from_pretrained(folder / "model.ckpt-20").pooler.kernel
    )
    assert len(read_google(folder).tensors) == 62


def test_an_encoder_alone_and_a_classifier(folder):
    rewrite(
        folder,
        lambda v: (
            {k: w for k, w in v.items() if not k.startswith("cls")}
            | {
                "output_weights": np.zeros((3, 32), np.float32),
                "output_bias": np.zeros(3, np.float32),
            }
        ),
    )
    Bert.from_pretrained(folder)
    with (
        pytest.warns(UserWarning, match=r"no masked_lm head .*initialized at random"),
        pytest.warns(UserWarning, match=r"no next_sentence head .*initialized at random"),
    ):
        BertForPretraining.from_pretrained(folder)


def test_heads_of_another_task_are_left_out(folder, tmp_path):
    """run_squad.py calls its head cls/squad."""
    rewrite(
        folder,
        lambda v: (
            {k: w for k, w in v.items() if not k.startswith("cls")}
            | {
                "cls/squad/output_weights": np.zeros((2, 32), np.float32),
                "cls/squad/output_bias": np.zeros(2, np.float32),
            }
        ),
    )
    assert convert(folder, tmp_path / "out", "tfsum") == [
        "left out 2 tensors of heads of other tasks: cls/squad/output_bias,"
        " cls/squad/output_weights"
    ]
    np.testing.assert_array_equal(
        Bert.from_pretrained(folder).pooler.kernel,
        Bert.from_pretrained(tmp_path / "out").pooler.kernel,
    )


def test_functions_that_google_does_not_know_are_remembered():
    config = Bert(8, 4, 1, 1, 4, layer_norm_eps=1e-5).config
    kept = google_config(config)
    assert (kept["hidden_act"], kept["exact_gelu"], kept["layer_norm_eps"]) == ("gelu", True, 1e-5)
    plain = google_config({**config, "hidden_act": "gelu_new", "layer_norm_eps": 1e-12})
    assert plain["hidden_act"] == "gelu" and not plain.keys() & {"exact_gelu", "layer_norm_eps"}


def drop(name):
    return lambda v: {k: w for k, w in v.items() if k != name}


QUERY = "bert/encoder/layer_1/attention/self/query/kernel"
WRONG_VARIABLES = {
    "missing": (drop(QUERY), f"missing: {QUERY}"),
    "missing of a head": (
        drop("cls/predictions/output_bias"),
        "missing: cls/predictions/output_bias",
    ),
    "unknown": (
        lambda v: v | {"bert/x": np.zeros((2, 3), np.float32)},
        r"unknown: bert/x \[2, 3\]",
    ),
    "unknown of a head": (
        lambda v: v | {"cls/x": np.zeros(2, np.float32)},
        r"unknown: cls/x \[2\]",
    ),
    "another shape": (
        lambda v: v | {"bert/encoder/layer_0/output/dense/kernel": np.zeros((64, 31), np.float32)},
        (
            r"shape: bert/encoder/layer_0/output/dense/kernel is \[64, 31\], the config says \[64,"
            r" 32\]"
        ),
    ),
    "another shape of a head": (
        lambda v: v | {"cls/seq_relationship/output_weights": np.zeros((3, 32), np.float32)},
        r"output_weights is \[3, 32\], the config says \[2, 32\]",
    ),
    "fewer positions": (
        lambda v: v | {"bert/embeddings/position_embeddings": np.zeros((32, 32), np.float32)},
        r"position_embeddings is \[32, 32\], the config says \[64, 32\]",
    ),
    "another type": (
        lambda v: v | {QUERY: np.zeros((32, 32), np.int32)},
        f"type: {QUERY} is int32",
    ),
    "text": (
        lambda v: v | {"bert/pooler/dense/bias": np.array([b"x"] * 32)},
        "type: bert/pooler/dense/bias is object",
    ),
}


@pytest.mark.parametrize("case", WRONG_VARIABLES)
def test_wrong_variables_are_named(folder, case):
    edit, says = WRONG_VARIABLES[case]
    rewrite(folder, edit)
    with pytest.raises(CheckpointError, match=says):
        BertForPretraining.from_pretrained(folder)


@pytest.mark.parametrize(
    "field",
    [
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "max_position_embeddings",
        "type_vocab_size",
    ],
)
def test_a_config_without_a_field(folder, field):
    path = folder / "bert_config.json"
    path.write_text(
        json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != field})
    )
    with pytest.raises(
        CheckpointError, match=f"{field} must be there.*, found None; take the file"
    ):
        Bert.from_pretrained(folder)


@pytest.mark.parametrize("value", [0, -1, True, 2.0, None])
def test_a_config_with_a_number_that_cannot_be(folder, value):
    path = folder / "bert_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_hidden_layers": value}))
    with pytest.raises(
        CheckpointError, match=f"num_hidden_layers must be .* above 0, found {value};"
    ):
        Bert.from_pretrained(folder)


def test_a_rate_of_dropout_that_cannot_be(folder):
    path = folder / "bert_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hidden_dropout_prob": 1.5}))
    with pytest.raises(Error, match="rate is 1.5"):
        Bert.from_pretrained(folder)


def test_a_config_with_words_for_numbers(folder):
    path = folder / "bert_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hidden_dropout_prob": "0.1"}))
    with pytest.raises(CheckpointError, match="hidden_dropout_prob is '0.1'"):
        Bert.from_pretrained(folder)


@pytest.mark.parametrize("lines", [119, 121])
def test_a_vocabulary_that_does_not_match(folder, lines):
    pieces = (folder / "vocab.txt").read_text().splitlines()
    (folder / "vocab.txt").write_text("\n".join([*pieces, "more"][:lines]) + "\n")
    with pytest.raises(
        CheckpointError, match=f"vocab.txt: {lines} word pieces, and vocab_size is 120"
    ):
        Bert.from_pretrained(folder)


def test_a_prefix_that_does_not_exist(folder):
    with pytest.raises(
        CheckpointError, match=r"bert_model.ckpt-9: no such checkpoint .*found are bert_model.ckpt"
    ):
        Bert.from_pretrained(folder / "bert_model.ckpt-9")


def test_several_prefixes_and_none(folder):
    for ending in ("index", "data-00000-of-00001"):
        path = folder / f"bert_model.ckpt.{ending}"
        shutil.copyfile(path, folder / f"a.ckpt-1.{ending}")
        path.rename(folder / f"a.ckpt-2.{ending}")
    with pytest.raises(
        CheckpointError,
        match=(
            "expected one checkpoint.* a.ckpt-1, a.ckpt-2; give the prefix of one, "
            "such as .*/a.ckpt-2$"
        ),
    ):
        Bert.from_pretrained(folder)
    for path in folder.glob("*.index"):
        path.unlink()
    with pytest.raises(CheckpointError, match="found are none"):
        Bert.from_pretrained(folder)


@pytest.mark.parametrize("name", ["bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"])
def test_a_broken_file(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(
        CheckpointError, match="bert_model.ckpt: cannot be read .*missing, broken or cut short"
    ):
        Bert.from_pretrained(folder)


def test_missing_files(folder):
    (folder / "bert_model.ckpt.data-00000-of-00001").unlink()
    with pytest.raises(CheckpointError, match="bert_model.ckpt: cannot be read"):
        Bert.from_pretrained(folder)
    (folder / "bert_config.json").unlink()
    with pytest.raises(CheckpointError, match="bert_config.json: no such file"):
        Bert.from_pretrained(folder)


def test_nothing_is_left_where_nothing_can_be_written(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(CheckpointError, match="taken: cannot be written"):
        write_google(
            tmp_path / "taken",
            Bert(8, 4, 1, 1, 4).config,
            {"bert.pooler.dense.bias": np.zeros(4)},
            {},
        )
    assert pathlib.Path(tmp_path / "taken").read_text() == "a file"
