"""A model in TensorFlow's C library answers as the same model does in TensorFlow's Python."""

import gc
import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import first_by_default

tf = pytest.importorskip("tensorflow")

from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

from tfsum.errors import Error, ExportError
from tfsum.inference import c_session, exported_model
from tfsum.inference.c_session import CallError, CSession
from tfsum.inference.exported_model import EagerModel
from tfsum.inference.saved_model import read_description, shipped_model

TEXTS = [
    b"The bridge was closed on Monday, since engineers found cracks. It rained.\nA man sang.",
    b"",
    "다리가 닫혔다. 비가 왔다. \U0001f600\u0000!".encode(),
    b"\xff\xfe broken. " * 40,
]


@pytest.fixture(scope="module")
def session(transformer):
    opened = exported_model.open_model(transformer.folder, read_description(transformer.folder))
    assert isinstance(opened, CSession)
    return opened


def test_answers_are_those_of_python(session, transformer):
    check_answers(session, transformer.eager)


@pytest.mark.slow  # tests/tasks/transformer/test_export.py compares a tiny one with its plain model
def test_answers_of_a_model_that_writes_are_those_of_python():
    folder = shipped_model("transformer_tatoeba_en_fr")
    description = read_description(folder)
    check_answers(CSession(folder, description), EagerModel(folder, description))


def check_answers(session, eager):
    assert session.signatures.items() >= eager.signatures.items()
    for texts in (TEXTS, []):
        asked = {"serving_default": {"text": texts}}
        if "summarize" in eager.signatures:
            options = {"max_sentences": [2] * len(texts), "block_trigrams": [True] * len(texts)}
            asked |= {"summarize": {"text": texts, **options}, "score": {"text": texts}}
        for signature, inputs in asked.items():
            given, expected = (model.call(signature, inputs) for model in (session, eager))
            assert given.keys() == expected.keys()
            for output, values in expected.items():
                assert given[output].dtype == values.dtype and given[output].shape == values.shape
                if values.dtype.kind == "f":
                    np.testing.assert_allclose(given[output], values, atol=1e-5)
                else:
                    np.testing.assert_array_equal(given[output], values)


def test_integers_of_two_axes(session, transformer):
    ids = np.array([[2, 19, 29, 3, 0]], np.int64)  # numpy's own type
    inputs = {"token_ids": ids, "segment_ids": ids * 0, "sentence_starts": [[0, -1]]}
    expected = transformer.ask("score_ids", **inputs)
    np.testing.assert_allclose(
        session.call("score_ids", inputs)["score"], expected["score"], atol=1e-6
    )


def test_a_session_of_its_own_is_interrupted(session):
    other = session.again()
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(other.call, "score", {"text": [b"It rained. " * 30_000]})
        other.interrupt()
        with pytest.raises(CallError, match="closed|cancelled"):
            call.result()
    assert session.call("score", {"text": [b"It rained."]})["count"].tolist() == [1]


def test_what_the_graph_rejects_is_an_error(session):
    inputs = {"text": TEXTS, "max_sentences": [1], "block_trigrams": [True] * len(TEXTS)}
    with pytest.raises(Error, match=r"summarize: .*max_sentences: expected one value for each"):
        session.call("summarize", inputs)
    assert session.call("serving_default", {"text": TEXTS[:1]})["count"].tolist() == [3]


@pytest.mark.parametrize("file", ["variables.index", "variables.data-00000-of-00001"])
@pytest.mark.parametrize("missing", [True, False])
def test_a_broken_model_is_an_error(tmp_path, file, missing):
    folder = shutil.copytree(shipped_model(), tmp_path / "1")
    path = folder / "variables" / file
    path.unlink() if missing else path.write_bytes(path.read_bytes()[:-50_000])
    with pytest.raises(ExportError, match=r"1: cannot be loaded \(.*fetch or export it again"):
        CSession(folder, {"ops": "core"})


@pytest.mark.parametrize("compute", c_session.PASSES)
def test_the_settings_are_those_that_tensorflow_reads(compute):
    settings = config_pb2.ConfigProto.FromString(
        c_session._config(compute)
    ).graph_options.rewrite_options
    assert settings == rewriter_config_pb2.RewriterConfig(
        optimizers=c_session.PASSES[compute],
        disable_tfg_optimizer=True,
        meta_optimizer_iterations=rewriter_config_pb2.RewriterConfig.ONE,
    )


def test_texts_are_given_back_to_the_system():
    def size():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("/proc is Linux's")
    texts = [b"a" * 4_000_000, b"", b"b\0b"]
    before = size()
    for _ in range(30):  # 120 MB if they stayed
        tensor = c_session._tensor(texts, c_session.STRING)
        assert c_session._array(tensor).tolist() == texts
        c_session._delete(tensor)
    assert size() - before < 30e6


@pytest.mark.parametrize("order", first_by_default(["before", "after"]))
def test_python_loads_tensorflow_only_for_what_else_needs_it(order, fresh_python):
    """The library works beside TensorFlow's Python and others, whichever is loaded first."""
    load = (
        "import json, sys, tfsum; summarize = tfsum.load(); alone = 'tensorflow' not in sys.modules"
    )
    other = (
        "import numpy.random, h5py, tensorflow as tf; two = int(tf.function(lambda x: x + 1)(1))"
    )
    if importlib.util.find_spec("tensorflow_serving"):
        other += "; from tensorflow_serving.apis.predict_pb2 import PredictRequest"
        other += "; from tfsum.tensorflow_messages import message"
        other += "; ours = message('PredictRequest')(); ours.model_spec.name = 'news'"
        other += "; theirs = PredictRequest.FromString(ours.SerializeToString())"
        other += "; two += theirs.model_spec.name != 'news'"
    ask = (
        "found = summarize('It rained. The bridge was closed.', sentences=1);"
        " print(json.dumps([alone, two, found.sentences]))"
    )
    if order == "after":
        found = fresh_python("; ".join([other, load, ask]))
    else:
        command = [sys.executable, "-c", "; ".join([load, other, ask])]
        found = subprocess.run(command, capture_output=True, check=True).stdout
    assert json.loads(found) == [order == "before", 2, ["The bridge was closed."]]


def test_an_error_of_a_call_leaves_a_process():
    error = CallError("news/1", 3, "at line 1\nindices[0] = 7 is not in [0, 5)\n\t [[A]]")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.number, again.reason) == (str(error), 3, error.reason)


PLACES = """
import json, os, pathlib, sys, tfsum
from tfsum.inference import c_session

summarize, found = tfsum.load(), []
for running in ("1/70", "2/70", "1/70"):
    pathlib.Path(sys.argv[1]).write_text(f"0.5 0.5 0.5 {running} 4711")
    c_session.RUNNING = pathlib.Path(sys.argv[1])
    summarize("It rained. The bridge was closed.")
    threads = os.listdir("/proc/self/task")
    found.append([sorted(os.sched_getaffinity(int(thread))) for thread in threads])
print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux places threads")
def test_each_processor_has_one_thread_while_nothing_else_runs(tmp_path):
    command = [sys.executable, "-c", PLACES, tmp_path / "loadavg"]
    others = {name: value for name, value in os.environ.items() if "THREADS" not in name}
    process = subprocess.run(command, env=others, capture_output=True, check=True)
    found = json.loads(process.stdout)
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) == 1:
        pytest.skip("one processor has all threads")

    for affinities, are_apart in zip(found, (True, False, True), strict=True):
        placed = sorted(each for each in affinities if each != processors)
        assert placed == ([[processor] for processor in processors] if are_apart else [])
