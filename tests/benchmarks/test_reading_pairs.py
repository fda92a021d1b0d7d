"""benchmarks/reading_pairs.py: what is shown, and what is counted."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")
import reading_pairs

from tfsum.tasks.bert_pretraining.batches import SentencePairs


def test_pairs_are_shown_as_words_and_without_labels(capsys):
    pairs = SentencePairs(
        np.array([2, 3, 4, 4, 2], np.int32), np.array([3, 2]), np.array([2, 1]), np.array([0, 1])
    )
    reading_pairs.show(pairs, ["[PAD]", "[UNK]", "sing", "##ing", "loud"])
    assert capsys.readouterr().out == "1  singing\n    >>  loud\n2  loud\n    >>  sing\n"


def test_answers_are_counted_by_label():
    said = reading_pairs.count("nnonooon", np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    assert said.startswith("75.0 (") and said.endswith(
        ") of 8 pairs; of 4 next ones 75.0, of 4 other ones 75.0"
    )
    said = reading_pairs.count("nno", np.array([0, 0, 1]))
    assert said == "100.0 (100.0 to 100.0) of 3 pairs; of 2 next ones 100.0, of 1 other ones 100.0"
