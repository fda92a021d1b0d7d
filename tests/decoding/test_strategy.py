"""What all strategies promise: arguments, rules, lengths, and that a batch changes nothing."""

import numpy as np
import pytest
from cases import first_by_default
from keras import ops

from tfsum.decoding import BeamSearch, Greedy, Sampling
from tfsum.decoding.strategy import forbid_repeated_ngrams
from tfsum.errors import Error

SOURCES = np.array([[3, 4, 5], [9, 0, 0], [7, 7, 0], [6, 5, 4], [8, 2, 0]])
CLASSES = {
    "greedy": Greedy,
    "beam": lambda **rules: BeamSearch(4, n_best=3, **rules),
    "sampling": lambda **rules: Sampling(1.3, top_p=0.95, seed=5, n_samples=4, **rules),
}
each_strategy = pytest.mark.parametrize("make", CLASSES.values(), ids=CLASSES)


def decode(strategy, model, sources, length):
    return [np.array(part) for part in strategy(model, np.array(sources), length)]


def sequences(ids, lengths):
    for row, (these, long) in enumerate(zip(ids, lengths)):
        yield from ((row, sequence[:n].tolist()) for sequence, n in zip(these, long))


@each_strategy
def test_a_source_alone_in_a_batch_and_padded_further(toy_model, make):
    model, strategy = toy_model(9, 4, (-1.0,)), make(no_repeat_ngram=2)
    together = decode(strategy, model, SOURCES, 8)
    padded = decode(strategy, model, np.pad(SOURCES, ((0, 0), (0, 4)))[::-1], 8)
    alone = [
        np.concatenate(parts)
        for parts in zip(*(decode(strategy, model, source[None], 8) for source in SOURCES))
    ]
    for tolerance, one, *others in zip(
        (0, 1e-5, 0), together, [part[::-1] for part in padded], alone
    ):
        for other in others:
            np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


@each_strategy
def test_log_probabilities_are_the_models_own_and_the_best_comes_first(toy_model, make):
    model = toy_model(9, 5, (-1.0,))
    ids, log_probabilities, lengths = decode(
        make(min_length=3, no_repeat_ngram=1), model, SOURCES, 8
    )
    for (row, sequence), found in zip(sequences(ids, lengths), log_probabilities.ravel()):
        own = sum(
            model.log_probabilities(SOURCES[row], sequence[:i])[token]
            for i, token in enumerate(sequence)
        )
        np.testing.assert_allclose(found, own, rtol=1e-5)
    score = log_probabilities / ((5 + lengths) / 6) ** (0.6 if make is CLASSES["beam"] else 0)
    assert (np.diff(score, axis=1) <= 0).all()


@each_strategy
def test_the_end_token_counts_and_padding_follows_and_is_never_generated(toy_model, make):
    model = toy_model(9, 6)
    model.table[:, 0] = 20.0  # padding has nearly all the probability
    ids, _, lengths = decode(make(), model, SOURCES, 8)
    assert lengths.max() == 8 > lengths.min()
    for sequence, n in zip(ids.reshape(-1, 8), lengths.ravel()):
        assert sequence[:n].all() and not sequence[n:].any()
        assert (sequence == model.end_id).sum() == (sequence[n - 1] == model.end_id)
        assert n == 8 or sequence[n - 1] == model.end_id


@each_strategy
@pytest.mark.parametrize("n", first_by_default([1, 2, 3]))
def test_no_ngram_comes_twice(toy_model, make, n):
    model, length = toy_model(5, 7, (-3.0,)), 12
    free = [ngrams(s, n) for _, s in sequences(*decode(make(), model, SOURCES, length)[::2])]
    assert any(len(grams) > len(set(grams)) for grams in free)  # the model would repeat itself
    blocked = [
        ngrams(s, n)
        for _, s in sequences(*decode(make(no_repeat_ngram=n), model, SOURCES, length)[::2])
    ]
    assert all(len(grams) == len(set(grams)) for grams in blocked)


def ngrams(sequence, n):
    return [tuple(sequence[i : i + n]) for i in range(len(sequence) - n + 1)]


@each_strategy
def test_min_length_holds_until_nothing_but_the_end_is_left(toy_model, make):
    model = toy_model(5, 8, (3.0,))
    assert decode(make(), model, SOURCES, 9)[2].min() < 6
    assert decode(make(min_length=6), model, SOURCES, 9)[2].min() == 6
    # tokens 1, 3 and 4 once each, then the end
    assert set(
        decode(make(min_length=6, no_repeat_ngram=1), model, SOURCES, 9)[2].ravel().tolist()
    ) == {4}


@each_strategy
def test_no_source_at_all(toy_model, make):
    ids, log_probabilities, lengths = decode(make(), toy_model(), np.zeros((0, 3), "int32"), 5)
    assert len(ids) == len(log_probabilities) == len(lengths) == 0 and ids.shape[2] == 5


@each_strategy
@pytest.mark.parametrize("max_length", [0, -1, 2.0, None, True])
def test_max_length_is_a_whole_number_of_at_least_1(toy_model, make, max_length):
    with pytest.raises(Error, match="max_length is .*expected a whole number, at least 1"):
        make()(toy_model(), SOURCES, max_length)


def test_max_length_holds_min_length(toy_model):
    with pytest.raises(Error, match=r"Greedy: max_length is 3; .* at least min_length \(4\)"):
        Greedy(min_length=4)(toy_model(), SOURCES, 3)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (
            Greedy,
            {"min_length": -1},
            "Greedy: min_length=-1: expected a whole number from 0",
        ),
        (Greedy, {"no_repeat_ngram": 1.5}, "no_repeat_ngram=1.5"),
        (BeamSearch, {"width": 0}, "BeamSearch: width=0: expected a whole number from 1"),
        (BeamSearch, {"width": True}, "width=true: expected a whole number"),
        (BeamSearch, {"n_best": 0}, "n_best=0"),
        (
            BeamSearch,
            {"width": 4, "n_best": 5},
            "n_best is 5 and width is 4; .*lower n_best or raise width",
        ),
        (BeamSearch, {"length_penalty": -0.1}, "length_penalty=-0.1: expected a number from 0"),
        (BeamSearch, {"length_penalty": 11}, "length_penalty=11"),
        (BeamSearch, {"length_penalty": float("nan")}, "length_penalty=NaN"),
        (BeamSearch, {"length_penalty": "0.6"}, 'length_penalty="0.6"'),
        (BeamSearch, {"normalization": "wu"}, 'normalization="wu": expected "gnmt" or "length"'),
        (BeamSearch, {"min_length": "4"}, 'BeamSearch: min_length="4"'),
        (Sampling, {"temperature": 0}, "temperature=0: expected a number from 0.0001 to 1000"),
        (Sampling, {"temperature": 1e-39}, "temperature=1e-39: expected"),
        (Sampling, {"temperature": float("inf")}, "temperature=Infinity"),
        (Sampling, {"top_k": -1}, "top_k=-1"),
        (Sampling, {"top_p": 0.0}, "top_p=0.0: expected a number above 0 and at most 1"),
        (Sampling, {"top_p": 1.1}, "top_p=1.1"),
        (Sampling, {"seed": -1}, "seed=-1: expected a whole number from 0 to 4294967295"),
        (Sampling, {"n_samples": 0}, "n_samples=0"),
    ],
)
def test_arguments_out_of_range(make, arguments, message):
    with pytest.raises(Error, match=message):
        make(**arguments)


def test_a_strategy_is_a_value():
    assert BeamSearch(4, n_best=2) == BeamSearch(4, n_best=2) != BeamSearch(4)
    assert len({Greedy(), Greedy(), Sampling(seed=1), Sampling(seed=1), Sampling(seed=2)}) == 3
    with pytest.raises(AttributeError):
        Greedy().min_length = 3


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("length", [1, 2, 8])
def test_each_token_that_would_complete_an_ngram_again(n, length):
    rows, vocabulary, random = 20, 4, np.random.RandomState(n)
    for position in range(length):
        ids = random.randint(1, vocabulary, (rows, length)).astype("int32")
        ids[:, position:] = 0
        given = random.randn(rows, vocabulary).astype("float32")
        given[:, 0] = -np.inf
        wanted = given.copy()
        for row, sequence in enumerate(ids[:, :position].tolist()):
            grams = {tuple(sequence[i : i + n]) for i in range(position - n + 1)}
            for token in range(1, vocabulary):
                if position >= n - 1 and tuple([*sequence, token][position - n + 1 :]) in grams:
                    wanted[row, token] = -np.inf
        found = forbid_repeated_ngrams(
            *(ops.convert_to_tensor(x) for x in (given, ids, np.int32(position))), n
        )
        np.testing.assert_array_equal(found, wanted)
