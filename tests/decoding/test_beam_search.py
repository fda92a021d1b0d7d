"""Beam search against every sequence there is, and against a search written without tfsum."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfsum.decoding import BeamSearch, Greedy
from tfsum.decoding.beam_search import NORMALIZATIONS

LENGTH = 4
SOURCES = [[3, 4, 5], [9, 0, 0], [7, 7, 0]]
WHEN = st.sampled_from(
    ["anywhere", "rarely", "at once", "never", "at the last step", "all together"]
)
NORMALIZATION = {"gnmt": lambda n, a: ((5 + n) / 6) ** a, "length": lambda n, a: n**a}
SEARCHES = st.fixed_dictionaries(
    {
        "length_penalty": st.sampled_from([0, 0.6, 1.0, 3.0]),
        "normalization": st.sampled_from(["gnmt", "length"]),
        "min_length": st.integers(0, LENGTH),
        "no_repeat_ngram": st.integers(0, 3),
    }
)


def rules(search):
    return {"min_length": search.min_length, "no_repeat_ngram": search.no_repeat_ngram}


def score(search, log_probability, ids):
    return log_probability / NORMALIZATION[search.normalization](len(ids), search.length_penalty)


def every_sequence(model, source, search, length, ids=(), log_probability=0.0):
    """(log-probability, ids) of all that ends, or is `length` tokens long."""
    if ids and (ids[-1] == model.end_id or len(ids) == length):
        yield log_probability, ids
        return
    for token, value in model.candidates(source, ids, **rules(search)).items():
        yield from every_sequence(
            model, source, search, length, (*ids, token), log_probability + value
        )


def plain_beam_search(model, source, search, length):
    """(log-probability, ids) of the n best, by a search that never stops early."""
    live, pool = [(0.0, ())], []
    for step in range(length):
        grown = [
            (total + value, (*ids, token))
            for total, ids in live
            for token, value in model.candidates(source, ids, **rules(search)).items()
        ]
        grown.sort(key=lambda hypothesis: -hypothesis[0])
        done = [h for h in grown[: search.width] if h[1][-1] == model.end_id or step + 1 == length]
        pool += done
        live = [h for h in grown if h[1][-1] != model.end_id][: search.width]
    return sorted(pool, key=lambda h: -score(search, *h))[: search.n_best]


def check(model, search, sources, length, expected):
    """Holds the answers against [(log-probability, ids)] of each source, the best first."""
    ids, log_probabilities, lengths = (
        np.array(part) for part in search(model, np.array(sources), length)
    )
    assert (
        ids.shape == (len(sources), search.n_best, length)
        and ids.dtype == lengths.dtype == np.int32
    )
    for row, wanted in enumerate(expected):
        found = [tuple(sequence[:n]) for sequence, n in zip(ids[row], lengths[row])]
        assert found == [sequence for _, sequence in wanted] + [()] * (search.n_best - len(wanted))
        totals = [total for total, _ in wanted] + [-np.inf] * (search.n_best - len(wanted))
        np.testing.assert_allclose(log_probabilities[row], totals, rtol=1e-5, atol=1e-5)
        assert not any(np.any(sequence[n:]) for sequence, n in zip(ids[row], lengths[row]))


@given(seed=st.integers(0, 99), when=WHEN, arguments=SEARCHES, n_best=st.sampled_from([1, 3, 30]))
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all(
    toy_model, end_biases, seed, when, arguments, n_best
):
    model = toy_model(4, seed, end_biases(LENGTH)[when])
    search = BeamSearch(width=40, n_best=n_best, **arguments)
    expected = []
    for source in SOURCES:
        everything = list(every_sequence(model, source, search, LENGTH))
        assert len(everything) <= 40
        expected.append(sorted(everything, key=lambda h: -score(search, *h))[:n_best])
    check(model, search, SOURCES, LENGTH, expected)


@given(
    seed=st.integers(0, 99), when=WHEN, arguments=SEARCHES, width=st.integers(2, 6), data=st.data()
)
def test_a_narrow_beam_finds_what_a_plain_search_finds(
    toy_model, end_biases, seed, when, arguments, width, data
):
    length = 7
    model = toy_model(6, seed, end_biases(length)[when])
    search = BeamSearch(width, n_best=data.draw(st.integers(1, width)), **arguments)
    check(
        model,
        search,
        SOURCES,
        length,
        [plain_beam_search(model, s, search, length) for s in SOURCES],
    )


@pytest.mark.slow
@given(seed=st.integers(0, 99), when=WHEN, arguments=SEARCHES)
def test_width_1_is_greedy(toy_model, end_biases, seed, when, arguments):
    model = toy_model(6, seed, end_biases(7)[when])
    search = BeamSearch(width=1, **arguments)
    for found, wanted in zip(
        search(model, np.array(SOURCES), 7), Greedy(**rules(search))(model, np.array(SOURCES), 7)
    ):
        np.testing.assert_array_equal(found, wanted)


def test_it_stops_when_nothing_can_get_better_and_not_before(toy_model):
    model = toy_model(6, 0, (40.0,))
    BeamSearch(width=4)(model, np.array(SOURCES), 50)
    assert model.steps <= 2  # all the probability ends at the first step

    # 0.6 ends at once; the rest costs nothing more, so that its mean a token is the better one in
    # the end
    model = toy_model(4, 0, (np.log(0.6 / 0.4), -40.0), spread=0.0)
    model.table[:, :2] = -40
    search = BeamSearch(width=2, length_penalty=1.0, normalization="length")
    ids, log_probabilities, _ = search(model, np.array([[5]]), 9)
    assert model.steps == 9 and np.array(ids).tolist() == [[[3] * 9]]
    np.testing.assert_allclose(log_probabilities, [[np.log(0.4)]], rtol=1e-5)


def test_more_hypotheses_than_there_are(toy_model):
    ids, log_probabilities, lengths = BeamSearch(width=8, n_best=8)(
        toy_model(4, 1), np.array([[5, 6]]), 1
    )
    assert np.array(lengths).tolist() == [[1, 1, 1, 0, 0, 0, 0, 0]]
    assert np.isfinite(log_probabilities)[0].tolist() == [True] * 3 + [False] * 5
    assert not np.any(np.array(ids)[0, 3:])


def test_both_normalizations_choose_by_their_own_formula(toy_model):
    best = {}
    for normalization, alpha in itertools.product(NORMALIZATION, [0.0, 1.0, 5.0]):
        search = BeamSearch(width=60, length_penalty=alpha, normalization=normalization)
        lengths = search(toy_model(4, 3, (1.0,)), np.array(SOURCES), 5)[2]
        best[normalization, alpha] = float(np.mean(lengths))
    assert best["gnmt", 0.0] == best["length", 0.0]  # neither divides by anything
    for normalization in NORMALIZATION:
        assert best[normalization, 0.0] <= best[normalization, 1.0] <= best[normalization, 5.0]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_logits_of_half_precision_are_summed_in_float32(toy_model, dtype):
    model = toy_model(6, 2)
    model.table = model.table.astype(dtype)
    model.is_end = model.is_end.astype(dtype)
    model.end_bias = model.end_bias.astype(dtype)
    assert "float32" in str(BeamSearch()(model, np.array(SOURCES), 5)[1].dtype)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 0.95, 1.0, 2.0])
@pytest.mark.parametrize("length", [1, 2, 7, 200])
def test_formulas_of_the_length_normalizations(length, alpha):
    # Wu et al. 2016, equation 14: lp(Y) = (5 + |Y|)^alpha / (5 + 1)^alpha
    np.testing.assert_allclose(
        NORMALIZATIONS["gnmt"](length, alpha), (5 + length) ** alpha / 6**alpha, rtol=1e-6
    )
    np.testing.assert_allclose(NORMALIZATIONS["length"](length, alpha), length**alpha, rtol=1e-6)
