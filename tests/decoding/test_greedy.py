"""Greedy decoding against a loop in plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfsum.decoding import Greedy

SOURCES = [[3, 4, 5], [9, 0, 0], [7, 7, 0]]
LENGTH = 7
WHEN = st.sampled_from(
    ["anywhere", "rarely", "at once", "never", "at the last step", "all together"]
)


def plain_greedy(model, source, **rules):
    ids, log_probability = [], 0.0
    while len(ids) < LENGTH and model.end_id not in ids:
        candidates = model.candidates(source, ids, **rules)
        ids.append(max(candidates, key=candidates.get))
        log_probability += candidates[ids[-1]]
    return ids, log_probability


@given(seed=st.integers(0, 99), when=WHEN, min_length=st.integers(0, LENGTH), n=st.integers(0, 3))
def test_the_likeliest_token_each_time(toy_model, end_biases, seed, when, min_length, n):
    model, rules = (
        toy_model(6, seed, end_biases(LENGTH)[when]),
        {"min_length": min_length, "no_repeat_ngram": n},
    )
    ids, log_probabilities, lengths = (
        np.array(part) for part in Greedy(**rules)(model, np.array(SOURCES), LENGTH)
    )
    assert ids.shape == (3, 1, LENGTH) and log_probabilities.shape == lengths.shape == (3, 1)
    for row, source in enumerate(SOURCES):
        wanted, log_probability = plain_greedy(model, source, **rules)
        assert ids[row, 0].tolist() == wanted + [0] * (LENGTH - len(wanted)) and lengths[
            row, 0
        ] == len(wanted)
        np.testing.assert_allclose(log_probabilities[row, 0], log_probability, rtol=1e-5, atol=1e-5)


def test_it_stops_when_all_have_ended(toy_model, end_biases):
    model = toy_model(6, 0, end_biases(10)["all together"])
    assert np.array(Greedy()(model, np.array(SOURCES), 50)[2]).tolist() == [[6]] * 3
    assert model.steps == 6
