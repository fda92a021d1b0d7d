"""Sampling: frequencies against the distribution, and what the seed and the source fix."""

import collections

import numpy as np
import pytest

from tfsum.decoding import Greedy, Sampling
from tfsum.decoding.sampling import draw_tokens, truncate

SOURCE = np.array([[3, 4, 5]])


def assert_frequencies(counts, probabilities, draws):
    """Pearson's chi-square test at about four standard deviations; the seed is fixed, so it passes
    or it does not."""
    assert set(counts) <= {key for key, p in probabilities.items() if p > 0}
    expected = {key: draws * p for key, p in probabilities.items() if p > 0}
    statistic = sum((counts.get(key, 0) - e) ** 2 / e for key, e in expected.items())
    freedom = len(expected) - 1
    assert statistic < freedom + 4 * np.sqrt(2 * freedom), (statistic, freedom)


def tempered(model, source, ids, temperature=1.0):
    values = {
        token: np.exp(value / temperature) for token, value in model.candidates(source, ids).items()
    }
    return {token: value / sum(values.values()) for token, value in values.items()}


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_sequences_come_as_often_as_they_are_likely(toy_model, temperature):
    model, draws = toy_model(6, 1, spread=1.0), 5000
    ids, _, lengths = Sampling(temperature, seed=11, n_samples=draws)(model, SOURCE, 2)
    counts = collections.Counter(
        tuple(s[:n].tolist()) for s, n in zip(np.array(ids)[0], np.array(lengths)[0])
    )
    expected = {}
    for first, p in tempered(model, SOURCE[0], [], temperature).items():
        if first == model.end_id:
            expected[first,] = p
            continue
        expected |= {
            (first, second): p * q
            for second, q in tempered(model, SOURCE[0], [first], temperature).items()
        }
    assert_frequencies(counts, expected, draws)


def test_sources_of_a_batch_draw_apart(toy_model):
    """With one distribution for all, the first tokens of many sources, one sample each, follow it
    too."""
    model, draws = toy_model(6, 1, spread=1.0), 4000
    model.table[:] = model.table[0]
    sources = np.random.RandomState(0).randint(1, 30000, (draws, 12))
    ids = np.array(Sampling(seed=3)(model, sources, 2)[0])[:, 0]
    for first in (ids[:, 0], ids[ids[:, 0] != model.end_id][:, 1]):
        assert_frequencies(
            collections.Counter(first.tolist()), tempered(model, SOURCE[0], []), len(first)
        )


def test_the_seed_fixes_the_samples(toy_model):
    model = toy_model(9, 2, (-2.0,))
    same = [np.array(Sampling(seed=seed, n_samples=5)(model, SOURCE, 8)[0]) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(same[0], same[1])
    assert (same[0] != same[2]).any()
    assert len(np.unique(same[0][0], axis=0)) > 1


@pytest.mark.parametrize(
    "sampling", [Sampling(top_k=1), Sampling(top_p=1e-6), Sampling(1e-4)], ids=repr
)
def test_what_leaves_one_token_is_greedy(toy_model, sampling):
    model = toy_model(9, 3, (-1.0,))
    for found, wanted in zip(sampling(model, SOURCE, 8), Greedy()(model, SOURCE, 8)):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_token_without_probability_is_never_drawn():
    logs = np.array([[-np.inf, 0, -np.inf, -1, -np.inf]] * 5, "float32")
    # 1 / (1 + 1/e) = 0.7311
    uniform = np.array([0, 0.5, 0.731, 0.732, np.nextafter(np.float32(1), 0)], "float32")
    assert np.array(draw_tokens(logs, uniform)).tolist() == [1, 1, 1, 3, 3]


LOGS = np.log(np.random.RandomState(0).dirichlet([0.3] * 12, 30)).astype("float32")
LOGS[:, 0] = -np.inf


def kept_set(logs, top_k, top_p):
    """The tokens kept of one row: the k likeliest, then the fewest that hold a share p of what
    these hold."""
    order = np.argsort(-logs)[: top_k or None]
    share = np.cumsum(np.exp(logs[order].astype("float64")))
    return set(order[: np.searchsorted(share / share[-1], top_p) + 1].tolist())


@pytest.mark.parametrize("top_k", [0, 1, 4, 12, 50])
@pytest.mark.parametrize("top_p", [1e-6, 0.3, 0.9, 1.0])
def test_truncation_keeps_the_sets_of_the_formulas(top_k, top_p):
    found = np.array(truncate(np.array(LOGS), top_k, top_p))
    for row, logs in zip(found, LOGS):
        kept = np.flatnonzero(np.isfinite(row))
        expected = (
            set(np.flatnonzero(np.isfinite(logs)))
            if top_p == 1 and not top_k
            else kept_set(logs, top_k, top_p)
        )
        assert set(kept.tolist()) == {token for token in expected if np.isfinite(logs[token])}
        np.testing.assert_array_equal(row[kept], logs[kept])


def test_tokens_as_likely_as_the_last_one_are_kept():
    logs = np.log(np.array([[0.4, 0.2, 0.2, 0.2]], "float32"))
    assert np.isfinite(truncate(logs, 2, 1.0)).tolist() == [[True] * 4]
    assert np.isfinite(truncate(logs, 1, 1.0)).tolist() == [[True, False, False, False]]
    assert np.isfinite(truncate(logs, 0, 0.5)).tolist() == [[True] * 4]
