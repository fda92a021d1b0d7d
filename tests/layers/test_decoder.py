"""The decoder against torch's with stored weights, and one position at a time against all at
once."""

import pathlib

import numpy as np
import pytest
from cases import first_by_default

from tfsum.errors import Error
from tfsum.formats.weight_names import variables_by_path
from tfsum.layers import Decoder, DecoderLayer, padding_mask
from tfsum.layers.positional_encoding import positional_encoding

DATA = pathlib.Path(__file__).parents[1] / "fixtures"
D, H, F, LAYERS = 8, 2, 12, 2
FORMS = ["post", "pre"]


@pytest.fixture(scope="module")
def arrays():
    return dict(np.load(DATA / "torch_transformer.npz"))


def decoder(arrays, form):
    """A decoder with torch's weights, each of ours set."""
    model = Decoder(
        LAYERS,
        d_model=D,
        num_heads=H,
        feed_forward_width=F,
        norm=form,
        epsilon=1e-5,
        dropout=0.0,
        name="decoder",
    )
    model.build()
    for path, variable in variables_by_path(model).items():
        variable.assign(arrays[f"{form}:decoder/{path}"])
    return model


def inputs(arrays, form):
    """What torch's decoder read: embedded targets, the encoder's output, and both masks (B, T)."""
    table, target_ids = arrays[f"{form}:embedding/embeddings"], arrays["target_ids"]
    x = table[target_ids] * np.float32(D**0.5) + np.asarray(
        positional_encoding(target_ids.shape[1], D)
    )
    real = [np.asarray(padding_mask(arrays[name])) for name in ("target_ids", "source_ids")]
    return x, arrays[f"{form}:encoder_output"], *real


@pytest.mark.parametrize("form", FORMS)
def test_torch(arrays, form):
    x, source, real, source_real = inputs(arrays, form)
    found = decoder(arrays, form)(x, source, key_mask=real, source_mask=source_real)
    np.testing.assert_allclose(
        np.asarray(found)[real], arrays[f"{form}:decoder_output"][real], atol=3e-6
    )


@pytest.mark.parametrize("form", FORMS)
def test_one_position_at_a_time(arrays, form):
    """`start` and `step` give what `call` gives; a row's answers do not hang on the rows beside
    it."""
    x, source, _, source_real = inputs(arrays, form)
    model = decoder(arrays, form)
    expected = np.asarray(model(x, source, source_mask=source_real))
    slots, caches = model.start(source, 8)  # room for more than there is
    shapes = {name: {k: v.shape for k, v in cache.items()} for name, cache in caches.items()}
    for position in range(x.shape[1]):
        found, slots, caches = model.step(x[:, position], position, slots, caches, source_real)
        np.testing.assert_allclose(found, expected[:, position], atol=2e-6)
    assert {
        name: {k: v.shape for k, v in cache.items()} for name, cache in caches.items()
    } == shapes
    assert not np.asarray(caches["layer_1"]["self_keys"])[:, :, x.shape[1] :].any()


@pytest.mark.parametrize("form", first_by_default(FORMS))
def test_hypotheses_change_places(arrays, form):
    """What beam search does: two hypotheses a source, of which one goes on in two, or both in each
    other's place."""
    x, source, _, source_real = inputs(arrays, form)
    model, batch = decoder(arrays, form), len(x)
    # (B, 2, T, D)
    paths = np.stack(
        [x, np.random.default_rng(0).permutation(x.reshape(-1, D)).reshape(x.shape)], 1
    )
    slots, caches = model.start(source, x.shape[1], 2)
    for position, origin in enumerate(([0, 1], [1, 1], [1, 0], [0, 0], [0, 1], [1, 0])):
        found, slots, caches = model.step(
            paths[:, :, position].reshape(-1, D), position, slots, caches, source_real
        )
        for k in range(2):
            expected = model(paths[:, k, : position + 1], source, source_mask=source_real)
            np.testing.assert_allclose(
                np.reshape(found, (batch, 2, D))[:, k], expected[:, -1], atol=2e-6
            )
        slots = np.reshape(np.asarray(slots), (batch, 2, -1))[:, origin].reshape(2 * batch, -1)
        paths[:, :, : position + 1] = paths[:, origin, : position + 1]


@pytest.mark.parametrize("form", FORMS)
def test_the_future_changes_no_earlier_answer(arrays, form):
    x, source, _, _ = inputs(arrays, form)
    model = decoder(arrays, form)
    changed = x.copy()
    changed[:, 4:] = 9.0
    np.testing.assert_allclose(model(changed, source)[:, :4], model(x, source)[:, :4], atol=1e-6)
    assert np.abs(model(changed, source)[:, 4:] - model(x, source)[:, 4:]).max() > 1e-2


@pytest.mark.parametrize("form", FORMS)
def test_three_sublayers_with_a_residual_and_a_normalization_each(form):
    """By the paper's two formulas over the parts; none of the parts is used twice."""
    layer = DecoderLayer(D, H, F, norm=form)
    layer.build()
    random = np.random.default_rng(0)
    for weight in layer.trainable_weights:
        weight.assign(random.normal(size=weight.shape) * 0.5)
    assert len(layer.trainable_weights) == 2 * 8 + 4 + 3 * 2
    x, source = (random.normal(size=(2, t, D)).astype(np.float32) for t in (5, 7))
    expected = x
    for sublayer, norm in (
        (
            lambda y: layer.self_attention(y, attention_mask=np.tri(5, dtype=bool)[None]),
            layer.self_attention_norm,
        ),
        (lambda y: layer.cross_attention(y, source), layer.cross_attention_norm),
        (layer.feed_forward, layer.feed_forward_norm),
    ):
        expected = (
            norm(expected + sublayer(expected))
            if form == "post"
            else expected + sublayer(norm(expected))
        )
    np.testing.assert_allclose(layer(x, source), expected, atol=1e-6)


def test_all_layers_outputs_and_weights_of_attention(arrays):
    x, source, _, source_real = inputs(arrays, "pre")
    model = decoder(arrays, "pre")
    last, outputs, attentions, cross = model(x, source, source_mask=source_real, return_all=True)
    assert len(outputs) == LAYERS + 1
    np.testing.assert_array_equal(outputs[0], x)
    np.testing.assert_array_equal(model.final_norm(outputs[-1]), last)
    np.testing.assert_allclose(np.sum(attentions, -1), np.ones((LAYERS, 2, H, 6)), atol=1e-6)
    np.testing.assert_allclose(np.sum(cross, -1), np.ones((LAYERS, 2, H, 6)), atol=1e-6)
    assert (np.triu(np.asarray(attentions), 1) == 0).all()
    assert (np.asarray(cross)[:, ~source_real.all(1)][..., ~source_real[1]] == 0).all()


TARGETS, SOURCES = np.array([[5, 6, 7], [5, 6, 0], [5, 0, 0]]), np.array([[5, 6], [5, 0], [5, 6]])


def test_masks_of_target_and_source():
    """With queries of 0 the weights are equal: 1 / the number of visible positions."""
    layer = DecoderLayer(D, H, F)
    layer.build()
    for attention in (layer.self_attention, layer.cross_attention):
        attention.query.kernel.assign(np.zeros((D, D)))
    random = np.random.default_rng(0)
    x, source = (random.normal(size=(3, t, D)).astype(np.float32) for t in (3, 2))
    near = np.triu(np.ones((1, 3, 3), bool), -1)  # a position sees the one before it, no earlier
    _, own, cross = layer(
        x,
        source,
        attention_mask=near,
        key_mask=padding_mask(TARGETS),
        source_mask=padding_mask(SOURCES),
        return_attention_weights=True,
    )
    visible = np.tri(3, dtype=bool) & near & (TARGETS != 0)[:, None]
    blind = ~visible.any(-1, keepdims=True)  # past the padding nothing is near: the mean of all
    weights = np.where(blind, 1 / 3, visible / np.maximum(visible.sum(-1, keepdims=True), 1))
    np.testing.assert_allclose(own, np.repeat(weights[:, None], H, 1), atol=1e-6)
    weights = (SOURCES != 0) / (SOURCES != 0).sum(1, keepdims=True)
    np.testing.assert_allclose(
        cross, np.broadcast_to(weights[:, None, None], (3, H, 3, 2)), atol=1e-6
    )


def test_masks_of_another_rank_are_refused():
    layer = DecoderLayer(D, H, F)
    x, source = np.ones((3, 3, D), np.float32), np.ones((3, 3, D), np.float32)
    with pytest.raises(Error, match="is the argument key_mask"):
        layer(x, source, attention_mask=padding_mask(TARGETS))
    with pytest.raises(Error, match="source_mask in a decoder"):
        layer(x, source, source_mask=padding_mask(TARGETS)[:, None, None, :])
