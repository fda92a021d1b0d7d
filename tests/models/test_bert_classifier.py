"""BertClassifier against transformers' BertForSequenceClassification; its labels, and folders that
are wrong."""

import json
import pathlib

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file

from tfsum.conversion.convert import convert
from tfsum.errors import CheckpointError, Error
from tfsum.models import Bert, BertClassifier

DATA = pathlib.Path(__file__).parents[1] / "fixtures"
FOLDER = DATA / "bert_classifier"
LABELS = ("sport", "weather", "날씨")


@pytest.fixture(scope="module")
def expected():
    return dict(np.load(FOLDER / "expected.npz"))


@pytest.fixture(scope="module")
def model():
    return BertClassifier.from_pretrained(FOLDER)


def compare(model, expected):
    np.testing.assert_allclose(model(expected), expected["logits"], atol=2e-5, rtol=0)
    np.testing.assert_allclose(
        model.compute_loss(expected, training=False), expected["loss"], atol=2e-5, rtol=0
    )
    shifted = np.exp(expected["logits"] - expected["logits"].max(-1, keepdims=True))
    np.testing.assert_allclose(
        model.predict_step(expected), shifted / shifted.sum(-1, keepdims=True), atol=2e-5
    )


def test_logits_loss_and_labels_of_transformers(model, expected):
    compare(model, expected)
    assert (
        model.label_names == LABELS and model.classifier_dropout == 0.3 and model.drop.rate == 0.3
    )


def test_gradients_of_transformers(model, expected):
    tf = pytest.importorskip("tensorflow")
    watched = {"classifier": model.classifier, "bert.pooler.dense": model.bert.pooler}
    with tf.GradientTape() as tape:
        loss = model.compute_loss(expected, training=False)
    gradients = tape.gradient(loss, {k: (v.kernel.value, v.bias.value) for k, v in watched.items()})
    for name, (kernel, bias) in gradients.items():
        np.testing.assert_allclose(
            kernel.numpy().T, expected[f"gradient/{name}.weight"], atol=5e-6, rtol=0
        )
        np.testing.assert_allclose(bias, expected[f"gradient/{name}.bias"], atol=5e-6, rtol=0)


def test_saved_as_transformers_saves_it(model, tmp_path):
    model.save_pretrained(tmp_path / "again", ["[PAD]"] * 40, {"text": {"lowercase": True}})
    before, after = (load_file(f / "model.safetensors") for f in (FOLDER, tmp_path / "again"))
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    theirs, ours = (
        json.loads((f / "config.json").read_text()) for f in (FOLDER, tmp_path / "again")
    )
    assert ours.items() <= theirs.items()
    assert (tmp_path / "again" / "vocab.txt").read_text().count("\n") == 40
    np.testing.assert_array_equal(
        Bert.from_pretrained(tmp_path / "again").pooler.kernel, model.bert.pooler.kernel
    )


@pytest.mark.reference
def test_transformers_reads_what_we_save(expected, tmp_path, sizes):
    torch = pytest.importorskip("torch", reason="pip install '.[reference]'")
    transformers = pytest.importorskip("transformers", reason="pip install '.[reference]'")
    model = BertClassifier(sizes, LABELS)
    model.save_pretrained(tmp_path)
    theirs, report = transformers.BertForSequenceClassification.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert (
        not report["missing_keys"]
        and not report["unexpected_keys"]
        and not report["mismatched_keys"]
    )
    assert theirs.config.id2label == dict(enumerate(LABELS))
    ids = expected["token_ids"]
    with torch.no_grad():
        found = theirs.eval()(
            input_ids=torch.tensor(ids).long(),
            attention_mask=torch.tensor(ids != 0).long(),
            token_type_ids=torch.tensor(expected["segment_ids"]).long(),
        )
    np.testing.assert_allclose(model(expected), found.logits.numpy(), atol=2e-5)


@pytest.mark.reference
def test_transformers_computed_now(model):
    pytest.importorskip("torch", reason="pip install '.[reference]'")
    transformers = pytest.importorskip("transformers", reason="pip install '.[reference]'")
    import make_bert_classifier as make

    theirs = transformers.BertForSequenceClassification.from_pretrained(FOLDER).eval()
    compare(model, make.inputs() | make.outputs(theirs, make.inputs()))


def test_one_text_needs_no_segments_and_padding_changes_nothing(model, expected):
    ids = expected["token_ids"]
    plain = np.asarray(model({"token_ids": ids}))
    np.testing.assert_array_equal(
        plain, model({"token_ids": ids, "segment_ids": np.zeros_like(ids)})
    )
    for row, length in enumerate((14, 9, 5, 3)):
        np.testing.assert_allclose(
            model({"token_ids": ids[row : row + 1, :length]})[0], plain[row], atol=1e-5
        )


def test_what_fit_and_evaluate_report(expected):
    """Means over all texts, whatever the batches."""
    tf = pytest.importorskip("tensorflow")
    model = BertClassifier.from_pretrained(FOLDER, classifier_dropout=0.0, hidden_dropout_prob=0.0)
    model.compile(optimizer=keras.optimizers.SGD(0.0), run_eagerly=True)
    data = tf.data.Dataset.from_tensor_slices(
        {k: expected[k] for k in ("token_ids", "segment_ids", "labels")}
    )
    right = float(np.mean(expected["logits"].argmax(-1) == expected["labels"]))
    for rows in (1, 3, 4):
        logs = model.evaluate(data.batch(rows), verbose=0, return_dict=True)
        assert (
            logs["loss"] == pytest.approx(float(expected["loss"]), abs=2e-5)
            and logs["accuracy"] == right
        )
    history = model.fit(data.batch(3), verbose=0).history
    assert history["accuracy"][0] == right and history["loss"][0] == pytest.approx(
        float(expected["loss"]), abs=2e-5
    )


@pytest.mark.slow
def test_it_learns(expected, sizes):
    pytest.importorskip("tensorflow")
    keras.utils.set_random_seed(1)
    model = BertClassifier(sizes, LABELS, classifier_dropout=0.0)
    model.compile(optimizer=keras.optimizers.Adam(1e-2), jit_compile=False)
    model.fit(
        {k: expected[k] for k in ("token_ids", "segment_ids", "labels")}, epochs=20, verbose=0
    )
    np.testing.assert_array_equal(np.argmax(model.predict_step(expected), -1), expected["labels"])


def test_names_of_labels_where_the_folder_has_none(folder, change_config):
    """transformers leaves out what are its defaults."""
    change_config(id2label=..., label2id=..., classifier_dropout=...)
    model = BertClassifier.from_pretrained(folder)
    assert model.label_names == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert model.classifier_dropout is None and model.drop.rate == 0.1  # the encoder's
    assert BertClassifier.from_pretrained(folder, label_names=("a", "b", "c")).label_names == (
        "a",
        "b",
        "c",
    )


def test_another_number_of_names(folder):
    with pytest.raises(
        CheckpointError,
        match=r"scores 3 labels \(sport, weather, 날씨\), and label_names are 2: a, b",
    ):
        BertClassifier.from_pretrained(folder, label_names=("a", "b"))


@pytest.mark.parametrize("names", [(), ("only",), ("a", "b", "a")])
def test_labels_that_cannot_be(sizes, names):
    with pytest.raises(Error, match="two labels or more, each once"):
        BertClassifier(sizes, names)


def test_an_encoder_alone_is_no_classifier():
    with pytest.raises(
        CheckpointError,
        match=r"has no classifier.weight, it is no classifier; .*"
        r"BertClassifier\(Bert.from_pretrained\(folder\), label_names\)",
    ):
        BertClassifier.from_pretrained(DATA / "bert_tiny")


OTHERS = {
    "of tokens, as transformers 4 stores them": (
        {},
        lambda t: {k: v for k, v in t.items() if "pooler" not in k},
        r"is applied to each token \(the file has no pooler\)",
    ),
    "of tokens, with a pooler": (
        {"architectures": ["BertForTokenClassification"]},
        dict,
        "is of a BertForTokenClassification",
    ),
    "several labels at once": (
        {"problem_type": "multi_label_classification"},
        dict,
        "is trained for problem_type 'multi_label_classification'",
    ),
    "numbers": ({"problem_type": "regression"}, dict, "is trained for problem_type 'regression'"),
    "a number": (
        {"id2label": {"0": "LABEL_0"}},
        lambda t: t | {k: v[:1] for k, v in t.items() if "classifier" in k},
        "has 1 row, which gives a number",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_layers_that_choose_no_label_for_a_text(folder, change, change_config, tmp_path, case):
    """They are no classifiers; `convert` leaves them out and says so."""
    fields, edit, says = OTHERS[case]
    change(edit)
    change_config(**fields)
    with pytest.raises(
        CheckpointError,
        match=(
            f"{folder}: its classifier.weight {says}; .*two labels or more .*"
            "encoder alone may become one"
        ),
    ):
        BertClassifier.from_pretrained(folder)
    left, why = convert(folder, tmp_path / "converted", "hugging-face")
    assert left.endswith("other tasks: classifier.bias, classifier.weight") and why.endswith(
        "encoder alone is written"
    )
    assert json.loads((tmp_path / "converted" / "config.json").read_text())["architectures"] == [
        "BertModel"
    ]


def test_one_label_for_a_text_is_the_problem_that_it_solves(folder, change_config):
    change_config(problem_type="single_label_classification")
    assert BertClassifier.from_pretrained(folder).label_names == LABELS


WRONG = {
    "half a head": (
        lambda t: {k: v for k, v in t.items() if k != "classifier.bias"},
        "missing: classifier.bias",
    ),
    "shape": (
        lambda t: t | {"classifier.weight": np.zeros((3, 17), np.float32)},
        r"classifier.weight is \[3, 17\], the config says \[3, 16\]",
    ),
    "type": (lambda t: t | {"classifier.bias": np.zeros(3, np.int64)}, "classifier.bias is int64"),
    "more rows": (
        lambda t: t | {"classifier.weight": np.zeros((4, 16), np.float32)},
        "the classifier has 4 rows, expected a name for each of 0 to 3",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_tensors_are_named(folder, change, case):
    edit, says = WRONG[case]
    change(edit)
    with pytest.raises(CheckpointError, match=says):
        BertClassifier.from_pretrained(folder)


def test_configuration_and_precision(expected, sizes):
    model = BertClassifier(sizes, LABELS, dtype="mixed_bfloat16", name="other")
    again = BertClassifier.from_config(json.loads(json.dumps(model.get_config())))
    assert again.get_config() == model.get_config()
    assert again(expected).dtype == "float32" and {w.dtype for w in again.trainable_weights} == {
        "float32"
    }
