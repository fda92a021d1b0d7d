"""The encoder in both forms against torch.nn.TransformerEncoder, whose weights and outputs are
stored."""

import pathlib

import numpy as np
import pytest
from keras import layers

from tfsum.errors import Error
from tfsum.formats.weight_names import variables_by_path
from tfsum.layers import Encoder, EncoderLayer, padding_mask

DATA = pathlib.Path(__file__).parents[1] / "fixtures"
D, H, F, LAYERS = 8, 2, 12, 2
DENSE = {
    "attention/output": "self_attn.out_proj",
    "feed_forward/inner": "linear1",
    "feed_forward/outer": "linear2",
}
NORMS = {"attention_norm": "norm1", "feed_forward_norm": "norm2"}


def torch_weights(arrays, form):
    """Torch's weights under the paths of our variables; torch keeps query, key and value in one
    matrix."""
    weights = {}
    for i in range(LAYERS):

        def of(name, layer=f"{form}.layers.{i}."):
            return arrays[layer + name]

        ours = f"layer_{i}/"
        for j, part in enumerate(("query", "key", "value")):
            weights[f"{ours}attention/{part}/kernel"] = of("self_attn.in_proj_weight")[
                j * D : (j + 1) * D
            ].T
            weights[f"{ours}attention/{part}/bias"] = of("self_attn.in_proj_bias")[
                j * D : (j + 1) * D
            ]
        for path, name in DENSE.items():
            weights |= {
                f"{ours}{path}/kernel": of(f"{name}.weight").T,
                f"{ours}{path}/bias": of(f"{name}.bias"),
            }
        for path, name in NORMS.items():
            weights |= {
                f"{ours}{path}/gamma": of(f"{name}.weight"),
                f"{ours}{path}/beta": of(f"{name}.bias"),
            }
    if form == "pre":
        weights |= {
            "final_norm/gamma": arrays["pre.norm.weight"],
            "final_norm/beta": arrays["pre.norm.bias"],
        }
    return weights


def encoder(arrays, form, **more):
    """An encoder with torch's weights, each of ours set."""
    model = Encoder(
        LAYERS,
        d_model=D,
        num_heads=H,
        feed_forward_width=F,
        activation="gelu",
        norm=form,
        epsilon=1e-5,
        dropout=0.0,
        name="encoder",
        **more,
    )
    model.build()
    variables, weights = variables_by_path(model), torch_weights(arrays, form)
    assert variables.keys() <= weights.keys()
    for path, variable in variables.items():
        variable.assign(weights[path])
    return model


def check(arrays, form):
    found = np.asarray(encoder(arrays, form)(arrays["x"], key_mask=arrays["real"]))
    np.testing.assert_allclose(
        found[arrays["real"]], arrays[f"{form}.output"][arrays["real"]], atol=2e-6
    )


@pytest.fixture(scope="module")
def stored():
    return dict(np.load(DATA / "torch_encoder.npz"))


@pytest.mark.parametrize("form", ["post", "pre"])
def test_torch(stored, form):
    check(stored, form)


@pytest.mark.reference
@pytest.mark.parametrize("form", ["post", "pre"])
def test_torch_computed_now(form):
    pytest.importorskip("torch", reason="pip install '.[reference]'")
    import make_torch_encoder

    check(make_torch_encoder.compute(), form)


def test_all_layers_outputs_and_weights_of_attention(stored):
    x = stored["x"]
    model = encoder(stored, "post")
    last, outputs, attentions = model(x, return_all=True)
    assert len(outputs) == LAYERS + 1 and len(attentions) == LAYERS
    np.testing.assert_array_equal(outputs[0], x)
    np.testing.assert_array_equal(outputs[1], model.encoder_layers[0](x))
    np.testing.assert_array_equal(outputs[-1], last)
    np.testing.assert_allclose(np.sum(attentions[1], -1), np.ones((2, H, 5)), atol=1e-6)


def test_an_input_left_unnormalized(stored):
    """BertSum's inter-sentence encoder: only the first attention reads its input as it is."""
    model = encoder(stored, "pre", normalize_first_input=False)
    first, second = model.encoder_layers
    assert isinstance(first.attention_norm, layers.Identity)
    assert isinstance(second.attention_norm, layers.LayerNormalization)
    x = stored["x"]
    middle = x + first.attention(x)
    expected = middle + first.feed_forward(first.feed_forward_norm(middle))
    np.testing.assert_allclose(first(x), expected, atol=1e-6)


IDS = np.array([[5, 6, 7], [5, 6, 0], [5, 0, 0]])  # as many rows as positions


@pytest.mark.parametrize("form", ["post", "pre"])
def test_a_key_mask_and_an_attention_mask(form):
    """With a query of 0 the weights are equal: 1 / the number of visible positions."""
    layer = EncoderLayer(D, H, F, norm=form)
    layer.build()
    layer.attention.query.kernel.assign(np.zeros((D, D)))
    x = np.random.default_rng(0).normal(size=(3, 3, D)).astype(np.float32)
    real = IDS != 0
    _, weights = layer(x, key_mask=padding_mask(IDS), return_attention_weights=True)
    expected = np.broadcast_to((real / real.sum(1, keepdims=True))[:, None, None], (3, H, 3, 3))
    np.testing.assert_allclose(weights, expected, atol=1e-6)

    both = np.tri(3, dtype=bool) & real[:, None]
    _, weights = layer(
        x,
        attention_mask=np.tri(3, dtype=bool)[None],
        key_mask=padding_mask(IDS),
        return_attention_weights=True,
    )
    expected = np.broadcast_to((both / both.sum(-1, keepdims=True))[:, None], (3, H, 3, 3))
    np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_a_padding_mask_as_attention_mask_is_refused():
    x = np.ones((3, 3, D), np.float32)
    for layer in (EncoderLayer(D, H, F), Encoder(1, d_model=D, num_heads=H, feed_forward_width=F)):
        with pytest.raises(Error, match="is the argument key_mask"):
            layer(x, attention_mask=padding_mask(IDS))
