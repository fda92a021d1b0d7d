"""What users of Keras do with any model, done with each of ours: it works, or one error says what
to do instead."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from cases import first_by_default

from tfsum.decoding import Greedy
from tfsum.errors import Error
from tfsum.models import BertClassifier, BertForPretraining, BertSumAbs, BertSumExt, Transformer

ENCODER = {
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 16,
}
RANDOM = np.random.default_rng(0)
IDS = RANDOM.integers(5, 30, (4, 6)).astype("int32")
IDS[1, 4:] = 0
ZEROS = np.zeros_like(IDS)
STARTS = np.array([[0, 3], [0, -1], [0, 2], [0, 4]], np.int32)
PLACES = np.tile(np.array([[1, 2]], np.int32), (4, 1))

# Name -> the model, its inputs and its labels.
CASES = {
    "BertSumExt": (
        lambda: BertSumExt(dict(ENCODER), "classifier"),
        {"token_ids": IDS, "segment_ids": ZEROS, "sentence_starts": STARTS},
        RANDOM.integers(0, 2, (4, 2)).astype("float32"),
    ),
    "BertClassifier": (
        lambda: BertClassifier(dict(ENCODER), ["a", "b", "c"]),
        {"token_ids": IDS, "segment_ids": ZEROS},
        np.array([0, 1, 2, 1], np.int32),
    ),
    "Transformer": (
        lambda: Transformer(30, 30, 1, 1, 8, 2, 8, start_id=2, end_id=3),
        {"source_ids": IDS, "target_ids": IDS},
        IDS,
    ),
    "BertSumAbs": (
        lambda: BertSumAbs(dict(ENCODER), 1, 2, 8, max_length=5),
        {"source_ids": IDS, "segment_ids": ZEROS, "target_ids": IDS},
        IDS,
    ),
    "BertForPretraining": (
        lambda: BertForPretraining(dict(ENCODER)),
        {
            "token_ids": IDS,
            "segment_ids": ZEROS,
            "masked_lm_positions": PLACES,
            "masked_lm_ids": IDS[:, 1:3],
            "masked_lm_weights": np.ones((4, 2), np.float32),
            "next_sentence_labels": np.zeros(4, np.int32),
        },
        None,
    ),
}
MEASURED = ("BertSumExt", "BertClassifier", "Transformer", "BertSumAbs")  # they take metrics
WRITERS = ("Transformer", "BertSumAbs")
pytestmark = pytest.mark.filterwarnings("ignore:.*shuffle=True")


@pytest.fixture(scope="module")
def fitted():
    """The models by name, each trained for an epoch without a graph, which the wrong inputs below
    have for each."""
    made = {}
    for name, (make, x, y) in CASES.items():
        made[name] = make()
        made[name].compile(keras.optimizers.SGD(0.01, momentum=0.9), run_eagerly=True)
        made[name].fit(x, y, batch_size=2, verbose=0)
    return made


@pytest.mark.parametrize("name", CASES)
def test_summary(fitted, name):
    lines = []
    fitted[name].summary(print_fn=lambda line, **_: lines.append(line))
    assert f"{fitted[name].count_params():,}" in "\n".join(lines)


@pytest.mark.parametrize("name", first_by_default(CASES))
def test_a_keras_file_goes_on_training(fitted, name, tmp_path):
    """Its optimizer comes back, so that the next step is the same."""
    model, (_, x, y) = fitted[name], CASES[name]
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    loaded.summary(print_fn=lambda *_, **__: None)
    assert int(loaded.optimizer.iterations.numpy()) == int(model.optimizer.iterations.numpy()) > 0
    for mine, theirs in zip(model.optimizer.variables, loaded.optimizer.variables, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    loaded.run_eagerly = True
    before = int(loaded.optimizer.iterations.numpy())
    loaded.fit(x, y, batch_size=2, verbose=0)
    assert int(loaded.optimizer.iterations.numpy()) == before + 2


@pytest.mark.parametrize("name", first_by_default(CASES))
def test_export(fitted, name, tmp_path):
    model, (_, x, _) = fitted[name], CASES[name]
    fitted[name].export(tmp_path / "export", verbose=False)
    inputs = {key: tf.constant(x[key]) for key in model.input_names_of_call}
    exported = tf.saved_model.load(str(tmp_path / "export"))
    served, expected = exported.serve(inputs), model(inputs)
    for key in expected if isinstance(expected, dict) else [...]:
        np.testing.assert_allclose(served[key], expected[key], atol=1e-5)


@pytest.mark.parametrize("name", first_by_default(CASES))
def test_callbacks(name, tmp_path):
    make, x, y = CASES[name]
    model = make()
    model.compile("sgd", run_eagerly=True)
    history = model.fit(
        x,
        y,
        validation_data=(x, y),
        epochs=2,
        batch_size=2,
        verbose=0,
        callbacks=[
            keras.callbacks.EarlyStopping(patience=1),
            keras.callbacks.ModelCheckpoint(tmp_path / "best.keras"),
            keras.callbacks.CSVLogger(tmp_path / "log.csv"),
            keras.callbacks.BackupAndRestore(tmp_path / "backup"),
            keras.callbacks.ReduceLROnPlateau(),
            keras.callbacks.TerminateOnNaN(),
        ],
    )
    assert (tmp_path / "best.keras").is_file() and "val_loss" in (tmp_path / "log.csv").read_text()
    assert len(history.history["val_loss"]) == 2
    trained = {key for key in history.history if not key.startswith("val_")} - {"learning_rate"}
    assert {f"val_{key}" for key in trained} == set(history.history) - trained - {"learning_rate"}


@pytest.mark.parametrize("name", CASES)
def test_a_call_says_which_input_is_wrong(fitted, name):
    model, (_, x, _) = fitted[name], CASES[name]
    first = model.input_names_of_call[0]
    expected = rf"expected a dict of {first} \(batch, "
    with pytest.raises(Error, match=f"^{name}: the inputs are one array; {expected}"):
        model(x[first])
    with pytest.raises(Error, match=f"^{name}: {first} is missing, .*; {expected}"):
        model({key: value for key, value in x.items() if key != first})
    with pytest.raises(Error, match=f"^{name}: {first} has .* float32; expected whole numbers"):
        model({**x, first: x[first].astype("float32")})
    with pytest.raises(
        Error, match=rf"^{name}: {first} has shape \(6,\) .* numbers of shape \(batch"
    ):
        model({**x, first: x[first][0]})
    with pytest.raises(Error, match=f"^{name}: {first} is a list; expected an array"):
        model({**x, first: x[first].tolist()})


@pytest.mark.parametrize(
    ("name", "input_name", "last"),
    [
        ("BertSumExt", "token_ids", 29),
        ("BertClassifier", "segment_ids", 1),
        ("Transformer", "source_ids", 29),
        ("BertSumAbs", "target_ids", 29),
    ],
)
@pytest.mark.parametrize("wrong", [30, -1])
def test_an_id_without_an_embedding_is_named(fitted, name, input_name, last, wrong):
    ids = CASES[name][1][input_name].copy()
    ids[1, 2] = wrong
    says = f"^{name}: {input_name} has the id {wrong}; expected ids from 0 to {last}, of"
    with pytest.raises(Error, match=says):
        fitted[name]({**CASES[name][1], input_name: ids})


def test_generate_names_an_id_without_an_embedding(fitted):
    with pytest.raises(Error, match="^Transformer: source_ids has the id 31; expected ids"):
        fitted["Transformer"].generate([[4, 31]], Greedy())


def test_a_transformer_is_called_with_a_dict(fitted):
    model = fitted["Transformer"]
    with pytest.raises(Error, match="inputs are one array; expected a dict of source_ids .*target"):
        model(IDS, IDS)
    with pytest.raises(Error, match="target_ids is missing, the inputs have source_ids"):
        model({"source_ids": IDS})
    with pytest.raises(Error, match="source_ids has .*float32; expected whole numbers"):
        model.predict(IDS.astype("float32"), verbose=0)


@pytest.mark.parametrize("name", CASES)
def test_a_loss_of_ones_own_is_refused(name):
    with pytest.raises(Error, match=f"{name}: loss was given; .* override summed_loss"):
        CASES[name][0]().compile("adam", "nonsense")
    with pytest.raises(Error, match=f"{name}: loss_weights was given"):
        CASES[name][0]().compile("adam", loss_weights=[1.0])


@pytest.mark.parametrize("name", MEASURED)
def test_sample_weights_are_refused(fitted, name):
    _, x, y = CASES[name]
    for call in (fitted[name].fit, fitted[name].evaluate):
        with pytest.raises(Error, match=f"{name}: sample_weight was given; expected none"):
            call(x, y, sample_weight=np.ones(4), verbose=0)


def test_class_weights_are_refused_by_their_name(fitted):
    _, x, y = CASES["BertClassifier"]
    with pytest.raises(Error, match="BertClassifier: class_weight was given; expected none"):
        fitted["BertClassifier"].fit(x, y, class_weight={0: 2.0}, verbose=0)


WRONG = [  # model, what becomes of its inputs and labels, what the error says
    (
        "BertSumExt",
        lambda x, y: ({"ids": IDS}, y),
        "token_ids is missing, the inputs have ids, lab",
    ),
    ("Transformer", lambda x, y: ((IDS, IDS), y), r"the inputs are a tuple; .* source_ids \(batch"),
    (
        "BertSumAbs",
        lambda x, y: (IDS, y),
        "the inputs are one array; expected a dict of source_ids",
    ),
    (
        "BertClassifier",
        lambda x, y: (x, np.eye(3, dtype="float32")[y]),
        r"labels has shape \(None, 3\) and dtype float32; expected numbers of shape \(batch,\)",
    ),
    (
        "BertForPretraining",
        lambda x, y: ({**x, "masked_lm_ids": IDS}, y),
        r"masked_lm_ids has shape \(None, 6\) and dtype int32; expected 2 masks, as masked_lm_pos",
    ),
    (
        "Transformer",
        lambda x, y: ({**x, "source_ids": tf.constant(IDS.astype(str))}, y),
        r"source_ids has shape \(None, 6\) and dtype string; expected numbers of shape \(batch",
    ),
]


@pytest.mark.parametrize(
    ("name", "change", "says"), first_by_default(WRONG), ids=[case[2][:20] for case in WRONG]
)
def test_wrong_inputs_are_named_and_right_ones_work_afterwards(name, change, says):
    make, x, y = CASES[name]
    model = make()
    model.compile("sgd", metrics=["accuracy"] if name in MEASURED else None)
    for call in (model.fit, model.evaluate):
        with pytest.raises(Error, match=f"{name}: {says}"):
            call(*change(x, y), verbose=0)
    assert np.isfinite(model.fit(x, y, verbose=0).history["loss"][0])
    assert np.isfinite(model.evaluate(x, y, verbose=0, return_dict=True)["loss"])


@pytest.mark.slow
def test_a_wrong_batch_by_hand_leaves_the_model_usable():
    make, x, y = CASES["BertClassifier"]
    model = make()
    model.compile("sgd", metrics=["accuracy"])
    with pytest.raises(Error, match="token_ids is missing"):
        model.train_on_batch({"ids": IDS}, y)
    assert np.isfinite(model.train_on_batch(x, y)).all()


def test_metrics_are_refused_where_there_are_none():
    with pytest.raises(
        Error, match="metrics is .* report masked_lm_loss, next_sentence_loss, masked_lm_accuracy"
    ):
        CASES["BertForPretraining"][0]().compile("adam", metrics=["accuracy"])


@pytest.mark.parametrize("name", first_by_default(MEASURED))
def test_metrics_see_the_real_targets_alone(name):
    """As a loop over them in numpy counts; in fit, in validation and in evaluate."""
    make, x, y = CASES[name]
    keras.utils.set_random_seed(0)  # logits of other weights may tie but for rounding
    model = make()
    model.compile(keras.optimizers.SGD(0.0), metrics=["accuracy"], run_eagerly=True)
    history = model.fit(x, y, validation_data=(x, y), batch_size=2, epochs=2, verbose=0).history
    predicted = np.asarray(model(x) if name in WRITERS else model.predict_outputs(x))
    right = (predicted > 0.5) == (y > 0.5) if name == "BertSumExt" else predicted.argmax(-1) == y
    real = {
        "BertSumExt": STARTS >= 0,
        "BertClassifier": np.ones(4, bool),
        **dict.fromkeys(WRITERS, IDS > 0),
    }[name]
    expected = right[real].mean()
    found = [
        *history["accuracy"],
        *history["val_accuracy"],
        model.evaluate(x, y, batch_size=3, verbose=0, return_dict=True)["accuracy"],
    ]
    assert found == pytest.approx([expected] * 5, abs=1e-6)


def test_metrics_of_a_step_are_of_the_weights_before_it():
    make, x, y = CASES["BertClassifier"]
    model = make()
    model.compile(
        keras.optimizers.SGD(100.0),
        metrics=[keras.metrics.SparseCategoricalCrossentropy(name="entropy")],
    )
    before = -np.log(np.asarray(model.predict_outputs(x))[np.arange(4), y]).mean()
    # Without dropout in the metric; the step itself moves the weights far.
    assert model.fit(x, y, batch_size=4, verbose=0).history["entropy"] == pytest.approx(
        [before], rel=1e-4
    )


@pytest.mark.parametrize("name", first_by_default(CASES))
def test_batches_by_hand(name):
    """`train_on_batch`, `test_on_batch` and `predict_on_batch` compute what a step of `fit` and the
    others do."""
    make, x, y = CASES[name]
    losses = []
    whole = {"batch_size": 4, "shuffle": False, "verbose": 0}
    for train in (lambda model: model.train_on_batch(x, y), lambda model: model.fit(x, y, **whole)):
        keras.utils.set_random_seed(0)  # the same weights and the same dropout
        model = make()
        model.compile("sgd", run_eagerly=True)
        train(model)
        losses.append(float(model.test_on_batch(x, y, return_dict=True)["loss"]))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    found, expected = (
        keras.tree.flatten(predict(x)) for predict in (model.predict_on_batch, model.predict)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("name", first_by_default(CASES))
def test_data_sets_and_predict(fitted, name):
    _, x, y = CASES[name]
    rows = tf.data.Dataset.from_tensor_slices(x if y is None else (x, y)).batch(2)
    fitted[name].fit(rows, verbose=0)
    answers = fitted[name].predict(x if name != "Transformer" else IDS, verbose=0)
    assert len(tf.nest.flatten(answers)[0]) == 4
