"""Packing against plain Python written from the papers' description."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfsum.errors import Error
from tfsum.text.packing import pack, pack_windows

CLS, SEP = 101, 102


def ragged(rows: list[list[int]]) -> tf.RaggedTensor:
    """Rows as (N, P) int32, with no rows too."""
    return tf.RaggedTensor.from_row_lengths(
        tf.constant([i for row in rows for i in row], tf.int32),
        tf.constant([len(row) for row in rows], tf.int64),
    )


def windows_in_python(documents: list[list[list[int]]], length: int) -> dict[str, list]:
    """The same windows one sentence at a time."""
    out = {
        name: []
        for name in ("tokens", "segments", "starts", "per_document", "window", "place", "cut")
    }
    for document in documents:
        tokens, count = None, 0
        for sentence in document:
            kept = sentence[: length - 2]
            if tokens is None or len(tokens) + len(kept) + 2 > length:
                tokens, segments, starts = [], [], []
                for name, row in (("tokens", tokens), ("segments", segments), ("starts", starts)):
                    out[name].append(row)
                count += 1
            out["window"].append(len(out["tokens"]) - 1)
            out["place"].append(len(starts))
            out["cut"].append(len(sentence) - len(kept))
            segments += [len(starts) % 2] * (len(kept) + 2)
            starts.append(len(tokens))
            tokens += [CLS, *kept, SEP]
        out["per_document"].append(count)
    return out


def padded(rows: list[list[int]], fill: int) -> np.ndarray:
    width = max((len(row) for row in rows), default=0)
    return np.array([row + [fill] * (width - len(row)) for row in rows], np.int32).reshape(
        len(rows), width
    )


@tf.function(
    input_signature=[
        tf.RaggedTensorSpec([None, None], tf.int32),
        tf.TensorSpec([None], tf.int32),
        tf.TensorSpec([], tf.int64),
    ],
    autograph=False,
)
def windows_in_graph(pieces, counts, length):
    return tf.switch_case(
        tf.cast(length, tf.int32),
        [
            lambda size=size: pack_windows(pieces, counts, size, CLS, SEP)
            for size in (8, 16, 64, 512)
        ],
    )


def check(documents: list[list[list[int]]], length: int) -> None:
    expected = windows_in_python(documents, length)
    pieces = ragged([sentence for document in documents for sentence in document])
    counts = tf.constant([len(document) for document in documents], tf.int32)
    found = windows_in_graph(pieces, counts, (8, 16, 64, 512).index(length))
    assert all(tensor.dtype == tf.int32 for tensor in found.values())
    np.testing.assert_array_equal(found["token_ids"], padded(expected["tokens"], 0))
    np.testing.assert_array_equal(found["segment_ids"], padded(expected["segments"], 0))
    np.testing.assert_array_equal(found["sentence_starts"], padded(expected["starts"], -1))
    for name, rows in (
        ("windows_per_document", "per_document"),
        ("window_of_sentence", "window"),
        ("place_in_window", "place"),
        ("pieces_cut", "cut"),
    ):
        assert found[name].numpy().tolist() == expected[rows], name


sentence = st.one_of(st.integers(0, 12), st.integers(0, 80), st.just(0), st.integers(500, 700)).map(
    lambda count: list(range(1000, 1000 + count))
)
documents = st.lists(st.lists(sentence, max_size=12), max_size=5)


@given(documents, st.sampled_from([8, 16, 64, 512]))
def test_windows_equal_a_loop_over_sentences(documents, length):
    check(documents, length)


@pytest.mark.parametrize("length", [8, 16, 64, 512])
@pytest.mark.parametrize(
    "documents",
    [
        [],
        [[]],
        [[], [], []],
        [[[]]],
        [[], [[]], []],
        [[[7] * 2000]],
        [[[7] * 510, [8], [9] * 511, []]],
        [[[]] * 300, [[5]]],
    ],
    ids=[
        "no documents",
        "empty",
        "empty ones",
        "empty sentence",
        "between",
        "too long",
        "edges",
        "many",
    ],
)
def test_windows_at_the_edges(documents, length):
    check(documents, length)


def test_a_full_window_stays_whole():
    found = pack_windows(ragged([[5] * 2, [6] * 2]), [2], 8, CLS, SEP)
    assert found["token_ids"].numpy().tolist() == [[101, 5, 5, 102, 101, 6, 6, 102]]
    assert found["segment_ids"].numpy().tolist() == [[0, 0, 0, 0, 1, 1, 1, 1]]
    assert found["sentence_starts"].numpy().tolist() == [[0, 4]]


def test_pack_one_text():
    found = pack(ragged([[5, 6], [], [1, 2, 3, 4, 5]]), 5, CLS, SEP)
    expected = [[101, 5, 6, 102, 0], [101, 102, 0, 0, 0], [101, 1, 2, 3, 102]]
    assert found["token_ids"].numpy().tolist() == expected
    assert found["mask"].numpy().tolist() == [
        [True] * 4 + [False],
        [True] * 2 + [False] * 3,
        [True] * 5,
    ]
    assert found["segment_ids"].numpy().tolist() == [[0] * 5] * 3
    assert found["pieces_cut"].numpy().tolist() == [0, 0, 2]
    assert found["token_ids"].shape == (3, 5)


def truncate_pair(first: list[int], second: list[int], room: int) -> None:
    """google-research/bert, run_classifier.py, in words: pop from the longer, from the second when
    equal."""
    while len(first) + len(second) > room:
        (first if len(first) > len(second) else second).pop()


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=5), st.integers(3, 20))
def test_pairs_are_cut_from_the_longer_text(sizes, length):
    first, second = [[5] * a for a, _ in sizes], [[6] * b for _, b in sizes]
    found = pack(ragged(first), length, CLS, SEP, pair=ragged(second))
    for row, (a, b) in enumerate(zip(first, second)):
        truncate_pair(a, b, length - 3)
        tokens = [CLS, *a, SEP, *b, SEP]
        segments = [0] * (len(a) + 2) + [1] * (len(b) + 1)
        assert found["token_ids"][row].numpy().tolist() == tokens + [0] * (length - len(tokens))
        assert found["segment_ids"][row].numpy().tolist() == segments + [0] * (length - len(tokens))
        assert found["mask"][row].numpy().tolist() == [True] * len(tokens) + [False] * (
            length - len(tokens)
        )
        assert found["pieces_cut"][row] == sizes[row][0] - len(a)
        assert found["pair_pieces_cut"][row] == sizes[row][1] - len(b)


def test_an_empty_batch_is_packed():
    for pair in (None, ragged([])):
        found = pack(ragged([]), 6, CLS, SEP, pair=pair)
        assert (
            found["token_ids"].shape == found["mask"].shape == found["segment_ids"].shape == (0, 6)
        )


def test_lengths_without_room_are_refused():
    with pytest.raises(Error, match="length=2, expected at least 3"):
        pack(ragged([[5]]), 2, CLS, SEP, pair=ragged([[6]]))
    with pytest.raises(Error, match="window_length=2, expected at least 3"):
        pack_windows(ragged([[5]]), [1], 2, CLS, SEP)
