"""Attention with its tokens: the right weights of the right layer and head, against formulas."""

import keras
import numpy as np
import pytest

from tfsum import WordPiece
from tfsum.errors import Error
from tfsum.models import Bert, BertClassifier, Transformer
from tfsum.visualization import Attention, bert_attention, transformer_attention

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
    model = Transformer(
        len(WORDS),
        num_encoder_layers=2,
        num_decoder_layers=3,
        d_model=WIDTH,
        num_heads=HEADS,
        feed_forward_width=16,
        max_length=5,
    )
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
            q, k = (
                x @ np.asarray(dense.kernel) + np.asarray(dense.bias)
                for dense in (attention.query, attention.key)
            )
            np.testing.assert_allclose(
                found.select(layer, head), softmax(q[:, columns] @ k[:, columns].T / 2), atol=1e-5
            )
        x = np.asarray(bert.encoder.encoder_layers[layer](x[None]))[0]


def test_a_text_alone_has_one_segment(bert, word_piece):
    assert bert_attention(bert, word_piece, "a dog").keys == ["[CLS]", "a", "dog", "[SEP]"]
    assert bert_attention(bert, word_piece, "", "").keys == ["[CLS]", "[SEP]", "[SEP]"]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ((["a dog"],), "text is list; expected a str"),
        ((("a", "dog"),), "text is tuple; .* of a pair the second in text_pair"),
        (("a", 3), "text_pair is int"),
    ],
)
def test_texts_are_strings(bert, word_piece, texts, says):
    with pytest.raises(Error, match=says):
        bert_attention(bert, word_piece, *texts)


def test_what_can_show_no_attention(bert, word_piece):
    with pytest.raises(Error, match="bert is BertClassifier; expected a Bert: give its `bert`"):
        bert_attention(BertClassifier(bert, ["a", "b"]), word_piece, "a")
    with pytest.raises(
        Error, match="bert is str; expected a Bert: read it by Bert.from_pretrained"
    ):
        bert_attention("folder", word_piece, "a")
    one = Bert(len(WORDS), WIDTH, 1, HEADS, 16, max_position_embeddings=12, type_vocab_size=1)
    assert bert_attention(one, word_piece, "a dog").weights.shape == (1, HEADS, 4, 4)
    with pytest.raises(
        Error, match="has one segment .*, and a pair needs two; leave out text_pair"
    ):
        bert_attention(one, word_piece, "a", "dog")


def test_a_text_longer_than_the_model_is_an_error(bert, word_piece):
    with pytest.raises(Error, match="15 tokens in a row, and the model has positions for 12"):
        bert_attention(bert, word_piece, "a " * 13)


def test_queries_of_zero_look_alike_at_all_that_may_be_seen(transformer, word_piece):
    kernels = [
        attention.query.kernel
        for layer in transformer.decoder.decoder_layers
        for attention in (layer.self_attention, layer.cross_attention)
    ]
    kept = [kernel.numpy() for kernel in kernels]
    for kernel in kernels:
        kernel.assign(0 * kernel)
    try:
        found = transformer_attention(transformer, word_piece, "the cat sat", "le chat")
    finally:
        for kernel, value in zip(kernels, kept):
            kernel.assign(value)
    assert found["cross"].queries == found["decoder"].keys == ["[CLS]", "le", "chat"]
    assert (
        found["cross"].keys == found["encoder"].queries == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    )
    assert found["encoder"].weights.shape == (2, HEADS, 5, 5)
    np.testing.assert_allclose(found["cross"].weights, np.full((3, HEADS, 3, 5), 1 / 5), atol=1e-6)
    uniform = np.broadcast_to(np.tri(3) / np.arange(1, 4)[:, None], (3, HEADS, 3, 3))
    np.testing.assert_allclose(found["decoder"].weights, uniform, atol=1e-6)


def test_the_first_look_at_the_source_against_the_formula(transformer, word_piece):
    found = transformer_attention(transformer, word_piece, "the cat", "le chat")["cross"].select(0)
    source = np.asarray(transformer.encode(np.array([[2, 4, 5, 3]])))
    layer = transformer.decoder.decoder_layers[0]
    x = transformer.target_positions(transformer.target_embedding(np.array([[2, 13, 14]])))
    y = layer.self_attention(x, attention_mask=np.tri(3, dtype=bool)[None])
    y = np.asarray(layer.self_attention_norm(x + y))[0]
    q = y @ np.asarray(layer.cross_attention.query.kernel)
    k = source[0] @ np.asarray(layer.cross_attention.key.kernel)
    for head in range(HEADS):
        columns = slice(head * 4, head * 4 + 4)
        np.testing.assert_allclose(
            found[head], softmax(q[:, columns] @ k[:, columns].T / 2), atol=1e-5
        )


def test_without_a_target_what_the_model_writes(transformer, word_piece):
    written = transformer.predict(np.array([[2, 4, 5, 3]]), verbose=0)[0]
    expected = ["[CLS]", *(WORDS[i] for i in written if i not in (0, 3))]
    assert transformer_attention(transformer, word_piece, "the cat")["cross"].queries == expected


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        (3, 0, "cross-attention: layer is 3; expected a whole number from 0 to 2"),
        (-1, 0, "layer is -1"),
        (0, 2, "head is 2; expected a whole number from 0 to 1"),
    ],
)
def test_a_layer_or_head_that_is_not_there(layer, head, message):
    some = Attention("cross-attention", np.zeros((3, 2, 1, 1)), ["a"], ["b"])
    with pytest.raises(Error, match=message):
        some.select(layer, head)
