"""BertSumExt: windows, poolings, padding, model folders and configurations."""

import json

import keras
import numpy as np
import pytest
from cases import first_by_default

from tfsum.errors import CheckpointError, Error
from tfsum.models import Bert, BertSumExt
from tfsum.models.sentence_heads import HEADS, word_loss

BERT = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
    "initializer_range": 0.3,
}
HEAD = {"head_layers": 2, "head_num_heads": 2, "head_feed_forward_width": 24}


def make(**more):
    model = BertSumExt(BERT, **{**HEAD, **more})
    model.build()
    return model


def row(lengths, seed=0, window=12):
    """A row of sentences in windows: ids, segments and starts by a plain loop."""
    random = np.random.default_rng(seed)
    ids, segments, starts, place = [], [], [], 0
    for length in lengths:
        if len(ids) % window + length > window or (ids and len(ids) % window == 0):
            padding = -len(ids) % window
            ids, segments, place = ids + [0] * padding, segments + [0] * padding, 0
        starts.append(len(ids))
        ids += random.integers(1, 40, length).tolist()
        segments += [place % 2] * length
        place += 1
    return {
        "token_ids": np.array([ids], np.int32),
        "segment_ids": np.array([segments], np.int32),
        "sentence_starts": np.array([starts], np.int32),
    }


def batch(rows):
    """Rows padded to the longest."""
    fill = {"token_ids": 0, "segment_ids": 0, "sentence_starts": -1}
    return {
        k: np.concatenate(
            [
                np.pad(
                    r[k],
                    ((0, 0), (0, max(o[k].shape[1] for o in rows) - r[k].shape[1])),
                    constant_values=v,
                )
                for r in rows
            ]
        )
        for k, v in fill.items()
    }


def scores(model, inputs):
    return np.asarray(model.predict_step(inputs))


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_vectors_of_sentences(pooling):
    """[CLS]'s vector, or the mean over a sentence's own tokens, by a plain loop over Bert's
    output."""
    model, inputs = make(pooling=pooling), row([4, 3, 5])
    sequence = np.asarray(
        model.bert(inputs["token_ids"], inputs["segment_ids"])["sequence_output"]
    )[0]
    expected = [
        sequence[a] if pooling == "cls" else sequence[a:b].mean(0)
        for a, b in ((0, 4), (4, 7), (7, 12))
    ]
    np.testing.assert_allclose(model.sentence_vectors(**inputs)[0], expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_length_of_a_sentence_is_added(pooling):
    model, inputs = make(pooling=pooling, length_input=True), batch([row([4, 3, 5]), row([2, 6])])
    with_length = np.asarray(model.sentence_vectors(**inputs))
    kernel, model.length = np.asarray(model.length.kernel), None
    plain = np.asarray(model.sentence_vectors(**inputs))
    for place, length in (((0, 0), 4), ((0, 1), 3), ((0, 2), 5), ((1, 0), 2), ((1, 1), 6)):
        x = np.log(length) - 3.0
        np.testing.assert_allclose(
            with_length[place], plain[place] + kernel[0] * x + kernel[1] * (x * x - 0.5), atol=1e-5
        )
    assert not with_length[1, 2].any()


@pytest.mark.parametrize(
    "more",
    first_by_default(
        [{"pooling": "cls"}, {"pooling": "mean"}, {"pooling": "mean", "length_input": True}]
    ),
)
def test_a_row_of_windows_is_each_window_alone(more):
    model, inputs = make(**more), row([5, 4, 6, 5, 4, 3, 2])
    assert inputs["token_ids"].shape[1] > 24  # three windows, the last one short
    whole = np.asarray(model.sentence_vectors(**inputs))[0]
    place = inputs["sentence_starts"][0]
    for w in range(3):
        cut = slice(w * 12, (w + 1) * 12)
        inside = place[place // 12 == w][None] - w * 12
        alone = model.sentence_vectors(
            inputs["token_ids"][:, cut], inputs["segment_ids"][:, cut], inside
        )
        np.testing.assert_allclose(whole[place // 12 == w], alone[0], atol=1e-5)
    of_vectors = model.score_sentences(whole[None], np.ones((1, 7), bool))
    np.testing.assert_allclose(model(inputs), of_vectors, atol=1e-5)


@pytest.mark.parametrize("pooling", first_by_default(["cls", "mean"]))
@pytest.mark.parametrize("head", first_by_default(["classifier", "transformer"]))
def test_alone_in_a_batch_and_padded(head, pooling):
    model = make(head=head, pooling=pooling)
    rows = [
        row([5, 4, 6, 5, 4], seed=1),
        row([3], seed=2),
        row([6, 6, 2], seed=3),
        row([4, 4, 4], seed=4),
    ]
    together = scores(model, batch(rows))
    for found, alone in zip(together, rows, strict=True):
        count = alone["sentence_starts"].shape[1]
        np.testing.assert_allclose(found[:count], scores(model, alone)[0], atol=1e-5)
        assert (found[count:] == 0).all()
        longer = {
            k: np.pad(v, ((0, 0), (0, 7)), constant_values=-1 if k == "sentence_starts" else 0)
            for k, v in alone.items()
        }
        np.testing.assert_allclose(
            scores(model, longer)[0, :count], scores(model, alone)[0], atol=1e-5
        )


def test_predict_gives_probabilities_and_0_where_there_is_no_sentence():
    model = make()
    inputs = batch([row([5, 4]), row([3, 3, 3], seed=5)])
    found = model.predict(inputs, verbose=0)
    logits = np.asarray(model(inputs))
    np.testing.assert_allclose(
        found, (inputs["sentence_starts"] >= 0) / (1 + np.exp(-logits)), atol=1e-6
    )


def test_the_place_in_the_document_matters_to_the_head():
    model = make()
    vectors = np.random.default_rng(0).normal(size=(1, 6, 16)).astype(np.float32)
    mask = np.ones((1, 6), bool)
    here = np.asarray(model.score_sentences(vectors, mask))
    there = np.asarray(model.score_sentences(vectors, mask, first_position=np.array([9])))
    assert np.abs(here - there).max() > 1e-3
    np.testing.assert_array_equal(
        here, model.score_sentences(vectors, mask, first_position=np.array([0]))
    )


def test_the_loss_is_cross_entropy_over_sentences():
    """In float64 and by the definition, soft labels among them."""
    model, inputs = make(), batch([row([5, 4]), row([3, 3, 3], seed=5)])
    # the 9 stands where there is no sentence
    labels = np.array([[1.0, 0.25, 9.0], [0.0, 1.0, 0.5]], np.float32)
    p = 1 / (1 + np.exp(-np.asarray(model(inputs), np.float64)))
    elements = -(labels * np.log(p) + (1 - labels) * np.log(1 - p))
    expected = elements[inputs["sentence_starts"] >= 0].sum()
    assert float(model.summed_loss(inputs | {"labels": labels}, None, False)) == pytest.approx(
        expected, rel=1e-5
    )
    assert float(model.summed_loss(inputs, labels, False)) == pytest.approx(expected, rel=1e-5)
    assert float(model.loss_weight(inputs, labels)) == 5

    labels[1] = -1.0  # a document without labels
    expected = elements[0, :2].sum()
    assert float(model.summed_loss(inputs, labels, False)) == pytest.approx(expected, rel=1e-5)
    assert float(model.loss_weight(inputs, labels)) == 2


def test_saved_and_read_again(tmp_path):
    model, inputs = (
        make(pooling="mean", length_input=True, window_length=10),
        row([4, 3], window=10),
    )
    model.save_pretrained(tmp_path, ["[PAD]", "é"], {"text": {"lowercase": True}})
    again = BertSumExt.from_pretrained(tmp_path)
    assert again.get_config() == model.get_config()
    np.testing.assert_array_equal(again(inputs), model(inputs))
    assert (tmp_path / "vocab.txt").read_text(encoding="utf-8") == "[PAD]\né\n"
    assert json.loads((tmp_path / "tfsum.json").read_text())["text"] == {"lowercase": True}
    assert not list(tmp_path.glob("*.part"))
    encoder = BertSumExt.from_pretrained(tmp_path, pooling="cls")
    assert encoder.pooling == "cls"


def test_a_keras_file_gives_the_same_model(tmp_path):
    import keras

    model, inputs = make(length_input=True), row([4, 3])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(inputs), model(inputs))


def test_configuration_and_precision():
    model = make(dtype="mixed_float16", name="one")
    again = BertSumExt.from_config(json.loads(json.dumps(model.get_config())))
    assert again.get_config() == model.get_config() and again.name == "one"
    inputs = row([4, 3])
    logits = again(inputs)
    assert logits.dtype == "float32" and np.isfinite(logits).all()
    assert again.sentence_vectors(**inputs).dtype == "float16"


def test_a_folder_of_an_encoder_is_named(tmp_path):
    Bert(**BERT).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="not a BertSumExt.*Bert.from_pretrained"):
        BertSumExt.from_pretrained(tmp_path)


def test_the_encoder_of_a_folder(tmp_path):
    model = make(word_head=True)
    model.save_pretrained(tmp_path)
    encoder = Bert.from_pretrained(tmp_path)
    for mine, theirs in zip(encoder.weights, model.bert.weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_another_head_than_the_folders(tmp_path):
    make().save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match="unknown: head.encoder.layer_1"):
        BertSumExt.from_pretrained(tmp_path, head_layers=1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"head": "lstms"}, "head is 'lstms'; it must be one of classifier, transformer"),
        ({"pooling": "max"}, "pooling is 'max'"),
        ({"loss_reduction": "none"}, "loss_reduction is 'none'"),
        ({"window_length": 13}, "windows of 13 tokens, and the encoder has positions for 12"),
    ],
)
def test_wrong_arguments_are_named(arguments, says):
    with pytest.raises(Error, match=says):
        make(**arguments)


@keras.saving.register_keras_serializable("test")
class FirstSentences(keras.layers.Layer):
    """A head of ones own: each sentence by a weight for its position."""

    def __init__(self, d_model, dropout, **kwargs):
        super().__init__(**kwargs)
        self.d_model, self.dropout = d_model, dropout

    def build(self, input_shape=None):
        self.positions = self.add_weight((8,), name="positions")
        self.built = True

    def call(self, vectors, sentence_mask, first_position=None, training=None):
        return keras.ops.zeros_like(vectors[..., 0]) + self.positions[: vectors.shape[1]]


def test_a_head_of_ones_own_is_a_class_and_a_line(monkeypatch, tmp_path):
    """Trained, written and read again; it gets the options that its constructor has."""
    monkeypatch.setitem(HEADS, "first", FirstSentences)
    model = make(head="first", head_dropout=0.3)
    assert model.head.dropout == 0.3
    inputs = row([4, 3, 5])
    before = np.asarray(model.head.positions)
    model.compile("sgd", run_eagerly=True)
    model.fit(inputs, np.array([[1.0, 0.0, 0.0]]), verbose=0)
    assert (np.asarray(model.head.positions) != before)[:3].all()
    model.save_pretrained(tmp_path)
    again = BertSumExt.from_pretrained(tmp_path)
    np.testing.assert_array_equal(scores(again, inputs), scores(model, inputs))
    with pytest.raises(Error, match="must be one of classifier, transformer, .*first"):
        BertSumExt(BERT, head="last")


def test_the_loss_of_words_is_that_of_a_poisson_distribution():
    """tf.nn.log_poisson_loss of the summed rates, n-gram by n-gram."""
    import tensorflow as tf

    random = np.random.default_rng(2)
    rates = random.random((3, 7, 2), np.float32) + 0.1
    grams = random.integers(-1, 5, (3, 7, 2))
    counts = random.integers(0, 3, (3, 6)).astype(np.float32)
    counts[1, 4:] = -1.0
    grams[1] = np.minimum(grams[1], 3)
    given = np.asarray(word_loss(rates, grams, counts))
    for row in range(3):
        for gram in range(6):
            mean = rates[row][grams[row] == gram].sum() + 1e-6
            expected = tf.nn.log_poisson_loss([counts[row, gram]], [np.log(mean)])[0]
            padding = counts[row, gram] < 0
            np.testing.assert_allclose(given[row, gram], 0 if padding else expected, atol=1e-5)


def test_a_model_with_a_word_head(tmp_path):
    model, inputs = make(word_head=True), row([4, 3, 5])
    logits, rates, _ = model.read(inputs)
    np.testing.assert_array_equal(logits, model(inputs))
    assert rates.shape == (1, 12, 2) and (np.asarray(rates) > 0).all()

    model.save_pretrained(tmp_path)
    again = BertSumExt.from_pretrained(tmp_path)
    np.testing.assert_array_equal(again.read(inputs)[1], rates)

    labels = {"labels": np.array([[1.0, 0.0, 0.0]], np.float32)}
    with pytest.raises(Error, match="a word head, and the inputs no grams and gram_counts"):
        model.compute_loss({**inputs, **labels})
    assert make().read(inputs)[1] is None
