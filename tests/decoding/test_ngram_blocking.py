"""Blocked n-grams against a walk over each row in plain Python."""

import numpy as np
import pytest
from keras import ops

from tfsum.decoding.ngram_blocking import forbid_repeated_ngrams


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
            grams = {tuple(sequence[i:i + n]) for i in range(position - n + 1)}
            for token in range(1, vocabulary):
                if position >= n - 1 and tuple([*sequence, token][position - n + 1:]) in grams:
                    wanted[row, token] = -np.inf
        found = forbid_repeated_ngrams(*(ops.convert_to_tensor(x) for x in (given, ids, np.int32(position))), n)
        np.testing.assert_array_equal(found, wanted)
