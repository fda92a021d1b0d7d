"""What every layer promises, walked through one table of all of them."""

import functools
import inspect
import json

import keras
import numpy as np
import pytest
from cases import as_slow, first_by_default

import tfsum.layers
from tfsum.papers.lstm_head import LayerNormLSTM

B, T, D = 3, 5, 8
ENCODER = {
    "d_model": D,
    "num_heads": 2,
    "feed_forward_width": 16,
    "dropout": 0.3,
    "attention_dropout": 0.2,
    "activation_dropout": 0.1,
    "kernel_initializer": keras.initializers.TruncatedNormal(stddev=0.3),
}
TABLE = {
    "Decoder": {"num_layers": 2, "activation": "gelu", **ENCODER},
    "DecoderLayer": {"norm": "pre", "epsilon": 1e-5, **ENCODER},
    "Dropout": {"rate": 0.5, "seed": 3},
    "Encoder": {"num_layers": 2, "activation": "gelu", **ENCODER},
    "EncoderLayer": {"norm": "pre", "epsilon": 1e-5, **ENCODER},
    "MultiHeadAttention": {"num_heads": 2, "d_model": D, "dropout": 0.4},
    "PositionalEncoding": {"scale": True, "dropout": 0.5},
    "PositionwiseFeedForward": {
        "d_model": D,
        "feed_forward_width": 16,
        "activation": "gelu_tanh",
        "dropout": 0.5,
    },
}
OTHERS = {  # the rest of them are layers of the table in another form
    "LayerNormLSTM": ("LayerNormLSTM", {"units": 8, "go_backwards": True}),
    "Decoder pre": ("Decoder", {**TABLE["Decoder"], "norm": "pre"}),
    "DecoderLayer post": ("DecoderLayer", {**TABLE["DecoderLayer"], "norm": "post"}),
    "Encoder pre": ("Encoder", {**TABLE["Encoder"], "norm": "pre", "normalize_first_input": False}),
    "EncoderLayer post": ("EncoderLayer", {**TABLE["EncoderLayer"], "norm": "post"}),
}
CASES = {name: (name, arguments) for name, arguments in TABLE.items()} | OTHERS
POLICIES = {"float32": "float32", "mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}

each_layer = pytest.mark.parametrize("case", [*TABLE, *first_by_default(OTHERS)])


def make(case, **more):
    name, arguments = CASES[case]
    keras.utils.set_random_seed(11)  # of the weights: rounding must not depend on what ran before
    layers = {**vars(tfsum.layers), "LayerNormLSTM": LayerNormLSTM}
    return layers[name](**arguments, **more)


@functools.cache
def built(case):
    """A layer for tests that change none of its weights, called once."""
    layer = make(case, name="one")
    run(layer, np.zeros((B, T, D), np.float32))
    return layer


def run(layer, x, mask=None, **more):
    """Calls a layer; a decoder attends to `x` as its source too. `mask` hides positions where
    positions mix."""
    takes = inspect.signature(layer.call).parameters
    more |= {"source": x} if "source" in takes else {}
    if mask is not None:
        more |= {name: mask for name in ("key_mask", "source_mask") if name in takes}
        more |= {"visible": mask} if "visible" in takes else {}
    return layer(x, **more)


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(B, T, D)).astype(np.float32)


def array(tensor):
    return np.asarray(keras.ops.cast(tensor, "float32"))


def test_the_table_holds_every_public_layer():
    public = {
        n
        for n, value in vars(tfsum.layers).items()
        if n in tfsum.layers.__all__
        and isinstance(value, type)
        and issubclass(value, keras.layers.Layer)
    }
    # CopyAttention is a layer on logits, with tests of its own.
    assert public - {"CopyAttention"} == set(TABLE)


@each_layer
def test_configuration_comes_back(case, x):
    policy = keras.DTypePolicy("mixed_bfloat16")
    layer = make(case, name="some_name", dtype=policy, trainable=False)
    config = json.loads(json.dumps(layer.get_config()))  # what a file can hold
    again = type(layer).from_config(config)
    assert json.loads(json.dumps(again.get_config())) == config
    assert (again.name, again.dtype_policy.name, again.trainable) == (
        "some_name",
        "mixed_bfloat16",
        False,
    )
    missing = set(CASES[case][1]) - set(config)
    assert not missing
    run(layer, x), run(again, x)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(array(run(layer, x)), array(run(again, x)))


@each_layer
def test_a_keras_file_gives_the_same_model(case, x, tmp_path):
    inputs = keras.Input((None, D))
    model = keras.Model(inputs, run(make(case), inputs))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(array(model(x)), array(again(x)))
    assert keras.models.model_from_json(model.to_json()).count_params() == model.count_params()


@each_layer
@pytest.mark.parametrize("policy", first_by_default(POLICIES))
def test_precision(case, policy, x):
    exact, layer = built(case), make(case, dtype=policy)
    run(layer, x)
    layer.set_weights(exact.get_weights())
    found = run(layer, x, training=False)
    assert keras.backend.standardize_dtype(found.dtype) == POLICIES[policy]
    assert all(
        keras.backend.standardize_dtype(w.dtype) == "float32" for w in layer.trainable_weights
    )
    np.testing.assert_allclose(
        array(found), array(run(exact, x)), atol=0 if policy == "float32" else 0.12
    )
    gone = array(run(layer, x, training=True))
    assert np.isfinite(gone).all() and gone.shape == (B, T, D)


@each_layer
def test_padding_changes_nothing(case, x):
    layer, mask = built(case), np.ones((B, T), bool)
    alone = array(run(layer, x, mask))
    longer = np.concatenate([x, np.full((B, 4, D), 7.0, np.float32)], axis=1)
    padded = array(run(layer, longer, np.pad(mask, ((0, 0), (0, 4)))))
    np.testing.assert_allclose(padded[:, :T], alone, atol=1e-6)


@each_layer
@pytest.mark.parametrize("policy", first_by_default(POLICIES))
def test_a_row_with_nothing_to_see_stays_finite(case, policy, x):
    layer = make(case, dtype=policy)
    mask = np.ones((B, T), bool)
    mask[1] = False
    large = x * 50  # scores near the end of float16's range too
    with_hidden = array(run(layer, large, mask))
    assert np.isfinite(with_hidden).all()
    others = array(run(layer, large, np.ones((B, T), bool)))
    np.testing.assert_array_equal(with_hidden[[0, 2]], others[[0, 2]])


# LayerNormLSTM has none, and the other forms have it where those of the table do
@pytest.mark.parametrize(
    "case", [*TABLE, *(as_slow(case) for case in OTHERS if case != "LayerNormLSTM")]
)
def test_dropout_is_of_training_alone(case, x):
    layer = built(case)
    still = array(run(layer, x))
    np.testing.assert_array_equal(still, array(run(layer, x, training=False)))
    first, second = array(run(layer, x, training=True)), array(run(layer, x, training=True))
    assert not np.array_equal(first, still) and not np.array_equal(first, second)


@each_layer
def test_paths_of_weights_are_unique(case):
    paths = [v.path for v in built(case).variables]
    assert len(set(paths)) == len(paths)
    assert all(w.path.startswith("one/") for w in built(case).trainable_weights)


@each_layer
def test_initial_weights_differ(case):
    """No two kernels of a layer begin with the same values, though they share an initializer."""
    kernels = [np.asarray(w) for w in built(case).trainable_weights if w.path.endswith("kernel")]
    for i, kernel in enumerate(kernels):
        assert not any(k.shape == kernel.shape and np.array_equal(k, kernel) for k in kernels[:i])


@pytest.mark.parametrize(
    ("make_it", "says"),
    [
        (lambda: tfsum.layers.Dropout(1.0), "rate is 1.0"),
        (lambda: tfsum.layers.DecoderLayer(8, 2, 16, norm="mid"), "DecoderLayer: norm is 'mid'"),
        (lambda: tfsum.layers.EncoderLayer(8, 2, 16, norm="mid"), "'mid'"),
        (lambda: tfsum.layers.MultiHeadAttention(3, 8), "3 heads do not divide a width of 8"),
        (lambda: tfsum.layers.PositionwiseFeedForward(8, 16, "swish"), "'swish'"),
        (lambda: tfsum.layers.positional_encoding(3, 0), "d_model is 0"),
    ],
)
def test_wrong_arguments_are_named(make_it, says):
    with pytest.raises(Exception, match=says):
        make_it()
