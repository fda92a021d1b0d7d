"""Our ROUGE beside that of ROUGE-1.5.5: what differs, and what explains it."""

import json

import numpy as np
import pytest
from rouge155 import NAMES, ROWS, bootstrap_mean, differences

pytestmark = pytest.mark.reference


@pytest.fixture(scope="module")
def stored(shared):
    return json.loads((shared / "parity/rouge155.json").read_text())


def test_every_difference_is_explained(stored):
    """With the last row all pairs have the same precision, recall and F to 5 digits."""
    wrong = {
        row: np.abs(differences(stored["pairs"], score)).max((1, 2)) > 1.5e-5
        for row, score in ROWS.items()
    }
    assert wrong["brackets"].sum() == 5 and not wrong["irregular words"].any()


def test_ours_differs_in_few_pairs_and_is_never_far_above(stored):
    wrong = differences(stored["pairs"], ROWS["ours"])[:, :, 2]
    assert (np.abs(wrong) > 1e-5).any(1).sum() == 7 and wrong.max() < 0.017


def test_the_corpus_is_a_mean_of_bootstrap_means(stored):
    for key in NAMES:
        values = np.array([pair[key]["f"] for pair in stored["pairs"]])
        assert round(bootstrap_mean(values), 5) == stored["corpus"][f"rouge_{key}_f_score"]
        assert values.mean() == pytest.approx(stored["mean_of_pair_f"][list(NAMES).index(key)])
