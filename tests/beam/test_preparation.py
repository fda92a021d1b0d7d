"""A corpus prepared by a pipeline: byte for byte what processes write, manifest and counts
included."""

import json

import pytest

beam = pytest.importorskip("apache_beam", reason="needs apache-beam: pip install '.[beam]'")

import tfsum
from tfsum.beam import preparation as module
from tfsum.beam import prepare
from tfsum.errors import DataError, Error
from tfsum.inference.saved_model import shipped_model

WORDS = ["the", "cat", "sat", "on", "mat", "a", "dog", "ran", "far", "away", ".", "?", "##s"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
TEXT = "The cat sat on the mat. A dog ran far away."


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    rows = [
        {
            "id": str(i),
            "text": TEXT + " The cats sat." * i,
            "summary": "a dog ran",
            "source": TEXT * (1 + i % 3),
            "target": f"a dog ran {'far ' * i}",
        }
        for i in range(11)
    ]
    rows += [
        dict(rows[0], id="again"),
        dict(rows[0], text=" ", source=" "),
        dict(rows[0], summary="", target=""),
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "corpus.jsonl"


def content(folder) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(
    "task, options",
    [
        ("bert_sum_ext", {"shards": 3}),
        ("bert_sum_ext", {"shards": 20, "labels": "soft"}),  # some without a document
        ("transformer", {"shards": 4, "max_source_length": 20}),
        ("bert_for_pretraining", {"shards": 2, "max_length": 24, "duplicates": 2}),
    ],
)
def test_records_and_manifest_are_those_of_one_process(corpus, tmp_path, task, options):
    counts = tfsum.prepare(corpus, tmp_path / "one", tmp_path, task, progress=False, **options)
    assert prepare(corpus, tmp_path / "beam", tmp_path, task, **options) == counts
    assert content(tmp_path / "beam") == content(tmp_path / "one")
    # Either finds the other's folder finished.
    assert (
        tfsum.prepare(corpus, tmp_path / "beam", tmp_path, task, progress=False, **options)
        == counts
    )
    assert prepare(corpus, tmp_path / "one", tmp_path, task, **options) == counts


def test_a_stopped_pipeline_is_continued(corpus, tmp_path, monkeypatch):
    wanted = prepare(corpus, tmp_path / "one", tmp_path, shards=4)
    written = []

    def stop(work, runner, pipeline_options):
        """Ends as a killed one does: two shards are written, and nobody has collected their
        counts."""
        with module.running("DirectRunner", []) as pipeline:
            _ = (
                pipeline
                | beam.Create([None])
                | "Read" >> beam.FlatMap(module._numbered, work, [0, 2])
                | beam.GroupByKey()
                | beam.ParDo(module._WriteShard(work))
            )
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tfsum.prepare(
            corpus,
            tmp_path / "out",
            tmp_path,
            shards=4,
            progress=False,
            run=lambda work: stop(work, "", []),
        )
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "out").glob("*.tfrecord")}
    assert len(before) == 2
    monkeypatch.setattr(
        module,
        "_numbered",
        lambda _, work, shards, real=module._numbered: (
            written.extend(shards),
            real(None, work, shards),
        )[1],
    )
    assert prepare(corpus, tmp_path / "out", tmp_path, shards=4) == wanted
    assert content(tmp_path / "out") == content(tmp_path / "one")
    after = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "out").glob("*.tfrecord")}
    assert before.items() <= after.items() and len(after) == 4


def test_shards_of_other_settings_are_not_taken_over(corpus, tmp_path):
    wanted = prepare(corpus, tmp_path / "one", tmp_path, shards=2)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "documents-00000-of-00002.tfrecord").write_bytes(
        b"of a pipeline with other settings"
    )
    (tmp_path / "out" / ".documents-00000-of-00002.tfrecord.counts.json").write_text(
        json.dumps(["another hash", {"documents": 5, "read": 5}])
    )
    assert prepare(corpus, tmp_path / "out", tmp_path, shards=2) == wanted
    assert content(tmp_path / "out") == content(tmp_path / "one")


def test_errors_are_those_of_prepare(corpus, tmp_path):
    with pytest.raises(Error, match="shards=0: expected a whole number from 1"):
        prepare(corpus, tmp_path / "out", tmp_path, shards=0)
    with pytest.raises(Error, match="no_option: unknown"):
        prepare(corpus, tmp_path / "out", tmp_path, no_option=1)
    with pytest.raises(DataError, match="none.jsonl: cannot be read"):
        prepare(tmp_path / "none.jsonl", tmp_path / "out", tmp_path)


@pytest.mark.slow
def test_the_news_corpus(shared, tmp_path):
    vocabulary = shipped_model() / "assets" / "vocab.txt"
    corpus = shared / "data" / "news" / "validation.jsonl.gz"
    counts = tfsum.prepare(
        corpus, tmp_path / "one", vocabulary, processes=2, shards=5, progress=False
    )
    options = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    assert (
        prepare(corpus, tmp_path / "beam", vocabulary, shards=5, pipeline_options=options) == counts
    )
    assert content(tmp_path / "beam") == content(tmp_path / "one")
