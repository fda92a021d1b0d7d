"""The n-grams of a batch against Python's counters."""

from collections import Counter
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tfsum.data.documents.windows import DocumentBatcher, in_windows, number_grams
from tfsum.errors import DataError

CLS, SEP, SIZE = 2, 3, 10
WORDS = np.arange(SIZE) > 5  # pieces 4 and 5 are punctuation
PIECES = st.lists(st.integers(4, SIZE - 1), max_size=6)
DOCUMENT = st.tuples(st.lists(PIECES, min_size=1, max_size=5), PIECES)


def grams_of(pieces):
    words = [i for i in pieces if WORDS[i]]
    return [*((i,) for i in words), *pairwise(words)]


@given(st.lists(DOCUMENT, min_size=1, max_size=4))
def test_grams_are_numbered_and_counted(documents):
    ids = [[t for s in sentences for t in (CLS, *s, SEP)] for sentences, _ in documents]
    token_ids = np.zeros((len(ids), max(map(len, ids))), np.int32)
    starts = np.full((len(ids), max(len(s) for s, _ in documents)), -1, np.int32)
    for i, (sentences, _) in enumerate(documents):
        token_ids[i, : len(ids[i])] = ids[i]
        lengths = [len(s) + 2 for s in sentences]
        starts[i, : len(sentences)] = np.cumsum([0, *lengths[:-1]])
    summaries = [np.array(summary, np.int32) for _, summary in documents]

    out = number_grams(token_ids, starts, summaries, WORDS)
    for i, (sentences, summary) in enumerate(documents):
        wanted, named = Counter(grams_of(summary)), {}
        for sentence, start in zip(sentences, starts[i]):
            places = [p for p in range(len(sentence)) if WORDS[sentence[p]]]
            for order, grams in enumerate(([(p,) for p in places], list(pairwise(places)))):
                here = out["grams"][i, start + 1 : start + 1 + len(sentence), order]
                assert np.flatnonzero(here >= 0).tolist() == [gram[0] for gram in grams]
                for gram in grams:
                    key = tuple(sentence[p] for p in gram)
                    assert named.setdefault(key, here[gram[0]]) == here[gram[0]]
        assert sorted(named.values()) == list(range(len(named)))
        counts = out["gram_counts"][i]
        assert (counts[len(named) :] == -1).all()
        assert {key: counts[number] for key, number in named.items()} == {
            key: wanted[key] for key in named
        }
    special = np.isin(token_ids, [0, CLS, SEP])
    assert (out["grams"][special] == -1).all()


def test_a_text_without_a_summary_teaches_no_words():
    summaries = np.array([7], np.int32), np.array([1, 0])
    labels = np.array([1.0, -1.0], np.float32)
    documents = in_windows(
        np.array([7, 8]), np.ones(2, int), np.ones(2, int), labels, 8, 1, summaries
    )
    batcher = DocumentBatcher(documents, 8, cls_id=CLS, sep_id=SEP, words=WORDS)
    assert batcher.assemble(np.array([0, 1]))["gram_counts"].tolist() == [[1.0], [-1.0]]


def test_a_word_head_needs_summaries():
    documents = in_windows(np.array([7]), np.array([1]), np.array([1]), np.zeros(1), 8, 1)
    with pytest.raises(DataError, match="the records hold no word pieces of a summary"):
        DocumentBatcher(documents, 8, cls_id=CLS, sep_id=SEP, words=WORDS)
