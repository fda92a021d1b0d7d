"""The Transformer: against torch, cached against uncached, its loss by the definition, predict,
generate, folders."""

import functools
import json
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from cases import first_by_default
from keras import ops

from tfsum.decoding import BeamSearch, Greedy
from tfsum.errors import CheckpointError, Error
from tfsum.formats.weight_names import variables_by_path
from tfsum.models import Bert, Transformer
from tfsum.models.label_smoothing import label_smoothing_loss

DATA = pathlib.Path(__file__).parents[1] / "fixtures"
FORMS = ["post", "pre"]
SIZES = {
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "d_model": 16,
    "num_heads": 2,
    "feed_forward_width": 24,
}
ONE_LAYER = {"num_encoder_layers": 1, "num_decoder_layers": 1}  # where a graph is traced
KINDS = {
    "as in the paper": {},
    "pre-norm": {"norm": "pre"},
    "nothing shared": {
        "shared_embeddings": False,
        "tied_output": False,
        "target_vocabulary_size": 23,
    },
    "tied alone": {"shared_embeddings": False, "target_vocabulary_size": 23},
}
each_kind = pytest.mark.parametrize("kind", first_by_default(KINDS))


def make(**more):
    """A model whose weights are all random, biases too."""
    keras.utils.set_random_seed(5)
    model = Transformer(20, **{**SIZES, "max_length": 7, **more})
    model.build()
    random = np.random.default_rng(5)
    for weight in model.trainable_weights:
        weight.assign(np.asarray(weight) + random.normal(size=weight.shape) * 0.3)
    return model


@functools.cache
def made(**more):
    """The same, made once, for tests that change no weight."""
    return make(**more)


def batch():
    """Three pairs of different lengths, the last source all padding."""
    source = np.array([[5, 9, 17, 4, 11], [6, 3, 8, 0, 0], [0, 0, 0, 0, 0]], np.int32)
    target = np.array([[2, 7, 12, 5, 19, 4], [2, 14, 6, 6, 0, 0], [2, 9, 0, 0, 0, 0]], np.int32)
    labels = np.array([[7, 12, 5, 19, 4, 3], [14, 6, 6, 3, 0, 0], [9, 3, 0, 0, 0, 0]], np.int32)
    return {"source_ids": source, "target_ids": target, "target_labels": labels}


def check_torch(arrays, form):
    model = Transformer(
        20,
        **{**SIZES, "d_model": 8, "feed_forward_width": 12},
        norm=form,
        dropout=0.0,
        epsilon=1e-5,
    )
    model.build()
    variables = variables_by_path(model)
    outputs = {"encoder_output", "decoder_output", "logits"}
    theirs = {k.removeprefix(f"{form}:"): v for k, v in arrays.items() if k.startswith(f"{form}:")}
    assert theirs.keys() - outputs == variables.keys()
    for path, variable in variables.items():
        variable.assign(theirs[path])
    source = arrays["source_ids"] != 0
    np.testing.assert_allclose(
        np.asarray(model.encode(arrays["source_ids"]))[source],
        theirs["encoder_output"][source],
        atol=3e-6,
    )
    real = arrays["target_ids"] != 0
    found = np.asarray(model({k: arrays[k] for k in ("source_ids", "target_ids")}))
    np.testing.assert_allclose(found[real], theirs["logits"][real], atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_torch(form):
    check_torch(dict(np.load(DATA / "torch_transformer.npz")), form)


@pytest.mark.reference
@pytest.mark.parametrize("form", FORMS)
def test_torch_computed_now(form):
    pytest.importorskip("torch", reason="pip install '.[reference]'")
    import make_torch_transformer

    check_torch(make_torch_transformer.compute(), form)


def cached_logits(model, source_ids, target_ids):
    """The logits of every step, by one loop in the graph."""
    length = target_ids.shape[1]

    def step(position, logits, state):
        new, state = model.step(ops.take(target_ids, position, axis=1), position, state)
        at = ops.cast(ops.arange(length) == position, "float32")[None, :, None]
        return position + 1, logits + at * new[:, None, :], state

    logits = ops.zeros((ops.shape(source_ids)[0], length, model.config["target_vocabulary_size"]))
    start = (ops.convert_to_tensor(0, "int32"), logits, model.start(source_ids, length))
    return ops.while_loop(lambda position, *_: position < length, step, start)[1]


@each_kind
def test_cached_logits_are_the_uncached(kind):
    model, inputs = made(**KINDS[kind]), batch()
    spec = tf.TensorSpec([None, 5], tf.int32), tf.TensorSpec([None, 6], tf.int32)
    graph = tf.function(lambda s, t: cached_logits(model, s, t)).get_concrete_function(*spec)
    found = graph(*(tf.constant(inputs[k]) for k in ("source_ids", "target_ids")))
    real = inputs["target_ids"] != 0
    np.testing.assert_allclose(np.asarray(found)[real], np.asarray(model(inputs))[real], atol=1e-5)
    nodes = [n for f in graph.graph.as_graph_def().library.function for n in f.node_def]
    assert any(n.op == "TensorScatterUpdate" for n in nodes) and not any(
        "Xla" in n.op for n in nodes
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy", [Greedy(), BeamSearch(3)], ids=lambda strategy: type(strategy).__name__
)
def test_xla_decodes_the_same(strategy):
    model, source_ids = make(), batch()["source_ids"]
    wanted = strategy(model, source_ids, 5)
    found = tf.function(lambda ids: strategy(model, ids, 5), jit_compile=True)(source_ids)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-5)


def test_the_hypotheses_of_a_source_share_all_but_their_slots():
    model, inputs = made(), batch()
    state = model.start(inputs["source_ids"], 4, 2)
    shapes = keras.tree.map_structure(lambda tensor: tuple(tensor.shape), state)
    assert shapes.pop("hypotheses") == {"slots": (6, 4)}
    assert all(
        tensor.shape[0] == 3 for tensor in tf.nest.flatten([state["source_mask"], state["layers"]])
    )
    _, after = model.step(np.repeat(inputs["target_ids"][:, 0], 2), 0, state)
    after_shapes = keras.tree.map_structure(lambda tensor: tuple(tensor.shape), after)
    assert after_shapes.pop("hypotheses") == {"slots": (6, 4)} and after_shapes == shapes
    cross = [state["layers"]["layer_1"]["cross_keys"], after["layers"]["layer_1"]["cross_keys"]]
    assert cross[0] is cross[1]


@each_kind
def test_alone_in_a_batch_and_padded(kind):
    model, inputs = made(**KINDS[kind]), batch()
    together = np.asarray(model(inputs))
    for i, length in enumerate((6, 4, 2)):
        source, target = (inputs[k][i : i + 1] for k in ("source_ids", "target_ids"))
        alone = {
            "source_ids": source[:, : max(1, np.count_nonzero(source))],
            "target_ids": target[:, :length],
        }
        padded = {k: np.pad(v, ((0, 0), (0, 5))) for k, v in alone.items()}
        for other in (alone, padded):
            np.testing.assert_allclose(
                np.asarray(model(other))[0, :length], together[i, :length], atol=1e-5
            )


@pytest.mark.parametrize("form", FORMS)
def test_the_future_changes_no_earlier_answer(form):
    model, inputs = made(norm=form), batch()
    changed = inputs["target_ids"].copy()
    changed[0, 3:] = [8, 8, 8]
    other = model({**inputs, "target_ids": changed})
    np.testing.assert_allclose(other[0, :3], model(inputs)[0, :3], atol=1e-6)


def test_shared_tables_are_one():
    model = made()
    assert (
        model.target_embedding is model.source_embedding
        and model.output_kernel is model.source_embedding.embeddings
    )
    assert sum(w.shape[0] == 20 and len(w.shape) == 2 for w in model.weights) == 1
    assert (
        sum(
            w.shape[0] in (20, 23) and len(w.shape) == 2
            for w in made(**KINDS["nothing shared"]).weights
        )
        == 3
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_the_loss_is_the_divergence_from_smoothed_labels(smoothing):
    """In float64, by the definition: sum q (ln q - ln p) with padding out of q, over the real
    tokens."""
    model, inputs = make(label_smoothing=smoothing, **ONE_LAYER), batch()
    logits = np.asarray(model(inputs), np.float64)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = 0.0
    for i, j in zip(*inputs["target_labels"].nonzero(), strict=True):
        q = np.full(20, smoothing / 18)
        q[0], q[inputs["target_labels"][i, j]] = 0.0, 1 - smoothing
        expected += sum(a * (np.log(a) - b) for a, b in zip(q, log_p[i, j], strict=True) if a)
    assert float(model.summed_loss(inputs, None, False)) == pytest.approx(expected, rel=1e-5)
    labels = inputs.pop("target_labels")
    assert float(model.summed_loss(inputs, labels, False)) == pytest.approx(expected, rel=1e-5)
    assert float(model.loss_weight(inputs, labels)) == 12


def test_a_perfect_prediction_costs_nothing():
    q = np.full((1, 9), 0.1 / 7, np.float32)
    q[0, 0], q[0, 4] = 1e-30, 0.9
    assert float(label_smoothing_loss(np.log(q), np.array([4]), 0.1)[0]) == pytest.approx(
        0.0, abs=1e-6
    )


def argmax_loop(model, source_ids, length):
    """Greedy decoding that runs everything again for each token; padding may not come."""
    ids = np.full((len(source_ids), 1), model.start_id, np.int32)
    for _ in range(length):
        logits = np.array(model({"source_ids": source_ids, "target_ids": ids})[:, -1])
        logits[:, 0] = -np.inf
        ids = np.concatenate([ids, logits.argmax(-1)[:, None].astype(np.int32)], axis=1)
    ended = np.cumsum(ids[:, 1:] == model.end_id, axis=1) - (ids[:, 1:] == model.end_id) > 0
    return np.where(ended, 0, ids[:, 1:])


def test_predict_decodes_greedily():
    """From arrays, a dict or a dataset of ragged batches; one that ends early among those that do
    not."""
    model = make(norm="pre", **ONE_LAYER)
    source = np.random.default_rng(2).integers(4, 20, (6, 5)).astype(np.int32)
    # the end token comes, now and then
    model.output_bias.assign(np.where(np.arange(20) == 3, 3.0, 0.0))
    expected = argmax_loop(model, source, 7)
    assert (expected[:, -1] == 0).any() and (expected[:, -1] != 0).any()
    np.testing.assert_array_equal(model.predict(source, verbose=0), expected)
    np.testing.assert_array_equal(
        model.predict({"source_ids": source}, batch_size=4, verbose=0), expected
    )
    data = (
        tf.data.Dataset.from_tensor_slices({"source_ids": source})
        .batch(4)
        .map(
            lambda x: {
                "source_ids": tf.pad(x["source_ids"], [[0, 0], [0, tf.shape(x["source_ids"])[0]]])
            }
        )
    )
    np.testing.assert_array_equal(model.predict(data, verbose=0), expected)


@pytest.mark.slow
def test_generate_is_the_strategy_in_a_graph(tmp_path):
    model, source = make(), batch()["source_ids"]
    for strategy in (Greedy(), BeamSearch(3, n_best=2)):
        for found, expected in zip(
            model.generate(source, strategy), strategy(model, source, 7), strict=True
        ):
            assert found.dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(found, expected, atol=1e-5)
    ids, _, lengths = model.generate(source.tolist(), Greedy(), max_length=4)
    assert ids.shape == (3, 1, 4) and lengths.max() <= 4
    # The graph follows the weights, and is no part of what Keras stores.
    paths = [w.path for w in model.weights]
    model.output_bias.assign(np.where(np.arange(20) == 3, 99.0, 0.0))
    assert (model.generate(source, Greedy())[0][:, 0] == [3, 0, 0, 0, 0, 0, 0]).all()
    assert [w.path for w in model.weights] == paths
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(batch()), model(batch()))


def test_fit_learns_and_is_exact():
    """Micro-batches change nothing; the loss of the epoch is that over its real tokens."""
    losses = []
    for parts in (1, 3):
        model = make(dropout=0.0, **ONE_LAYER)
        model.micro_batches = parts
        # the graph of a step takes longer than the steps: one is enough
        model.compile(keras.optimizers.SGD(0.2), jit_compile=False, run_eagerly=parts == 1)
        data = tf.data.Dataset.from_tensors(batch()).repeat(4)
        losses.append(model.fit(data, epochs=2, verbose=0, shuffle=False).history["loss"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    assert losses[0][1] < 0.8 * losses[0][0]


@each_kind
def test_saved_and_read_again(kind, tmp_path):
    model, inputs = made(**KINDS[kind]), batch()
    model.save_pretrained(tmp_path, ["[PAD]", "é"], ["[PAD]", "ß"], {"text": {"lowercase": True}})
    again = Transformer.from_pretrained(tmp_path)
    assert again.get_config() == model.get_config()
    np.testing.assert_array_equal(again(inputs), model(inputs))
    assert (tmp_path / "target_vocab.txt").read_text(encoding="utf-8") == "[PAD]\nß\n"
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "transformer"
    assert not list(tmp_path.glob("*.part"))
    assert Transformer.from_pretrained(tmp_path, dropout=0.0).config["dropout"] == 0.0


def test_configuration_and_precision():
    model = make(dtype="mixed_float16", name="one")
    again = Transformer.from_config(json.loads(json.dumps(model.get_config())))
    assert again.get_config() == model.get_config() and again.name == "one"
    logits = model(batch())
    assert logits.dtype == "float32" and np.isfinite(logits).all()
    state = model.start(batch()["source_ids"], 3)
    assert state["layers"]["layer_0"]["self_keys"].dtype == "float16"
    stepped, _ = model.step(batch()["target_ids"][:, 0], 0, state)
    assert stepped.dtype == "float32"
    np.testing.assert_allclose(stepped, logits[:, 0], atol=0.05)


@each_kind
def test_a_source_of_no_length_is_one_of_padding(kind):
    model, target = made(**KINDS[kind]), batch()["target_ids"][:2]
    sources = [np.zeros((2, length), np.int32) for length in (0, 1, 4)]
    logits = [np.asarray(model({"source_ids": source, "target_ids": target})) for source in sources]
    written = [model.generate(source, BeamSearch(2)) for source in sources]
    assert np.isfinite(logits[0]).all() and written[0][0].shape == (2, 1, 7)
    for other, found in zip(logits[1:], written[1:], strict=True):
        np.testing.assert_allclose(other, logits[0], atol=1e-5)
        np.testing.assert_array_equal(found[0], written[0][0])


def test_parameters_are_as_many_as_the_formulas_of_the_paper_have():
    small = Transformer(1000, None, 4, 4, d_model=128, num_heads=4, feed_forward_width=256)
    small.build()
    width, inner = 128, 256
    attention, dense, norm = (
        4 * (width * width + width),
        2 * width * inner + inner + width,
        2 * width,
    )
    encoder, decoder = attention + dense + 2 * norm, 2 * attention + dense + 3 * norm
    assert (
        sum(np.prod(w.shape) for w in small.trainable_weights)
        == 4 * (encoder + decoder) + 1000 * width + 1000
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"target_vocabulary_size": 23},
            "target_vocabulary_size is 23; it must be that of the source, 20",
        ),
        ({"end_id": 2}, "end_id is 2; it must be another than start_id"),
        ({"end_id": 20}, "end_id is 20; it must be below the vocabulary's size, 20"),
        ({"start_id": 0}, "start_id is 0; it must be a whole number above 0"),
        ({"label_smoothing": 1.0}, "label_smoothing is 1.0; it must be at least 0 and below 1"),
        ({"num_decoder_layers": 0}, "num_decoder_layers is 0"),
        ({"d_model": "16"}, "d_model is '16'"),
        ({"max_length": 2.5}, "max_length is 2.5"),
        ({"num_heads": 3}, "3 heads do not divide a width of 16"),
        ({"norm": "mid"}, "norm is 'mid'"),
    ],
)
def test_wrong_arguments_are_named(arguments, says):
    with pytest.raises(Error, match=says):
        make(**arguments)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ([3, 4], r"int64 of shape \[2\]; expected whole numbers"),
        ([[0.5]], r"float64 of shape \[1, 1\]"),
    ],
)
def test_sources_that_are_no_rows_of_ids(source, says):
    with pytest.raises(Error, match=says):
        make().generate(source, Greedy())


def test_folders_that_are_wrong(tmp_path):
    make().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for change, says in (
        ({"d_modle": 3}, "d_modle; the fields must be arguments of Transformer"),
        ({"d_model": 32}, "shape: .*embedding.embeddings is .20, 16., the config says .20, 32."),
        ({"norm": "pre"}, "missing: decoder.final_norm.beta"),
        ({"model_type": "bert"}, "model_type is 'bert'; Transformer reads 'transformer'"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(CheckpointError, match=says):
            Transformer.from_pretrained(tmp_path)
    Bert(30, 16, 1, 2, 24, max_position_embeddings=8).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="model_type is 'bert'"):
        Transformer.from_pretrained(tmp_path)
