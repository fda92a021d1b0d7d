"""The folder that the export of a Transformer writes: what is in it, who can load it, what does not
fit."""

import json
import pathlib
import shutil

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import tfsum
from tfsum import Generator, export_model, verify
from tfsum.errors import CheckpointError, Error, ExportError
from tfsum.inference import allowed_operations
from tfsum.tensorflow_messages import message

TEXTS = ["The bridge was closed.", "", "¿Qué? \udcff 한국어", "a" * 300]


def test_what_lies_in_the_folder(writer):
    apart = (writer.source / "target_vocab.txt").is_file()
    files = {
        p.relative_to(writer.folder.parent).as_posix()
        for p in writer.folder.parent.rglob("*")
        if p.is_file()
    }
    extra = {
        f"1/assets.extra/{name}"
        for name in ("tfsum.json", "golden.json", "tf_serving_warmup_requests")
    }
    assert {"README.md", "1/saved_model.pb", "1/assets/vocab.txt", *extra} <= files
    assert ("1/assets/target_vocab.txt" in files) == apart
    description = json.loads((writer.folder / "assets.extra" / "tfsum.json").read_text())
    assert description["kind"] == "abstractive" and description["max_length"] == 12
    assert description["text"]["max_source_length"] == 24 and description["search"][
        "no_repeat_ngram"
    ] in (0, 2)
    card = (writer.folder.parent / "README.md").read_text()
    assert (
        "at most 12 tokens, by " + description["search"]["strategy"] in card
        and "Apache-2.0" in card
    )


@pytest.mark.usefixtures("opened_once")
def test_verify_reports(writer):
    report = verify(writer.folder)
    assert report["kind"] == "abstractive" and report["golden_answers"] == 8
    assert report["largest_score_difference"] < 1e-5
    assert report["signatures"] == ["attend", "generate_ids", "serving_default"]
    golden = json.loads((writer.folder / "assets.extra" / "golden.json").read_text())
    assert golden["answers"][2] == {
        "summary": "",
        "log_probability": 0.0,
        "coverage": 1.0,
        "ended": True,
    }


def test_each_weight_is_stored_once_and_nothing_else(writer):
    from safetensors.numpy import load_file

    weights = load_file(writer.source / "model.safetensors")
    tables = [v for k, v in weights.items() if "embedding" in k or k == "output_kernel"]
    numbers, of_tables = sum(v.size for v in weights.values()), sum(v.size for v in tables)
    size = (writer.folder / "variables" / "variables.data-00000-of-00001").stat().st_size
    if writer.ops == "core":
        assert len(tables) == 1
        expected = 4 * numbers
    else:
        assert len(tables) == 3
        expected = 2 * (numbers - of_tables) + of_tables + 4 * sum(len(table) for table in tables)
    # the checkpoint's own table of objects lies beside the weights
    assert expected <= size < expected + 30_000


def test_operations_are_among_those_that_every_host_has(writer):
    operations = allowed_operations.check_operations(writer.folder, writer.ops)
    assert len(set(operations) - allowed_operations.CORE) == (3 if writer.ops == "text" else 0)
    assert not [
        name
        for name in operations
        if name.startswith(("Xla", "Random", "StatelessRandom", "Py", "Eager"))
    ]


@pytest.mark.slow  # a process each, which optimizes the graphs of all signatures; .ci/run runs them
@pytest.mark.parametrize("writer", ["beam", "sampling"], indirect=True)
def test_the_c_library_alone_gives_the_same_bytes(writer, c_library):
    requests = [
        {"signature": "serving_default", "inputs": {"text": TEXTS}},
        {"signature": "serving_default", "inputs": {"text": []}},
        {"signature": "generate_ids", "inputs": {"source_ids": [[2, 150, 160, 3], [2, 170, 3, 0]]}},
    ]
    done = c_library(writer, requests)
    assert done.returncode == 0, done.stderr[-2000:]
    for request, line in zip(requests, done.stdout.splitlines(), strict=True):
        inputs = request["inputs"]
        if "text" in inputs:
            inputs = {"text": [text.encode("utf-8", "surrogateescape") for text in inputs["text"]]}
        expected, given = writer.ask(request["signature"], **inputs), json.loads(line)
        assert given.keys() == expected.keys()
        for name, value in expected.items():
            if value.dtype == object:
                assert given[name] == [answer.decode() for answer in value.tolist()]
            else:
                found = np.array(given[name]).reshape(value.shape)
                # a float32, whose sums the optimizers may order otherwise
                np.testing.assert_allclose(found, value, atol=1e-6, rtol=1e-6)


@pytest.mark.slow  # optimizes a graph once more; .ci/run runs it
def test_a_session_of_tensorflow_1_answers(writer):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(writer.folder))
        signature = meta.signature_def["serving_default"]
        outputs = {name: info.name for name, info in signature.outputs.items()}
        given = session.run(outputs, {signature.inputs["text"].name: TEXTS[:2]})
    expected = writer.ask("serving_default", text=TEXTS[:2])
    assert given["summary"].tolist() == expected["summary"].tolist()
    np.testing.assert_allclose(given["log_probability"], expected["log_probability"], atol=1e-5)


def test_warm_up_requests_are_answered(writer):
    path = writer.folder / "assets.extra" / "tf_serving_warmup_requests"
    records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
    assert len(records) == 2
    for record in records:
        request = message("PredictionLog").FromString(record).predict_log.request
        assert (request.model_spec.name, request.model_spec.signature_name) == (
            "writer",
            "serving_default",
        )
        proto = tf.make_tensor_proto(0)
        proto.ParseFromString(request.inputs["text"].SerializeToString())
        writer.ask("serving_default", text=tf.make_ndarray(proto))


@pytest.mark.usefixtures("opened_once")
def test_load_gives_a_generator(writer):
    generate = tfsum.load(writer.folder.parent)
    assert isinstance(generate, Generator)
    one, several = generate(TEXTS[0]), generate([TEXTS[0], "", "a b " * 60, "😀"])
    expected = writer.ask("serving_default", text=TEXTS[:1])
    assert str(one) == one.summary == expected["summary"][0].decode() == several[0].summary
    assert one.ended == bool(expected["ended"][0]) and len(one.warnings) == (not one.ended)
    assert one.ended or one.warnings == [{"code": "unended"}]
    assert one.log_probability == pytest.approx(float(expected["log_probability"][0]), abs=1e-5)
    assert several[1].summary == "" and several[1].warnings == [{"code": "empty"}]
    assert several[2].coverage < 1 and several[2].warnings[0]["code"] == "long_text"
    assert several[3].warnings[0] == {"code": "language", "known": 0.0}
    with pytest.raises(Error, match=r"texts\[1\] is NoneType"):
        generate(["a", None])


def append(path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def configure(folder, **changes) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


@pytest.fixture(scope="module")
def of_two_vocabularies(tmp_path_factory, write_writer_folder):
    """A model folder, to be copied."""
    return write_writer_folder(tmp_path_factory.mktemp("source") / "best", apart=True)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: (f / "vocab.txt").unlink(), "has no vocab.txt"),
        (
            lambda f: append(f / "vocab.txt", "more\n"),
            r"vocab.txt: \d+ word pieces, and the model has \d+ rows",
        ),
        (
            lambda f: append(f / "target_vocab.txt", "more\n"),
            r"target_vocab.txt: \d+ word pieces, and the model has",
        ),
        (lambda f: (f / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n"), r"no \[SEP\]"),
        (
            lambda f: configure(f, end_id=4),
            r"start_id and end_id are 2 and 4, and \[CLS\] and \[SEP\]",
        ),
        (
            lambda f: configure(f, model_type="t5"),
            "model_type is 't5', which is of none of the tasks that export",
        ),
    ],
)
def test_a_model_folder_that_does_not_fit(tmp_path, of_two_vocabularies, change, says):
    folder = pathlib.Path(shutil.copytree(of_two_vocabularies, tmp_path / "best"))
    change(folder)
    with pytest.raises(Error, match=says):
        export_model(folder, tmp_path / "writer", ops="text")
    assert not (tmp_path / "writer").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_length": 0}, "max_length is 0"),
        ({"storage": "int4"}, "storage is 'int4'"),
        (
            {"sentences": 3},
            ("sentences: no option of the task 'transformer'; its options are ops, strategy,"),
        ),
    ],
)
def test_options_that_do_not_fit(beam_writer, tmp_path, options, says):
    with pytest.raises(Error, match=says):
        export_model(beam_writer.source, tmp_path / "writer", **{"ops": "text", **options})
    assert not (tmp_path / "writer").exists()


def test_no_model_folder(tmp_path):
    with pytest.raises(CheckpointError, match="no such file"):
        export_model(tmp_path, tmp_path / "writer")
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "config.json").touch()
    with pytest.raises(ExportError, match="is the folder of a run; its model is .*best"):
        export_model(tmp_path, tmp_path / "writer")
