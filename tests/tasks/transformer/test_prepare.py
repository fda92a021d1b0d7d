"""Pairs from their files to batches, against rows laid out by hand."""

import functools
import gzip
import json
import subprocess
from typing import get_args

import numpy as np
import pytest

import tfsum
from tfsum.data.records import make_pair_record, write_shard
from tfsum.errors import DataError, Error
from tfsum.tasks.transformer.batches import PairBatcher, load_pairs, pair_texts
from tfsum.tasks.transformer.prepare import WindowTargets, read_pairs, sentence_windows

prepare = functools.partial(tfsum.prepare, task_name="transformer")

VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "cat",
    "sat",
    "le",
    "chat",
    "##s",
    ".",
    "é",
]
CLS, SEP = 2, 3
PAIRS = [("the cat", "le chat"), ('the "cat"', "é"), ("고양이", "猫 ,")]


def _file(path, text):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


def _formats(folder):
    """(corpus, target corpus, columns) of the same pairs in every format."""
    plain = "".join(f"{a}\t{b}\n" for a, b in PAIRS)
    yield _file(folder / "a.tsv.gz", plain), None, {"source": "1", "target": "2"}
    quoted = ["en,fr", "the cat,le chat", '"the ""cat""",é', '고양이,"猫 ,"']
    yield _file(folder / "b.csv", "\n".join(quoted) + "\n"), None, {"source": "en", "target": "fr"}
    rows = [json.dumps({"source": a, "target": b}) for a, b in PAIRS]
    yield _file(folder / "c.jsonl", "\n".join(rows)), None, {}
    sides = ["\n".join(side) + "\n" for side in zip(*PAIRS, strict=True)]
    yield _file(folder / "d.en.gz", sides[0]), _file(folder / "d.fr", sides[1]), {}


def test_every_format_gives_the_same_pairs(tmp_path):
    for corpus, target_corpus, columns in _formats(tmp_path):
        assert list(read_pairs(corpus, target_corpus, **columns)) == PAIRS, corpus


def test_pairs_are_nfc_and_columns_may_be_turned_round(tmp_path):
    corpus = _file(tmp_path / "a.tsv", " e\u0301 \tx\n")
    assert list(read_pairs(corpus, source="2", target="1")) == [("x", "é")]


def test_parallel_files_end_together(tmp_path):
    a, b = _file(tmp_path / "a", "x\ny\nz\n"), _file(tmp_path / "b", "x\ny\n")
    with pytest.raises(
        DataError, match=r"b: ends after line 2 and .*a goes on; expected as many lines"
    ):
        list(read_pairs(a, b))
    with pytest.raises(
        DataError, match=r"c: cannot be read \(No such file or directory\); expected a file"
    ):
        list(read_pairs(a, tmp_path / "c"))
    with pytest.raises(DataError, match="a and .*d.gz:1: field 'target': not UTF-8"):
        (tmp_path / "d.gz").write_bytes(gzip.compress(b"\xff\n"))
        list(read_pairs(a, tmp_path / "d.gz"))


def test_source_and_target_may_have_vocabularies_of_their_own(tmp_path):
    corpus = _file(tmp_path / "a.tsv", "the cat\tle chat\n")
    for name, words in (("en.txt", ["the", "cat"]), ("fr.txt", ["chat", "x", "le"])):
        (tmp_path / name).write_text("\n".join([*VOCABULARY[:5], *words]) + "\n")
    counts = prepare(
        corpus,
        tmp_path / "records",
        tmp_path / "en.txt",
        target_vocabulary=tmp_path / "fr.txt",
        source="1",
        target="2",
    )
    pairs = load_pairs(tmp_path / "records")
    assert (
        pairs.sources.tolist() == [5, 6]
        and pairs.targets.tolist() == [7, 5]
        and counts["unknown_pieces"] == 0
    )


def test_rows_without_a_header_have_as_many_cells_as_the_first(tmp_path):
    with pytest.raises(DataError, match="a.tsv:2: found 1 cells, expected 2"):
        list(read_pairs(_file(tmp_path / "a.tsv", "x\ty\nz\n"), source="1", target="2"))
    with pytest.raises(DataError, match="b.tsv:1: field '3': found fields 1, 2"):
        list(read_pairs(_file(tmp_path / "b.tsv", "x\ty\n"), source="1", target="3"))


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    rows = [
        "the cats sat.\tle chats le le",
        "the cat\tle chat",
        "the cat\tle chat",
        " \tle",
        "the\t",
        "x\té",
        "the the the the the\tle",
        "the\tle le le le le",
    ]
    return _file(tmp_path / "c.tsv", "\n".join(rows) + "\n")


def test_records_hold_ids_and_texts_and_all_is_counted(corpus, tmp_path):
    options = {"source": "1", "target": "2", "max_source_length": 6, "max_target_length": 5}
    counts = prepare(corpus, tmp_path / "out", tmp_path, **options)
    pairs = load_pairs(tmp_path / "out")
    assert pairs.source_counts.tolist() == [2, 1] and pairs.sources.tolist() == [5, 6, 1]
    assert pairs.target_counts.tolist() == [2, 1] and pairs.targets.tolist() == [8, 9, 12]
    assert list(pair_texts(tmp_path / "out")) == [("the cat", "le chat"), ("x", "é")]
    expected = {
        "pairs": 2,
        "source_pieces": 3,
        "target_pieces": 3,
        "unknown_pieces": 1,
        "duplicates": 1,
        "empty_source": 1,
        "empty_target": 1,
        "long_source": 2,
        "long_target": 1,
        "wrong_rows": 0,
        "dropped": 6,
        "lines_beyond": 0,
        "sources_cut": 0,
        "pieces_cut": 0,
    }
    assert counts == expected
    before = (tmp_path / "out" / "pairs.tfrecord").stat().st_mtime_ns
    assert prepare(corpus, tmp_path / "out", tmp_path, **options) == expected
    assert (tmp_path / "out" / "pairs.tfrecord").stat().st_mtime_ns == before
    with pytest.raises(
        Error, match=r"prepared with other settings: cut_sources False \(now True\)"
    ):
        prepare(corpus, tmp_path / "out", tmp_path, cut_sources=True, **options)


def test_shards_hold_what_one_file_holds(corpus, tmp_path):
    """Duplicates are dropped across shards, and a shard that is gone is written again."""
    options = {
        "source": "1",
        "target": "2",
        "max_source_length": 6,
        "max_target_length": 5,
        "progress": False,
    }
    counts = prepare(corpus, tmp_path / "one", tmp_path, **options)
    assert prepare(corpus, tmp_path / "three", tmp_path, shards=3, **options) == counts
    assert list(pair_texts(tmp_path / "three")) == list(pair_texts(tmp_path / "one"))
    files = sorted((tmp_path / "three").glob("*.tfrecord"))
    before = [file.read_bytes() for file in files]
    assert len(files) == 3
    files[1].unlink()
    assert prepare(corpus, tmp_path / "three", tmp_path, shards=3, **options) == counts
    assert [file.read_bytes() for file in files] == before
    with pytest.raises(Error, match=r"prepared with other settings: shards 3 \(now None\)"):
        prepare(corpus, tmp_path / "three", tmp_path, **options)


def test_a_folder_of_the_first_version_is_found_done(corpus, tmp_path):
    """One file, and a manifest whose settings say nothing of shards."""
    prepare(corpus, tmp_path / "out", tmp_path, source="1", target="2", progress=False)
    content = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert set(content["settings"]) == {
        "source",
        "target",
        "max_source_length",
        "max_target_length",
        "cut_sources",
        "target_lines",
        "window_sentences",
        "window_targets",
        "lowercase",
        "strip_accents",
        "corpus",
        "vocabulary",
        "target_vocabulary",
        "target_corpus",
    }
    assert list(content["shards"]) == ["pairs.tfrecord"] and content["shards"][
        "pairs.tfrecord"
    ] == {
        "pairs": 5,
        "source_pieces": 14,
        "target_pieces": 14,
        "unknown_pieces": 1,
        "lines_beyond": 0,
        "sources_cut": 0,
        "pieces_cut": 0,
        "read": 5,
        "long_source": 0,
        "long_target": 0,
    }
    left_out = {"empty_source": 1, "empty_target": 1, "duplicates": 1, "dropped": 3}
    assert content["counts"].items() >= left_out.items()


@pytest.mark.slow
def test_processes_write_the_same(corpus, tmp_path, prepare_command):
    counts = prepare(
        corpus, tmp_path / "one", tmp_path, source="1", target="2", shards=2, progress=False
    )
    options = {"source": "1", "target": "2", "shards": 2}
    command = prepare_command(corpus, task_name="transformer", **options)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert json.loads((tmp_path / "two/manifest.json").read_text())["counts"] == counts
    for file in (tmp_path / "one").glob("*.tfrecord"):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_sources_are_cut_and_first_lines_kept_where_asked_for(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    row = {"text": "the cat sat the cat sat", "summary": "le chat\né\né"}
    corpus = _file(tmp_path / "c.jsonl", json.dumps(row))
    counts = prepare(
        corpus,
        tmp_path / "out",
        tmp_path,
        source="text",
        target="summary",
        max_source_length=6,
        cut_sources=True,
        target_lines=1,
    )
    assert load_pairs(tmp_path / "out").sources.tolist() == [5, 6, 7, 5]
    assert list(pair_texts(tmp_path / "out")) == [("the cat sat the cat sat", "le chat")]
    assert (counts["sources_cut"], counts["pieces_cut"], counts["lines_beyond"]) == (1, 2, 2)


def test_windows_are_runs_of_sentences_with_their_first_one():
    texts = ["A b. C d. E f. G h. I j. K l.", "", "One alone."]
    assert list(sentence_windows([(text, "unread") for text in texts], 4)) == [
        ("A b. C d. E f. G h.", "A b."),
        ("E f. G h. I j. K l.", "E f."),
        ("", ""),
        ("One alone.", "One alone."),
    ]
    # whatever the sizes, every sentence is in a run and no run is all in another
    split_texts = [
        [f"{letter}{i}." for i in range(length)]
        for letter, length in zip("ABCDE", (1, 5, 6, 7, 10))
    ]
    for sentences in (2, 3, 6):
        texts = [(" ".join(split), "") for split in split_texts]
        found = [source.split() for source, _ in sentence_windows(texts, sentences)]
        for split in split_texts:
            runs = [run for run in found if run[0] in split]
            assert set().union(*runs) == set(split) and all(len(run) <= sentences for run in runs)
            assert not any(set(one) <= set(other) for one, other in zip(runs[1:], runs))


def test_each_line_stands_beside_the_run_that_begins_most_like_it():
    source = "The cat sat. Dogs ran far away. It rained. The cat slept all day. Then it left."
    lines = ["A cat slept the day through", "nothing here", "dogs ran"]
    assert list(sentence_windows([(source, "\n".join(lines)), ("", "left alone")], 2, "lines")) == [
        ("The cat slept all day. Then it left.", lines[0]),
        ("The cat sat. Dogs ran far away.", lines[1]),
        ("Dogs ran far away. It rained.", lines[2]),
        ("", "left alone"),
    ]
    kinds = [
        list(sentence_windows([(source, "\n".join(lines))], 2, kind))
        for kind in get_args(WindowTargets)
    ]
    assert kinds[2] == kinds[0] + kinds[1]


def test_windows_take_the_place_of_the_targets(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    corpus = _file(tmp_path / "c.tsv", "The cat. The cats sat.\tle chat\n\té\n")
    counts = prepare(
        corpus,
        tmp_path / "out",
        tmp_path,
        source="1",
        target="2",
        lowercase=True,
        window_sentences=2,
    )
    assert list(pair_texts(tmp_path / "out")) == [("The cat. The cats sat.", "The cat.")]
    assert load_pairs(tmp_path / "out").targets.tolist() == [5, 6, 11]
    assert (counts["pairs"], counts["empty_source"]) == (1, 1)
    with pytest.raises(
        Error, match='window_targets="words": expected "sentences", "lines" or "both"'
    ):
        prepare(corpus, tmp_path / "out", tmp_path, window_targets="words")


def test_a_corpus_of_nothing_leaves_nothing(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    corpus = _file(tmp_path / "c.tsv", "the\t\n")
    message = "no document with a source and a target .left out: 0 empty_source, 1 empty_target, "
    with pytest.raises(DataError, match=message):
        prepare(corpus, tmp_path / "out", tmp_path, source="1", target="2")
    corpus = _file(tmp_path / "long.tsv", "the cat\tthe cats\n")
    with pytest.raises(
        DataError, match="no pair of the corpus can be used; found .*'long_target': 1"
    ):
        prepare(corpus, tmp_path / "long", tmp_path, source="1", target="2", max_target_length=2)
    for out in ("out", "long"):
        assert not list((tmp_path / out).glob("*.tfrecord*"))
    for name, value in (
        ("max_source_length", 2),
        ("max_target_length", 1),
        ("target_lines", 0),
        ("window_sentences", 1),
    ):
        with pytest.raises(Error, match=f"{name}={value}: expected"):
            prepare(corpus, tmp_path / "out", tmp_path, **{name: value})


def _random_pairs(number, seed=0, longest=40):
    random = np.random.default_rng(seed)
    return [
        tuple(random.integers(10, 99, random.integers(1, longest)).tolist() for _ in range(2))
        for _ in range(number)
    ]


@pytest.fixture
def records(tmp_path):
    """200 random pairs and their records."""
    pairs = _random_pairs(200)
    write_shard(tmp_path / "p.tfrecord", (make_pair_record(s, t, "a", "b") for s, t in pairs))
    return pairs, tmp_path / "p.tfrecord"


def _unpadded(row):
    length = int((row != 0).sum())
    assert not row[length:].any()
    return row[:length].tolist()


def _batcher(path, tokens_per_batch=300):
    return PairBatcher(load_pairs(path), tokens_per_batch, cls_id=CLS, sep_id=SEP)


@pytest.mark.parametrize("training", [False, True])
def test_every_pair_comes_once_with_its_start_and_end(records, training):
    pairs, path = records
    found = []
    for batch in _batcher(path).dataset(training=training, epochs=1):
        arrays = [batch[name].numpy() for name in ("source_ids", "target_ids", "target_labels")]
        # buckets are 4 wide
        assert all(a.dtype == np.int32 and a.size <= 300 and a[:, -4:].any() for a in arrays)
        found += [tuple(map(_unpadded, rows)) for rows in zip(*arrays, strict=True)]
    assert sorted(found) == sorted(([CLS, *s, SEP], [CLS, *t], [*t, SEP]) for s, t in pairs)


def _passes(path, **options):
    batches = _batcher(path).dataset(training=True, **options)
    return [{k: v.numpy().tobytes() for k, v in batch.items()} for batch in batches]


def test_a_resume_gives_the_rest_exactly_and_epochs_differ(records):
    pairs = records[1]
    whole = _passes(pairs, seed=7, epochs=3)
    assert whole == _passes(pairs, seed=7, epochs=3)
    for skip in (1, len(whole) // 3 + 2, len(whole) - 1):
        assert _passes(pairs, seed=7, epochs=3, skip_batches=skip) == whole[skip:]
    one = _passes(pairs, seed=7, epochs=1)
    assert one == whole[: len(one)] and whole[len(one) : 2 * len(one)] != one
    assert _passes(pairs, seed=8, epochs=1) != one


def test_the_report_counts_tokens_and_padding(tmp_path):
    pairs = [([5] * 8, [6] * 3), ([5] * 6, [6] * 9)]
    write_shard(tmp_path / "p.tfrecord", (make_pair_record(s, t, "a", "b") for s, t in pairs))
    report = _batcher(tmp_path, 20).report()
    assert report == {
        "pairs": 2,
        "batches": 1,
        "source_tokens": 18,
        "target_tokens": 14,
        "tokens": 32,
        "padded_tokens": 40,
        "padding": pytest.approx(0.2),
    }
    with pytest.raises(DataError, match="tokens_per_batch 9 .* the longest pair takes 10 tokens"):
        _batcher(tmp_path, 9)


def test_rows_in_memory_take_no_file_of_targets(tmp_path):
    with pytest.raises(
        DataError,
        match="targets of a file of sources, and the corpus is rows in memory; give a file",
    ):
        list(read_pairs([{"source": "a", "target": "b"}], tmp_path / "targets.txt"))
