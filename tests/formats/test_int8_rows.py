"""The rows of an embedding in int8."""

import numpy as np

from tfsum.formats.int8_rows import quantize_rows, rounded_rows


def _table():
    table = (
        np.random.default_rng(1).normal(size=(50, 8)).astype(np.float32)
        * np.logspace(-6, 3, 50)[:, None]
    )
    table[7] = 0
    return table.astype(np.float32)


def test_rows_come_back_within_half_a_step():
    table = _table()
    rows, scales = quantize_rows(table)
    assert rows.dtype == np.int8 and rows.min() >= -127 and scales.shape == (50,)
    assert (np.abs(rows * scales[:, None] - table) <= 0.5001 * scales[:, None]).all()


def test_a_rounded_table_keeps_its_integers():
    once = rounded_rows(_table())
    assert once.dtype == np.float32
    (rows, scales), (before, _) = quantize_rows(once), quantize_rows(_table())
    np.testing.assert_array_equal(rows, before)
    # scales of one float32 step
    np.testing.assert_allclose(rows * scales[:, None], once, rtol=3e-7)
