"""Top-k and top-p against the sets that their formulas give in numpy."""

import numpy as np
import pytest

from tfsum.decoding.truncation import truncate

LOGS = np.log(np.random.RandomState(0).dirichlet([0.3] * 12, 30)).astype("float32")
LOGS[:, 0] = -np.inf


def kept_set(logs, top_k, top_p):
    """The tokens kept of one row: the k likeliest, then the fewest that hold a share p of what these hold."""
    order = np.argsort(-logs)[:top_k or None]
    share = np.cumsum(np.exp(logs[order].astype("float64")))
    return set(order[:np.searchsorted(share / share[-1], top_p) + 1].tolist())


@pytest.mark.parametrize("top_k", [0, 1, 4, 12, 50])
@pytest.mark.parametrize("top_p", [1e-6, 0.3, 0.9, 1.0])
def test_sets(top_k, top_p):
    found = np.array(truncate(np.array(LOGS), top_k, top_p))
    for row, logs in zip(found, LOGS):
        kept = np.flatnonzero(np.isfinite(row))
        expected = set(np.flatnonzero(np.isfinite(logs))) if top_p == 1 and not top_k else kept_set(logs, top_k, top_p)
        assert set(kept.tolist()) == {token for token in expected if np.isfinite(logs[token])}
        np.testing.assert_array_equal(row[kept], logs[kept])


def test_tokens_as_likely_as_the_last_one_are_kept():
    logs = np.log(np.array([[0.4, 0.2, 0.2, 0.2]], "float32"))
    assert np.isfinite(truncate(logs, 2, 1.0)).tolist() == [[True] * 4]
    assert np.isfinite(truncate(logs, 1, 1.0)).tolist() == [[True, False, False, False]]
    assert np.isfinite(truncate(logs, 0, 0.5)).tolist() == [[True] * 4]
