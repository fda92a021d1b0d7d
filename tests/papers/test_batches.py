"""The batches that the data loaders of BertSum and PreSumm made of 200 examples, and their cut of
long ones."""

import json

import numpy as np
import pytest

from tfsum.data.records import make_record, write_shard
from tfsum.papers.batches import OriginalBatcher, cut_source, original_groups

LONGEST, LONGEST_TARGET = 512, 140  # the originals' defaults
CLS, SEP = 101, 102


def seeded(case):
    return (case["random_seed"], 0) if case["shuffle"] else None


@pytest.mark.reference
def test_bertsum(shared):
    stored = json.loads((shared / "parity/batching_bertsum.json").read_text())
    lengths, sentences = zip(*stored["examples_src_len_n_sents"])
    for case in stored["cases"]:
        groups = original_groups(
            lengths, [sentences], case["batch_size"], "bertsum", shuffle=seeded(case)
        )
        assert groups == [batch for batch in case["batches"] if batch], case["batch_size"]


@pytest.mark.reference
def test_presumm(shared):
    stored = json.loads((shared / "parity/batching_presumm.json").read_text())
    sources, _, targets = zip(*stored["examples_src_len_n_sents_tgt_len"])
    sources, targets = (
        np.minimum(sources, LONGEST).tolist(),
        np.minimum(targets, LONGEST_TARGET).tolist(),
    )
    for case in stored["cases"]:
        summaries = case["task"] == "abs"
        lengths = (
            [size if source else 0 for size, source in zip(targets, sources)]
            if summaries
            else sources
        )
        groups = original_groups(
            lengths,
            [targets, sources] if summaries else [sources],
            case["batch_size"],
            "presumm",
            summaries,
            seeded(case),
        )
        assert groups == case["batches"], case


def records(path, documents):
    """Records of documents that are lists of numbers of pieces, ids counted from 1000 as in the
    fixture."""
    made = []
    for counts in documents:
        ids = iter(range(1001, 3000))
        pieces = [[next(ids) for _ in range(count)] for count in counts]
        made.append(make_record("a", pieces, [1.0] * len(counts), [b"a"] * len(counts), "a"))
    write_shard(path, made)
    return path


@pytest.mark.reference
def test_the_cut_when_a_document_is_loaded(shared, tmp_path):
    for case in json.loads((shared / "parity/batching_presumm.json").read_text())[
        "load_truncation"
    ]:
        src = np.array([*range(1000, 999 + case["src_len"]), SEP])
        ids, starts = cut_source(src, np.array(case["clss"]), LONGEST)
        out = case["out"]
        assert len(ids) == out["src_len"] and ids[-3:].tolist() == out["src_last3"]
        assert starts.tolist() == out["clss"] and len(starts) == out["n_labels"]


def test_a_sentence_that_would_begin_at_the_last_position(tmp_path):
    """Its [CLS] is [SEP] in the original, and it is scored: quirk 9 of the notes on the
    originals."""
    path = records(tmp_path / "a.tfrecord", [[3, 4, 2]])
    batch = OriginalBatcher(path, "presumm", 6, 30, cls_id=CLS, sep_id=SEP).assemble(np.array([0]))
    assert batch["token_ids"].tolist() == [[CLS, 1001, 1002, 1003, SEP, SEP]]
    assert batch["segment_ids"].tolist() == [[0, 0, 0, 0, 0, 1]]
    assert batch["sentence_starts"].tolist() == [[0, 5]] and batch["labels"].tolist() == [[1, 1]]


def test_a_batch_is_padded_to_its_longest_and_segments_take_turns(tmp_path):
    path = records(tmp_path / "a.tfrecord", [[3, 2], [1, 1, 6]])
    batcher = OriginalBatcher(path, "bertsum", 10, 100, cls_id=CLS, sep_id=SEP)
    (rows,) = batcher.plan()
    batch = batcher.assemble(rows)
    assert batch["token_ids"].tolist() == [
        [CLS, 1001, 1002, 1003, SEP, CLS, 1004, 1005, SEP, 0],
        [CLS, 1001, SEP, CLS, 1002, SEP, CLS, 1003, 1004, SEP],
    ]
    assert batch["segment_ids"].tolist() == [[0] * 5 + [1] * 4 + [0], [0] * 3 + [1] * 3 + [0] * 4]
    assert batch["sentence_starts"].tolist() == [[0, 5, -1], [0, 3, 6]]
    assert batch["labels"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert batcher.report()["batches"] == 1 and batcher.counts["sentences_cut"] == 1


def test_an_epoch_is_a_function_of_the_seed_and_its_number(tmp_path):
    path = records(tmp_path / "a.tfrecord", [[3 + i % 5, 2] for i in range(40)])
    batcher = OriginalBatcher(path, "presumm", 512, 40, cls_id=CLS, sep_id=SEP)
    plans = [
        [rows.tolist() for rows in batcher.plan(shuffle)] for shuffle in ((1, 0), (1, 0), (1, 1))
    ]
    assert plans[0] == plans[1] != plans[2]
    assert sorted(row for rows in plans[2] for row in rows) == list(range(40))
