"""Attention with its tokens: the right weights of the right layer and head, against formulas, and their pictures."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pip install 'tfsum[plots]'")

import keras

from tfsum import WordPiece
from tfsum.errors import Error
from tfsum.models import Bert, Transformer
from tfsum.visualization import (
    Attention,
    bert_attention,
    plot_attention,
    plot_attention_lines,
    transformer_attention,
)

WORDS = "[PAD] [UNK] [CLS] [SEP] the cat sat on a mat dog ran ##s le chat".split()
HEADS, WIDTH = 2, 8


@pytest.fixture(scope="module")
def word_piece():
    return WordPiece(WORDS)


@pytest.fixture(scope="module")
def bert():
    keras.utils.set_random_seed(3)
    model = Bert(len(WORDS), WIDTH, 2, HEADS, 16, max_position_embeddings=12, initializer_range=0.8)
    model.build()
    return model


@pytest.fixture(scope="module")
def transformer():
    keras.utils.set_random_seed(3)
    model = Transformer(len(WORDS), num_encoder_layers=2, num_decoder_layers=3, d_model=WIDTH, num_heads=HEADS,
                        feed_forward_width=16, max_length=5)
    model.build()
    return model


def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_bert_against_the_formula(bert, word_piece):
    found = bert_attention(bert, word_piece, "the cats sat", "dog ran")
    tokens = ["[CLS]", "the", "cat", "##s", "sat", "[SEP]", "dog", "ran", "[SEP]"]
    assert found.queries == found.keys == tokens and found.weights.shape == (2, HEADS, 9, 9)
    ids, segments = np.array([[WORDS.index(t) for t in tokens]]), np.array([[0] * 6 + [1] * 3])
    x = np.asarray(bert.embed(ids, segments))[0]
    for layer in range(2):
        attention = bert.encoder.encoder_layers[layer].attention
        for head in range(HEADS):
            columns = slice(head * 4, head * 4 + 4)
            q, k = (x @ np.asarray(dense.kernel) + np.asarray(dense.bias) for dense in (attention.query, attention.key))
            np.testing.assert_allclose(found.of(layer, head), softmax(q[:, columns] @ k[:, columns].T / 2), atol=1e-5)
        x = np.asarray(bert.encoder.encoder_layers[layer](x[None]))[0]


def test_a_text_alone_has_one_segment(bert, word_piece):
    assert bert_attention(bert, word_piece, "a dog").keys == ["[CLS]", "a", "dog", "[SEP]"]
    assert bert_attention(bert, word_piece, "", "").keys == ["[CLS]", "[SEP]", "[SEP]"]


def test_a_text_longer_than_the_model_is_an_error(bert, word_piece):
    with pytest.raises(Error, match="15 tokens in a row, and the model has positions for 12"):
        bert_attention(bert, word_piece, "a " * 13)


def test_queries_of_zero_look_alike_at_all_that_may_be_seen(transformer, word_piece):
    kernels = [attention.query.kernel for layer in transformer.decoder.decoder_layers
               for attention in (layer.self_attention, layer.cross_attention)]
    kept = [kernel.numpy() for kernel in kernels]
    for kernel in kernels:
        kernel.assign(0 * kernel)
    try:
        found = transformer_attention(transformer, word_piece, "the cat sat", "le chat")
    finally:
        for kernel, value in zip(kernels, kept):
            kernel.assign(value)
    assert found["cross"].queries == found["decoder"].keys == ["[CLS]", "le", "chat"]
    assert found["cross"].keys == found["encoder"].queries == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert found["encoder"].weights.shape == (2, HEADS, 5, 5)
    np.testing.assert_allclose(found["cross"].weights, np.full((3, HEADS, 3, 5), 1 / 5), atol=1e-6)
    uniform = np.broadcast_to(np.tri(3) / np.arange(1, 4)[:, None], (3, HEADS, 3, 3))
    np.testing.assert_allclose(found["decoder"].weights, uniform, atol=1e-6)


def test_the_first_look_at_the_source_against_the_formula(transformer, word_piece):
    found = transformer_attention(transformer, word_piece, "the cat", "le chat")["cross"].of(0)
    source = np.asarray(transformer.encode(np.array([[2, 4, 5, 3]])))
    layer = transformer.decoder.decoder_layers[0]
    x = transformer.target_positions(transformer.target_embedding(np.array([[2, 13, 14]])))
    y = layer.self_attention(x, attention_mask=np.tri(3, dtype=bool))
    y = np.asarray(layer.self_attention_norm(x + y))[0]
    q = y @ np.asarray(layer.cross_attention.query.kernel)
    k = source[0] @ np.asarray(layer.cross_attention.key.kernel)
    for head in range(HEADS):
        columns = slice(head * 4, head * 4 + 4)
        np.testing.assert_allclose(found[head], softmax(q[:, columns] @ k[:, columns].T / 2), atol=1e-5)


def test_without_a_target_what_the_model_writes(transformer, word_piece):
    written = transformer.predict(np.array([[2, 4, 5, 3]]), verbose=0)[0]
    expected = ["[CLS]", *(WORDS[i] for i in written if i not in (0, 3))]
    assert transformer_attention(transformer, word_piece, "the cat")["cross"].queries == expected


@pytest.mark.parametrize(("layer", "head", "message"), [
    (3, 0, "cross-attention: layer 3; there are 3, counted from 0"), (-1, 0, "layer -1"), (0, 2, "head 2; there are 2"),
])
def test_a_layer_or_head_that_is_not_there(layer, head, message):
    some = Attention("cross-attention", np.zeros((3, 2, 1, 1)), ["a"], ["b"])
    for plot in (lambda: plot_attention(some, layer, head), lambda: plot_attention_lines(some, layer, [head])):
        with pytest.raises(Error, match=message):
            plot()


def example():
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 5, 3)).astype(np.float32)
    return Attention("cross-attention", weights, ["a", "$b$", "c"], ["w", "x", "y", "z"])


def test_maps_of_all_heads_and_of_one():
    attention = example()
    *maps, bar = plot_attention(attention, 1).axes
    for head, ax in enumerate(maps[:5]):
        (image,) = ax.get_images()
        np.testing.assert_array_equal(image.get_array(), attention.weights[1, head])
        assert image.get_clim() == (0, attention.weights[1].max()) and ax.get_title() == f"head {head}"
    assert not any(ax.axison for ax in maps[5:]) and "attention weight" in bar.get_ylabel()
    figure = plot_attention(attention, 0, 3)
    np.testing.assert_array_equal(figure.axes[0].get_images()[0].get_array(), attention.weights[0, 3])
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == attention.keys
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", r"\$b\$", "c"]
    assert figure.get_suptitle() == "cross-attention, layer 0"


def test_lines_join_the_tokens_as_strongly_as_they_look():
    attention = example()
    figure = plot_attention_lines(attention, 1, [0, 4])
    (ax,) = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["head 0", "head 4"]
    for head, lines in zip((0, 4), ax.collections):
        for segment, color, width in zip(lines.get_segments(), lines.get_colors(), lines.get_linewidths()):
            (left, query), (right, key) = segment
            assert (left, right) == (0, 1)
            weight = attention.weights[1, head, int(query), int(key)]
            assert color[3] == pytest.approx(weight, rel=1e-6) and width == pytest.approx(2 * weight, rel=1e-6)
        assert len(lines.get_segments()) == 12
    places = {(text.get_text(), text.get_position()[1]) for text in ax.texts}
    assert {("a", 0), (r"\$b\$", 1), ("w", 0), ("z", 3)} <= places
