"""Documents to answers by pipelines: equal to those of `tfsum.load()`, in any order and batching,
none lost."""

import dataclasses
import gzip
import itertools
import json
import random
import typing

import pytest

beam = pytest.importorskip("apache_beam", reason="needs apache-beam: pip install '.[beam]'")

from apache_beam.typehints.schemas import schema_from_element_type

import tfsum
from tfsum.beam import (
    ClassifiedRow,
    Classify,
    FailedDocument,
    Generate,
    GeneratedRow,
    Summarize,
    SummaryRow,
)
from tfsum.beam.rows import row_of
from tfsum.inference.saved_model import shipped_model

WORDS = (
    "the bridge was closed rain fell mayor said repairs cost a lot river town school night".split()
)
WORD = "POISON"
pytestmark = pytest.mark.usefixtures("opened_once")


def texts_of(number: int) -> list[str]:
    """Documents of one sentence to many windows."""
    chance = random.Random(5)
    return [
        " ".join(" ".join(chance.choices(WORDS, k=8)) + "." for _ in range(1 + i % 17))
        for i in range(number)
    ]


def expected(folder, texts: list[str], **options) -> list:
    name = "/".join(folder.parts[-2:])
    return [row_of(result, name) for result in tfsum.load(folder)(texts, **options)]


def same(found, wanted) -> bool:
    """Rows are equal; scores to 1e-5, since the sizes of a batch decide the order of the sums."""
    return found._replace(scores=[]) == wanted._replace(
        scores=[]
    ) and found.scores == pytest.approx(wanted.scores, abs=1e-5)


@pytest.mark.parametrize("batch_characters", [300, 5_000, 1 << 18])
def test_answers_are_those_of_load_in_any_order_and_batching(
    transformer, run_pipeline, batch_characters
):
    texts = texts_of(40)
    documents = list(enumerate(texts))
    random.Random(batch_characters).shuffle(documents)
    wanted = expected(transformer.folder, texts, sentences=2)
    found, failed = run_pipeline(
        documents, Summarize(transformer.folder, 2, batch_characters=batch_characters)
    )
    assert sorted(key for key, _ in found) == list(range(40)) and not failed
    assert all(same(row, wanted[key]) for key, row in found)
    sizes = run_pipeline.metrics["inference_request_batch_size"]
    assert run_pipeline.metrics["num_inferences"] == 40 and sizes.max == (
        1 if batch_characters == 300 else 40 if batch_characters > 40_000 else sizes.max
    )


def test_documents_need_no_key(transformer, run_pipeline):
    texts = texts_of(3)
    found, failed = run_pipeline(texts, Summarize(transformer.folder), hint=str)
    assert not failed and [row.summary for row in found] == [
        row.summary for row in expected(transformer.folder, texts)
    ]
    assert run_pipeline.types == (SummaryRow, FailedDocument)


def test_poisoned_elements_take_no_other_with_them(raising_model, run_pipeline):
    texts = texts_of(60)
    poison = {
        "number": 7,
        "none": None,
        "bytes": b"It rained.",
        "not utf-8": b"\xff\xfe",
        "empty": "",
        "blank": " \n",
        "5 MB": "It rained. " * 500_000,
        "raises": f"It rained. {WORD}.",
        "pair": ("a", "b"),
    }
    documents = [*enumerate(texts), *poison.items()]
    random.Random(1).shuffle(documents)
    found, failed = run_pipeline(documents, Summarize(raising_model))
    assert sorted(key for key, _ in found) == list(range(60))
    wanted = expected(raising_model, texts)
    assert all(same(row, wanted[key]) for key, row in found)
    errors = {row.key: row.error for row in failed}
    assert errors.keys() == poison.keys() and len(failed) == len(poison)
    for key, what in {
        "number": "found int, expected a text",
        "none": "found NoneType",
        "bytes": "found bytes",
        "not utf-8": "found bytes, expected a text (str); decode it first",
        "empty": "the document is empty",
        "blank": "is empty",
        "5 MB": "5500000 characters, and 1000000 are allowed",
        "raises": "the model raises",
        "pair": "found tuple",
    }.items():
        assert what in errors[key], key
    metrics = run_pipeline.metrics
    assert metrics["num_inferences"] == len(documents)
    given = [*texts, *(text for text in poison.values() if isinstance(text, str | bytes))]
    assert metrics["inference_request_batch_byte_size"].sum == sum(map(len, given))
    assert all(len(row.excerpt) <= 200 and "\n" not in row.error for row in failed)


def test_a_model_of_another_kind_is_refused(beam_writer, run_pipeline):
    with pytest.raises(
        Exception, match="its kind is 'abstractive', expected 'extractive'.*Generate"
    ):
        run_pipeline(["It rained."], Summarize(beam_writer.folder))


def test_generate(beam_writer, run_pipeline):
    texts = ["the bridge", "the river fell", "I walked"]
    pairs = typing.Tuple[int, str]  # noqa: UP006  as Beam's own hints
    found, failed = run_pipeline(list(enumerate(texts)), Generate(beam_writer.folder), hint=pairs)
    wanted = expected(beam_writer.folder, texts)
    assert not failed and len(found) == 3
    for key, row in found:
        assert row._replace(log_probability=0.0) == wanted[key]._replace(log_probability=0.0)
        assert row.log_probability == pytest.approx(wanted[key].log_probability, abs=1e-5)


@pytest.fixture(scope="module")
def label_model(tmp_path_factory):
    """The folder NAME/VERSION of a tiny random classifier."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    model = tfsum.BertClassifier(
        {
            "vocab_size": len(vocabulary),
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 16,
            "max_position_embeddings": 24,
            "initializer_range": 0.5,
        },
        ("calm", "alarm"),
    )
    folder = tmp_path_factory.mktemp("labels")
    model.save_pretrained(
        folder / "best",
        vocabulary,
        {
            "text": {"lowercase": True, "strip_accents": None, "max_length": 24, "pair": False},
            "licence": "Apache-2.0",
        },
    )
    return tfsum.export_model(folder / "best", folder / "alarm")


def test_classify(label_model, run_pipeline):
    texts = ["the bridge", "the river fell", "I walked"]
    wanted = expected(label_model, texts)
    found, failed = run_pipeline(list(enumerate(texts)), Classify(label_model))
    assert not failed and sorted(key for key, _ in found) == [0, 1, 2]
    for key, row in found:
        assert (row.label, row.labels, row.model) == (
            wanted[key].label,
            wanted[key].labels,
            wanted[key].model,
        )
        assert row.probabilities == pytest.approx(wanted[key].probabilities, abs=1e-5)


def test_answers_go_to_parquet_as_they_are(transformer, tmp_path):
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="needs pyarrow, which apache-beam brings"
    )
    texts = texts_of(5)
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        found = pipeline | beam.Create(texts) | Summarize(transformer.folder, 2)
        _ = found.answers | beam.io.WriteToParquet(str(tmp_path / "answers"), num_shards=1)
    (file,) = tmp_path.iterdir()
    rows = {row["summary"]: row for row in parquet.read_table(file).to_pylist()}
    wanted = expected(transformer.folder, texts, sentences=2)
    assert rows.keys() == {row.summary for row in wanted}
    assert all(same(SummaryRow(**rows[row.summary]), row) for row in wanted)


def test_wrong_elements_pass_a_shuffle_where_their_type_is_declared(transformer, run_pipeline):
    class Shuffled(beam.PTransform):
        def expand(self, documents):
            documents.element_type = typing.Any
            return documents | beam.Reshuffle() | Summarize(transformer.folder, 1)

    found, failed = run_pipeline(
        [("a", "The bridge was closed."), ("b", 7), ("c", b"\xff")], Shuffled()
    )
    assert [key for key, _ in found] == ["a"] and sorted(row.key for row in failed) == ["b", "c"]


@pytest.mark.parametrize("row", [SummaryRow, GeneratedRow, ClassifiedRow, FailedDocument])
def test_rows_have_schemas_of_text_numbers_and_lists(row):
    schema = schema_from_element_type(row)
    names = [field.name for field in schema.fields]
    assert names == list(row._fields)
    for field in schema.fields:
        assert field.type.WhichOneof("type_info") in ("atomic_type", "array_type"), field


def test_rows_hold_all_that_the_results_hold():
    """A field that a result gets must get its column."""
    for row, result, others in (
        (SummaryRow, tfsum.SummaryAnswer, {"starts", "ends", "model"}),
        (GeneratedRow, tfsum.Generated, {"model"}),
        (ClassifiedRow, tfsum.Classified, {"labels", "model"}),
    ):
        fields = {field.name for field in dataclasses.fields(result)} - {"offsets"}
        assert set(row._fields) == fields | others


def test_texts_are_summarized_together(run_pipeline):
    texts = ["Rain fell on Monday. The river rose.", "Trains stopped on Tuesday."]
    found, failed = run_pipeline([("a", texts), ("b", "It rained.")], Summarize(together=True))
    ((key, row),) = found
    assert key == "a" and row == row_of(tfsum.load().together(texts), row.model)
    assert [each.key for each in failed] == ["b"] and "a list of texts" in failed[0].error


def test_what_cannot_be_asked_is_refused_before_the_pipeline_runs():
    with pytest.raises(tfsum.Error, match="words=0: expected a whole number from 1"):
        Summarize(words=0)


def test_rows_are_those_of_a_classifier():
    result = tfsum.Classified("fire", 0.75, {"fire": 0.75, "none": 0.25}, 1.0, [])
    assert row_of(result, "tweets/1") == ClassifiedRow(
        "fire", 0.75, ["fire", "none"], [0.75, 0.25], 1.0, [], "tweets/1"
    )


def test_rows_go_through_beams_coder(run_pipeline):
    answer = tfsum.SummaryAnswer("It rained.", ["It rained."], [0.5], [(0, 10)], 1.0, [])
    row = row_of(answer, "news/1")
    coder = beam.coders.registry.get_coder(SummaryRow)
    assert coder.decode(coder.encode(row)) == row and isinstance(coder, beam.coders.RowCoder)


@pytest.mark.slow
def test_five_hundred_documents_of_the_corpus(shared, run_pipeline):
    with gzip.open(
        shared / "data" / "news" / "validation.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        texts = [json.loads(line)["text"] for line in itertools.islice(file, 500)]
    documents = list(enumerate(texts))
    random.Random(3).shuffle(documents)
    answers = tfsum.load()(texts)
    versions = {name: shipped_model(name).name for name in {result.model for result in answers}}
    assert len(versions) == 2  # some stories report nothing, and are no news
    wanted = [row_of(result, f"{result.model}/{versions[result.model]}") for result in answers]
    found, failed = run_pipeline(documents, Summarize())
    assert not failed and sorted(key for key, _ in found) == list(range(len(texts)))
    assert all(same(row, wanted[key]) for key, row in found)
