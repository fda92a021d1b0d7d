"""From a small corpus to records: what they hold, what is counted, and going on after a stop."""

import concurrent.futures
import itertools
import json
import os
import re
import signal
import subprocess
import time

import pytest
from filelock import FileLock

from tfsum import prepare
from tfsum.data.documents.oracle import greedy_labels
from tfsum.data.preparation import LOCK, case_settings
from tfsum.data.records import read_records
from tfsum.errors import DataError, Error

WORDS = ["the", "cat", "sat", "on", "mat", "a", "dog", "ran", "far", "away", ".", "?", "##s"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
TEXT = "The cat sat on the mat. A dog ran far away."


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    rows = [
        {"id": str(i), "text": TEXT + " The cats sat." * i, "summary": "a dog ran"}
        for i in range(6)
    ]
    rows += [
        dict(rows[0], id="again"),
        {"text": " ", "summary": "x"},
        {"text": "The cat.", "summary": ""},
    ]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "c.jsonl"


def _documents(folder):
    names = ["id", "pieces", "piece_counts", "labels", "sentences", "summary"]
    for batch in read_records(folder, names):
        columns = {
            k: v.to_list() if hasattr(v, "to_list") else v.numpy().tolist()
            for k, v in batch.items()
        }
        yield from (
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        )


def test_records_hold_pieces_labels_and_sentences(corpus, tmp_path):
    counts = prepare(corpus, tmp_path / "out", tmp_path, shards=4, progress=False)
    documents = list(_documents(tmp_path / "out"))
    assert [d["id"] for d in documents] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    third = documents[2]
    assert (
        third["sentences"]
        == [b"The cat sat on the mat.", b"A dog ran far away."] + [b"The cats sat."] * 2
    )
    ids = {word: i for i, word in enumerate(VOCABULARY)}
    sentence = "the cat ##s sat ."
    text = f"the cat sat on the mat . a dog ran far away . {sentence} {sentence}"
    assert third["pieces"] == [ids[piece] for piece in text.split()] and third["piece_counts"] == [
        7,
        6,
        5,
        5,
    ]
    assert third["labels"] == greedy_labels([s.decode() for s in third["sentences"]], "a dog ran")
    assert counts["documents"] == 6 and counts["sentences"] == 12 + 15 and counts["dropped"] == 3
    assert counts["duplicates"] == counts["empty"] == counts["without_summary"] == 1
    assert counts == json.loads((tmp_path / "out/manifest.json").read_text())["counts"]


def test_cuts_are_counted(corpus, tmp_path):
    counts = prepare(
        corpus,
        tmp_path / "out",
        tmp_path,
        shards=1,
        max_sentences=1,
        window_length=6,
        progress=False,
    )
    assert (
        counts["sentences"] == 6
        and counts["sentences_beyond"] == 6 + 15
        and counts["relabelled"] == 6
    )
    assert counts["cut"] == 6 and counts["pieces_cut"] == 6 * 3
    assert all(d["piece_counts"] == [4] for d in _documents(tmp_path / "out"))


def test_soft_labels_and_other_columns(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (tmp_path / "c.csv").write_text(f"body,abstract\n{TEXT},the dog ran\n")
    columns = {"text": "body", "summary": "abstract"}
    prepare(
        tmp_path / "c.csv",
        tmp_path / "out",
        tmp_path,
        labels="soft",
        shards=1,
        columns=columns,
        progress=False,
    )
    (document,) = _documents(tmp_path / "out")
    assert document["labels"][1] > 0.9 and 0.0 < document["labels"][0] < 1.0


def test_a_text_without_a_summary_may_be_kept(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    rows = [{"text": TEXT, "summary": "the dog ran"}, {"text": f"So. {TEXT}", "summary": " "}]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def prepared(out, **options):
        options |= {"labels": "soft", "shards": 1, "progress": False}
        return prepare(tmp_path / "c.jsonl", tmp_path / out, tmp_path, **options)

    assert prepared("out")["without_summary"] == 1
    counts = prepared("all", unlabelled=True, max_sentences=2)
    with_summary, without = _documents(tmp_path / "all")
    assert counts["without_summary"] == counts["relabelled"] == 0 and counts["documents"] == 2
    assert without["labels"] == [-1.0, -1.0] and min(with_summary["labels"]) > 0.0


def labelled(tmp_path, *rows):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return prepare(
        tmp_path / "l.jsonl", tmp_path / "out", tmp_path, shards=1, labels="corpus", progress=False
    )


def test_a_corpus_may_bring_its_own_labels(tmp_path):
    """As they are, by sentence or by number, with or without a summary; blank sentences go with
    their labels."""
    sentences = ["The cat sat. It sat\non the mat.", " ", "A dog ran.", "The cat ran."]
    counts = labelled(
        tmp_path,
        {"id": "flags", "text": sentences, "labels": [0, 1, 1, 0]},
        {"id": "numbers", "text": [*sentences[2:], "Far away."], "labels": [2, 0]},
        {"id": "shares", "text": sentences[2:], "labels": [0.25, 0.75], "summary": "A dog."},
    )
    flags, numbers, shares = _documents(tmp_path / "out")
    assert flags["sentences"] == [
        b"The cat sat. It sat on the mat.",
        b"A dog ran.",
        b"The cat ran.",
    ]
    assert (flags["labels"], numbers["labels"], shares["labels"]) == (
        [0, 1, 0],
        [1, 0, 1],
        [0.25, 0.75],
    )
    assert counts["documents"] == 3 and counts["labelled_sentences"] == 5 and counts["dropped"] == 0


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            {"text": "One. Two.", "labels": [0]},
            "field 'text' is a str; expected a list of sentences",
        ),
        (
            {"text": ["One.", "Two."], "labels": [2]},
            "for 2 sentences; expected a list of 2 numbers from 0 to 1, or of different",
        ),
        (
            {"text": ["One.", "Two.", "Three."], "labels": [1, 1]},
            "for 3 sentences; expected a list of 3 numbers",
        ),
        ({"text": ["One."], "labels": "0"}, "field 'labels' is '0' for 1 sentences; expected a"),
        ({"text": ["One."]}, "field 'labels' is None for 1 sentences; expected a list"),
    ],
)
def test_labels_of_another_form_are_named(tmp_path, row, says):
    with pytest.raises(DataError, match=f"l.jsonl:1: .*{says}"):
        labelled(tmp_path, row)


def test_a_second_call_goes_on_and_other_settings_are_refused(corpus, tmp_path):
    options = {"shards": 3, "progress": False}
    counts = prepare(corpus, tmp_path / "out", tmp_path, **options)
    files = sorted((tmp_path / "out").glob("*.tfrecord"))
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    files[1].unlink()
    (tmp_path / "out" / f".{files[1].name}.99.part").write_bytes(b"half")
    assert prepare(corpus, tmp_path / "out", tmp_path, **options) == counts
    after = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    assert [content for content, _ in after] == [content for content, _ in before]
    assert after[0] == before[0] and after[2] == before[2] and after[1] != before[1]
    assert not list((tmp_path / "out").glob(".*.part"))
    with pytest.raises(Error, match=r"prepared with other settings: max_sentences 1000 \(now 2\)"):
        prepare(corpus, tmp_path / "out", tmp_path, max_sentences=2, **options)
    corpus.write_text(corpus.read_text() + json.dumps({"text": "A cat.", "summary": "cat"}) + "\n")
    with pytest.raises(Error, match="other settings: corpus .*--set data.records=FOLDER"):
        prepare(corpus, tmp_path / "out", tmp_path, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "hard"}, 'labels="hard": expected "greedy"'),
        ({"shards": 0}, "shards=0: expected a whole number from 1"),
        ({"processes": 0}, "processes=0: expected a whole number from 1"),
        ({"window_length": 2}, "window_length=2: expected a whole number from 3"),
    ],
)
def test_impossible_arguments_are_named(corpus, tmp_path, options, message):
    with pytest.raises(Error, match=message):
        prepare(corpus, tmp_path / "out", tmp_path, progress=False, **options)
    assert not (tmp_path / "out").exists()


def test_a_folder_may_hold_tokenizer_json_alone(corpus, tmp_path):
    prepare(corpus, tmp_path / "out", tmp_path, progress=False)
    (tmp_path / "newer").mkdir()
    ids = {piece: i for i, piece in enumerate(VOCABULARY)}
    content = {"model": {"type": "WordPiece", "vocab": ids}, "added_tokens": []}
    (tmp_path / "newer" / "tokenizer.json").write_text(json.dumps(content))
    # as recipes name it
    prepare(corpus, tmp_path / "other", tmp_path / "newer" / "vocab.txt", progress=False)
    assert prepare(corpus, tmp_path / "other", tmp_path / "newer", progress=False)
    assert list(_documents(tmp_path / "other")) == list(_documents(tmp_path / "out"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (False, True)),
        ({"lowercase": True}, (True, True)),
        ({"strip_accents": False}, (False, False)),
    ],
)
def test_case_is_as_the_files_of_the_vocabulary_say(tmp_path, options, expected):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n")
    (tmp_path / "tokenizer_config.json").write_text(
        '{"do_lower_case": false, "strip_accents": true}'
    )
    made = case_settings(
        tmp_path / "vocab.txt", **{"lowercase": None, "strip_accents": None} | options
    )
    assert (made["lowercase"], made["strip_accents"]) == expected


def test_a_vocabulary_with_capitals_is_read_with_capitals(tmp_path):
    row = {"text": "The rain. The end.", "summary": "The rain."}
    (tmp_path / "c.jsonl").write_text(json.dumps(row))
    (tmp_path / "v.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nThe\nrain\nend\n.\n")
    prepare(tmp_path / "c.jsonl", tmp_path / "r", tmp_path / "v.txt", progress=False)
    (document,) = _documents(tmp_path / "r")
    assert document["pieces"] == [4, 5, 7, 4, 6, 7]


def test_wrong_rows_are_counted_and_the_records_are_those_of_the_others(corpus, tmp_path, capsys):
    clean = corpus.read_bytes().splitlines()
    wrong = [b"{oops", b'{"text": "a"}', b'{"text": 3, "summary": "b"}', b'{"text": "\xff"}']
    mixed = [line for pair in itertools.zip_longest(wrong, clean, fillvalue=b"") for line in pair]
    (tmp_path / "m.jsonl").write_bytes(b"\n".join(mixed))

    options = {"shards": 2, "vocabulary": tmp_path}
    expected = prepare(corpus, tmp_path / "clean", **options)
    assert "could not be read" not in capsys.readouterr().err
    counts = prepare(tmp_path / "m.jsonl", tmp_path / "mixed", **options)
    assert expected["wrong_rows"] == 0 and counts["wrong_rows"] == len(wrong)
    assert counts == expected | {"wrong_rows": 4, "dropped": expected["dropped"] + 4}
    for file in (tmp_path / "clean").glob("*.tfrecord"):
        assert file.read_bytes() == (tmp_path / "mixed" / file.name).read_bytes()
    said = capsys.readouterr().err
    assert said.count("tfsum: 4 row(s) could not be read, the first:\n") == 1
    assert re.findall(r"\n  .*m.jsonl:(\d+): ", said) == ["1", "3", "5"]


def test_a_corpus_of_wrong_rows_alone_says_what_is_wrong_with_the_first(corpus, tmp_path):
    columns = {"summary": "abstract"}
    with pytest.raises(DataError, match="9 wrong_rows.*c.jsonl:1: field 'abstract': found fields"):
        prepare(corpus, tmp_path / "out", tmp_path, columns=columns, progress=False)


def test_missing_files_are_named(corpus, tmp_path):
    with pytest.raises(DataError, match="nothing.txt: no such vocabulary"):
        prepare(corpus, tmp_path / "out", tmp_path / "nothing.txt", progress=False)
    with pytest.raises(DataError, match="nothing.jsonl: cannot be read"):
        prepare(tmp_path / "nothing.jsonl", tmp_path / "out", tmp_path, progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_processes_write_the_same_and_a_stopped_run_goes_on(
    corpus, tmp_path, stop, prepare_command
):
    expected = prepare(corpus, tmp_path / "one", tmp_path, shards=6, progress=False)
    command = prepare_command(corpus, shards=6)
    first = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while (
        not list((tmp_path / "two").glob("*.tfrecord"))
        and first.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    if first.poll() is None:
        os.killpg(first.pid, stop)
    first.wait(600)
    assert prepare(corpus, tmp_path / "two", tmp_path, shards=6, progress=False) == expected
    for file in (tmp_path / "one").glob("*.tfrecord"):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


@pytest.mark.slow
def test_an_emptied_shard_is_written_again(corpus, tmp_path):
    """It is told by its size and checksum, not by its name alone."""
    options = {"shards": 3, "progress": False}
    counts = prepare(corpus, tmp_path / "records", tmp_path / "vocab.txt", **options)
    shards = sorted((tmp_path / "records").glob("*.tfrecord"))
    before = [shard.read_bytes() for shard in shards]
    shards[1].write_bytes(b"")
    shards[2].write_bytes(before[2][:-1] + b"x")

    again = prepare(corpus, tmp_path / "records", tmp_path / "vocab.txt", **options)
    assert again == counts
    assert [shard.read_bytes() for shard in shards] == before


def test_two_calls_in_one_folder_write_once(corpus, tmp_path):
    options = {"shards": 3, "progress": False}
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        calls = [
            threads.submit(prepare, corpus, tmp_path / "records", tmp_path / "vocab.txt", **options)
            for _ in range(2)
        ]
        first, second = (call.result() for call in calls)
    assert first == second
    assert len(list((tmp_path / "records").glob("*.tfrecord"))) == 3


def test_a_call_says_in_one_line_that_it_waits_for_another(corpus, tmp_path, capsys):
    records = tmp_path / "records"
    records.mkdir()
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        with FileLock(records / LOCK):
            call = threads.submit(prepare, corpus, records, tmp_path / "vocab.txt", shards=1)
            said = ""
            while "\n" not in said and not call.done():
                time.sleep(0.01)
                said += capsys.readouterr().err
            assert not call.done() and [path.name for path in records.iterdir()] == [LOCK]
        assert call.result()["documents"]
    assert said == f"{records}: another process writes these records; waiting for it\n"


def test_a_folder_that_cannot_be_locked_is_named(corpus, tmp_path):
    (tmp_path / "records" / LOCK).mkdir(parents=True)
    with pytest.raises(Error, match="records: cannot be written .*; choose another folder"):
        prepare(corpus, tmp_path / "records", tmp_path / "vocab.txt", progress=False)


@pytest.mark.slow
def test_an_error_in_a_worker_reaches_the_caller(corpus, tmp_path, prepare_command):
    (tmp_path / "vocab.txt").write_text("[UNK]\n[PAD]\n")
    command = prepare_command(corpus, shards=2)
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and "[CLS]" in done.stderr.splitlines()[-1]
    assert "oneDNN" not in done.stderr  # the workers load TensorFlow quietly
    assert not list((tmp_path / "two").glob("*.tfrecord"))
