"""BertForPretraining against transformers' BertForPreTraining; its sizes, and batches of every
kind."""

import json
import pathlib

import keras
import numpy as np
import pytest
from agreement_transformers import compare_gradients, compare_pretraining, read_by_transformers
from safetensors.numpy import load_file

from tfsum.errors import CheckpointError
from tfsum.models import Bert
from tfsum.models.bert_for_pretraining import PRESETS, BertForPretraining

DATA = pathlib.Path(__file__).parents[1] / "fixtures"
FOLDER = DATA / "bert_pretraining" / "whole"


@pytest.fixture(scope="module")
def expected():
    return dict(np.load(FOLDER.parent / "expected.npz"))


@pytest.fixture(scope="module")
def model():
    return BertForPretraining.from_pretrained(FOLDER)


def compare(model, expected):
    for name, found, right, tolerance in compare_pretraining(model, expected):
        np.testing.assert_allclose(found, right, atol=tolerance, rtol=0, err_msg=name)


def test_logits_and_loss_of_transformers(model, expected):
    compare(model, expected)


def test_places_asked_for_are_those_of_all(model, expected):
    everywhere = {k: expected[k] for k in ("token_ids", "segment_ids")}
    places = expected["masked_lm_positions"]
    there = np.take_along_axis(
        np.asarray(model(everywhere)["masked_lm_logits"]), places[..., None], axis=1
    )
    asked = model({**everywhere, "masked_lm_positions": places})["masked_lm_logits"]
    np.testing.assert_allclose(asked, there, atol=2e-6)


def test_gradients_of_transformers(model, expected):
    """Of the tied table: from the lookup and from the head."""
    pytest.importorskip("tensorflow")
    compared = list(compare_gradients(model, expected))
    assert len(compared) == 1 + 5 + 2
    for name, found, right, _ in compared:
        np.testing.assert_allclose(found, right, atol=5e-6, rtol=0, err_msg=name)


def test_saved_as_transformers_saves_it(model, tmp_path):
    model.save_pretrained(tmp_path / "again", ["[PAD]"] * 40, {"text": {"lowercase": True}})
    before, after = (load_file(f / "model.safetensors") for f in (FOLDER, tmp_path / "again"))
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    assert (tmp_path / "again" / "vocab.txt").read_text().count("\n") == 40
    assert json.loads((tmp_path / "again" / "tfsum.json").read_text()) == {
        "text": {"lowercase": True}
    }
    np.testing.assert_array_equal(
        Bert.from_pretrained(tmp_path / "again").pooler.kernel, model.bert.pooler.kernel
    )


@pytest.mark.reference
def test_transformers_reads_what_we_save(expected, tmp_path, sizes):
    torch = pytest.importorskip("torch", reason="pip install '.[reference]'")
    pytest.importorskip("transformers", reason="pip install '.[reference]'")
    model = BertForPretraining(sizes)
    model.save_pretrained(tmp_path)
    ids, segments = expected["token_ids"], expected["segment_ids"]
    x = {
        "input_ids": torch.tensor(ids).long(),
        "token_type_ids": torch.tensor(segments).long(),
        "attention_mask": torch.tensor(ids != 0).long(),
    }
    ours = model({"token_ids": ids, "segment_ids": segments})
    for kind, name, output in (
        ("BertModel", "sequence_output", "last_hidden_state"),
        ("BertForPreTraining", "masked_lm_logits", "prediction_logits"),
    ):
        theirs, wrong = read_by_transformers(tmp_path, kind)
        # An encoder alone has no use for the heads, whoever wrote the folder.
        assert [
            key
            for key in wrong
            if kind != "BertModel" or not key.startswith("unexpected_keys: cls.")
        ] == []
        with torch.no_grad():
            found = getattr(theirs(**x), output).numpy()
        np.testing.assert_allclose(np.asarray(ours[name])[ids != 0], found[ids != 0], atol=2e-5)


@pytest.mark.reference
def test_transformers_computed_now(model):
    pytest.importorskip("torch", reason="pip install '.[reference]'")
    transformers = pytest.importorskip("transformers", reason="pip install '.[reference]'")
    import make_bert_pretraining as make

    theirs = transformers.BertForPreTraining.from_pretrained(FOLDER).eval()
    compare(model, make.inputs() | make.outputs(theirs, make.inputs()))


def parameters(layers, width, vocabulary=30522, positions=512):
    """Counted by hand: tables and a normalization, layers, pooler."""
    dense = width * width + width
    layer = 4 * dense + (width * 4 * width + 4 * width) + (4 * width * width + width) + 4 * width
    return (vocabulary + positions + 2) * width + 2 * width + layers * layer + dense


@pytest.mark.parametrize(
    ("size", "millions"),
    [
        ("tiny", 4.4),
        ("mini", 11.2),
        ("small", 28.8),
        ("medium", 41.4),
        ("base", 109.5),
        ("large", 335.1),
    ],
)
def test_the_sizes_of_the_papers(size, millions):
    """The papers' 110 M and 340 M; Turc et al. count 4.4, 11.3, 29.1, 41.7 with the heads."""
    preset = PRESETS[size]
    count = parameters(preset["num_hidden_layers"], preset["hidden_size"])
    assert count / 1e6 == pytest.approx(millions, abs=0.05)
    assert preset["num_attention_heads"] * 64 == preset["hidden_size"]
    assert preset["intermediate_size"] == 4 * preset["hidden_size"]


def test_the_parameters_of_a_built_model():
    """Beside the encoder: a dense layer, a normalization and a bias of the vocabulary; a dense
    layer for pairs."""
    model = BertForPretraining({**PRESETS["tiny"], "vocab_size": 1000})
    model.build()
    assert model.bert.count_params() == parameters(2, 128, 1000)
    assert (
        model.count_params() == parameters(2, 128, 1000) + 128 * 128 + 3 * 128 + 1000 + 2 * 128 + 2
    )


PUBLISHED = [("base", 109_482_240, 110_106_428), ("large", 335_141_888, 336_226_108)]
"""Numbers of the published uncased models: of the encoder with its pooler, and with both heads."""


@pytest.mark.parametrize(("size", "encoder", "whole"), PUBLISHED)
def test_the_numbers_of_the_published_models(size, encoder, whole):
    """transformers counts as many in BertModel and BertForPreTraining of bert-base-uncased and
    bert-large-uncased."""
    width = PRESETS[size]["hidden_size"]
    count = parameters(PRESETS[size]["num_hidden_layers"], width)
    assert count == encoder and count + width * width + 3 * width + 30522 + 2 * width + 2 == whole


@pytest.mark.slow
@pytest.mark.parametrize(("size", "encoder", "whole"), PUBLISHED)
def test_the_parameters_of_a_large_model(size, encoder, whole):
    model = BertForPretraining(PRESETS[size])
    model.build()
    assert model.bert.count_params() == encoder and model.count_params() == whole


@pytest.mark.slow
def test_what_fit_and_evaluate_report(expected):
    """Means over all batches, though these hold different numbers of masks and pairs; accuracies by
    hand."""
    tf = pytest.importorskip("tensorflow")
    model = BertForPretraining.from_pretrained(FOLDER)
    model.compile(optimizer=keras.optimizers.SGD(0.0), jit_compile=False)
    x = {k: v for k, v in expected.items() if v.ndim and len(v) == 3 and "logits" not in k}
    found = model(x)
    right = np.argmax(found["masked_lm_logits"], -1) == x["masked_lm_ids"]
    weights = x["masked_lm_weights"]
    whole = {
        "loss": expected["loss"],
        "masked_lm_accuracy": (right * weights).sum() / weights.sum(),
        "next_sentence_accuracy": np.mean(
            np.argmax(found["next_sentence_logits"], -1) == x["next_sentence_labels"]
        ),
    }
    data = tf.data.Dataset.from_tensor_slices(x)
    for rows in (1, 2, 3):
        logs = model.evaluate(data.batch(rows), verbose=0, return_dict=True)
        assert logs["loss"] == pytest.approx(logs["masked_lm_loss"] + logs["next_sentence_loss"])
        for name, value in whole.items():
            assert logs[name] == pytest.approx(float(value), abs=5e-5), (rows, name)
    model.micro_batches = 2
    history = model.fit(data.batch(3), verbose=0).history
    for name, value in whole.items():
        assert history[name][0] == pytest.approx(float(value), abs=5e-5), name


def test_the_weight_of_the_pairs(expected):
    """Loss and gradients are those of the masks and so many times those of the pairs."""
    model = BertForPretraining.from_pretrained(FOLDER)
    x = {k: v for k, v in expected.items() if v.ndim and len(v) == 3 and "logits" not in k}
    model.compile(optimizer=keras.optimizers.SGD(0.0), run_eagerly=True)
    plain = model.evaluate(x, batch_size=3, verbose=0, return_dict=True)
    weights = {}
    for weight in (0.0, 1.0, 5.0):
        model = BertForPretraining.from_pretrained(FOLDER)
        model.next_sentence_weight = weight
        model.compile(optimizer=keras.optimizers.SGD(0.1), run_eagerly=True)
        logs = model.evaluate(x, batch_size=3, verbose=0, return_dict=True)
        assert logs["loss"] == pytest.approx(
            plain["masked_lm_loss"] + weight * plain["next_sentence_loss"], rel=1e-6
        )
        model.fit(x, batch_size=3, verbose=0)
        weights[weight] = np.asarray(model.bert.pooler.kernel)
    np.testing.assert_allclose(
        weights[5.0] - weights[0.0], 5 * (weights[1.0] - weights[0.0]), atol=1e-6
    )
    assert np.abs(weights[1.0] - weights[0.0]).max() > 1e-5


def test_without_pairs_the_loss_is_that_of_the_masks(model, expected):
    alone = {k: v for k, v in expected.items() if k != "next_sentence_labels"}
    none = {**expected, "next_sentence_labels": np.full((3,), -1, np.int32)}
    masks = model.summed_loss(expected, None, False)[0] / 6.0
    for x in (alone, none):
        np.testing.assert_allclose(model.compute_loss(x, training=False), masks, rtol=1e-5)
        np.testing.assert_array_equal(model.loss_weight(x, None), [6.0, 0.0])


def test_a_batch_without_masks_and_pairs_weighs_nothing(model, expected):
    x = {**expected, "masked_lm_weights": np.zeros((3, 3)), "next_sentence_labels": np.full(3, -1)}
    assert float(model.compute_loss(x, training=False)) == 0.0


def test_the_head_is_the_word_embedding(model):
    assert not [name for name in model.tensors() if "decoder" in name]
    assert len(model.trainable_variables) == 5 + 16 * 2 + 2 + 5 + 2


def test_what_is_stored_twice_must_be_equal(folder, change):
    table = load_file(folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"]
    change(
        lambda t: (
            t
            | {
                "cls.predictions.decoder.weight": table.copy(),
                "cls.predictions.decoder.bias": t["cls.predictions.bias"].copy(),
            }
        )
    )
    BertForPretraining.from_pretrained(folder)
    change(lambda t: t | {"cls.predictions.decoder.weight": table + 1})
    with pytest.raises(
        CheckpointError,
        match=r"decoder.weight is not bert.embeddings.word_embeddings.weight; .*tied",
    ):
        BertForPretraining.from_pretrained(folder)


def test_heads_that_a_file_lacks_are_initialized(folder, change):
    change(lambda t: {k: v for k, v in t.items() if "seq_relationship" not in k})
    with pytest.warns(UserWarning, match="no next_sentence head"):
        BertForPretraining.from_pretrained(folder)
    change(lambda t: {k.removeprefix("bert."): v for k, v in t.items() if not k.startswith("cls.")})
    with pytest.warns(UserWarning) as caught:
        BertForPretraining.from_pretrained(folder)
    assert len([w for w in caught if "initialized at random" in str(w.message)]) == 2


WRONG = {
    "half a head": (
        lambda t: {k: v for k, v in t.items() if k != "cls.seq_relationship.bias"},
        "missing: cls.seq_relationship.bias",
    ),
    "unknown": (lambda t: t | {"cls.x": np.zeros(3, np.float32)}, r"unknown: cls.x \[3\]"),
    "shape": (
        lambda t: t | {"cls.predictions.bias": np.zeros(39, np.float32)},
        r"cls.predictions.bias is \[39\], the config says \[40\]",
    ),
    "type": (
        lambda t: t | {"cls.predictions.bias": np.zeros(40, np.int64)},
        "cls.predictions.bias is int64",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_tensors_are_named(folder, change, case):
    edit, says = WRONG[case]
    change(edit)
    with pytest.raises(CheckpointError, match=says):
        BertForPretraining.from_pretrained(folder)


def test_configuration_and_precision(expected, sizes):
    model = BertForPretraining(sizes, dtype="mixed_bfloat16", name="other")
    again = BertForPretraining.from_config(json.loads(json.dumps(model.get_config())))
    assert again.get_config() == model.get_config()
    found = again(expected)
    assert (
        found["masked_lm_logits"].dtype == "float32"
        and found["sequence_output"].dtype == "bfloat16"
    )
    assert {w.dtype for w in again.trainable_weights} == {"float32"}
