"""Every model in every data type: finite answers, float32 where promised, close to those of
float32."""

import keras
import numpy as np
import pytest
from cases import first_by_default

from tfsum.decoding import BeamSearch, Greedy
from tfsum.models import Bert, BertClassifier, BertForPretraining, BertSumExt, Transformer

ENCODER = {
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 12,
}
TOLERANCE = {
    "float64": 1e-5,
    "float16": 0.02,
    "mixed_float16": 0.02,
    "bfloat16": 0.15,
    "mixed_bfloat16": 0.15,
}
HEAD = {"length_input": True, "head_num_heads": 2, "head_feed_forward_width": 8}
UNTIED = {"norm": "pre", "shared_embeddings": False, "tied_output": False}
MODELS = {
    "Bert": lambda dtype: Bert(**ENCODER, dtype=dtype),
    "BertForPretraining": lambda dtype: BertForPretraining(dict(ENCODER), dtype=dtype),
    "BertClassifier": lambda dtype: BertClassifier(dict(ENCODER), ["a", "b"], dtype=dtype),
    "BertSumExt classifier": lambda dtype: BertSumExt(
        dict(ENCODER), "classifier", "cls", **HEAD, dtype=dtype
    ),
    "BertSumExt transformer": lambda dtype: BertSumExt(
        dict(ENCODER), "transformer", "mean", **HEAD, dtype=dtype
    ),
    "Transformer": lambda dtype: Transformer(9, 9, 1, 1, 8, 2, 8, max_length=5, dtype=dtype),
    "Transformer untied": lambda dtype: Transformer(
        9, 9, 1, 1, 8, 2, 8, max_length=5, **UNTIED, dtype=dtype
    ),
}
WRITERS = [name for name in MODELS if name.startswith("Transformer")]
each_dtype = pytest.mark.parametrize("dtype", TOLERANCE)


def make(name, dtype):
    """A model with the same weights in every data type, as far as it holds them."""
    model = MODELS[name](dtype)
    model.build()
    random = np.random.default_rng(3)
    for weight in model.trainable_weights:
        weight.assign(random.normal(size=weight.shape) * 0.3)
    return model


def inputs_of(name):
    ids = np.random.default_rng(1).integers(4, 9, (2, 6)).astype("int32")
    ids[1, 4:] = 0
    if name in WRITERS:
        return {"source_ids": ids, "target_ids": ids}
    return {
        "token_ids": ids,
        "segment_ids": ids % 2,
        "sentence_starts": np.array([[0, 3], [0, -1]], "int32"),
    }


def arrays(outputs):
    return [np.asarray(keras.ops.cast(part, "float64")) for part in keras.tree.flatten(outputs)]


@each_dtype
@pytest.mark.parametrize("name", first_by_default(MODELS))
def test_call_and_predict(name, dtype):
    model, inputs = make(name, dtype), inputs_of(name)
    outputs = model(inputs)
    if name.startswith(("BertS", "BertC", "Transformer")):
        assert outputs.dtype == "float32"
    for found, wanted in zip(arrays(outputs), arrays(make(name, "float32")(inputs)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    model.run_eagerly = True
    assert all(np.isfinite(part).all() for part in arrays(model.predict(inputs, verbose=0)))


@each_dtype
@pytest.mark.parametrize("name", first_by_default(WRITERS))
def test_step(name, dtype):
    model, inputs = make(name, dtype), inputs_of(name)
    logits, _ = model.step(inputs["target_ids"][:, 0], 0, model.start(inputs["source_ids"], 3))
    assert logits.dtype == "float32"
    np.testing.assert_allclose(
        logits, model(inputs)[:, 0], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


@pytest.mark.parametrize("dtype", first_by_default([*reversed(TOLERANCE)]))
@pytest.mark.parametrize("name", first_by_default(WRITERS))
def test_decoding(name, dtype):
    model, inputs = make(name, dtype), inputs_of(name)
    for strategy in (Greedy(), BeamSearch(3, n_best=2)):
        eager = strategy(model, inputs["source_ids"], 5)
        ids, log_probabilities, lengths = model.generate(inputs["source_ids"], strategy)
        assert ids.shape == tuple(eager[0].shape) and lengths.min() >= 1
        assert eager[1].dtype == "float32" and log_probabilities.dtype == np.float32
        np.testing.assert_allclose(
            log_probabilities[:, 0], eager[1][:, 0], atol=10 * TOLERANCE[dtype]
        )


@pytest.mark.parametrize("dtype", first_by_default(["bfloat16", "float64", "mixed_bfloat16"]))
def test_a_step_of_training(dtype):
    model, inputs = make("Transformer", dtype), inputs_of("Transformer")
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    losses = model.fit(
        {**inputs, "target_labels": inputs["target_ids"]}, epochs=10, verbose=0
    ).history["loss"]
    assert np.isfinite(losses).all() and np.mean(losses[-3:]) < np.mean(losses[:3])
