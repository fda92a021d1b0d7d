"""A summarizer whose encoder OpenVINO computes answers as TensorFlow's graph does."""

import sys

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import keras

import tfsum
from tfsum.cli.main import main
from tfsum.errors import Error, ExportError
from tfsum.formats.weight_names import variables_by_path
from tfsum.inference.exported_model import open_model
from tfsum.inference.saved_model import read_description, shipped_model
from tfsum.models import BertSumExt
from tfsum.serving.version_folders import load_servable

pytestmark = pytest.mark.usefixtures("opened_once")
TEXTS = [
    b"",
    " ".join(f"The bridge was closed for {i} days, since it rained." for i in range(40)).encode(),
    b"It rained.\x1eThe bridge was closed. The mayor said so.",
]


@pytest.fixture(scope="module")
def session(transformer, opened_once):
    return open_model(transformer.folder, read_description(transformer.folder))


@pytest.fixture(scope="module")
def encoded(transformer, session):
    """The windows of `TEXTS`, and what Keras computes of them."""
    windows = session.call("windows", {"text": TEXTS})
    bert = BertSumExt.from_pretrained(str(transformer.source)).bert
    return windows, np.asarray(bert.encode(windows["token_ids"], windows["segment_ids"]))


def test_a_text_is_read_of_what_another_program_encoded(session, encoded):
    expected = session.call("read", {"text": TEXTS})
    found = session.call("read_encoded", {"text": TEXTS, "sequence": encoded[1]})
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found[name], values, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_variables_are_those_of_the_model(transformer, session):
    bert = BertSumExt.from_pretrained(str(transformer.source)).bert
    name = "bert/segment_embeddings/embeddings"
    found = session.variables([name])[name]
    np.testing.assert_array_equal(found, np.asarray(bert.segment_embeddings.embeddings))


def test_a_model_without_the_signatures():
    with pytest.raises(ExportError, match="has no signature windows, .*; export the model again"):
        tfsum.load(shipped_model("transformer_tatoeba_en_fr"), compute="openvino")


def test_without_openvino(transformer, monkeypatch):
    monkeypatch.delitem(sys.modules, "tfsum.inference.openvino_encoder", raising=False)
    monkeypatch.setitem(sys.modules, "openvino", None)
    message = r"compute='openvino' needs the package openvino; pip install 'tfsum\[openvino\]'"
    with pytest.raises(Error, match=message):
        tfsum.load(transformer.folder, compute="openvino")


@pytest.fixture(scope="module")
def openvino():
    return pytest.importorskip("openvino", reason="needs the extra openvino")


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_the_encoder_is_that_of_keras_in_float32(openvino, activation):
    from tfsum.inference.openvino_encoder import OpenVinoEncoder

    keras.utils.set_random_seed(7)
    bert = tfsum.Bert(60, 32, 2, 4, 64, hidden_act=activation, initializer_range=0.2)
    bert.build()
    weights = {f"bert/{path}": np.asarray(v) for path, v in variables_by_path(bert).items()}
    encoder = OpenVinoEncoder(weights, bert.config)
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    encoder._compiled = openvino.Core().compile_model(encoder._model(), "CPU", exact)

    token_ids = np.random.default_rng(0).integers(1, 60, (2, 40), np.int32)
    token_ids[1, 21:] = 0
    segment_ids = np.tile(np.arange(40, dtype=np.int32) // 7 % 2, (2, 1))
    found = encoder.encode(token_ids, segment_ids)
    expected = np.asarray(bert.encode(token_ids, segment_ids))
    for row, length in enumerate((40, 21)):
        np.testing.assert_allclose(found[row, :length], expected[row, :length], atol=1e-5)


def test_signatures_answer_nearly_as_those_of_the_graph(transformer, session, openvino):
    model = open_model(transformer.folder, read_description(transformer.folder), "openvino")
    for signature, inputs in {
        "read": {},
        "score": {},
        "relevance": {"query": [b"the bridge"] * 3},
        "keywords": {"max_keywords": [3] * 3},
        "serving_default": {},
    }.items():
        expected = session.call(signature, {"text": TEXTS, **inputs})
        found = model.call(signature, {"text": TEXTS, **inputs})
        assert found.keys() == expected.keys()
        for name in {"start", "end", "count", "sentences"} & found.keys():
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
        np.testing.assert_allclose(found["score"], expected["score"], atol=0.05)


def test_a_text_alone_and_among_others(transformer, openvino):
    summarize = tfsum.load(transformer.folder, compute="openvino")
    texts = [text.decode() for text in TEXTS]
    together = summarize(texts, sentences=2, query="the bridge", keywords=2)
    for text, answer in zip(texts, together, strict=True):
        alone = summarize(text, sentences=2, query="the bridge", keywords=2)
        read = summarize.read(text)(sentences=2, query="the bridge", keywords=2)
        for other in (alone, read):
            assert other.scores == pytest.approx(answer.scores, abs=1e-3)
            assert other.offsets == answer.offsets
            assert [word.text for word in other.keywords] == [word.text for word in answer.keywords]


def test_a_server_and_the_command_line(transformer, openvino, tmp_path, capsys):
    servable = load_servable("news", 1, transformer.folder, "openvino")
    assert servable.run("score", {"text": np.array(TEXTS, object)})["count"].tolist() == [0, 40, 3]
    assert not {"windows", "read_encoded"} & servable.signatures.keys()

    file = tmp_path / "text.txt"
    file.write_bytes(TEXTS[1])
    words = ["summarize", str(file), "--model", str(transformer.folder), "--compute", "openvino"]
    assert main(words) == 0
    assert "bridge" in capsys.readouterr().out
