"""Files of documents to files of answers: complete, without repetition, whatever stopped an earlier
run."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

beam = pytest.importorskip("apache_beam", reason="needs apache-beam: pip install '.[beam]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow, which apache-beam brings")

import tfsum
from tfsum.beam import Summarize, summarize_files
from tfsum.beam.running import descendants
from tfsum.errors import DataError, Error, ExportError

TEXTS = [
    f"The bridge was closed {i} times. The rain fell in town. It was said on night {i}."
    for i in range(30)
]
COMMAND = "import sys; from tfsum.cli.main import main; sys.exit(main())"
pytestmark = pytest.mark.usefixtures("opened_once")


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    """Three files of ten documents, with two bad lines."""
    for number in range(3):
        rows = [json.dumps({"text": text}) for text in TEXTS[10 * number : 10 * (number + 1)]]
        rows += ["{no JSON", '{"body": 7}'] if number == 1 else []
        with gzip.open(tmp_path / f"{number}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
    return tmp_path


def answers(output: pathlib.Path) -> dict:
    """Key -> answer of all files; a key is there once."""
    rows = [
        json.loads(line)
        for file in output.glob("answers-*.jsonl")
        for line in file.read_text().splitlines()
    ]
    rows += [
        row
        for file in output.glob("answers-*.parquet")
        for row in parquet.read_table(file).to_pylist()
    ]
    found = {row.pop("key"): row for row in rows}
    assert len(found) == len(rows), "a document is there twice"
    return found


def dead_letters(output: pathlib.Path) -> dict:
    rows = [json.loads(line) for line in (output / "dead_letters.jsonl").read_text().splitlines()]
    return {row["key"]: row["error"] for row in rows}


@pytest.mark.parametrize("output_format", ["parquet", "jsonl"])
def test_every_document_has_an_answer_or_a_dead_letter(transformer, folder, output_format):
    out = folder / "out"
    counts = summarize_files(
        str(folder / "*.gz"),
        str(out),
        model=transformer.folder,
        output_format=output_format,
        shards=3,
        sentences=1,
    )
    assert counts == {"documents": 32, "answers": 30, "dead_letters": 2}
    assert counts == json.loads((out / "counts.json").read_text())
    places = [f"{folder}/{i // 10}.jsonl.gz:{i % 10 + 1}" for i in range(30)]
    found = answers(out)
    assert found.keys() == set(places)
    assert set(dead_letters(out)) == {f"{folder}/1.jsonl.gz:11", f"{folder}/1.jsonl.gz:12"}
    for place, result in zip(places, tfsum.load(transformer.folder)(TEXTS, sentences=1)):
        row = found[place]
        assert (row["summary"], row["sentences"]) == (result.summary, result.sentences)
        assert list(zip(row["starts"], row["ends"])) == result.offsets
        assert row["scores"] == pytest.approx(result.scores, abs=1e-5)
    assert len(list(out.glob("answers-*"))) == 3


def test_running_it_again_replaces_the_files(transformer, folder):
    options = {"model": transformer.folder, "output_format": "jsonl", "shards": 2, "sentences": 1}
    counts = summarize_files(str(folder / "*.gz"), str(folder / "out"), **options)
    first = answers(folder / "out")
    # As a run leaves it that is killed while it moves its files into place.
    (folder / "out" / "counts.json").unlink()
    next((folder / "out").glob("answers-00000*")).unlink()
    (folder / "out" / "beam-temp-answers-123").mkdir()
    (folder / "out" / "beam-temp-answers-123" / "part.jsonl").write_text('{"key": "half')
    assert summarize_files(str(folder / "*.gz"), str(folder / "out"), **options) == counts
    assert answers(folder / "out").keys() == first.keys()
    assert not list((folder / "out").glob("beam-temp-*"))
    (folder / "1.jsonl.gz").unlink()  # what is no longer asked for is no longer answered
    assert summarize_files(str(folder / "*.gz"), str(folder / "out"), **options)["answers"] == 20
    assert len(answers(folder / "out")) == 20 and not dead_letters(folder / "out")


def test_answers_of_other_settings_are_not_mixed_in(transformer, folder):
    options = {"model": transformer.folder, "output_format": "jsonl", "sentences": 1}
    summarize_files(str(folder / "0*.gz"), str(folder / "out"), shards=3, **options)
    before = answers(folder / "out")
    with pytest.raises(
        Error,
        match="answers-0000.-of-00003.jsonl: is of another run, with another number of shards",
    ):
        summarize_files(str(folder / "0*.gz"), str(folder / "out"), shards=2, **options)
    assert answers(folder / "out") == before and (folder / "out" / "counts.json").is_file()


def summarizing(folder, model, *more) -> subprocess.Popen:
    """`tfsum pipeline summarize` of large.jsonl, in a process that can be killed with its own."""
    files = ["--input", folder / "large.jsonl", "--output", folder / "out", "--model", model.folder]
    options = ["--output-format", "jsonl", "--shards", "4", *more]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "pipeline", "summarize", *map(str, files), *options],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(tfsum.__file__).parents[1])},
    )


@pytest.mark.slow  # a process that loads Beam and TensorFlow
def test_a_killed_run_is_made_up_for(transformer, folder):
    out = folder / "out"
    with (folder / "large.jsonl").open("w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS * 20)
    process = summarizing(folder, transformer, "-n", "1")
    while process.poll() is None and not list(out.glob("beam-temp-answers-*/*")):
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (out / "counts.json").exists()
    counts = summarize_files(
        str(folder / "large.jsonl"),
        str(out),
        model=transformer.folder,
        output_format="jsonl",
        shards=4,
        sentences=1,
    )
    assert counts == {"documents": 600, "answers": 600, "dead_letters": 0}
    assert answers(out).keys() == {f"{folder}/large.jsonl:{i}" for i in range(1, 601)}
    assert not list(out.glob("beam-temp-*"))


@pytest.mark.slow
def test_a_worker_that_is_killed_ends_the_run(transformer, folder):
    """One of two processes, as the system kills one where memory is short, while the other has
    hours to do."""
    out = folder / "out"
    with (folder / "large.jsonl").open("w") as file:
        file.writelines(json.dumps({"text": " ".join(TEXTS) * 20}) + "\n" for _ in range(2000))
    process = summarizing(
        folder,
        transformer,
        "--",
        "--direct_num_workers=2",
        "--direct_running_mode=multi_processing",
    )
    while len(started := descendants(process.pid)) < 4:  # two shells, and a worker of each
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.5)
    time.sleep(5)
    os.kill(started[-1], signal.SIGKILL)
    _, said = process.communicate(timeout=500)
    until = time.monotonic() + 300  # an orphan is gone when the system has noticed
    while living := [number for number in started if pathlib.Path(f"/proc/{number}").exists()]:
        assert time.monotonic() < until, living
        time.sleep(0.1)
    assert process.returncode == 1, said
    assert (
        said.splitlines()[-1].startswith("tfsum pipeline: error: the pipeline failed: ")
        and "A worker process ended" in said
    )
    assert not (out / "counts.json").exists() and not list(out.glob("answers-*"))
    counts = summarize_files(
        str(folder / "*.gz"), str(out), model=transformer.folder, output_format="jsonl", shards=4
    )
    assert counts["answers"] == len(answers(out)) == 30


def test_an_abstractive_model_generates(beam_writer, folder):
    counts = summarize_files(
        str(folder / "0*.gz"), str(folder / "out"), model=beam_writer.folder, shards=1
    )
    assert counts["answers"] == 10
    assert set(next(iter(answers(folder / "out").values()))) == {
        "summary",
        "log_probability",
        "coverage",
        "ended",
        "warnings",
        "model",
    }
    with pytest.raises(Error, match="sentences: .* is not extractive: it generates its answer"):
        summarize_files(
            str(folder / "0*.gz"), str(folder / "out"), model=beam_writer.folder, sentences=1
        )


def test_what_is_not_there_is_named_before_anything_runs(folder):
    with pytest.raises(DataError, match="none: no file matches; expected files of JSON lines"):
        summarize_files(str(folder / "none"), str(folder / "out"))
    with pytest.raises(ExportError, match="no_model: no such folder"):
        summarize_files(str(folder / "*.gz"), str(folder / "out"), model=folder / "no_model")
    with pytest.raises(Error, match="shards is 0; expected 1 or more"):
        summarize_files(str(folder / "*.gz"), str(folder / "out"), shards=0)
    with pytest.raises(Error, match="output_format is 'csv'; expected 'parquet' or 'jsonl'"):
        summarize_files(str(folder / "*.gz"), str(folder / "out"), output_format="csv")
    with pytest.raises(Error, match="--runner NoRunner: "):
        summarize_files(str(folder / "*.gz"), str(folder / "out"), runner="NoRunner")
    with pytest.raises(
        Error,
        match="--direct_num_worker, --paralelism: no option of Beam; expected such as --direct_",
    ):
        summarize_files(
            str(folder / "*.gz"),
            str(folder / "out"),
            pipeline_options=["--direct_num_worker=2", "--paralelism", "4"],
        )
    with pytest.raises(Error, match="no://files: .*no://files"):
        summarize_files("no://files", str(folder / "out"))
    with pytest.raises(Error, match="no://out: .*no://out"):
        summarize_files(str(folder / "*.gz"), "no://out")
    with pytest.raises(
        Error, match="gs://models/news: a model is read from a worker's own disk; expected a folder"
    ):
        Summarize("gs://models/news")
    assert not (folder / "out").exists()


@pytest.mark.slow  # three processes that load Beam and TensorFlow
def test_two_processes_share_one_model(transformer, folder):
    """In processes of their own, as a user starts them."""
    words = [
        "pipeline",
        "summarize",
        "--input",
        str(folder / "*.gz"),
        "--output",
        str(folder / "out"),
        "--model",
        str(transformer.folder),
        "--output-format",
        "jsonl",
        "-n",
        "1",
        "--format",
        "json",
        "--",
        "--direct_num_workers=2",
        "--direct_running_mode=multi_processing",
    ]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words],
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(tfsum.__file__).parents[1])},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"documents": 32, "answers": 30, "dead_letters": 2}
    found = answers(folder / "out")
    for number, result in enumerate(tfsum.load(transformer.folder)(TEXTS, sentences=1)):
        assert (
            found[f"{folder}/{number // 10}.jsonl.gz:{number % 10 + 1}"]["summary"]
            == result.summary
        )


def test_a_pipeline_that_fails_says_why(transformer, folder):
    model = shutil.copytree(transformer.folder, folder / "model" / "1")
    description = model / "assets.extra" / "tfsum.json"
    description.write_text(description.read_text().replace('"automatic"', '"other"'))
    with pytest.raises(Error, match="the pipeline failed: .*sentences='auto': this model was not"):
        summarize_files(str(folder / "*.gz"), str(folder / "out"), model=model, sentences="auto")
    assert not (folder / "out" / "counts.json").exists()
