"""Names and numbers that the source alone has: every answer is checked by going through the source
in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfsum.decoding import BeamSearch, Greedy, Sampling
from tfsum.decoding.source_names import SourceNames

V = 14
# names: 6 7 8 begin a word, 11 12 go on with one
RESTRICTED = np.isin(np.arange(V), [6, 7, 8, 11, 12])
CONTINUES = np.arange(V) >= 10  # 10 and 13 go on with any word
START, END = 2, 3


class Anything:
    """Prefers tokens by a table of its last one, names above all."""

    start_id, end_id = START, END

    def __init__(self, seed):
        self._logits = (
            np.random.default_rng(seed).normal(size=(V, V)).astype("float32") * 3 + 4 * RESTRICTED
        )

    def start(self, source, max_length, num_beams):
        from keras import ops

        return {"hypotheses": {"none": ops.zeros((ops.shape(source)[0] * num_beams, 1))}}

    def step(self, token_ids, position, state):
        from keras import ops

        return ops.take(ops.convert_to_tensor(self._logits), token_ids, axis=0), state


def allowed(before, token, source):
    """The rule of the class's docstring, in plain Python."""
    following = [(a, b) for a, b in zip(source, [*source[1:], 0]) if a]
    if CONTINUES[token]:
        return (before, token) in following or not (RESTRICTED[token] or RESTRICTED[before])
    begins = not RESTRICTED[token] or token in source
    ended = not RESTRICTED[before] or any(a == before and not CONTINUES[b] for a, b in following)
    return begins and ended


sources = st.lists(st.lists(st.integers(4, V - 1), min_size=1, max_size=8), min_size=1, max_size=3)


@given(
    sources, st.integers(0, 1000), st.sampled_from([Greedy(), BeamSearch(3), Sampling(n_samples=2)])
)
def test_every_token_is_allowed(rows, seed, strategy):
    source = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for i, row in enumerate(rows):
        source[i, : len(row)] = row
    ids, log_probability, lengths = strategy(
        SourceNames(Anything(seed), RESTRICTED, CONTINUES), source, 6
    )
    for answers, many, row in zip(np.asarray(ids), np.asarray(lengths), source.tolist()):
        for answer, length in zip(answers.tolist(), many.tolist()):
            for before, token in zip([START, *answer], answer[:length]):
                assert allowed(before, token, row), (row, answer)
    assert np.isfinite(np.asarray(log_probability)).all()


def test_probabilities_are_those_of_the_model():
    model = Anything(3)
    source = np.array([[6, 11, 4, 9, 7]])
    ids, found, lengths = Greedy()(SourceNames(model, RESTRICTED, CONTINUES), source, 5)
    tokens = np.asarray(ids)[0, 0, : int(np.asarray(lengths)[0, 0])].tolist()
    logits = model._logits.astype("float64")
    expected = sum(
        logits[a, b] - np.log(np.exp(logits[a]).sum()) for a, b in zip([START, *tokens], tokens)
    )
    assert float(np.asarray(found)[0, 0]) == pytest.approx(expected, abs=1e-4)
