"""From a corpus to masked batches: what the records hold, what is counted, Korean unharmed, stop
and resume."""

import gzip
import json
import subprocess
import unicodedata

import numpy as np
import pytest
import tensorflow as tf
from cases import first_by_default

import tfsum
from tfsum.errors import DataError, Error
from tfsum.tasks.bert_pretraining.batches import SentencePairBatcher, load_sentence_pairs
from tfsum.tasks.bert_pretraining.masking import Masking
from tfsum.text.detokenizer import Detokenizer
from tfsum.text.vocabulary import learn_vocabulary, write_vocabulary
from tfsum.text.word_piece import WordPiece

WORDS = ["the", "cat", "sat", "dog", "ran", "far", "away", ".", "##s"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
CLS, SEP, MASK = 2, 3, 4
TEXTS = [
    "The cat sat. The dog ran. The cats ran away.",
    "The dogs sat. A dog ran far. The cat ran.",
    "Far away.",
    "Away the dog ran. The dogs sat far away. \u200b. The cat.",
]


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    rows = [*TEXTS, " ", TEXTS[0] + " "]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in rows))
    return tmp_path / "c.jsonl"


def prepared(corpus, tmp_path, name="out", **options):
    return tfsum.prepare(
        corpus, tmp_path / name, tmp_path, "bert_for_pretraining", progress=False, **options
    )


def segments(pairs):
    """[(first, second, label)] as words."""
    starts = zip(pairs.start, pairs.counts, pairs.first_counts, pairs.labels, strict=True)
    for start, count, first, label in starts:
        words = [VOCABULARY[piece] for piece in pairs.pieces[start : start + count]]
        yield " ".join(words[:first]), " ".join(words[first:]), int(label)


def test_records_hold_pairs_and_everything_is_counted(corpus, tmp_path):
    counts = prepared(corpus, tmp_path, short_share=0.0, shards=2, duplicates=3)
    pairs = load_sentence_pairs(tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.tfrecord"))) == 2
    assert len(pairs) == counts["pairs"] == counts["next"] + counts["other_document"]
    assert (pairs.labels == 0).sum() == counts["next"] and (pairs.labels == 1).sum() == counts[
        "other_document"
    ]
    assert pairs.counts.sum() == counts["pieces"]
    # "A dog": no "a" in the vocabulary
    assert (pairs.pieces == 1).sum() == counts["unknown_pieces"] > 0
    assert counts["documents"] == 4 and counts["empty"] == counts["duplicate_documents"] == 1
    assert (
        counts["dropped"] == 2
        and counts["sentences_left"] >= 3
        and counts["sentences"] == 3 + 3 + 1 + 4
    )
    whole = " ".join(
        VOCABULARY[p] for text in TEXTS for p in WordPiece(VOCABULARY).tokenize([text]).to_list()[0]
    )
    assert all(
        f"{first} {second}" in whole for first, second, label in segments(pairs) if label == 0
    )
    assert counts == json.loads((tmp_path / "out/manifest.json").read_text())["counts"]


def test_a_second_call_goes_on_and_the_seed_makes_the_pairs(corpus, tmp_path):
    counts = prepared(corpus, tmp_path, shards=2)
    files = sorted((tmp_path / "out").glob("*.tfrecord"))
    before = [file.read_bytes() for file in files]
    files[1].unlink()
    assert prepared(corpus, tmp_path, shards=2) == counts
    assert [file.read_bytes() for file in files] == before
    prepared(corpus, tmp_path, "other", shards=2, seed=1, duplicates=5)
    assert (tmp_path / "other" / files[0].name).read_bytes() != before[0]
    with pytest.raises(Error, match=r"prepared with other settings: seed 0 \(now 2\)"):
        prepared(corpus, tmp_path, shards=2, seed=2)


@pytest.mark.slow
def test_processes_write_the_same(corpus, tmp_path, prepare_command):
    counts = prepared(corpus, tmp_path, shards=2)
    command = prepare_command(corpus, task_name="bert_for_pretraining", shards=2)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert json.loads((tmp_path / "two/manifest.json").read_text())["counts"] == counts
    for file in (tmp_path / "out").glob("*.tfrecord"):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_plain_text_is_the_originals_format(tmp_path, corpus):
    text = "the cat sat .\nthe dog ran .\n\n \nfar away\nthe cat"
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(text.encode()))
    counts = prepared(tmp_path / "c.txt.gz", tmp_path, next_sentence="none")
    assert counts["documents"] == counts["one_segment"] == 2 and counts["sentences"] == 4
    pairs = list(segments(load_sentence_pairs(tmp_path / "out")))
    assert pairs == [("the cat sat . the dog ran .", "", -1), ("far away the cat", "", -1)]


def test_a_corpus_of_one_document_is_one_error(tmp_path, corpus):
    (tmp_path / "one.txt").write_text("the cat sat .\nthe dog ran .\n")
    with pytest.raises(
        DataError, match=r"one.txt, part 'all' of it: found one document, .* an empty line"
    ):
        prepared(tmp_path / "one.txt", tmp_path)
    assert not list((tmp_path / "out").glob("*.tfrecord*"))
    assert (
        prepared(tmp_path / "one.txt", tmp_path, "none", next_sentence="none")["one_segment"] == 1
    )
    (tmp_path / "single.txt").write_text("the cat sat .\n\nthe dog ran .\n")
    with pytest.raises(
        DataError, match="single.txt: its 2 documents give no pair: none has two sentences"
    ):
        prepared(tmp_path / "single.txt", tmp_path, "single")
    (tmp_path / "control.txt").write_text("\x01\n\n\x02\n")
    with pytest.raises(
        DataError, match="control.txt: its 2 documents give no pair: .* of control characters alone"
    ):
        prepared(tmp_path / "control.txt", tmp_path, "control", next_sentence="none")
    (tmp_path / "nothing.txt").write_text("\n\n")
    with pytest.raises(
        DataError, match="nothing.txt: no document with a text in part 'all' .left out: 0 empty, "
    ):
        prepared(tmp_path / "nothing.txt", tmp_path, "nothing")
    with pytest.raises(Error, match="one.txt: cannot be made a folder of records"):
        prepared(tmp_path / "one.txt", tmp_path, "one.txt", next_sentence="none")


def test_impossible_arguments_are_named(corpus, tmp_path):
    for name, value in (
        ("max_length", 4),
        ("shards", 0),
        ("duplicates", 0),
        ("processes", 0),
        ("short_share", 1.5),
        ("same_document_share", -0.1),
        ("next_sentence", "odd"),
        ("part", "some"),
    ):
        with pytest.raises(Error, match=f"{name}={json.dumps(value)}: expected"):
            prepared(corpus, tmp_path, **{name: value})
    with pytest.raises(DataError, match="c.jsonl:1: field 'body': found fields text"):
        prepared(corpus, tmp_path, text="body")


@pytest.mark.slow
def test_documents_are_held_out_by_their_text(corpus, tmp_path):
    lines = [f"{number} the cat sat\t0" for number in range(400)]
    found = {}
    for name, order in (("a", lines), ("b", lines[::-1] + lines)):
        (tmp_path / f"{name}.tsv").write_text("\n".join(order) + "\n")
        for part in ("training", "held_out"):
            counts = prepared(
                tmp_path / f"{name}.tsv",
                tmp_path,
                f"{name}-{part}",
                text="1",
                next_sentence="none",
                part=part,
                held_out_share=0.1,
                shards=1,
            )
            found[name, part] = counts["documents"]
            assert counts["documents"] + counts["other_part"] == 400
    assert 10 < found["a", "held_out"] == found["b", "held_out"] < 70
    assert found["a", "training"] == found["b", "training"] == 400 - found["a", "held_out"]


def batches(pairs, tokens_per_batch=200, masking=None, **options):
    """Batches as dicts of numpy arrays."""
    batcher = SentencePairBatcher(
        pairs,
        tokens_per_batch,
        masking=masking or Masking(VOCABULARY, seed=4),
        cls_id=CLS,
        sep_id=SEP,
    )
    return list(batcher.dataset(**{"training": True, "epochs": 1, **options}).as_numpy_iterator())


def unmasked(batch):
    """The true rows of a batch, less padding, with their segments and labels."""
    ids = batch["token_ids"].copy()
    row, slot = np.nonzero(batch["masked_lm_weights"])
    ids[row, batch["masked_lm_positions"][row, slot]] = batch["masked_lm_ids"][row, slot]
    lengths = (ids != 0).sum(1)
    return [
        (tuple(a[:n].tolist()), tuple(b[:n].tolist()), int(label))
        for a, b, n, label in zip(
            ids, batch["segment_ids"], lengths, batch["next_sentence_labels"], strict=True
        )
    ]


@pytest.mark.slow
def test_every_pair_comes_once_an_epoch_under_a_new_mask(corpus, tmp_path):
    prepared(corpus, tmp_path, duplicates=20)
    pairs = load_sentence_pairs(tmp_path / "out")
    expected = []
    for start, count, first, label in zip(
        pairs.start, pairs.counts, pairs.first_counts, pairs.labels, strict=True
    ):
        a, b = np.split(pairs.pieces[start : start + count], [first])
        expected.append(((CLS, *a, SEP, *b, SEP), (0,) * (len(a) + 2) + (1,) * (len(b) + 1), label))
    for training in (True, False):
        found = batches(pairs, training=training)
        assert all(batch["token_ids"].size <= 200 for batch in found)
        assert sorted(row for batch in found for row in unmasked(batch)) == sorted(expected)
    found = batches(pairs, epochs=2)
    rows = [tuple(row[row != 0].tolist()) for batch in found for row in batch["token_ids"]]
    assert sorted(rows[: len(pairs)]) != sorted(rows[len(pairs) :])


def test_a_resume_gives_the_rest_exactly(corpus, tmp_path):
    prepared(corpus, tmp_path, duplicates=20)
    pairs = load_sentence_pairs(tmp_path / "out")

    def bytes_of(**options):
        return [
            {k: v.tobytes() for k, v in batch.items()}
            for batch in batches(pairs, seed=7, epochs=3, **options)
        ]

    whole = bytes_of()
    for skip in (1, len(whole) // 3 + 2, len(whole) - 1):
        assert bytes_of(skip_batches=skip) == whole[skip:]


@pytest.mark.slow
def test_one_segment_has_no_next_sentence(corpus, tmp_path):
    prepared(corpus, tmp_path, next_sentence="none")
    (batch,) = batches(load_sentence_pairs(tmp_path / "out"))
    assert (batch["next_sentence_labels"] == -1).all() and not batch["segment_ids"].any()
    assert ((batch["token_ids"] == SEP).sum(1) == 1).all() and (
        batch["token_ids"][:, 0] == CLS
    ).all()


KOREAN = [
    "정말 재밌어요^^..단지 조금 아쉽네요!",
    "원작 소설을 너무 좋아해서ㅠ 귀여워요ㅋ",
    "Don't miss it, 최고의 영화 10/10",
    "뷁스러운 연기, 그러나 감동 :)",
]


@pytest.mark.parametrize("lowercase", first_by_default([False, True]))
def test_korean_goes_through_unharmed(tmp_path, lowercase):
    """Text to records to masked batches and back, byte for byte; decomposed letters are
    composed."""
    case = {"lowercase": lowercase, "strip_accents": False}
    vocabulary = learn_vocabulary(KOREAN[:3] * 3, 400, **case)
    write_vocabulary(vocabulary, tmp_path / "vocab.txt")
    lines = [unicodedata.normalize("NFD", KOREAN[0]), *KOREAN[1:]]
    (tmp_path / "ko.tsv").write_text("".join(f"{line}\t1\n" for line in lines), encoding="utf-8")
    counts = prepared(
        tmp_path / "ko.tsv", tmp_path, text="1", next_sentence="none", newline="space", **case
    )
    assert counts["one_segment"] == 4 and counts["unknown_pieces"] == counts["pieces_cut"] == 0
    rows = []
    pairs = load_sentence_pairs(tmp_path / "out")
    for batch in batches(
        pairs, tokens_per_batch=1000, masking=Masking(vocabulary, whole_words=True)
    ):
        assert (batch["token_ids"] == MASK).any()
        rows += [ids for ids, _, _ in unmasked(batch)]
    texts = [Detokenizer(vocabulary).detokenize([list(ids)]).numpy()[0].decode() for ids in rows]
    expected = [text.lower() if lowercase else text for text in KOREAN]
    assert sorted(texts) == sorted(expected)


def test_reviews_keep_every_letter(shared, tmp_path):
    """Real Korean reviews, their spaces aside: between two sentences one is written where there was
    none."""
    with gzip.open(shared / "data" / "nsmc_ko" / "train.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line for line, _ in zip(file, range(300))]
    case = {"lowercase": True, "strip_accents": False}
    (tmp_path / "ko.tsv").write_text("".join(lines), encoding="utf-8")
    texts = [line.split("\t")[0] for line in lines]
    vocabulary = learn_vocabulary(texts, 2000, **case)
    write_vocabulary(vocabulary, tmp_path / "vocab.txt")
    prepared(
        tmp_path / "ko.tsv",
        tmp_path,
        text="1",
        next_sentence="none",
        newline="space",
        short_share=0.0,
        **case,
    )
    pairs = load_sentence_pairs(tmp_path / "out")
    rows = [
        ids
        for batch in batches(pairs, tokens_per_batch=4000, masking=Masking(vocabulary))
        for ids, _, _ in unmasked(batch)
    ]
    found = (
        Detokenizer(vocabulary)
        .detokenize(tf.ragged.constant([list(ids) for ids in rows], tf.int32))
        .numpy()
    )
    expected = [unicodedata.normalize("NFC", text).lower() for text in texts]
    assert sorted("".join(text.decode().split()) for text in found) == sorted(
        "".join(t.split()) for t in expected
    )
