"""Labelled texts: reading, labels, the held-out share, packing against the original's loop,
batches."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfsum.errors import DataError
from tfsum.tasks.bert_classifier.batches import (
    LabelledTexts,
    TextBatcher,
    pack_texts,
    read_labelled,
)
from tfsum.text.word_piece import WordPiece

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(15))]
CLS, SEP = 2, 3


@pytest.fixture(scope="module")
def word_piece():
    return WordPiece(WORDS)


def texts_of(lengths, pair_lengths=None, seed=0):
    random = np.random.default_rng(seed)

    def some(count):
        return " ".join(WORDS[i] for i in random.integers(5, 20, count))

    sides = [lengths] if pair_lengths is None else [lengths, pair_lengths]
    texts = zip(*([some(n) for n in side] for side in reversed(sides)))
    labels = [("yes", "no")[i] for i in random.integers(0, 2, len(lengths))]
    return LabelledTexts("made.tsv", [text[::-1] for text in texts], labels)


def write(path, content):
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8") as file:
        file.write(content)
    return path


def test_the_same_from_every_format(tmp_path):
    rows = [("first text", "1", "a pair"), ("둘째 글", "0", "one, more")]
    files = [
        (
            write(tmp_path / "a.tsv.gz", "".join(f"{t}\t{label}\t{p}\n" for t, label, p in rows)),
            {"text": "1", "label": "2", "text_pair": "3"},
        ),
        (
            write(
                tmp_path / "a.csv",
                "sentence,gold,second\n" + "".join(f'{t},{label},"{p}"\n' for t, label, p in rows),
            ),
            {"text": "sentence", "label": "gold", "text_pair": "second"},
        ),
        (
            write(
                tmp_path / "a.jsonl",
                "".join(
                    json.dumps({"text": t, "label": int(label), "pair": p}) + "\n"
                    for t, label, p in rows
                ),
            ),
            {"text_pair": "pair"},
        ),
    ]
    for path, columns in files:
        found = read_labelled(path, **columns)
        assert found.texts == [(text, pair) for text, _, pair in rows]
        assert found.labels == [label for _, label, _ in rows]
        assert found.label_names() == ("0", "1") and found.label_ids(("1", "0")).tolist() == [0, 1]
        alone = read_labelled(path, **{k: v for k, v in columns.items() if k != "text_pair"})
        assert alone.texts == [(text,) for text, _, _ in rows]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"text": "a", "label": 1.5}', "field 'label': found float 1.5, expected a string"),
        ('{"text": 1, "label": 1}', "field 'text': found int 1"),
        ('{"text": "a"}', "field 'label': found fields text"),
        ('{"text": "a", "label": " "}', "text 1 has an empty label"),
        ("", "holds no text"),
    ],
)
def test_files_that_are_wrong(tmp_path, content, says):
    with pytest.raises(DataError, match=says):
        read_labelled(write(tmp_path / "a.jsonl", content))


def test_labels_outside_the_list_are_told_at_once():
    labels = ["yes", "maybe", "no", "maybe", "?"]
    texts = LabelledTexts("made.tsv", [(letter,) for letter in "abcde"], labels)
    with pytest.raises(
        DataError,
        match=r"made.tsv: 3 of 5 texts have labels outside the list, the first is text 2: "
        r"'maybe' \(2\), '\?' \(1\); expected 'no', 'yes'",
    ):
        texts.label_ids(("no", "yes"))


def test_the_held_out_share():
    """About the share, the same whatever the order, and texts that say the same on one side."""
    texts = LabelledTexts("made", [(f"text {i}",) for i in range(4000)], ["a", "b"] * 2000)
    rest, held = texts.held_out(0.1)
    assert sorted(rest.texts + held.texts) == sorted(texts.texts) and abs(len(held) - 400) < 60
    assert (
        dict(zip(held.texts, held.labels)).items() <= dict(zip(texts.texts, texts.labels)).items()
    )
    backwards = LabelledTexts("made", texts.texts[::-1], texts.labels)
    assert set(backwards.held_out(0.1)[1].texts) == set(held.texts)
    again = [(f"TEXT: {text[5:]}! http://t.co/{text[5:]}",) for (text,) in held.texts]
    both = LabelledTexts("made", texts.texts + again, texts.labels + ["a"] * len(again))
    assert set(both.held_out(0.1)[1].texts) == set(held.texts) | set(again)
    for share in (0.0, 1.0):
        with pytest.raises(DataError, match=rf"a share of {share} holds out \d+ of 4000 texts"):
            texts.held_out(share)


def original_truncation(first, second, room):
    """`_truncate_seq_pair` of google-research/bert's run_classifier.py: from the longer, a tie from
    the second."""
    first, second = list(first), list(second)
    while len(first) + len(second) > room:
        (first if len(first) > len(second) else second).pop()
    return first, second


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=5),
    st.integers(3, 16),
)
def test_pairs_are_cut_as_the_original_cuts_them(lengths, max_length):
    texts = texts_of(*zip(*lengths))
    packed = pack_texts(texts, ("no", "yes"), WordPiece(WORDS), max_length)
    ends, cut, cut_texts = np.cumsum(packed.length), 0, 0
    for i, (first, second) in enumerate(texts.texts):
        a, b = original_truncation(first.split(), second.split(), max_length - 3)
        ids = [CLS, *map(WORDS.index, a), SEP, *map(WORDS.index, b), SEP]
        row = slice(ends[i] - packed.length[i], ends[i])
        assert packed.token_ids[row].tolist() == ids
        assert packed.segment_ids[row].tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1)
        cut += sum(lengths[i]) - len(a) - len(b)
        cut_texts += sum(lengths[i]) > len(a) + len(b)
    assert (packed.counts["texts_cut"], packed.counts["pieces_cut"]) == (cut_texts, cut)
    assert packed.counts["tokens"] == ends[-1] and packed.counts["empty"] == lengths.count((0, 0))


def test_one_text_and_its_counts(word_piece):
    texts = [(text,) for text in ("w1 w2 w3 w4", "", "strange w5", "w1")]
    texts = LabelledTexts("made", texts, ["a", "b", "b", "a"])
    packed = pack_texts(texts, ("a", "b"), word_piece, 5)
    assert packed.length.tolist() == [5, 2, 4, 3] and packed.labels.tolist() == [0, 1, 1, 0]
    assert packed.counts == {
        "texts": 4,
        "tokens": 14,
        "unknown_pieces": 1,
        "empty": 1,
        "texts_cut": 1,
        "pieces_cut": 1,
    }
    batch = TextBatcher(packed, 10).assemble(np.array([3, 0]))
    assert batch["token_ids"].tolist() == [[CLS, 6, SEP, 0, 0], [CLS, 6, 7, 8, SEP]]
    assert not batch["segment_ids"].any() and batch["labels"].tolist() == [0, 0]


def test_batches_hold_every_text_once_within_the_budget(word_piece):
    lengths = np.random.default_rng(1).integers(0, 20, 70)
    packed = pack_texts(texts_of(lengths), ("no", "yes"), word_piece, 16)
    seen = []
    for batch in TextBatcher(packed, 64).dataset(training=True, epochs=1):
        ids, segments = batch["token_ids"].numpy(), batch["segment_ids"].numpy()
        assert ids.size <= 64 and ids.shape == segments.shape and len(batch["labels"]) == len(ids)
        seen += [(*row[row > 0].tolist(), int(label)) for row, label in zip(ids, batch["labels"])]
    ends = np.cumsum(packed.length)
    expected = [
        (*packed.token_ids[end - n : end].tolist(), int(label))
        for end, n, label in zip(ends, packed.length, packed.labels)
    ]
    assert sorted(seen) == sorted(expected)


def test_a_resumed_run_goes_on_where_it_was(word_piece):
    packed = pack_texts(texts_of(np.arange(40) % 14), ("no", "yes"), word_piece, 16)
    batcher, options = TextBatcher(packed, 48), {"training": True, "seed": 3, "epochs": 3}
    whole = [batch["token_ids"].numpy() for batch in batcher.dataset(**options)]
    later = [batch["token_ids"].numpy() for batch in batcher.dataset(skip_batches=11, **options)]
    assert len(later) == len(whole) - 11
    assert all(np.array_equal(a, b) for a, b in zip(whole[11:], later, strict=True))
    orders = [np.concatenate(batcher.plan((3, epoch))).tolist() for epoch in range(2)]
    assert orders[0] != orders[1]


def test_a_budget_below_the_longest_text(word_piece):
    packed = pack_texts(texts_of([10]), ("no", "yes"), word_piece, 16)
    with pytest.raises(DataError, match="the longest text takes 12 tokens .* lower max_length"):
        TextBatcher(packed, 11)
