"""The folder that an export writes: what is in it, who can load it, and what a failure leaves."""

import errno
import json
import os
import pathlib
import resource
import shutil
import signal

import numpy as np
import pytest
from cases import first_by_default
from opened_models import opening_once

tf = pytest.importorskip("tensorflow")

from tfsum import export_model, verify
from tfsum.errors import Error, ExportError
from tfsum.export import model_card, saved_model
from tfsum.export.golden import check_weights
from tfsum.inference import allowed_operations, exported_model
from tfsum.inference.saved_model import read_description
from tfsum.tasks.bert_sum_ext import export as extractive
from tfsum.tensorflow_messages import message


def extra(exported, name: str) -> pathlib.Path:
    return exported.folder / "assets.extra" / name


def test_what_lies_in_the_folder(exported):
    files = {
        p.relative_to(exported.folder.parent).as_posix()
        for p in exported.folder.parent.rglob("*")
        if p.is_file()
    }
    assert {
        "README.md",
        "1/saved_model.pb",
        "1/assets/vocab.txt",
        "1/assets.extra/tfsum.json",
        "1/assets.extra/golden.json",
        "1/assets.extra/tf_serving_warmup_requests",
    } <= files
    description = json.loads(extra(exported, "tfsum.json").read_text())
    assert description["ops"] == exported.ops and description["text"]["window_length"] == 40
    assert description["licence"] == "Apache-2.0" and description["max_sentences"] == 10
    assert (exported.folder / "assets" / "vocab.txt").read_bytes() == (
        exported.source / "vocab.txt"
    ).read_bytes()
    assert not [p for p in exported.folder.parent.iterdir() if p.name.startswith(".")]
    assert exported.folder.stat().st_mode & 0o755 == 0o755


def test_verify_reports(exported):
    with opening_once():
        report = verify(exported.folder)
    assert report["golden_answers"] == 8 and report["largest_score_difference"] < 1e-5
    assert json.loads(json.dumps(report)) == report and "golden_answers: 8" in str(report)


def test_each_weight_is_stored_once_and_nothing_else(exported):
    """The bytes of the variables are those of the weights in the model folder, but for the pooler
    that no one reads."""
    from safetensors.numpy import load_file

    weights = {
        k: v
        for k, v in load_file(exported.source / "model.safetensors").items()
        if "pooler" not in k
    }
    numbers = sum(v.size for v in weights.values())
    size = (exported.folder / "variables" / "variables.data-00000-of-00001").stat().st_size
    if exported.ops == "core":
        expected = 4 * numbers
    else:
        # stored small: a byte a number of the word embedding and a scale a row, two bytes all
        # others
        table = weights["bert.embeddings.word_embeddings.weight"]
        expected = 2 * (numbers - table.size) + table.size + 4 * len(table)
    assert (
        expected <= size < expected + 30_000
    )  # the checkpoint's own table of objects lies beside the weights


def test_operations_are_among_those_that_every_host_has(exported):
    operations = allowed_operations.check_operations(exported.folder, exported.ops)
    text = set(operations) - allowed_operations.CORE
    assert len(text) == (3 if exported.ops == "text" else 0)
    assert not [
        name
        for name in operations
        if name.startswith(("Xla", "Random", "StatelessRandom", "Py", "Eager"))
    ]


def test_an_operation_that_is_not_allowed(transformer, monkeypatch):
    monkeypatch.setitem(
        allowed_operations.ALLOWED, "core", allowed_operations.CORE - {"Erf", "While"}
    )
    with pytest.raises(ExportError, match="operations Erf, While are not among"):
        verify(transformer.folder)


def test_folded_weights_are_found(transformer, monkeypatch):
    monkeypatch.setattr(allowed_operations, "FOLDED", 8)
    with pytest.raises(ExportError, match="holds weights"):
        verify(transformer.folder)


def test_weights_of_another_number(transformer):
    with pytest.raises(ExportError, match="arrays, and assets.extra/tfsum.json lists 1 weights"):
        check_weights(transformer.folder, {"a": ["float32", [2]]})


@pytest.mark.parametrize("exported", ["transformer", "classifier"], indirect=True)
@pytest.mark.slow  # a process each, which optimizes the graphs of all signatures; .ci/run runs them
def test_the_c_library_alone_gives_the_same_bytes(exported, article, c_library):
    texts = [article, "", "¿Qué? \udcff 한국어 문장.", "a" * 300]
    requests = [
        {"signature": "serving_default", "inputs": {"text": texts}},
        {
            "signature": "summarize",
            "inputs": {
                "text": texts,
                "max_sentences": [1, 2, 3, 4],
                "block_trigrams": [True, False, True, False],
            },
        },
        {"signature": "score", "inputs": {"text": texts}},
        {"signature": "score", "inputs": {"text": []}},
        {
            "signature": "score_ids",
            "inputs": {
                "token_ids": [[2, 9, 3]],
                "segment_ids": [[0, 0, 0]],
                "sentence_starts": [[0, -1]],
            },
        },
    ]
    done = c_library(exported, requests)
    assert done.returncode == 0, done.stderr[-2000:]
    for request, line in zip(requests, done.stdout.splitlines(), strict=True):
        inputs = request["inputs"]
        if "text" in inputs:
            inputs = {
                **inputs,
                "text": [text.encode("utf-8", "surrogateescape") for text in inputs["text"]],
            }
        expected = exported.ask(request["signature"], **inputs)
        given = json.loads(line)
        assert given.keys() == expected.keys()
        for name, value in expected.items():
            if value.dtype == object:
                escaped = np.vectorize(
                    lambda b: b.decode("utf-8", "surrogateescape"), otypes=[object]
                )
                assert given[name] == (escaped(value) if value.size else value).tolist(), name
            else:
                found = np.array(given[name]).reshape(value.shape)
                # a float32, whose sums the optimizers may order otherwise
                np.testing.assert_allclose(found, value, atol=1e-6, rtol=1e-6)


def test_without_its_libraries_the_text_build_says_what_is_missing(exported, c_library):
    if exported.ops != "text":
        pytest.skip("the core build needs none")
    done = c_library(exported, [], libraries=False)
    assert done.returncode and "Op type not registered" in done.stderr


@pytest.mark.slow  # optimizes a graph once more; .ci/run runs it
def test_a_session_of_tensorflow_1_answers(exported, article):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(exported.folder))
        signature = meta.signature_def["serving_default"]
        outputs = {name: info.name for name, info in signature.outputs.items()}
        given = session.run(outputs, {signature.inputs["text"].name: [article, ""]})
    expected = exported.ask("serving_default", text=[article, ""])
    assert given["summary"].tolist() == expected["summary"].tolist()
    np.testing.assert_allclose(given["score"], expected["score"], atol=1e-6)


def test_warm_up_requests_are_answered(exported):
    records = list(
        tf.data.TFRecordDataset(
            str(extra(exported, "tf_serving_warmup_requests"))
        ).as_numpy_iterator()
    )
    assert len(records) == 10  # five signatures, twice
    with opening_once():
        model = exported_model.open_model(exported.folder, read_description(exported.folder))
    for record in records:
        log = message("PredictionLog").FromString(record)
        spec, inputs = log.predict_log.request.model_spec, log.predict_log.request.inputs
        assert spec.name == "news"
        tensors = {}
        for name, value in inputs.items():
            proto = tf.make_tensor_proto(0)
            proto.ParseFromString(value.SerializeToString())
            tensors[name] = tf.make_ndarray(proto)
        model.call(spec.signature_name, tensors)


def test_versions_count_on_and_never_change(tmp_path):
    assert saved_model.version_folder(tmp_path / "news") == tmp_path / "news" / "1"
    for name in ("2", "10", "x"):
        (tmp_path / "news" / name).mkdir(parents=True)
    assert saved_model.version_folder(tmp_path / "news") == tmp_path / "news" / "11"
    assert saved_model.version_folder(tmp_path / "news" / "7") == tmp_path / "news" / "7"
    with pytest.raises(ExportError, match="already exists; a version never changes"):
        saved_model.version_folder(tmp_path / "news" / "2")


FAILURES = {
    "disk": (
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        ExportError,
        "No space left on device.*nothing was left",
    ),
    "op": (
        tf.errors.ResourceExhaustedError(None, None, "disk full"),
        ExportError,
        "disk full.*nothing was left",
    ),
    "ours": (ExportError("request 0 differs"), ExportError, "^request 0 differs$"),
    "stopped": (KeyboardInterrupt(), KeyboardInterrupt, None),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("there", [True, False])
def test_a_failure_leaves_nothing(tmp_path, failure, there):
    if there:
        (tmp_path / "a" / "news" / "1").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    error, kind, message = FAILURES[failure]
    with (
        pytest.raises(kind, match=message),
        saved_model.whole_or_nothing(tmp_path / "a" / "news" / "2") as part,
    ):
        (part / "variables").mkdir()
        (part / "variables" / "half").write_text("x")
        raise error
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def full_disk():
    """A limit on the size of files stands for a full disk: its soft half, which may be raised
    again."""
    # so that writing fails, and does not end the process
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.slow
def test_a_disk_that_fills_while_the_weights_are_written(
    text_module, transformer, tmp_path, monkeypatch, request
):
    """As the export writes; a module that other tests have built already stands for the one that it
    would build."""
    monkeypatch.setattr(extractive, "build", lambda *arguments: text_module)
    request.getfixturevalue("full_disk")
    with pytest.raises(ExportError, match="cannot be written"):
        export_model(transformer.source, tmp_path / "news", ops="text")
    assert list(tmp_path.iterdir()) == []


def test_no_folder_can_be_made_below_a_file(transformer, tmp_path):
    (tmp_path / "news").write_text("")
    with pytest.raises(ExportError, match="news: is a file"):
        export_model(transformer.source, tmp_path / "news")
    with (
        pytest.raises(ExportError, match="cannot be written"),
        saved_model.whole_or_nothing(tmp_path / "news" / "1"),
    ):
        pass


@pytest.fixture(scope="module")
def classifier_folder(tmp_path_factory, write_model_folder) -> pathlib.Path:
    """A model folder, to be copied."""
    return write_model_folder(tmp_path_factory.mktemp("source") / "best", "classifier", "mean")


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda f: (f / "vocab.txt").unlink(), "has no vocab.txt"),
        (lambda f: (f / "vocab.txt").open("a").write("more\n"), "word pieces, and the model has"),
        (lambda f: (f / "tfsum.json").write_text("{"), "tfsum.json: not JSON"),
        (
            lambda f: (f / "tfsum.json").write_text("[" * 100_000),
            "tfsum.json: not JSON .*nested too deep",
        ),
        (lambda f: (f / "tfsum.json").write_text('{"text": ["lowercase"]}'), "expected an object"),
        (
            lambda f: (f / "tfsum.json").write_text('{"text": {"window_length": 99}}'),
            "window_length is 99; the model reads 40",
        ),
        (lambda f: (f / "tfsum.json").write_text('{"text": {"newline": "tab"}}'), "newline"),
        (lambda f: (f / "config.json").unlink(), "config.json"),
    ],
)
def test_a_model_folder_that_does_not_fit(tmp_path, classifier_folder, change, message):
    folder = pathlib.Path(shutil.copytree(classifier_folder, tmp_path / "best"))
    change(folder)
    with pytest.raises(Error, match=message):
        export_model(folder, tmp_path / "news", ops="text")
    assert not (tmp_path / "news").exists()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"storage": "int4"}, "storage is 'int4'"),
        ({"sentences": 11}, "1 <= sentences <= max_sentences"),
        ({"sentences": "auto"}, "sentences='auto' and selection='score'"),
        ({"sentences": 0}, "1 <= sentences"),
        ({"ops": "xla"}, "ops='xla'"),
    ],
)
def test_options_that_do_not_fit(transformer, tmp_path, options, message):
    with pytest.raises(Error, match=message):
        export_model(transformer.source, tmp_path / "news", **{"ops": "text", **options})
    assert not (tmp_path / "news").exists()


def copy_of(exported, folder: pathlib.Path) -> pathlib.Path:
    """A copy whose files may be spoiled (of links to them where they are not)."""
    return pathlib.Path(shutil.copytree(exported.folder, folder / "1"))


@pytest.mark.slow
def test_an_answer_that_changed(transformer, tmp_path):
    folder = copy_of(transformer, tmp_path)
    golden = json.loads((folder / "assets.extra" / "golden.json").read_text())
    golden["answers"][1]["score"][0] += 0.01
    (folder / "assets.extra" / "golden.json").write_text(json.dumps(golden))
    with pytest.raises(ExportError, match="request 1 .*: score is .* on the day of export"):
        verify(folder)


@pytest.mark.parametrize(
    "name",
    first_by_default(
        [
            "assets.extra/golden.json",
            "assets.extra/tfsum.json",
            "saved_model.pb",
            "variables/variables.index",
            "variables/variables.data-00000-of-00001",
        ]
    ),
)
@pytest.mark.parametrize(
    "spoil",
    first_by_default(
        [lambda path: path.unlink(), lambda path: os.truncate(path, path.stat().st_size // 2)]
    ),
    ids=["missing", "cut short"],
)
def test_a_broken_file(transformer, tmp_path, name, spoil):
    folder = copy_of(transformer, tmp_path)
    spoil(folder / name)
    with pytest.raises(ExportError) as error:
        verify(folder)
    assert str(folder) in str(error.value)


def test_the_model_card_is_made_or_the_model_folder_s_own(exported, tmp_path):
    card = (exported.folder.parent / "README.md").read_text()
    assert (
        card.startswith("# news\n")
        and "Apache-2.0" in card
        and f"text ops | {exported.ops}" in card
    )
    assert "Not stated in the model folder." in card  # of data and scores
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "README.md").write_text("own")
    (tmp_path / "news").mkdir()
    for _ in range(2):  # a card that is there already stays
        model_card.write_card(tmp_path / "news" / "1", {}, tmp_path / "source", None)
        assert [p.name for p in (tmp_path / "news").iterdir()] == ["README.md"]
        assert (tmp_path / "news" / "README.md").read_text() == "own"
        (tmp_path / "source" / "README.md").write_text("another")


def test_how_sentences_are_chosen_by_default_is_the_recipe_s(
    classifier_folder, tmp_path, monkeypatch
):
    asked = []
    monkeypatch.setattr(extractive, "build", lambda *arguments: asked.append(arguments[3]) or 1 / 0)
    other = {"selection": "expected_rouge", "block_trigrams": False, "lead_bias": 2.0}
    folder = pathlib.Path(shutil.copytree(classifier_folder, tmp_path / "best"))
    saved = json.loads((folder / "tfsum.json").read_text())
    for settings in ({}, {"recipe": {"evaluate": other}}, {"recipe": {}}):
        (folder / "tfsum.json").write_text(json.dumps(saved | settings))
        with pytest.raises(ZeroDivisionError):
            export_model(folder, tmp_path / "news")
    papers = {"selection": "score", "block_trigrams": True, "lead_bias": 0.0}
    assert asked == [
        {"max_sentences": 10, "sentences": 3, **choice} for choice in (papers, other, papers)
    ]
