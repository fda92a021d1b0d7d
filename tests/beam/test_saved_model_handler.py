"""The handler inside RunInference: keys, batches, warm-up, and a model that changes while the
pipeline runs."""

import pathlib
import shutil

import pytest

beam = pytest.importorskip("apache_beam", reason="needs apache-beam: pip install '.[beam]'")

from apache_beam.ml.inference.base import KeyedModelHandler, RunInference

from tfsum.beam import SavedModelHandler, Summarize
from tfsum.beam.saved_model_handler import SharedModel
from tfsum.errors import Error, ExportError

TEXT = "The bridge was closed. The rain fell. It was said in town."
pytestmark = pytest.mark.usefixtures("opened_once")


def link(transformer, version: pathlib.Path) -> str:
    """A version that is the small model, which need not be opened once more."""
    version.parent.mkdir(exist_ok=True)
    version.symlink_to(transformer.folder)
    return str(version)


@pytest.fixture(scope="module")
def model(transformer, opened_once):
    return SharedModel(transformer.folder, "extractive", {"sentences": 1})


def test_an_empty_batch_has_no_answer(model):
    assert SavedModelHandler(sentences=1).run_inference([], model) == []


def test_answers_stand_in_the_order_of_their_documents(model):
    batch = [("a", TEXT), 7, ("b", " "), TEXT, ("c", TEXT + " The mayor said it.")]
    found = SavedModelHandler(sentences=1).run_inference(batch, model)
    assert [result.example for result in found] == batch
    assert [type(result.inference).__name__ for result in found] == [
        "SummaryRow",
        "FailedDocument",
        "FailedDocument",
        "SummaryRow",
        "SummaryRow",
    ]
    assert [result.model_id for result in found] == ["news/1", None, None, "news/1", "news/1"]


def test_it_works_with_beams_own_keys(transformer):
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        handler = KeyedModelHandler(SavedModelHandler(transformer.folder, sentences=1))
        found = pipeline | beam.Create([("a", TEXT)]) | RunInference(handler)
        _ = (
            found
            | beam.MapTuple(lambda key, result: (key, result.inference.model))
            | beam.Map(lambda pair: None if pair == ("a", "news/1") else 1 / 0)
        )


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_characters": 0}, "batch_characters is 0; expected 1 or more"),
        ({"max_characters": 0}, "max_characters is 0; expected 1 or more"),
    ],
)
def test_limits_are_checked(options, message):
    with pytest.raises(Error, match=message):
        SavedModelHandler(**options)


def test_options_of_the_call_are_checked_when_the_model_is_loaded(transformer):
    with pytest.raises(Error, match="sentences=0: expected a whole number"):
        SavedModelHandler(transformer.folder, sentences=0).load_model()


def test_inference_args_are_refused():
    with pytest.raises(Error, match="inference_args has sentences; expected none"):
        SavedModelHandler().validate_inference_args({"sentences": 1})


def test_a_model_that_is_not_there_fails_by_its_name(tmp_path):
    with pytest.raises(ExportError, match="no_such_model: no such folder"):
        SavedModelHandler(tmp_path / "no_such_model").load_model()


def test_the_version_is_that_of_the_beginning(transformer, tmp_path):
    link(transformer, tmp_path / "news" / "1")
    handler = SavedModelHandler(tmp_path / "news", sentences=1)
    link(transformer, tmp_path / "news" / "2")
    (answer,) = handler.run_inference([TEXT], handler.load_model())
    assert answer.model_id == "news/1"


def test_a_model_that_vanishes_answers_on(transformer, tmp_path):
    shutil.copytree(transformer.folder, tmp_path / "news" / "1")
    handler = SavedModelHandler(tmp_path / "news", sentences=1)
    loaded = handler.load_model()
    shutil.rmtree(tmp_path / "news")
    (answer,) = handler.run_inference([TEXT], loaded)
    assert answer.inference.sentences
    with pytest.raises(ExportError, match="no such folder"):
        handler.load_model()


def test_one_model_is_loaded_for_all_batches(transformer, run_pipeline):
    run_pipeline(
        [("a", TEXT), ("b", TEXT), ("c", TEXT)], Summarize(transformer.folder, batch_characters=1)
    )
    assert run_pipeline.metrics["load_model_latency_milli_secs"].count == 1
    sizes = run_pipeline.metrics["inference_request_batch_size"]
    assert (sizes.sum, sizes.max) == (3, 1)
    assert SavedModelHandler().share_model_across_processes()
