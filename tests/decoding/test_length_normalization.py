"""Length normalizations against their closed formulas."""

import numpy as np
import pytest

from tfsum.decoding.length_normalization import NORMALIZATIONS


@pytest.mark.parametrize("alpha", [0.0, 0.6, 0.95, 1.0, 2.0])
@pytest.mark.parametrize("length", [1, 2, 7, 200])
def test_formulas(length, alpha):
    # Wu et al. 2016, equation 14: lp(Y) = (5 + |Y|)^alpha / (5 + 1)^alpha
    np.testing.assert_allclose(NORMALIZATIONS["gnmt"](length, alpha), (5 + length) ** alpha / 6**alpha, rtol=1e-6)
    np.testing.assert_allclose(NORMALIZATIONS["length"](length, alpha), length**alpha, rtol=1e-6)
