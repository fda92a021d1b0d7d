"""A classifier as a SavedModel: the model's own probabilities from raw strings, one text or two, in
any company."""

import json
import pathlib
import shutil
import string
import types

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import tfsum
from tfsum import export_model, verify
from tfsum.errors import Error, ExportError
from tfsum.inference import allowed_operations
from tfsum.models import BertClassifier
from tfsum.tasks.bert_classifier.batches import LabelledTexts, pack_texts
from tfsum.tasks.bert_classifier.train import ClassificationValidation
from tfsum.text.word_piece import WordPiece

VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *string.ascii_lowercase,
    *string.punctuation,
    *(f"##{letter}" for letter in string.ascii_lowercase),
    "the",
    "bridge",
    "fire",
    "city",
    "cat",
    "house",
]
LABELS = ("calm", "alarm", "날씨")
TEXTS = [
    "The bridge was closed.",
    "",
    "Fire in the city! " * 9,
    "cat sat",
    "¿Qué? 한국어",
    "house, cat in the rain",
]
PAIRS = ["a cat", "the river fell " * 9, "", "hello", "water", "house"]
LENGTH = 24
# Counted by hand: words that are one piece; of two texts the one with the smaller share.
KNOWN = {"core": [2 / 4, 1, 3 / 4, 1 / 2, 0, 3 / 5], "text": [2 / 4, 1 / 3, 3 / 4, 0, 0, 3 / 5]}


def write_model(folder, pair):
    import keras

    keras.utils.set_random_seed(11)
    model = BertClassifier(
        {
            "vocab_size": len(VOCABULARY),
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "max_position_embeddings": 48,
            "initializer_range": 0.3,
        },
        LABELS,
    )
    text = {"lowercase": True, "strip_accents": None, "max_length": LENGTH, "pair": pair}
    model.save_pretrained(folder, VOCABULARY, {"text": text, "licence": "Apache-2.0"})
    return folder


@pytest.fixture(
    scope="module",
    params=[
        ("core", False, "float32"),
        pytest.param(("text", True, "small"), marks=pytest.mark.slow),
    ],
    ids=["text", "pair"],
)
def classifier(request, tmp_path_factory):
    ops, pair, storage = request.param
    folder = tmp_path_factory.mktemp(f"classifier_{ops}")
    source = write_model(folder / "best", pair)
    written = export_model(source, folder / "alarm", ops=ops, storage=storage)
    return types.SimpleNamespace(
        source=source, folder=written, loaded=tf.saved_model.load(str(written)), ops=ops
    )


def asked(classifier, texts, pairs):
    more = {"text_pair": pairs} if classifier.ops == "text" else {}
    types = {"text": tf.constant(texts, tf.string)} | {
        k: tf.constant(v, tf.string) for k, v in more.items()
    }
    return {
        k: v.numpy() for k, v in classifier.loaded.signatures["serving_default"](**types).items()
    }


def test_the_models_own_probabilities(classifier):
    """As the model gives them for texts that were packed for training."""
    model = BertClassifier.from_pretrained(classifier.source)
    sides = [TEXTS, PAIRS] if classifier.ops == "text" else [TEXTS]
    texts = LabelledTexts("made", list(zip(*sides)), ["calm"] * len(TEXTS))
    packed = pack_texts(texts, LABELS, WordPiece(VOCABULARY), LENGTH)
    expected, found = (
        ClassificationValidation(model, packed, 4096).probabilities(),
        asked(classifier, TEXTS, PAIRS),
    )
    tolerance = 1e-5 if classifier.ops == "core" else 0.05  # of int8 rows
    np.testing.assert_allclose(found["probability"], expected, atol=tolerance)
    np.testing.assert_allclose(found["probability"].sum(1), 1.0, atol=1e-6)
    assert [label.decode() for label in found["label"]] == [
        LABELS[i] for i in found["probability"].argmax(1)
    ]
    assert [[name.decode() for name in row] for row in found["labels"]] == [list(LABELS)] * len(
        TEXTS
    )
    assert len({label.decode() for label in found["label"]}) > 1
    cut = np.array([text in (TEXTS[2],) for text in TEXTS]) | (np.array(PAIRS) == PAIRS[1]) * (
        classifier.ops == "text"
    )
    np.testing.assert_array_equal(found["coverage"] < 1, cut)
    np.testing.assert_allclose(found["known"], KNOWN[classifier.ops], atol=1e-6)


def test_company_changes_nothing(classifier):
    together = asked(classifier, TEXTS * 5, PAIRS * 5)
    for i, (text, pair) in enumerate(zip(TEXTS, PAIRS)):
        alone = asked(classifier, [text], [pair])
        np.testing.assert_allclose(
            together["probability"][i :: len(TEXTS)],
            np.tile(alone["probability"], (5, 1)),
            atol=1e-5,
        )
    none = asked(classifier, [], [])
    assert none["label"].shape == (0,) and none["probability"].shape == none["labels"].shape == (
        0,
        3,
    )


def test_what_lies_in_the_folder(classifier):
    description = json.loads((classifier.folder / "assets.extra" / "tfsum.json").read_text())
    assert description["kind"] == "classifier" and description["labels"] == list(LABELS)
    assert description["text"] == {
        "lowercase": True,
        "strip_accents": None,
        "max_length": LENGTH,
        "pair": classifier.ops == "text",
    }
    names = list(description["weights"])
    assert "bert/pooler/kernel" in names and len(names) == 5 + 16 * 2 + 2 + 2 + (
        classifier.ops == "text"
    )
    card = (classifier.folder.parent / "README.md").read_text()
    assert "calm, alarm, 날씨" in card and "Apache-2.0" in card and f"{LENGTH} tokens" in card
    operations = allowed_operations.check_operations(classifier.folder, classifier.ops)
    assert not [
        name
        for name in operations
        if name.startswith(("Xla", "Random", "StatelessRandom", "Py", "Eager"))
    ]


def test_verify_replays_it(classifier):
    report = verify(classifier.folder)
    assert report["kind"] == "classifier" and report["golden_answers"] == 8
    assert report["signatures"] == ["serving_default"] and report["largest_score_difference"] < 1e-5


def test_the_callable_of_python(classifier):
    classify = tfsum.load(classifier.folder.parent)
    pairs = PAIRS if classifier.ops == "text" else None
    answers, given = classify(TEXTS, pairs), asked(classifier, TEXTS, PAIRS)
    for i, answer in enumerate(answers):
        assert str(answer) == answer.label == given["label"][i].decode()
        assert answer.probability == max(answer.probabilities.values()) and list(
            answer.probabilities
        ) == list(LABELS)
        np.testing.assert_allclose(
            list(answer.probabilities.values()), given["probability"][i], atol=1e-5
        )
        assert (answer.coverage < 1) == (given["coverage"][i] < 1)
        said = {
            "empty": not TEXTS[i] and not pairs,
            "language": not KNOWN[classifier.ops][i],
            "long_text": answer.coverage < 1,
        }
        assert [warning["code"] for warning in answer.warnings] == [
            code for code, applies in said.items() if applies
        ]
    one = classify(TEXTS[0], PAIRS[0]) if pairs else classify(TEXTS[0])
    assert one.label == answers[0].label
    with pytest.raises(
        Error, match="1 texts and 1 second texts" if not pairs else "1 texts and 0 second texts"
    ):
        classify(TEXTS[0], None if pairs else "a")
    with pytest.raises(Error, match=r"texts\[1\] is int"):
        classify(["a", 1], pairs)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_length": 49}, "max_length is 49; expected 3 to 48"),
        ({"storage": "float8"}, "storage is 'float8'"),
        (
            {"sentences": 3},
            "sentences: no option of the task .*; its options are ops, pair, max_length, storage",
        ),
    ],
)
def test_options_that_cannot_be(source, tmp_path, options, says):
    with pytest.raises(Error, match=says):
        export_model(source, tmp_path / "served", **options)
    assert not (tmp_path / "served").exists()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A model folder."""
    return write_model(tmp_path_factory.mktemp("source") / "best", False)


@pytest.fixture(scope="module")
def of_transformers(source, tmp_path_factory):
    """A model folder without tfsum's own file and with no vocabulary but tokenizer.json's,
    exported; and the pieces."""
    folder = tmp_path_factory.mktemp("transformers")
    source = pathlib.Path(shutil.copytree(source, folder / "best"))
    pieces = (source / "vocab.txt").read_text(encoding="utf-8")
    (source / "vocab.txt").unlink()
    (source / "tfsum.json").unlink()
    (source / "tokenizer_config.json").write_text('{"do_lower_case": false, "strip_accents": true}')
    content = {
        "model": {
            "type": "WordPiece",
            "vocab": {piece: i for i, piece in enumerate(pieces.split("\n")[:-1])},
        }
    }
    (source / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return export_model(source, folder / "served"), pieces


def test_a_folder_of_transformers_tells_case_and_length(of_transformers):
    written, _ = of_transformers
    text = json.loads((written / "assets.extra" / "tfsum.json").read_text())["text"]
    assert text == {"lowercase": False, "strip_accents": True, "max_length": 48, "pair": False}


def test_a_folder_with_tokenizer_json_alone(of_transformers):
    written, pieces = of_transformers
    assert (written / "assets" / "vocab.txt").read_text(encoding="utf-8") == pieces


def test_an_encoder_has_nothing_to_export(tmp_path):
    encoder = pathlib.Path(__file__).parents[2] / "fixtures" / "bert_pretraining" / "whole"
    with pytest.raises(
        ExportError, match=r"config.json: is of an encoder alone \(BertForPreTraining\)"
    ):
        export_model(encoder, tmp_path / "x")
