"""Gap sentences of small documents, whose windows and most important sentences are known by
hand."""

import numpy as np
import pytest

from tfsum.data.records import make_record, write_shard
from tfsum.errors import DataError
from tfsum.tasks.bert_sum_abs.train import load_gap_sentences

MASK, BREAK = 4, 3
SENTENCES = [[10, 11, 12], [13, 14], [10, 13, 15], [20, 21], [22, 20, 23], [24, 25]]
"""The third shares a piece with the first and one with the second; the fourth and the fifth share
one, and are equally important.
"""


@pytest.fixture
def records(tmp_path):
    def record(name, sentences):
        return make_record(name, sentences, [0.0] * len(sentences), [b"x"] * len(sentences), "x")

    write_shard(
        tmp_path / "a.tfrecord",
        [record("a", SENTENCES), record("b", [[30]]), record("c", SENTENCES[:3])],
    )
    return tmp_path / "a.tfrecord"


def rows(documents, summaries):
    """The sentences of each source, and each target."""
    sources = [
        [
            documents.pieces[documents.first_piece[s] :][: documents.piece_counts[s]].tolist()
            for s in range(*documents.first_sentence[d : d + 2])
        ]
        for d in range(len(documents.windows))
    ]
    targets = np.split(summaries.pieces, np.cumsum(summaries.counts)[:-1])
    return sources, [target.tolist() for target in targets]


def test_the_most_important_sentence_of_each_window_is_masked(records):
    # Three sentences with [CLS] and [SEP] each are 14 and 13 tokens: a window holds three.
    found = rows(*load_gap_sentences(records, 15, 20, number=1, mask_id=MASK, kept=0.0))
    first = [[10, 11, 12], [13, 14], [MASK]]
    assert found == (
        [first, [[MASK], [22, 20, 23], [24, 25]], first],
        [[10, 13, 15], [20, 21], [10, 13, 15]],
    )


def test_kept_sentences_stay_in_the_source(records):
    sources, targets = rows(*load_gap_sentences(records, 15, 20, number=1, mask_id=MASK, kept=1.0))
    assert sources == [SENTENCES[:3], SENTENCES[3:], SENTENCES[:3]] and targets[0] == [10, 13, 15]


def test_several_are_written_in_the_order_of_the_text(records):
    documents, summaries = load_gap_sentences(
        records, 30, 20, number=2, mask_id=MASK, kept=0.0, line_break=BREAK
    )
    sources, targets = rows(documents, summaries)
    assert len(sources) == len(targets) == 2  # the document of one sentence has no rest
    taken = [sentence for sentence in SENTENCES if sentence not in sources[0]]
    assert targets[0] == [*taken[0], BREAK, *taken[1]] and sources[0].count([MASK]) == 2


def test_long_targets_are_cut_and_counted(records):
    _, summaries = load_gap_sentences(records, 15, 3, number=1, mask_id=MASK)
    assert summaries.cut == 2 and summaries.counts.max() == 2


def test_windows_without_a_rest_are_an_error(records):
    with pytest.raises(
        DataError, match="no window of 15 tokens has more than 5 sentences; lower gap_sentences"
    ):
        load_gap_sentences(records, 15, 20, number=5, mask_id=MASK)
